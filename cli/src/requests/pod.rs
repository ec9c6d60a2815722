//! A Pod that runs, as its controller would create it anew, and the Binding that would bring it to its node again.

use node_placement_policy::settings::key::TargetKind;
use serde_json::{Value, json};

use super::{
    admission::{as_new, created_by, kubelet, request, scheduler, somebody},
    defaults::{containers, is_token},
    owner::controller,
    resource::{BINDING, POD, REQUIRED_AFFINITY},
    runtime_class,
    template::is_by_controller,
};
use crate::input::{
    json::{list_of, members, remove, text},
    manifests::Manifests,
    settings::ManagedKeys,
};

/// Upstream: `MirrorPodAnnotationKey` of `k8s.io/api/core/v1`.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What the API server itself copies from a Node to the Pods that are bound to it, from Kubernetes 1.35 on.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// What the API server, or the controller, puts into every Pod whose template says nothing of it.
const DEFAULTED: [&str; 7] = [
    "serviceAccount",
    "serviceAccountName",
    "priority",
    "preemptionPolicy",
    "enableServiceLinks",
    "hostname",
    "subdomain",
];

/// Where the default tolerations, and those that the DaemonSet controller adds, have their keys.
const NODE_CONDITIONS: &str = "node.kubernetes.io/";

/// Whether a Pod stands for what a kubelet runs by itself.
pub fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

/// Whether a Pod has run to its end. It still names its node.
pub fn is_finished(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// The request that creates the Pod anew, from the `template` of its controller if that is known.
pub fn creation(pod: &Value, template: Option<&Value>, managed: &ManagedKeys, cluster: &Manifests) -> Value {
    if is_mirror(pod) {
        return request(POD, as_new(pod), kubelet(text(&pod["spec"]["nodeName"])));
    }
    let mut anew = as_new(pod);
    match template {
        Some(template) => {
            from_template(&mut anew, template);
            // What runs has it already.
            runtime_class::merge(&mut anew["spec"], cluster);
        }
        None => without_traces(&mut anew, managed),
    }
    let owner = controller(pod);
    let user_info = owner.map_or_else(somebody, |owner| created_by(text(&owner["kind"])));
    // A StatefulSet names its Pods; of the others only the beginning is known before they are there.
    if anew["metadata"].get("generateName").is_some() && owner.is_none_or(|owner| owner["kind"] != "StatefulSet") {
        remove(&mut anew["metadata"], &["name"]);
    }
    request(POD, anew, user_info)
}

/// Takes over what the owner's template says; of the Pod stays what only its controller and the API server can say.
fn from_template(pod: &mut Value, template: &Value) {
    let running = std::mem::replace(&mut pod["spec"], template["spec"].clone());
    for field in DEFAULTED {
        if let (None, Some(value)) = (pod["spec"].get(field), running.get(field)) {
            pod["spec"][field] = value.clone();
        }
    }
    let tolerations = tolerations(&template["spec"], &running);
    if !tolerations.is_empty() {
        pod["spec"]["tolerations"] = tolerations.into();
    }
    if controller(pod).is_some_and(|owner| owner["kind"] == "DaemonSet") {
        pin(&mut pod["spec"], &running);
    }
    let mut labels = template["metadata"]["labels"].clone();
    for (key, value) in members(&pod["metadata"]["labels"]) {
        if is_by_controller(key) {
            labels[key] = value.clone();
        }
    }
    for (kind, values) in [("labels", labels), ("annotations", template["metadata"]["annotations"].clone())] {
        remove(&mut pod["metadata"], &[kind]);
        if !values.is_null() {
            pod["metadata"][kind] = values;
        }
    }
}

/// The template's, and of the Pod's those that the API server or the DaemonSet controller added.
fn tolerations(template: &Value, running: &Value) -> Vec<Value> {
    let list = |spec: &Value| spec["tolerations"].as_array().cloned().unwrap_or_default();
    let mut tolerations = list(template);
    for added in list(running) {
        if text(&added["key"]).starts_with(NODE_CONDITIONS) && !tolerations.contains(&added) {
            tolerations.push(added);
        }
    }
    tolerations
}

/// Does what the DaemonSet controller does with the required node affinity of a template: it replaces its terms by one
/// that names the node. The running Pod has that name.
fn pin(spec: &mut Value, running: &Value) {
    let terms = list_of(&running["affinity"]["nodeAffinity"][REQUIRED_AFFINITY]["nodeSelectorTerms"]);
    let Some(fields) = terms.iter().find_map(|term| term.get("matchFields")) else { return };
    let affinity = json!({ "nodeSelectorTerms": [{ "matchFields": fields }] });
    spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY] = affinity;
}

/// Without a template, the Pod itself has to do. It cannot be told from it what node selector somebody injected.
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
        "kind": BINDING.kind,
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
    Some(request(BINDING, object, scheduler()))
}
