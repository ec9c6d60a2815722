//! A Pod that runs, as its controller would create it anew, and the Binding that would bring it to its node again.

use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde_json::{Value, json};

use super::{
    admission::{as_new, created_by, kubelet, request, scheduler, somebody},
    defaults::{containers, is_token},
    owner::controller,
    resource::REQUIRED_AFFINITY,
    template::{creation_from, creation_on, name_as_of_stateful_set},
};
use crate::input::{
    json::{list_of, remove, text},
    manifests::Manifests,
    settings::ManagedKeys,
};

/// Upstream: `MirrorPodAnnotationKey` of `k8s.io/api/core/v1`.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What the API server itself copies from a Node to the Pods that are bound to it, from Kubernetes 1.35 on.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// Whether a Pod stands for what a kubelet runs by itself.
pub fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

/// Whether a Pod has run to its end. It still names its node.
pub fn is_finished(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// The request that creates the Pod anew: by what makes it, if that is known.
pub fn creation(pod: &Value, maker: Option<&Value>, managed: &ManagedKeys, cluster: &Manifests) -> Value {
    if is_mirror(pod) {
        return request(Resource::Pod, as_new(pod), kubelet(text(&pod["spec"]["nodeName"])));
    }
    let made = maker.and_then(|maker| match node_of_its_daemon_set(pod) {
        Some(node) => creation_on(maker, node, cluster),
        None => creation_from(maker, cluster),
    });
    let owner = controller(pod);
    // A StatefulSet names its Pods; of the others only the beginning is known before they are there.
    let is_named = owner.is_some_and(|owner| owner["kind"] == "StatefulSet");
    if let Some(mut made) = made {
        if is_named {
            made["name"] = pod["metadata"]["name"].clone();
            name_as_of_stateful_set(&mut made["object"], text(&pod["metadata"]["name"]));
        }
        return made;
    }
    let mut anew = as_new(pod);
    without_traces(&mut anew, managed);
    if anew["metadata"].get("generateName").is_some() && !is_named {
        remove(&mut anew["metadata"], &["name"]);
    }
    request(Resource::Pod, anew, owner.map_or_else(somebody, |owner| created_by(text(&owner["kind"]))))
}

/// The node for which the DaemonSet controller has made a Pod.
fn node_of_its_daemon_set(pod: &Value) -> Option<&str> {
    let terms = list_of(&pod["spec"]["affinity"]["nodeAffinity"][REQUIRED_AFFINITY]["nodeSelectorTerms"]);
    let is_made = controller(pod).is_some_and(|owner| owner["kind"] == "DaemonSet");
    terms.iter().filter(|_| is_made).find_map(|term| term["matchFields"][0]["values"][0].as_str())
}

/// Where nobody knows what makes it, the Pod itself has to do. It cannot be told from it what node selector somebody injected.
fn without_traces(pod: &mut Value, managed: &ManagedKeys) {
    let is_bound = pod["spec"].get("nodeName").is_some();
    remove(&mut pod["spec"], &["nodeName", "ephemeralContainers"]);
    leave_out_service_account_token(&mut pod["spec"]);
    for kind in [TargetKind::Label, TargetKind::Annotation] {
        if let Some(values) = pod["metadata"][kind.member()].as_object_mut() {
            values.retain(|key, _| !managed.has(kind, key));
        }
    }
    if is_bound {
        remove(&mut pod["metadata"]["labels"], &TOPOLOGY);
    }
}

/// The volume with which the API server hands a Pod its token has a random name, and is mounted in every container.
fn leave_out_service_account_token(spec: &mut Value) {
    let leave_out = |value: &mut Value, list: &str| {
        if let Some(volumes) = value.get_mut(list).and_then(Value::as_array_mut) {
            volumes.retain(|volume| !is_token(volume));
        }
    };
    leave_out(spec, "volumes");
    containers(spec).for_each(|container| leave_out(container, "volumeMounts"));
}

/// The request that binds the Pod to the node it is on; none, if there is nothing to bind: the Pod waits, or has run,
/// or names its node itself when it is `created`.
pub fn binding<'c>(pod: &Value, created: &Value, node: impl FnOnce(&str) -> Option<&'c Value>) -> Option<Value> {
    let name = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty())?;
    if is_finished(pod) || created["spec"].get("nodeName").is_some() {
        return None;
    }
    let metadata = &pod["metadata"];
    let mut object = json!({
        "kind": Resource::Binding.kind(),
        "apiVersion": "v1",
        "metadata": { "name": metadata["name"], "namespace": metadata["namespace"] },
        "target": { "kind": "Node", "name": name },
    });
    // The API server has put these there before.
    let labels = node(name).map(|node| &node["metadata"]["labels"]);
    for key in TOPOLOGY {
        if let Some(value) = labels.and_then(|labels| labels.get(key)) {
            object["metadata"]["labels"][key] = value.clone();
        }
    }
    Some(request(Resource::Binding, object, scheduler()))
}
