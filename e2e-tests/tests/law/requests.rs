//! Requests of every kind that placement decides about, made from one Pod.

use e2e_tests::{Evaluation, Manifests, Policy};
use serde_json::{Value, json};

use super::POLICY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pod,
    PodUpdate,
    Deployment,
    DaemonSet,
    Binding,
    Namespace,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Pod, Self::PodUpdate, Self::Deployment, Self::DaemonSet, Self::Binding, Self::Namespace];

    /// Where the object has the spec of a Pod.
    pub(super) fn spec_path(self) -> &'static [&'static str] {
        match self {
            Self::Pod | Self::PodUpdate => &["spec"],
            Self::Deployment | Self::DaemonSet => &["spec", "template", "spec"],
            Self::Binding | Self::Namespace => &[],
        }
    }

    /// The request about namespace team-a. A Binding is to the node that the Pod names, or to node-a; the update adds
    /// to a Pod that waits all that the Pod has.
    pub(super) fn request(self, pod: &Value, namespace: &Value) -> Value {
        let mut template = json!({"metadata": {"name": "p"}, "spec": {"template": {}}});
        template["spec"]["template"]["spec"] = pod["spec"].clone();
        let mut waiting = pod.clone();
        waiting["spec"]["nodeName"] = Value::Null;
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("node-a");
        let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}});
        match self {
            Self::Pod => request("", "pods", "CREATE", pod),
            Self::PodUpdate => with_old_object(request("", "pods", "UPDATE", &waiting)),
            Self::Deployment => request("apps", "deployments", "CREATE", &template),
            Self::DaemonSet => request("apps", "daemonsets", "CREATE", &template),
            Self::Binding => request("", "bindings", "CREATE", &binding),
            Self::Namespace => request("", "namespaces", "CREATE", namespace),
        }
    }
}

fn request(group: &str, resource: &str, operation: &str, object: &Value) -> Value {
    json!({
        "resource": {"group": group, "version": "v1", "resource": resource},
        "operation": operation,
        "name": "team-a",
        "namespace": "team-a",
        "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
        "object": object,
        "oldObject": null,
    })
}

fn with_old_object(mut request: Value) -> Value {
    request["oldObject"] = json!({"metadata": {"name": "p"}, "spec": {}});
    request
}

/// The Namespace that the requests are about.
pub(super) fn namespace(labels: &Value, annotations: &Value) -> Value {
    let metadata = json!({"name": "team-a", "labels": labels, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

/// What there is to be looked up: the Namespace, and node-a, with a taint that the first toleration tolerates. It gives
/// what is asked for, and not a field more.
pub(super) fn cluster(namespace: &Value, labels: &Value, tolerations: &Value) -> Manifests {
    let text = |name: &str, otherwise: &str| tolerations[0][name].as_str().unwrap_or(otherwise).to_owned();
    let taint = json!({"key": text("key", "a"), "value": text("value", ""), "effect": text("effect", "NoSchedule")});
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-a", "labels": labels},
        "spec": {"taints": [taint]},
    });
    [namespace.clone(), node].into_iter().collect()
}

pub(super) fn evaluate(
    request: &Value,
    settings: &Value,
    cluster: impl e2e_tests::Cluster + Send + Sync + 'static,
) -> Evaluation {
    policy().validate(request, settings, cluster).expect("an answer")
}

pub(super) fn are_valid(settings: &Value) -> bool {
    policy().validate_settings(settings).expect("an answer").valid
}

fn policy() -> &'static Policy {
    &POLICY
}
