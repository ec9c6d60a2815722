//! Whether the scheduler would bring a Pod to its node again, by the policy's own matcher of nodes.

use node_placement_policy::{
    json::{Raw, StringMap, read::read},
    placement::node_selection::NodeSelection,
};
use serde::Deserialize;
use serde_json::Value;

use super::{creation::text, finding::added_node_selector};
use crate::Evaluation;

/// Why a Pod, as it was created and answered, would not come to `node` again; nothing, if it would.
///
/// A Pod that was rejected is not there to be scheduled: its rejection says it all.
pub fn misfit(created: &Value, evaluation: &Evaluation, node: &Value) -> Option<String> {
    if !evaluation.answer.accepted {
        return None;
    }
    let completed = evaluation.answer.mutated_object.as_ref().unwrap_or(created);
    if fits(completed, node) {
        return None;
    }
    let added = added_node_selector(evaluation).filter(|_| fits(created, node));
    Some(match added {
        Some(added) => format!("a new one would get {added}, which the node does not have"),
        None => "the node does not match the nodeSelector or node affinity of a new one".to_owned(),
    })
}

/// What is no Pod fits nowhere.
fn fits(pod: &Value, node: &Value) -> bool {
    let matches = || {
        let spec = pod["spec"].to_string();
        let selection = NodeSelection::read(read::<Raw>(&spec).ok()?.object().ok()?).ok()?;
        let labels = Option::<StringMap>::deserialize(&node["metadata"]["labels"]).ok()?.unwrap_or_default();
        Some(selection.matches(text(&node["metadata"]["name"]), &labels))
    };
    matches().unwrap_or_default()
}
