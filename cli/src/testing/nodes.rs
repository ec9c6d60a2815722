//! The nodes that Pods may run on.

use anyhow::{Context, Result};
use serde_json::Value;

use super::case::Asked;
use crate::{
    Evaluation,
    preview::creation_from,
    scheduler::{keeps_away, matching_nodes},
};

/// The names of the nodes that the Pod of a request may run on, or the Pods of its workload; none, if it is refused.
///
/// # Errors
/// What is asked for makes no Pods.
pub fn nodes(asked: &Asked<'_>, request: &Value, evaluation: &Evaluation) -> Result<Vec<String>> {
    let object = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]);
    let is_pod =
        request["resource"]["resource"] == "pods" && request["subResource"].as_str().unwrap_or_default().is_empty();
    let template = if is_pod { None } else { Some(creation_from(object, asked.cluster)) };
    if !evaluation.answer.accepted {
        return Ok(vec![]);
    }
    let pod = match template {
        None => object.clone(),
        Some(creation) => {
            let kind = object["kind"].as_str().unwrap_or("object");
            let mut creation = creation.with_context(|| format!("a {kind} makes no Pods"))?;
            let (evaluation, _) = asked.answer(&creation)?;
            if !evaluation.answer.accepted {
                return Ok(vec![]);
            }
            evaluation.answer.mutated_object.unwrap_or_else(|| creation["object"].take())
        }
    };
    Ok(that_take(&pod["spec"], asked.cluster.nodes()))
}

/// The names of those nodes that take a Pod with this `spec`.
pub fn that_take<'n>(spec: &Value, nodes: impl Iterator<Item = &'n Value>) -> Vec<String> {
    let named = spec["nodeName"].as_str().filter(|name| !name.is_empty());
    let is_named = |node: &&Value| named.is_none_or(|name| node["metadata"]["name"] == name);
    let matching = matching_nodes(spec, nodes.filter(is_named)).into_iter();
    let taking = matching.filter(|node| keeps_away(spec, node).is_none());
    taking.filter_map(|node| node["metadata"]["name"].as_str().map(str::to_owned)).collect()
}
