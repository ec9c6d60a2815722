//! What the objects of a generated cluster say.

use serde_json::{Value, json};

/// What the Pods of an application ask for, beside what all do.
pub fn wishes(index: usize) -> Value {
    let required = |expression: Value| {
        let terms = json!({ "nodeSelectorTerms": [{ "matchExpressions": [expression] }] });
        json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": terms } } })
    };
    match index % 6 {
        0 => json!({ "nodeSelector": { "env": "development" } }),
        1 => json!({ "nodeSelector": { "pool": "blue" } }),
        2 => required(json!({ "key": "pool", "operator": "In", "values": ["blue", "red"] })),
        3 => required(json!({ "key": "env", "operator": "Exists" })),
        _ => json!({}),
    }
}

pub fn namespace_name(index: usize) -> String {
    let kind = ["team", "production", "plain"][index % 3];
    format!("{kind}-{index}")
}

pub fn node_name(index: usize) -> String {
    format!("node-{index}")
}

/// By the hash of the template in the fixtures.
pub fn replica_set(deployment: &str) -> String {
    format!("{deployment}-6b57ffc4c")
}

pub fn zone(node: usize) -> String {
    format!("zone-{}", node % 3)
}

/// Of about the size that Nodes have.
pub fn node(index: usize) -> Value {
    let images = (0..50).map(|image| {
        json!({ "names": [format!("registry.example.com/application-{image}:v1.2.3")], "sizeBytes": 123_456_789 })
    });
    let name = node_name(index);
    let (env, pool) = (["production", "development"][index % 2], ["blue", "red", "shared"][index % 3]);
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": format!("node-{index}"),
            "labels": {
                "kubernetes.io/hostname": name,
                "env": env,
                "pool": pool,
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": zone(index),
            },
        },
        "spec": { "providerID": format!("example://{name}") },
        "status": { "images": images.collect::<Value>() },
    })
}

/// What the API server writes into every object.
pub fn stored(object: &Value, index: usize) -> Value {
    let mut object = object.clone();
    object["metadata"]["uid"] = format!("00000000-0000-0000-0000-{index:012}").into();
    object["metadata"]["resourceVersion"] = format!("{}", 1000 + index).into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    object
}

/// The status of a Pod that runs.
pub fn running(node: &str) -> Value {
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let condition = |kind: &str| {
        let since = "2026-01-01T00:00:05Z";
        json!({ "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": since })
    };
    json!({
        "phase": "Running",
        "conditions": conditions.map(condition),
        "hostIP": "10.0.0.1",
        "podIP": "10.244.0.1",
        "startTime": "2026-01-01T00:00:01Z",
        "qosClass": "BestEffort",
        "containerStatuses": [{
            "name": "c",
            "ready": true,
            "restartCount": 0,
            "image": "registry.k8s.io/pause:3.10",
            "imageID": format!("registry.k8s.io/pause@sha256:{:064}", node.len()),
            "containerID": format!("containerd://{:064}", node.len()),
            "state": { "running": { "startedAt": "2026-01-01T00:00:04Z" } },
        }],
    })
}
