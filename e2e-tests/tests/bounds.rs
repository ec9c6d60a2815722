//! What is written to one Pod stays within bounds, whatever a Node has, and whatever the Pod asks for.

use std::sync::LazyLock;

use anyhow::{Result, ensure};
use e2e_tests::{Answer, Manifests, NoCluster, Policy, admission_request, policy_under_test, read_document};
use serde_json::{Value, json};

static POLICY: LazyLock<Policy> = LazyLock::new(|| policy_under_test().expect("the policy"));

fn request(name: &str) -> Result<Value> {
    let file = format!("{}/fixtures/requests/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Ok(admission_request(&read_document(file.as_ref())?).clone())
}

/// What the policy answers to a Binding, for a Node with these annotations and labels.
fn bind(propagate: Value, annotations: Value, labels: Value) -> Result<Answer> {
    let metadata = json!({"name": "node-a", "annotations": annotations, "labels": labels});
    let cluster: Manifests = [json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})].into_iter().collect();
    let settings = json!({"nodeMetadata": {"propagate": propagate}});
    Ok(POLICY.validate(&request("binding")?, &settings, cluster)?.answer)
}

fn annotations(answer: &Answer) -> Value {
    answer.mutated_object.as_ref().map_or(Value::Null, |object| object["metadata"]["annotations"].clone())
}

#[test]
fn as_much_as_fits_is_written() -> Result<()> {
    let value = "x".repeat(16 * 1024 - "a".len());
    let answer = bind(json!([{"nodeAnnotation": "a"}]), json!({"a": value}), json!({}))?;
    ensure!(annotations(&answer) == json!({"a": value}) && answer.warnings.is_none(), "{answer:?}");
    Ok(())
}

#[test]
fn what_is_too_large_counts_as_lacking() -> Result<()> {
    let value = "x".repeat(16 * 1024);
    let entries = json!([{"nodeAnnotation": "a", "default": "too large"}, {"nodeAnnotation": "b"}]);
    let answer = bind(entries, json!({"a": value, "b": "fits"}), json!({}))?;
    ensure!(annotations(&answer) == json!({"a": "too large", "b": "fits"}), "{answer:?}");
    let warnings = answer.warnings.unwrap_or_default();
    ensure!(warnings.len() == 1 && warnings[0].starts_with("a is not written: with its 16384 bytes"), "{warnings:?}");

    let answer = bind(json!([{"nodeAnnotation": "a", "required": true}]), json!({"a": value}), json!({}))?;
    ensure!(!answer.accepted && answer.code == Some(403), "{answer:?}");
    Ok(())
}

#[test]
fn the_bound_is_for_all_entries_together() -> Result<()> {
    let half = "x".repeat(9 * 1024);
    let entries =
        json!([{"nodeAnnotation": "a"}, {"nodeAnnotation": "b"}, {"nodeAnnotation": "a", "podAnnotation": "c"}]);
    let answer = bind(entries, json!({"a": half, "b": half}), json!({}))?;
    ensure!(annotations(&answer) == json!({"a": half}), "{answer:?}");
    ensure!(answer.warnings.is_some_and(|warnings| warnings.len() == 2), "two entries are too much");
    Ok(())
}

#[test]
fn keys_that_a_star_expands_to_are_checked() -> Result<()> {
    let labels = json!({"a.io/": "1", "a.io/b/c": "2", "a.io/-": "3", "a.io/fine": "4"});
    let answer = bind(json!([{"nodeLabel": "a.io/*", "podLabel": "b.io/*"}]), json!({}), labels)?;
    let written = answer.mutated_object.as_ref().map(|object| object["metadata"]["labels"].clone()).unwrap_or_default();
    ensure!(written["b.io/fine"] == "4" && written.as_object().is_some_and(|labels| labels.len() == 3), "{written}");
    let warnings = answer.warnings.unwrap_or_default();
    ensure!(warnings.len() == 1 && warnings[0].contains("nor are 2 others"), "{warnings:?}");
    Ok(())
}

#[test]
fn a_node_with_a_thousand_labels_is_copied_up_to_the_bound() -> Result<()> {
    let values: Value = (0..1000).map(|at| (format!("a.io/label-{at:04}"), json!("value"))).collect();
    let answer = bind(json!([{"nodeAnnotation": "a.io/*"}]), values, json!({}))?;
    // 20 bytes each.
    ensure!(annotations(&answer).as_object().is_some_and(|written| written.len() == 16 * 1024 / 20), "{answer:?}");
    Ok(())
}

/// What a Node with so many annotations `a.io/…` that can't be label values, and a last one that can, is copied to.
fn bind_to_many(annotations: usize, propagate: Value) -> Result<(Value, Vec<String>)> {
    let mut annotations: Value = (0..annotations).map(|at| (format!("a.io/{at:05}"), json!("("))).collect();
    annotations["a.io/last"] = json!("fits");
    let answer = bind(propagate, annotations, json!({}))?;
    let written = answer.mutated_object.map_or(Value::Null, |object| object["metadata"]["labels"].clone());
    Ok((written, answer.warnings.unwrap_or_default()))
}

#[test]
fn of_a_nodes_keys_ten_thousand_are_read() -> Result<()> {
    let entry = json!([{"nodeAnnotation": "a.io/*", "podLabel": "b.io/*"}]);
    let (written, warnings) = bind_to_many(9_999, entry.clone())?;
    ensure!(written["b.io/last"] == "fits" && warnings.is_empty(), "{written} {warnings:?}");

    let (written, warnings) = bind_to_many(10_002, entry)?;
    ensure!(written["b.io/last"].is_null(), "{written}");
    let warning = r#""a.io/10000" is not written, nor are 2 others: at most 10000 keys of a Node are read"#;
    ensure!(warnings.len() == 1 && warnings[0].starts_with(warning), "{warnings:?}");
    Ok(())
}

#[test]
fn ten_thousand_keys_are_read_for_all_entries_together() -> Result<()> {
    let entries = json!([
        {"nodeAnnotation": "a.io/*", "podLabel": "b.io/*"},
        {"nodeAnnotation": "a.io/*", "podLabel": "c.io/*"},
        {"nodeAnnotation": "a.io/last", "podLabel": "c.io/last"},
        {"nodeAnnotation": "z.io/*", "podLabel": "d.io/*"},
    ]);
    let (written, warnings) = bind_to_many(9_998, entries)?;
    ensure!(written["b.io/last"] == "fits" && written["c.io/last"] == "fits", "{written}");
    let warning = r#""a.io/00001" is not written, nor are 9997 others: at most 10000 keys of a Node are read"#;
    ensure!(warnings.len() == 1 && warnings[0].starts_with(warning), "{warnings:?}");
    Ok(())
}

#[test]
fn a_required_key_that_is_not_read_is_lacking() -> Result<()> {
    let entries = json!([
        {"nodeAnnotation": "a.io/*", "podLabel": "b.io/*"},
        {"nodeAnnotation": "a.io/*", "podLabel": "c.io/*", "required": true},
    ]);
    let annotations: Value = (0..10_000).map(|at| (format!("a.io/{at:05}"), json!("("))).collect();
    let answer = bind(entries, annotations, json!({}))?;
    ensure!(answer.code == Some(403), "{answer:?}");
    Ok(())
}

#[test]
fn labels_of_others_count_with_those_that_are_written() -> Result<()> {
    let bind_with = |count: usize| {
        let labels: Value = (0..count).map(|at| (format!("a.io/label-{at:04}"), json!("value"))).collect();
        bind(json!([{"nodeLabel": "a.io/*", "podLabel": "a.io/*"}]), json!({}), labels)
    };
    // 20 bytes each; and 71, of the two labels that stood there.
    ensure!(bind_with(815)?.accepted, "815 labels");
    let answer = bind_with(816)?;
    ensure!(!answer.accepted && answer.code == Some(403), "{answer:?}");
    let message = answer.message.unwrap_or_default();
    ensure!(message.contains("has 17 KiB of labels, with those that the policy adds, and at most 16 KiB"), "{message}");
    Ok(())
}

/// What the policy answers to a Pod of so many KiB with so many terms of node affinity, to each of which it adds 256
/// bytes.
fn narrow(kib: usize, terms: usize) -> Result<Answer> {
    let key = format!("{}/{}", "a".repeat(162), "b".repeat(63));
    let settings = json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": key}});
    let term = json!({"matchExpressions": [{"key": "c", "operator": "Exists"}]});
    let required = json!({"nodeSelectorTerms": vec![term; terms]});
    let mut request = request("pod-create")?;
    request["object"]["spec"]["affinity"] =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    request["object"]["spec"]["containers"][0]["args"] = json!(["x".repeat(kib * 1024)]);
    Ok(POLICY.validate(&request, &settings, NoCluster)?.answer)
}

#[test]
fn a_pod_whose_size_would_multiply_is_refused() -> Result<()> {
    let answer = narrow(0, 1000)?;
    ensure!(answer.accepted && answer.mutated_object.is_some(), "{:?}", answer.message);
    // What came would fit, but not with what is added.
    let message = narrow(700, 1000)?.message.unwrap_or_default();
    ensure!(message.contains("KiB as the API server writes it"), "{message}");
    ensure!(narrow(700, 100)?.accepted, "fewer terms");
    Ok(())
}
