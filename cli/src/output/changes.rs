//! What an object got, for people: as operations, and in words.

use std::{collections::BTreeSet, iter::zip};

use serde_json::{Map, Value, json};

use crate::{
    Evaluation,
    input::json::{members, text},
};

/// What was changed between two objects, as operations of a JSON patch that people can follow. The patch that the host
/// makes compares lists position by position: of one that got an element in front, it replaces every element.
pub fn changes(before: &Value, after: &Value) -> Vec<Value> {
    let mut changes = Vec::new();
    compare("", before, after, &mut changes);
    changes
}

fn compare(path: &str, before: &Value, after: &Value, changes: &mut Vec<Value>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => compare_members(path, before, after, changes),
        (Value::Array(before), Value::Array(after)) => compare_elements(path, before, after, changes),
        _ if before == after => {}
        _ => changes.push(json!({"op": "replace", "path": path, "value": after})),
    }
}

fn compare_members(path: &str, before: &Map<String, Value>, after: &Map<String, Value>, changes: &mut Vec<Value>) {
    let below = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        changes.push(json!({"op": "remove", "path": below(key)}));
    }
    for (key, value) in after {
        match before.get(key) {
            Some(before) => compare(&below(key), before, value, changes),
            None => changes.push(json!({"op": "add", "path": below(key), "value": value})),
        }
    }
}

/// What both lists begin and end with stayed; between that, elements were changed, and others added or removed.
fn compare_elements(path: &str, before: &[Value], after: &[Value], changes: &mut Vec<Value>) {
    let first = zip(before, after).take_while(|(before, after)| before == after).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = zip(before.iter().rev(), after.iter().rev()).take_while(|(before, after)| before == after).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    let both = before.len().min(after.len());
    for (position, (before, after)) in zip(before, after).enumerate() {
        compare(&format!("{path}/{}", first + position), before, after, changes);
    }
    for (position, value) in after.iter().enumerate().skip(both) {
        changes.push(json!({"op": "add", "path": format!("{path}/{}", first + position), "value": value}));
    }
    for _ in both..before.len() {
        changes.push(json!({"op": "remove", "path": format!("{path}/{}", first + both)}));
    }
}

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

#[cfg(test)]
mod tests {
    use json_patch::Patch;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(json!({"a": [1, {"b": null}]}), json!({"a": [1, {"b": null}]}), json!([]))]
    #[case::members(
        json!({"gone": 1, "other": 1, "a": {"b/c": 1, "~": 1}}),
        json!({"other": 2, "new": {}, "a": {"b/c": 2, "~": 2}}),
        json!([
            {"op": "remove", "path": "/gone"},
            {"op": "replace", "path": "/a/b~1c", "value": 2},
            {"op": "replace", "path": "/a/~0", "value": 2},
            {"op": "add", "path": "/new", "value": {}},
            {"op": "replace", "path": "/other", "value": 2},
        ])
    )]
    #[case::elements_in_front(
        json!([{"name": "A"}]),
        json!([{"name": "Z"}, {"name": "R"}, {"name": "A"}]),
        json!([{"op": "add", "path": "/0", "value": {"name": "Z"}}, {"op": "add", "path": "/1", "value": {"name": "R"}}])
    )]
    #[case::elements_behind(json!([1]), json!([1, 2]), json!([{"op": "add", "path": "/1", "value": 2}]))]
    #[case::elements_between(json!([1, 3]), json!([1, 2, 3]), json!([{"op": "add", "path": "/1", "value": 2}]))]
    #[case::the_same_once_more(json!([1]), json!([1, 1]), json!([{"op": "add", "path": "/1", "value": 1}]))]
    #[case::elements_removed(
        json!([1, 2, 3, 4]),
        json!([1, 4]),
        json!([{"op": "remove", "path": "/1"}, {"op": "remove", "path": "/1"}])
    )]
    #[case::the_same_once_less(json!([1, 1, 1]), json!([1]), json!([
        {"op": "remove", "path": "/1"}, {"op": "remove", "path": "/1"}
    ]))]
    #[case::one_changed_and_one_added(
        json!([{"a": 1}, 9]),
        json!([{"a": 2}, 3, 9]),
        json!([{"op": "replace", "path": "/0/a", "value": 2}, {"op": "add", "path": "/1", "value": 3}])
    )]
    #[case::another_kind(json!({"a": []}), json!({"a": {}}), json!([{"op": "replace", "path": "/a", "value": {}}]))]
    fn they_lead_from_one_to_the_other(#[case] before: Value, #[case] after: Value, #[case] expected: Value) {
        let changes = Value::from(changes(&before, &after));
        assert_eq!(changes, expected);
        let patch: Patch = serde_json::from_value(changes).unwrap();
        let mut patched = before;
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched, after);
    }
}
