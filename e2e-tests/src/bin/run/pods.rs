use anyhow::Result;
use e2e_tests::{
    ManagedKeys, Manifests, Policy, SettingsFile,
    preview::{creation_from, gets},
};
use serde_json::Value;

use crate::{Arguments, paper::Paper};

impl Arguments {
    /// Tells what the Pods of the workload would get that `request` is about: its template stays as it is.
    pub fn tell_of_pods(
        &self,
        request: &Value,
        workload: &Value,
        policy: &Policy,
        file: &SettingsFile,
        known: &Manifests,
        paper: &mut Paper,
    ) -> Result<()> {
        let is_whole = request["subResource"].as_str().is_none_or(str::is_empty);
        // A session has nothing but the look-ups of the request.
        if !is_whole || self.session.is_some() {
            return Ok(());
        }
        let Some(request) = creation_from(workload) else { return Ok(()) };
        let namespace = request["namespace"].as_str().and_then(|name| known.namespace(name));
        if let Some(reason) = file.deployment.as_ref().and_then(|deployment| deployment.spares(&request, namespace)) {
            paper.below(&format!("its Pods are not sent to the policy: {reason}"));
            return Ok(());
        }
        let evaluation = policy.validate(&request, &file.settings, self.cluster(known)?)?;
        if evaluation.lookups.iter().any(|lookup| !known.has(lookup)) {
            paper.missing(&evaluation, known, self.cluster.is_some());
            return Ok(());
        }
        if !evaluation.answer.accepted {
            let code = evaluation.answer.code.unwrap_or_default();
            let message = evaluation.answer.message.as_deref().unwrap_or("(no message)");
            paper.below(&format!("its Pods would be rejected: {code}: {message}"));
            return Ok(());
        }
        let (now, later) = (gets(&evaluation).join("; "), when_bound(file).join(", "));
        paper.below(&match (now.is_empty(), later.is_empty()) {
            (true, true) => "its Pods would stay as they are".to_owned(),
            (false, true) => format!("its Pods would get {now}"),
            (true, false) => format!("its Pods would get {later} when they are bound"),
            (false, false) => format!("its Pods would get {now}; and when they are bound, {later}"),
        });
        Ok(())
    }
}

/// What Bindings bring, as far as the Nodes have it.
fn when_bound(file: &SettingsFile) -> Vec<String> {
    let deployment = file.deployment.as_ref();
    let is_sent = deployment.is_none_or(|deployment| deployment.sends("", "pods/binding", "CREATE"));
    if is_sent { ManagedKeys::of(&file.settings).named() } else { vec![] }
}
