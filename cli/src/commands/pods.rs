use anyhow::Result;
use serde_json::Value;

use super::try_manifests::Trial;
use crate::requests::delivery::delivery;
use crate::{ManagedKeys, SettingsFile, output::paper::Paper, preview::gets, requests::template::creation_from};

/// Tells what the Pods of the workload would get that `request` is about: its template stays as it is.
pub fn tell_of_pods(trial: &Trial<'_>, request: &Value, workload: &Value, paper: &mut Paper) -> Result<()> {
    if request["subResource"].as_str().is_some_and(|sub_resource| !sub_resource.is_empty()) {
        return Ok(());
    }
    let Some(request) = creation_from(workload, &trial.known) else { return Ok(()) };
    let namespace = request["namespace"].as_str().and_then(|name| trial.known.namespace(name));
    let deployment = trial.file.policy.as_ref();
    if let Some(reason) = deployment.and_then(|deployment| delivery(deployment, &request, namespace).kept_away()) {
        paper.below(&format!("its Pods are not sent to the policy: {reason}"));
        return Ok(());
    }
    let evaluation = trial.ask(&request)?;
    if trial.missing(&evaluation).next().is_some() {
        paper.missing(&evaluation, &trial.known, trial.has_cluster);
        return Ok(());
    }
    if !evaluation.answer.accepted {
        let code = evaluation.answer.code.unwrap_or_default();
        let message = evaluation.answer.message.as_deref().unwrap_or("(no message)");
        paper.below(&format!("its Pods would be rejected: {code}: {message}"));
        return Ok(());
    }
    let (now, later) = (gets(&evaluation).join("; "), when_bound(&trial.file).join(", "));
    paper.below(&match (now.is_empty(), later.is_empty()) {
        (true, true) => "its Pods would stay as they are".to_owned(),
        (false, true) => format!("its Pods would get {now}"),
        (true, false) => format!("its Pods would get {later} when they are bound"),
        (false, false) => format!("its Pods would get {now}; and when they are bound, {later}"),
    });
    Ok(())
}

/// What Bindings bring, as far as the Nodes have it.
fn when_bound(file: &SettingsFile) -> Vec<String> {
    let deployment = file.policy.as_ref();
    let is_sent = deployment.is_none_or(|deployment| deployment.sends(("", "pods/binding", "CREATE")));
    if is_sent { ManagedKeys::of(&file.typed).named() } else { vec![] }
}
