//! The recorded answers of `labels.Parse` and of the scheduler come out of the module too: a selector by way of the
//! settings and of Bindings, a Pod's own demands by way of Pods that name their node.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use e2e_tests::{Answer, Manifests, policy_under_test};
use serde_json::{Value, json};

fn vectors(name: &str) -> Result<Vec<Value>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn request(resource: &str, sub_resource: &str, object: Value) -> Value {
    json!({
        "resource": {"group": "", "version": "v1", "resource": resource},
        "subResource": sub_resource,
        "operation": "CREATE",
        "namespace": "team-a",
        "userInfo": {"username": "somebody"},
        "object": object,
    })
}

fn node(name: &str, labels: &Value) -> Manifests {
    [json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})].into_iter().collect()
}

/// Whether the policy takes the node for a right one. It must not reject for another reason.
fn is_right(answer: &Answer) -> Result<bool> {
    ensure!(answer.accepted || answer.code == Some(403), "{answer:?}");
    Ok(answer.accepted)
}

#[test]
fn selectors_are_parsed_and_matched_as_recorded() -> Result<()> {
    let policy = policy_under_test()?;
    let (mut lines, mut contradictions, mut judged) = (0, 0, 0);
    for vector in vectors("selectors.jsonl")? {
        let settings = json!({"placement": {
            "namespaceAnnotations": [],
            "clusterDefaultNodeSelector": vector["selector"],
            "onBindings": "Verify",
        }});
        let answer = policy.validate_settings(&settings)?;
        let message = answer.message.unwrap_or_default();
        // What parses and contradicts itself is a mistake in settings all the same. No node can be right then.
        let contradicts = message.contains("contradicts itself");
        ensure!(vector["parse"]["ok"] == (answer.valid || contradicts), "line {}: {message}", vector["id"]);
        lines += 1;
        contradictions += usize::from(contradicts);
        for case in vector["matches"].as_array().into_iter().flatten() {
            let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
            let request = request("pods", "binding", binding);
            let answer = policy.validate(&request, &settings, node("n", &case["labels"]))?.answer;
            ensure!(case["match"] == is_right(&answer)?, "line {}: {case}", vector["id"]);
            judged += 1;
        }
    }
    ensure!(
        (lines, contradictions, judged) == (1472, 62, 2090),
        "{lines} lines, {contradictions} contradictions, {judged} matches"
    );
    Ok(())
}

#[test]
fn pods_may_name_the_nodes_that_the_scheduler_would_choose() -> Result<()> {
    let policy = policy_under_test()?;
    // Something must be demanded for a Node to be looked up; this changes no match.
    let settings =
        json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": "!example.com/never"}});
    let (mut judged, mut right) = (0, 0);
    for vector in vectors("nodeaffinity.jsonl")? {
        let name = vector["node"]["name"].as_str().unwrap_or_default();
        let mut spec = vector["pod"].clone();
        spec["nodeName"] = json!(name);
        let request = request("pods", "", json!({"metadata": {"name": "p"}, "spec": spec}));
        let answer = policy.validate(&request, &settings, node(name, &vector["node"]["labels"]))?.answer;
        if vector["apiValid"] == true && !name.is_empty() {
            ensure!(vector["match"] == is_right(&answer)?, "line {}: {answer:?}", vector["id"]);
            judged += 1;
            right += usize::from(answer.accepted);
        }
    }
    ensure!((judged, right) == (1229, 675), "{judged} Pods, of which {right} name a node that is right");
    Ok(())
}
