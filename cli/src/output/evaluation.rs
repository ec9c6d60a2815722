//! An evaluation, for people: the verdict, what was changed, as operations and in words, and what else a policy says.

use std::iter::zip;

use serde::Serialize;
use serde_json::{Map, Value};

use super::printer::{BOLD, GREEN, INDENT, PLAIN, Printer, RED};
use crate::{
    Evaluation, Identity, Manifests,
    input::{
        json::{members, remove, text},
        yaml,
    },
    webhook::pods::environment,
};

impl Printer {
    /// Prints the verdict and the request in one line; changes, warnings and look-ups below.
    pub fn evaluation(&mut self, asked: &str, request: &Value, evaluation: &Evaluation, cluster: &Manifests) {
        let answer = &evaluation.answer;
        let verdict = if answer.accepted { (GREEN, "  accepted  ") } else { (RED, "  REJECTED  ") };
        self.draw(0, &[verdict, (BOLD, asked)]);
        if !answer.accepted || answer.message.is_some() {
            self.below(&answer.reason());
        }
        if let Some(mutated) = &answer.mutated_object {
            changes(&request["object"], mutated).iter().for_each(|change| self.change(change));
        }
        for warning in answer.warnings.iter().flatten() {
            self.below(&format!("warning: {warning}"));
        }
        let lookups: Vec<String> = evaluation.looked_up().map(|object| with_annotations(&object, cluster)).collect();
        if !lookups.is_empty() {
            self.remark(&format!("looked up: {}", lookups.join(", ")));
        }
    }

    /// Prints an object, or a request, that the policy does not answer, and why.
    pub fn unanswered(&mut self, verdict: &str, asked: &str, reason: &str) {
        self.draw(0, &[(PLAIN, &format!("  {verdict:<10}")), (BOLD, asked)]);
        self.below(reason);
    }

    /// Prints the object as the API server will store it.
    pub fn stored(&mut self, object: &Value) {
        let mut object = object.clone();
        // Long, and of no interest to anybody.
        remove(&mut object["metadata"], &["managedFields"]);
        self.line("as it will be stored:");
        self.yaml(&object);
    }

    /// Prints the Pod as it is stored after its binding, and what its containers see of it.
    pub fn bound_pod(&mut self, pod: &Value) {
        self.line(&format!("the Pod, as it is stored on {}:", text(&pod["spec"]["nodeName"])));
        for (kind, plural) in [("label", "labels"), ("annotation", "annotations")] {
            for (key, value) in members(&pod["metadata"][plural]) {
                self.line(&format!("  {kind} {key}: {}", text(value)));
            }
        }
        for (name, value) in environment(pod) {
            let seen = format!("{name}={}", text(&value));
            self.draw(INDENT, &[(PLAIN, "  container sees "), (BOLD, &seen)]);
        }
    }

    /// Prints what goes to other readers: into the audit log, and into the log of the host.
    pub fn records(&mut self, evaluation: &Evaluation) {
        for (key, value) in evaluation.answer.audit_annotations.iter().flatten() {
            self.remark(&format!("audit: {key}: {value}"));
        }
        for log in &evaluation.record.logs {
            // A rejection is told already.
            if log["message"].as_str().is_some_and(|message| Some(message) == evaluation.answer.message.as_deref()) {
                continue;
            }
            match (log["level"].as_str(), log["message"].as_str()) {
                (Some(level), Some(message)) => self.remark(&format!("logged: {level}: {message}")),
                _ => self.remark(&format!("logged: {log}")),
            }
        }
    }

    /// Prints a change, its value spread over lines where it is long.
    fn change(&mut self, Change { op, path, value }: &Change<'_>) {
        let Some(value) = value else { return self.below(&format!("{op} {path}")) };
        let line = format!("{op} {path} {value}");
        if INDENT + line.chars().count() <= self.width {
            return self.line(&line);
        }
        self.line(&format!("{op} {path}"));
        self.yaml(value);
    }

    fn yaml(&mut self, value: &Value) {
        let text = yaml::write(value).unwrap_or_default();
        text.lines().for_each(|line| self.line(&format!("  {line}")));
    }
}

/// Returns `Namespace team-a`, with its annotations: they may decide what applies there.
fn with_annotations(identity: &Identity, cluster: &Manifests) -> String {
    let object = cluster.find(identity).filter(|_| identity.kind == "Namespace");
    let annotations = object.into_iter().flat_map(|object| members(&object["metadata"]["annotations"]));
    let annotations = annotations.filter(|(key, _)| !key.starts_with("kubectl.kubernetes.io/"));
    let annotations: Vec<_> = annotations.map(|(key, value)| format!("{key}: {}", text(value))).collect();
    if annotations.is_empty() {
        identity.to_string()
    } else {
        format!("{identity}, annotated {}", annotations.join(", "))
    }
}

/// An operation of a JSON patch.
#[derive(Debug, Serialize)]
struct Change<'v> {
    op: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'v Value>,
}

/// Returns what was changed between two objects, as operations that people can follow. The patch that the host makes
/// compares lists position by position: of one that got an element in front, it replaces every element.
fn changes<'v>(before: &Value, after: &'v Value) -> Vec<Change<'v>> {
    let mut changes = vec![];
    compare(String::new(), before, after, &mut changes);
    changes
}

fn compare<'v>(path: String, before: &Value, after: &'v Value, changes: &mut Vec<Change<'v>>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => compare_members(&path, before, after, changes),
        (Value::Array(before), Value::Array(after)) => compare_elements(&path, before, after, changes),
        _ if before == after => {}
        _ => changes.push(Change { op: "replace", path, value: Some(after) }),
    }
}

fn compare_members<'v>(
    path: &str,
    before: &Map<String, Value>,
    after: &'v Map<String, Value>,
    changes: &mut Vec<Change<'v>>,
) {
    let below = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        changes.push(Change { op: "remove", path: below(key), value: None });
    }
    for (key, value) in after {
        match before.get(key) {
            Some(before) => compare(below(key), before, value, changes),
            None => changes.push(Change { op: "add", path: below(key), value: Some(value) }),
        }
    }
}

/// Compares two lists. What both begin and end with stayed; between that, elements were changed, added or removed.
fn compare_elements<'v>(path: &str, before: &[Value], after: &'v [Value], changes: &mut Vec<Change<'v>>) {
    let first = zip(before, after).take_while(|(before, after)| before == after).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = zip(before.iter().rev(), after.iter().rev()).take_while(|(before, after)| before == after).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    let both = before.len().min(after.len());
    for (position, (before, after)) in zip(before, after).enumerate() {
        compare(format!("{path}/{}", first + position), before, after, changes);
    }
    for (position, value) in after.iter().enumerate().skip(both) {
        changes.push(Change { op: "add", path: format!("{path}/{}", first + position), value: Some(value) });
    }
    for _ in both..before.len() {
        changes.push(Change { op: "remove", path: format!("{path}/{}", first + both), value: None });
    }
}

#[cfg(test)]
mod tests {
    use json_patch::Patch;
    use rstest::rstest;
    use serde_json::json;

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
        let changes = json!(changes(&before, &after));
        assert_eq!(changes, expected);
        let patch: Patch = serde_json::from_value(changes).unwrap();
        let mut patched = before;
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched, after);
    }
}
