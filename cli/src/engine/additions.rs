//! What a policy adds to an object, in words.

use std::collections::BTreeSet;

use json_patch::PatchOperation;
use serde_json::Value;

use super::policy::Evaluation;
use crate::input::json::members;

/// Returns what is added, as the policy itself tells it to the audit log; the rest from the patch.
pub fn additions(evaluation: &Evaluation) -> Vec<String> {
    let audited = |key: &str| evaluation.answer.audit_annotations.as_ref()?.get(key);
    let selector = audited("node-selector").cloned();
    let tolerations = audited("tolerations").map(|added| format!("toleration {added}"));
    let is_audited = |path: &str| {
        selector.is_some() && (path.contains("/spec/nodeSelector") || path.contains("/spec/affinity"))
            || tolerations.is_some() && path.contains("/spec/tolerations")
    };
    let operations = evaluation.patch.iter().flat_map(|patch| patch.iter());
    let others: BTreeSet<String> =
        operations.filter(|operation| !is_audited(operation.path().as_str())).flat_map(words).collect();
    selector.into_iter().chain(tolerations).chain(others).collect()
}

/// Words one operation of a JSON patch.
fn words(operation: &PatchOperation) -> Vec<String> {
    let path = operation.path().as_str();
    let (verb, value) = match operation {
        PatchOperation::Remove(_) => ("no ", &Value::Null),
        PatchOperation::Add(add) => ("", &add.value),
        PatchOperation::Replace(replace) => ("", &replace.value),
        _ => ("", &Value::Null),
    };
    for (kind, what) in [("annotations", "annotation"), ("labels", "label")] {
        let Some(rest) = path.strip_prefix("/metadata/").and_then(|path| path.strip_prefix(kind)) else { continue };
        return match rest.strip_prefix('/') {
            Some(key) => vec![format!("{verb}{what} {}", key.replace("~1", "/").replace("~0", "~"))],
            None if !verb.is_empty() => vec![format!("no {kind}")],
            None => members(value).map(|(key, _)| format!("{what} {key}")).collect(),
        };
    }
    if path.contains("ontainers/") && path.contains("/env") {
        return vec!["environment variables".to_owned()];
    }
    vec![format!("{verb}{path}")]
}
