//! The recorded answers of `labels.Parse` and of the scheduler come out of the module too: a selector by way of the
//! settings and of Bindings, a Pod's own demands and its tolerations by way of Pods that name their node.

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

/// Whether a taint tells a passing condition: those don't count for Pods that name their node.
fn passes(taint: &Value) -> bool {
    taint["key"].as_str().is_some_and(|key| key.starts_with("node.kubernetes.io/"))
}

/// What the scheduler makes of a node's taints, less those that don't count. It stops at the first that is not
/// tolerated: where that one doesn't count and others follow that do, it is not recorded.
fn is_tolerated(vector: &Value) -> Option<bool> {
    let untolerated = &vector["untolerated"];
    if untolerated.is_null() || !passes(untolerated) {
        return Some(untolerated.is_null());
    }
    let taints = vector["taints"].as_array().map_or(&[][..], Vec::as_slice);
    taints.iter().skip_while(|taint| *taint != untolerated).all(passes).then_some(true)
}

#[test]
fn pods_may_name_the_nodes_whose_taints_they_tolerate() -> Result<()> {
    let policy = policy_under_test()?;
    // Something must be demanded for a Node to be looked up; this changes no match.
    let settings =
        json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": "!example.com/never"}});
    let (mut tolerated, mut untolerated) = (0, 0);
    for (line, vector) in (1..).zip(vectors("taints.jsonl")?) {
        let Some(expected) = is_tolerated(&vector) else { continue };
        let taints = json!({"taints": vector["taints"]});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": taints});
        let spec = json!({"nodeName": "n", "tolerations": vector["tolerations"]});
        let request = request("pods", "", json!({"metadata": {"name": "p"}, "spec": spec}));
        let cluster: Manifests = [node].into_iter().collect();
        let answer = policy.validate(&request, &settings, cluster)?.answer;
        ensure!(expected == is_right(&answer)?, "line {line}: {answer:?}");
        tolerated += usize::from(expected);
        untolerated += usize::from(!expected);
    }
    ensure!((tolerated, untolerated) == (632, 774), "{tolerated} tolerated, {untolerated} not");
    Ok(())
}
