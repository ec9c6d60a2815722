//! Words what a policy adds to an object.

use std::collections::BTreeSet;

use json_patch::PatchOperation;
use serde_json::Value;

use super::policy::Evaluation;
use crate::input::json::members;

/// Returns what is added, as the policy itself reports it to the audit log; the rest from the patch.
pub fn additions(evaluation: &Evaluation) -> Vec<String> {
    let audited = |key: &str| evaluation.answer.audit_annotations.as_ref()?.get(key);
    let selector = audited("node-selector").cloned();
    let tolerations = audited("tolerations").map(|added| format!("toleration {added}"));
    let mut others = BTreeSet::new();
    for operation in evaluation.patch.iter().flat_map(|patch| patch.iter()) {
        let steps: Vec<String> = operation.path().tokens().map(|step| step.decoded().into_owned()).collect();
        let is_below = |field: &str| steps.windows(2).any(|pair| pair == ["spec", field]);
        let is_of_selector = selector.is_some() && (is_below("nodeSelector") || is_below("affinity"));
        let is_of_tolerations = tolerations.is_some() && is_below("tolerations");
        if !is_of_selector && !is_of_tolerations {
            others.extend(words(operation, &steps.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
    selector.into_iter().chain(tolerations).chain(others).collect()
}

/// Words one operation of a JSON patch, whose path has these steps.
fn words(operation: &PatchOperation, steps: &[&str]) -> Vec<String> {
    let (verb, value) = match operation {
        PatchOperation::Remove(_) => ("no ", &Value::Null),
        PatchOperation::Add(add) => ("", &add.value),
        PatchOperation::Replace(replace) => ("", &replace.value),
        _ => ("", &Value::Null),
    };
    let is_variable = |steps: &[&str]| matches!(steps, ["containers" | "initContainers", _, "env"]);
    match steps {
        ["metadata", kind @ ("annotations" | "labels"), key] => vec![format!("{verb}{} {key}", one_of(kind))],
        ["metadata", kind @ ("annotations" | "labels")] if !verb.is_empty() => vec![format!("{verb}{kind}")],
        ["metadata", kind @ ("annotations" | "labels")] => {
            members(value).map(|(key, _)| format!("{} {key}", one_of(kind))).collect()
        }
        steps if steps.windows(3).any(is_variable) => vec!["environment variables".to_owned()],
        _ => vec![format!("{verb}{}", operation.path().as_str())],
    }
}

/// Returns `label` for `labels`.
fn one_of(kind: &str) -> &str {
    kind.trim_end_matches('s')
}
