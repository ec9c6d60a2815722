//! Whether the scheduler would bring a Pod to its node again.

use serde_json::Value;

use super::finding::added_node_selector;
use crate::{Evaluation, preview::scheduler::matches_node};

/// Why a Pod, as it was created and answered, would not come to `node` again; nothing, if it would.
///
/// A Pod that was rejected is not there to be scheduled: its rejection says it all.
pub fn misfit(created: &Value, evaluation: &Evaluation, node: &Value) -> Option<String> {
    if !evaluation.answer.accepted {
        return None;
    }
    let completed = evaluation.answer.mutated_object.as_ref().unwrap_or(created);
    if matches_node(&completed["spec"], node) {
        return None;
    }
    let added = added_node_selector(evaluation).filter(|_| matches_node(&created["spec"], node));
    Some(match added {
        Some(added) => format!("it would get {added}, which the node does not have"),
        None => "its nodeSelector or node affinity does not match the node".to_owned(),
    })
}
