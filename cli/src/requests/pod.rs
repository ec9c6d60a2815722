//! Pods on their own: one that asks for nothing; one that runs, as its controller would create it anew; the Binding that
//! would bring it to its node again, and the Pod as it is stored then.

use node_placement_policy::{request::MIRROR, resource::Resource, settings::key::TargetKind};
use serde_json::{Map, Value, json};

use super::{
    admission::{creation_request, creator, kubelet, ordinary_user, scheduler, without_server_fields},
    controllers::controller_reference,
    plugins::{add_tolerations_of_unready_nodes, remove_token},
    resource::REQUIRED_AFFINITY,
    template::{daemon_pod_request, name_as_of_stateful_set, pod_request},
};
use crate::cluster::pod::names_its_node;
use crate::input::{
    json::{list_of, members, remove, text},
    manifests::Manifests,
    settings::ManagedKeys,
};

/// The name of the Pod in a Binding that stands for those of other Pods.
pub const ANY_POD: &str = "any";

/// The name of the Node in the Binding to one that Karpenter would create.
pub const CREATED: &str = "created-by-karpenter";

/// The name of the Pod that asks for nothing.
pub const PLAIN_POD: &str = "plain-pod";

/// The request with which an ordinary user would create a Pod that asks for nothing: what becomes of it shows the rules
/// of its namespace.
pub fn plain_pod_request(namespace: &str) -> Value {
    let mut spec = json!({ "containers": [{ "name": "c", "image": "preview" }] });
    add_tolerations_of_unready_nodes(&mut spec);
    let pod = json!({
        "kind": Resource::Pod.kind(),
        "apiVersion": "v1",
        "metadata": { "name": PLAIN_POD, "namespace": namespace },
        "spec": spec,
        "status": {},
    });
    creation_request(Resource::Pod, pod, ordinary_user())
}

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

/// The request that creates the Pod anew: from the template of its `controller`, if that is known.
pub fn recreation_request(
    pod: &Value,
    controller: Option<&Value>,
    managed: &ManagedKeys,
    cluster: &Manifests,
) -> Value {
    if is_mirror(pod) {
        return creation_request(Resource::Pod, without_server_fields(pod), kubelet(text(&pod["spec"]["nodeName"])));
    }
    let from_template = controller.and_then(|controller| match node_of_daemon_pod(pod) {
        Some(node) => daemon_pod_request(controller, node, cluster),
        None => pod_request(controller, cluster),
    });
    // A StatefulSet names its Pods; of the others only the beginning is known before they are there.
    let is_named = is_owned_by(pod, "StatefulSet");
    if let Some(mut request) = from_template {
        if is_named {
            request["name"] = pod["metadata"]["name"].clone();
            name_as_of_stateful_set(&mut request["object"], text(&pod["metadata"]["name"]));
        }
        return request;
    }
    let mut created = without_server_fields(pod);
    remove_traces(&mut created, names_its_node(pod), managed);
    if created["metadata"].get("generateName").is_some() && !is_named {
        remove(&mut created["metadata"], &["name"]);
    }
    creation_request(Resource::Pod, created, creator(pod))
}

fn is_owned_by(pod: &Value, kind: &str) -> bool {
    controller_reference(pod).is_some_and(|owner| owner["kind"] == kind)
}

/// The node for which the DaemonSet controller has made a Pod.
fn node_of_daemon_pod(pod: &Value) -> Option<&str> {
    if !is_owned_by(pod, "DaemonSet") {
        return None;
    }
    let terms = list_of(&pod["spec"]["affinity"]["nodeAffinity"][REQUIRED_AFFINITY]["nodeSelectorTerms"]);
    terms.iter().find_map(|term| term["matchFields"][0]["values"][0].as_str())
}

/// Removes what a Pod got after it was created, and what the policy manages. A node selector that was injected can't be
/// told from its own.
fn remove_traces(pod: &mut Value, names_node: bool, managed: &ManagedKeys) {
    let is_bound = pod["spec"].get("nodeName").is_some();
    remove(&mut pod["spec"], &["ephemeralContainers"]);
    if !names_node {
        remove(&mut pod["spec"], &["nodeName"]);
    }
    remove_token(&mut pod["spec"]);
    for kind in [TargetKind::Label, TargetKind::Annotation] {
        if let Some(values) = pod["metadata"][kind.member()].as_object_mut() {
            values.retain(|key, _| !managed.has(kind, key));
        }
    }
    if is_bound {
        remove(&mut pod["metadata"]["labels"], &TOPOLOGY);
    }
}

/// The request with which the scheduler binds a Pod to a node, whose labels are looked up in `cluster`.
pub fn binding_request(namespace: &str, pod: &str, node: &str, cluster: &Manifests) -> Value {
    let mut object = json!({
        "kind": Resource::Binding.kind(),
        "apiVersion": "v1",
        "metadata": { "name": pod, "namespace": namespace },
        "target": { "kind": "Node", "name": node },
    });
    // The API server has put these there before.
    let labels = cluster.node(node).map(|node| &node["metadata"]["labels"]);
    for key in TOPOLOGY {
        if let Some(value) = labels.and_then(|labels| labels.get(key)) {
            object["metadata"]["labels"][key] = value.clone();
        }
    }
    creation_request(Resource::Binding, object, scheduler())
}

/// The Pod as it is stored after the binding: the API server copies the Binding's annotations and labels over the Pod's,
/// in the write that sets the node.
pub fn bound_pod(pod: &Value, binding: &Value) -> Value {
    let mut stored = pod.clone();
    for kind in ["annotations", "labels"] {
        for (key, value) in members(&binding["metadata"][kind]) {
            stored["metadata"][kind][key] = value.clone();
        }
    }
    stored["spec"]["nodeName"] = binding["target"]["name"].clone();
    stored
}

/// The environment of the Pod's containers, with the downward API's fields resolved as a kubelet does.
pub fn environment(pod: &Value) -> Map<String, Value> {
    let containers = list_of(&pod["spec"]["containers"]).iter();
    let variables = containers.flat_map(|container| list_of(&container["env"]));
    let resolved = variables.map(|variable| {
        let path = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
        let value = path.map_or_else(|| variable["value"].clone(), |path| field(pod, path));
        (text(&variable["name"]).to_owned(), value)
    });
    resolved.collect()
}

/// `metadata.annotations['example.com/zone']`, `spec.nodeName`; a key that is missing is empty.
fn field(pod: &Value, path: &str) -> Value {
    let (path, key) = match path.split_once("['") {
        Some((path, key)) => (path, Some(key.trim_end_matches("']"))),
        None => (path, None),
    };
    let value = path.split('.').chain(key).fold(pod, |value, step| &value[step]);
    if value.is_null() { Value::from("") } else { value.clone() }
}
