use anyhow::Result;
use e2e_tests::{
    ManagedKeys, Manifests, Policy, SettingsFile,
    preview::{creation_from, gets},
};
use serde_json::Value;

use crate::{Arguments, paper::Paper};

impl Arguments {
    /// Tells what the Pods of a workload would get: its template stays as it is.
    pub fn tell_of_pods(
        &self,
        workload: &Value,
        policy: &Policy,
        file: &SettingsFile,
        known: &Manifests,
        paper: &mut Paper,
    ) -> Result<()> {
        // A session has nothing but the look-ups of the request.
        let Some(request) = creation_from(workload).filter(|_| self.session.is_none()) else { return Ok(()) };
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
        let mut gets = gets(&evaluation);
        let bound = when_bound(file);
        if !bound.is_empty() {
            gets.push(format!("{} when they are bound", bound.join(", ")));
        }
        paper.below(&match gets.is_empty() {
            true => "its Pods would stay as they are".to_owned(),
            false => format!("its Pods would get {}", gets.join("; ")),
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
