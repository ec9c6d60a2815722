//! Which nodes the tool says take a Pod, against what the scheduler's code answers.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use cli::{
    Manifests,
    scheduling::{
        constraints::{Constraints, Exclusion},
        node::Node,
    },
};
use k8s_openapi::api::core::v1;
use serde_json::{Value, json};

fn vectors(name: &str) -> Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn node(object: Value) -> Result<Node> {
    Ok(Node::from(serde_json::from_value::<v1::Node>(object)?))
}

#[test]
fn pods_match_nodes_as_the_scheduler_has_it() -> Result<()> {
    let mut vectors = vectors("nodeaffinity.jsonl")?;
    // What no API server stores is in no cluster.
    vectors.retain(|vector| vector["apiValid"] == true);
    for vector in &vectors {
        let node = node(json!({ "metadata": vector["node"] }))?;
        let excluded = Constraints::read(&vector["pod"], &Manifests::default())?.excluded_from(&node);
        assert_eq!(excluded.is_none(), vector["match"] == true, "{excluded:?}: {vector}");
    }
    assert_eq!(vectors.len(), 1229);
    Ok(())
}

#[test]
fn taints_are_tolerated_as_the_scheduler_has_it() -> Result<()> {
    let vectors = vectors("taints.jsonl")?;
    for vector in &vectors {
        let mut tolerations = vector["tolerations"].clone();
        // The scheduler does not ask for how long.
        for toleration in tolerations.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            toleration.remove("tolerationSeconds");
        }
        let pod = Constraints::read(&json!({ "tolerations": tolerations }), &Manifests::default())?;
        let taints = vector["taints"].as_array().cloned().unwrap_or_default();
        // Each by itself: which of several comes first is another question.
        let excluded = taints.iter().find(|taint| {
            let node = node(json!({ "metadata": { "name": "n" }, "spec": { "taints": [taint] } }));
            node.is_ok_and(|node| pod.excluded_from(&node).is_some() || pod.waits_for(&node))
        });
        assert_eq!(excluded.unwrap_or(&Value::Null), &vector["untolerated"], "{vector}");
    }
    assert_eq!(vectors.len(), 1500);
    Ok(())
}

#[test]
fn the_taint_that_excludes_a_pod_is_named() -> Result<()> {
    let node = node(json!({
        "metadata": { "name": "n" },
        "spec": { "taints": [{ "key": "gpu", "value": "yes", "effect": "NoSchedule" }] },
    }))?;
    match Constraints::read(&json!({}), &Manifests::default())?.excluded_from(&node) {
        Some(Exclusion::Taints { taints, .. }) => assert_eq!(taints.first().unwrap().to_string(), "gpu=yes:NoSchedule"),
        other => panic!("{other:?}"),
    }
    Ok(())
}
