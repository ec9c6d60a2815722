//! The nodes that Pods may run on.

use anyhow::{Context, Result};
use serde_json::Value;

use super::asked::Asked;
use crate::{
    Evaluation,
    requests::{runtime_class, template::creation_from},
    scheduling::{constraints::Constraints, places::Places},
};

/// The names of the nodes and NodePools that may run the Pod of a request, or the Pods of its workload; none, if these
/// are refused.
///
/// # Errors
/// What is asked for makes no Pods.
pub fn nodes(asked: &Asked<'_>, places: &Places, request: &Value, evaluation: &Evaluation) -> Result<Vec<String>> {
    let object = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]);
    let kind = object["kind"].as_str().unwrap_or("object");
    let creation = creation_from(object, asked.cluster);
    if kind != "Pod" {
        creation.as_ref().with_context(|| format!("a {kind} makes no Pods"))?;
    }
    if !evaluation.answer.accepted {
        return Ok(vec![]);
    }
    let mut pod = object.clone();
    if let Some(mut creation) = creation {
        let (evaluation, _) = asked.answer(&creation)?;
        if !evaluation.answer.accepted {
            return Ok(vec![]);
        }
        pod = evaluation.answer.mutated_object.unwrap_or_else(|| creation["object"].take());
    }
    let spec = &mut pod["spec"];
    runtime_class::merge(spec, asked.cluster);
    let class = runtime_class::class_of(spec, asked.cluster)?;
    Ok(places.that_take(&Constraints::read(spec, class.as_ref())?))
}
