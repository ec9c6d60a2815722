//! What the API server and the DaemonSet controller add to every Pod before webhooks see it, as far as the policy looks
//! at it.

use serde_json::{Value, json};

use crate::input::json::{list_of, text};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Adds the tolerations of unready nodes that every Pod gets, unless it has such.
///
/// Upstream: the admission plugin `DefaultTolerationSeconds`.
pub fn add_tolerations(spec: &mut Value) {
    for key in [NOT_READY, UNREACHABLE] {
        let tolerates = |toleration: &Value| {
            let (own, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
            (own == key || own.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        };
        if !list_of(&spec["tolerations"]).iter().any(tolerates) {
            let added = json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            push(spec, added);
        }
    }
}

/// Adds the tolerations that the DaemonSet controller gives its Pods.
///
/// Upstream: `AddOrUpdateDaemonPodTolerations` of `k8s.io/kubernetes/pkg/controller/daemon/util`.
pub fn add_tolerations_of_daemon_sets(spec: &mut Value) {
    let mut added = vec![
        (NOT_READY, "NoExecute"),
        (UNREACHABLE, "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if spec["hostNetwork"] == true {
        added.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    for (key, effect) in added {
        let toleration = json!({ "key": key, "operator": "Exists", "effect": effect });
        if !list_of(&spec["tolerations"]).contains(&toleration) {
            push(spec, toleration);
        }
    }
}

fn push(spec: &mut Value, toleration: Value) {
    if spec["tolerations"].is_null() {
        spec["tolerations"] = json!([]);
    }
    if let Some(tolerations) = spec["tolerations"].as_array_mut() {
        tolerations.push(toleration);
    }
}
