//! `podNodeSelectorPluginConfig`, against what the in-tree `PodNodeSelector` plugin answers.

mod common;

use common::{TestCluster, validate};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Vector {
    id: u32,
    operation: String,
    subresource: String,
    config: Value,
    namespace: Value,
    pod: Value,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    admit: bool,
    #[serde(default)]
    node_selector: Value,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: u64,
}

#[test]
fn every_pod_is_judged_as_in_tree() {
    let vectors: Vec<Vector> = common::vectors("podnodeselector.jsonl");
    assert_eq!(vectors.len(), 1497);
    for Vector { id, operation, subresource, config, namespace, pod, expect } in vectors {
        let object = json!({"metadata": {"name": pod["name"]}, "spec": {"nodeSelector": pod["nodeSelector"]}});
        let request = json!({
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": subresource,
            "operation": operation,
            "namespace": namespace["name"],
            "userInfo": {"username": "system:node:a", "groups": ["system:nodes"]},
            "object": object,
            "oldObject": object,
        });
        let cluster = TestCluster::with_annotations(namespace["annotations"].clone());
        let answer = validate(&request, &json!({"podNodeSelectorPluginConfig": config}), &cluster);
        assert_eq!(answer.accepted(), expect.admit, "line {id}: {answer:?}");
        if expect.admit {
            let result = answer.mutated().unwrap_or(&object);
            let empty = |value: &Value| if value.is_null() { json!({}) } else { value.clone() };
            assert_eq!(empty(&result["spec"]["nodeSelector"]), empty(&expect.node_selector), "line {id}");
        } else if expect.code == 403 {
            let (_, sentence) = expect.error.split_once(" is forbidden: ").unwrap();
            assert_eq!((answer.code(), answer.message()), (403, sentence), "line {id}");
        } else {
            assert!(matches!(answer.code(), 403 | 500), "line {id}: {answer:?}");
        }
    }
}
