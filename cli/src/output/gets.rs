//! What the policy adds to an object, as text.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    Evaluation,
    input::json::{members, text},
};

fn audited<'e>(evaluation: &'e Evaluation, key: &str) -> Option<&'e String> {
    evaluation.answer.audit_annotations.as_ref()?.get(key)
}

/// What is added, as the policy itself tells it to the audit log; the rest from the patch.
pub fn gets(evaluation: &Evaluation) -> Vec<String> {
    let selector = audited(evaluation, "node-selector").cloned();
    let tolerations = audited(evaluation, "tolerations").map(|added| format!("toleration {added}"));
    let told = |path: &str| {
        selector.is_some() && (path.contains("/spec/nodeSelector") || path.contains("/spec/affinity"))
            || tolerations.is_some() && path.contains("/spec/tolerations")
    };
    let mut others = BTreeSet::new();
    for change in evaluation.patch.iter().flat_map(|patch| patch.iter()) {
        let change = serde_json::to_value(change).unwrap_or_default();
        if !told(text(&change["path"])) {
            others.extend(words(&change));
        }
    }
    selector.into_iter().chain(tolerations).chain(others).collect()
}

/// One operation of a JSON patch in words.
fn words(change: &Value) -> Vec<String> {
    let path = text(&change["path"]);
    let verb = if change["op"] == "remove" { "no " } else { "" };
    for (kind, what) in [("annotations", "annotation"), ("labels", "label")] {
        let Some(rest) = path.strip_prefix("/metadata/").and_then(|path| path.strip_prefix(kind)) else { continue };
        return match rest.strip_prefix('/') {
            Some(key) => vec![format!("{verb}{what} {}", key.replace("~1", "/").replace("~0", "~"))],
            None if change["op"] == "remove" => vec![format!("no {kind}")],
            None => members(&change["value"]).map(|(key, _)| format!("{what} {key}")).collect(),
        };
    }
    if path.contains("ontainers/") && path.contains("/env") {
        return vec!["environment variables".to_owned()];
    }
    vec![format!("{verb}{path}")]
}
