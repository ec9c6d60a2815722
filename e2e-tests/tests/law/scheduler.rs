//! Which nodes a Pod may run on, as the scheduler sees it: `GetRequiredNodeAffinity` of
//! `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`, written once more, so that laws have a judge of their own.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

pub(super) type Labels = BTreeMap<String, String>;

/// Whether a Pod with this spec may run on the node.
pub(super) fn matches(spec: &Value, node: &str, labels: &Labels) -> bool {
    let affinity_matches = match required_terms(spec) {
        None => true,
        Some(terms) => terms.iter().any(|term| term_matches(term, node, labels)),
    };
    affinity_matches && node_selector_matches(spec, labels)
}

pub(super) fn node_selector_matches(spec: &Value, labels: &Labels) -> bool {
    let pairs = spec["nodeSelector"].as_object();
    pairs.into_iter().flatten().all(|(key, value)| labels.get(key).is_some_and(|label| value == label))
}

/// The terms of required node affinity; none, if the Pod has no such affinity.
pub(super) fn required_terms(spec: &Value) -> Option<&[Value]> {
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    required.is_object().then(|| list(&required["nodeSelectorTerms"]))
}

/// A term without expressions and fields matches no node.
pub(super) fn term_matches(term: &Value, node: &str, labels: &Labels) -> bool {
    let (expressions, fields) = (expressions(term), list(&term["matchFields"]));
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|expression| expression_matches(expression, labels))
        && fields.iter().all(|field| field_matches(field, node))
}

pub(super) fn expressions(term: &Value) -> &[Value] {
    list(&term["matchExpressions"])
}

pub(super) fn expression_matches(expression: &Value, labels: &Labels) -> bool {
    let values = list(&expression["values"]);
    let label = labels.get(text(&expression["key"]));
    let is_listed = label.is_some_and(|label| values.iter().any(|value| value == label));
    match text(&expression["operator"]) {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        "Gt" => integers(label, values).is_some_and(|(label, bound)| label > bound),
        "Lt" => integers(label, values).is_some_and(|(label, bound)| label < bound),
        _ => false,
    }
}

/// The one field there is, `metadata.name`, with exactly one value.
fn field_matches(field: &Value, node: &str) -> bool {
    let [name] = list(&field["values"]) else { return false };
    match (text(&field["key"]), text(&field["operator"])) {
        ("metadata.name", "In") => name == node,
        ("metadata.name", "NotIn") => name != node,
        _ => false,
    }
}

fn integers(label: Option<&String>, values: &[Value]) -> Option<(i64, i64)> {
    let [bound] = values else { return None };
    Some((label?.parse().ok()?, text(bound).parse().ok()?))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The judge answers as the scheduler does, wherever an API server could have stored the objects.
#[test]
fn the_judge_is_the_schedulers() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vectors/nodeaffinity.jsonl");
    let vectors = fs::read_to_string(file).expect("the vectors");
    let mut judged = 0;
    for vector in vectors.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        if vector["apiValid"] == true {
            let labels: Option<Labels> = serde_json::from_value(vector["node"]["labels"].clone()).expect("labels");
            let matches = matches(&vector["pod"], text(&vector["node"]["name"]), &labels.unwrap_or_default());
            assert_eq!(vector["match"], matches, "{vector}");
            judged += 1;
        }
    }
    assert!(judged > 1000, "only {judged} vectors");
}
