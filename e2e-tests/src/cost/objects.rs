//! Objects as clusters have them, at any size.

use std::path::Path;

use serde_json::{Value, json};

use crate::{admission_request, read_document};

/// A request that a real API server sent.
pub fn request(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/requests/{name}.json"));
    admission_request(&read_document(&file).expect("a fixture")).clone()
}

/// The creation of a Pod of that many bytes: containers with what belongs to them, as often as it takes.
pub fn pod(bytes: usize) -> Value {
    let mut request = request("pod-create");
    let pod = &mut request["object"];
    pod["metadata"]["annotations"] = json!({"example.com/note": ""});
    pod["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:spec": {"f:containers": {}}});
    let mut missing = bytes.saturating_sub(pod.to_string().len());
    for index in 0.. {
        let name = format!("c{index}");
        let (container, volume, fields) = (container(&name), volume(&name), container_fields());
        let added = [&container, &volume, &fields].map(|piece| piece.to_string().len()).iter().sum::<usize>() + 25;
        if added > missing {
            break;
        }
        missing -= added;
        push(&mut pod["spec"]["containers"], container);
        push(&mut pod["spec"]["volumes"], volume);
        pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"]
            [format!("k:{{\"name\":\"{name}\"}}")] = fields;
    }
    let missing = bytes.saturating_sub(pod.to_string().len());
    pod["metadata"]["annotations"]["example.com/note"] = "n".repeat(missing).into();
    request
}

fn push(list: &mut Value, item: Value) {
    if let Value::Array(list) = list {
        list.push(item);
    }
}

fn container(name: &str) -> Value {
    json!({
        "name": name,
        "image": format!("registry.example.com/team-a/{name}:1.4.2"),
        "args": ["--listen=:8080", "--log-format=json", "--filter=level >= \"info\""],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "DATABASE", "value": "postgres://db.team-a.svc:5432/orders?sslmode=require"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": name}}},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
        ],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"name": name, "mountPath": "/etc/config", "readOnly": true}],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "http", "scheme": "HTTP"},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}}
    })
}

fn volume(name: &str) -> Value {
    json!({"name": name, "configMap": {"name": format!("{name}-config"), "defaultMode": 420}})
}

fn container_fields() -> Value {
    json!({
        ".": {}, "f:args": {}, "f:env": {".": {}, "k:{\"name\":\"DATABASE\"}": {".": {}, "f:name": {}, "f:value": {}}},
        "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:ports": {}, "f:readinessProbe": {}, "f:resources": {},
        "f:securityContext": {}, "f:terminationMessagePath": {}, "f:volumeMounts": {}
    })
}

/// The Namespace of all requests, which has a node selector.
pub fn namespace() -> Value {
    let mut namespace = request("namespace-update-annotation")["object"].clone();
    namespace["metadata"]["annotations"]["scheduler.alpha.kubernetes.io/node-selector"] = "env=production".into();
    namespace
}

/// What a look-up of a Node answers: with field masks, its metadata, in that many bytes.
pub fn node(bytes: usize) -> Value {
    let mut node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "node-a",
            "uid": "0c1f9b52-6e1f-4a27-9a36-58e0a3a7d3a1",
            "resourceVersion": "48211",
            "creationTimestamp": "2026-11-20T12:00:00Z",
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "env": "production",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "node-a",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m.xlarge",
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": "zone-1"
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "managedFields": [{
                "manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-11-20T12:00:01Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:annotations": {}, "f:labels": {}}}
            }]
        }
    });
    // A label to be copied for each of up to twenty entries.
    for index in 0..20 {
        node["metadata"]["labels"][format!("example.com/fact-{index}")] = format!("value-{index}").into();
    }
    for index in 0.. {
        let missing = bytes.saturating_sub(node.to_string().len());
        let (key, value) = (format!("agent.example.com/state-{index}"), r#"{"mtu":1450,"backend":"vxlan"}"#.repeat(5));
        if missing < 2 * value.len() {
            node["metadata"]["annotations"]["example.com/note"] = "n".repeat(missing.saturating_sub(22)).into();
            break;
        }
        node["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"][format!("f:{key}")] = json!({});
        node["metadata"]["annotations"][key] = value.into();
    }
    node
}
