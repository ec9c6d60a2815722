//! Whether the scheduler would bring a Pod to its node again, by the policy's own matcher of nodes.

use node_placement_policy::{
    json::{Json, StringMap},
    placement::pod_spec::PodSpec,
};
use serde_json::Value;

use super::{creation::text, finding::gets};
use crate::Evaluation;

/// Why a Pod, as it was created and answered, would not come to `node` again; nothing, if it would.
///
/// A Pod that was rejected is not there to be scheduled: its rejection says it all.
pub fn misfit(created: &Value, evaluation: &Evaluation, node: &Value) -> Option<String> {
    if !evaluation.answer.accepted {
        return None;
    }
    let completed = evaluation.answer.mutated_object.as_ref().unwrap_or(created);
    match (fits(created, node), fits(completed, node)) {
        (_, true) => None,
        (true, false) => {
            Some(format!("a new one would get {}, which the node does not have", gets(evaluation).join(", ")))
        }
        (false, false) => Some("the node does not match the nodeSelector or node affinity of a new one".to_owned()),
    }
}

/// What is no Pod fits nowhere.
fn fits(pod: &Value, node: &Value) -> bool {
    let (spec, metadata) = (pod["spec"].to_string(), node["metadata"].to_string());
    let read = || {
        let spec = Json::parse(&spec)?.object()?;
        let labels: StringMap<'_> = Json::parse(&metadata)?.object()?.string_map("labels")?;
        Ok::<_, node_placement_policy::json::Mismatch>(
            PodSpec::read(&spec)?.matches(text(&node["metadata"]["name"]), &labels),
        )
    };
    read().unwrap_or_default()
}
