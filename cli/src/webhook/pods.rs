//! Makes requests for Pods: as a controller creates one from the template of a workload; for a Pod that requests nothing;
//! for one that is created anew; for its Binding, and the Pod as it is stored then.

use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde_json::{Map, Value, json};

use super::{
    defaults::{add_tolerations, add_tolerations_of_unready_nodes, containers, push},
    request::{MADE_UP_UID, Request, Requester, without_server_fields},
    resource::REQUIRED_AFFINITY,
};
use crate::{
    ManagedKeys,
    cluster::{
        controllers::{Controller, controller_reference},
        manifests::Manifests,
        pod::names_its_node,
        pod_template::{is_mirror, template},
    },
    input::json::{list_of, members, remove, set, text},
};

/// Returns the request with which a controller would create a Pod of `workload`; `None` if no controller makes Pods of
/// such.
///
/// A Pod of a DaemonSet is made for one node: see [`daemon_pod_request`].
pub fn pod_request(workload: &Value) -> Option<Request> {
    let kind = text(&workload["kind"]);
    let controller = Controller::of_kind(kind)?;
    let name = text(&workload["metadata"]["name"]);
    let (owner_kind, owner) = controller.pod_owner(kind, name);
    let owner_resource = Resource::all().find(|resource| resource.kind() == owner_kind)?;
    let mut pod = template(workload)?.clone();
    if ["metadata", "spec"].iter().any(|part| !(pod[part].is_null() || pod[part].is_object())) {
        return None;
    }
    add_controller_tolerations(&mut pod["spec"], controller);
    add_tolerations_of_unready_nodes(&mut pod["spec"]);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = Resource::Pod.kind().into();
    pod["status"] = json!({});
    // Controllers ignore a name in the template.
    remove(&mut pod["metadata"], &["name"]);
    if kind == "StatefulSet" {
        name_as_of_stateful_set(&mut pod, &format!("{name}-0"));
        let service = Some(&workload["spec"]["serviceName"]).filter(|service| !text(service).is_empty());
        pod["spec"]["subdomain"] = service.cloned().unwrap_or_default();
    }
    let metadata = &mut pod["metadata"];
    controller.finalizers.iter().for_each(|finalizer| push(metadata, "finalizers", finalizer.clone()));
    // People read it in messages, so it has no hash.
    metadata["generateName"] = format!("{name}-").into();
    metadata["namespace"] = workload["metadata"]["namespace"].clone();
    metadata["ownerReferences"] = json!([{
        "apiVersion": owner_resource.api_version(), "kind": owner_kind, "name": owner, "uid": MADE_UP_UID,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    for (key, value) in controller.labels(&owner) {
        if metadata["labels"][key].is_null() {
            set(metadata, &["labels", key], value.into());
        }
    }
    Some(Request::creation(Resource::Pod, pod, Requester::ControllerOf(owner_kind)))
}

fn add_controller_tolerations(spec: &mut Value, controller: &Controller) {
    add_tolerations(spec, &controller.tolerations);
    if spec["hostNetwork"] == true {
        add_tolerations(spec, &controller.tolerations_on_host_network);
    }
}

/// Gives a Pod the name that the StatefulSet controller gives it.
///
/// Upstream: `initIdentity` of `k8s.io/kubernetes/pkg/controller/statefulset`.
pub fn name_as_of_stateful_set(pod: &mut Value, name: &str) {
    pod["metadata"]["name"] = name.into();
    pod["spec"]["hostname"] = name.into();
}

/// Returns the request with which the DaemonSet controller would create the Pod of `daemon_set` for a node: required
/// node affinity is replaced by a term that names the node. A template that names its node has a Pod for that one
/// alone.
///
/// Upstream: `ReplaceDaemonSetPodNodeNameNodeAffinity` of `k8s.io/kubernetes/pkg/controller/daemon/util`.
pub fn daemon_pod_request(daemon_set: &Value, node: &str) -> Option<Request> {
    let mut creation = pod_request(daemon_set)?;
    let spec = &mut creation.json["object"]["spec"];
    let own = text(&spec["nodeName"]);
    let node = if own.is_empty() { node } else { own };
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let terms = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
    set(spec, &["affinity", "nodeAffinity", REQUIRED_AFFINITY], terms);
    Some(creation)
}

/// Returns the PodSpec with which the DaemonSet controller compares nodes: no RuntimeClass is merged into it.
///
/// Upstream: `NodeShouldRunDaemonPod` of `k8s.io/kubernetes/pkg/controller/daemon`.
pub fn daemon_controller_spec(daemon_set: &Value) -> Option<Value> {
    let mut spec = template(daemon_set)?["spec"].clone();
    if !spec.is_object() {
        return None;
    }
    add_controller_tolerations(&mut spec, Controller::of_kind(Resource::DaemonSet.kind())?);
    Some(spec)
}

/// The name of the Pod in a Binding that stands for those of other Pods.
pub const ANY_POD: &str = "any";

/// The name of the Node in the Binding to one that Karpenter would create.
pub const CREATED: &str = "created-by-karpenter";

/// The name of the Pod that requests nothing.
pub const PLAIN_POD: &str = "plain-pod";

/// Returns the request with which an ordinary user would create a Pod that requests nothing. The answer shows the rules
/// of its namespace.
pub fn plain_pod_request(namespace: &str) -> Request {
    let mut spec = json!({ "containers": [{ "name": "c", "image": "preview" }] });
    add_tolerations_of_unready_nodes(&mut spec);
    let pod = json!({
        "kind": Resource::Pod.kind(),
        "apiVersion": "v1",
        "metadata": { "name": PLAIN_POD, "namespace": namespace },
        "spec": spec,
        "status": {},
    });
    let made_up = ["object.metadata.name", "request.name", "object.spec.containers"];
    let reason = "which is different in every Pod";
    Request::creation(Resource::Pod, pod, Requester::Somebody).assuming(&made_up, reason)
}

/// The labels that the API server itself copies from a Node to the Pods that are bound to it, from Kubernetes 1.35 on.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// Returns the request that creates the Pod anew: from the template of its `controller`, if that is known.
pub fn recreation_request(pod: &Value, controller: Option<&Value>, managed: &ManagedKeys) -> Request {
    if is_mirror(pod) {
        let kubelet = Requester::Kubelet(text(&pod["spec"]["nodeName"]));
        return Request::creation(Resource::Pod, without_server_fields(pod), kubelet);
    }
    let from_template = controller.and_then(|controller| match node_of_daemon_pod(pod) {
        Some(node) => daemon_pod_request(controller, node),
        None => pod_request(controller),
    });
    // A StatefulSet names its Pods; of the others only the beginning is known before they are there.
    let is_named = is_owned_by(pod, "StatefulSet");
    if let Some(mut request) = from_template {
        if is_named {
            request.json["name"] = pod["metadata"]["name"].clone();
            name_as_of_stateful_set(&mut request.json["object"], text(&pod["metadata"]["name"]));
        }
        return request;
    }
    let mut created = without_server_fields(pod);
    remove_traces(&mut created, names_its_node(pod), managed);
    if created["metadata"]["generateName"].is_string() && !is_named {
        remove(&mut created["metadata"], &["name"]);
    }
    Request::creation(Resource::Pod, created, Requester::creator(pod))
}

fn is_owned_by(pod: &Value, kind: &str) -> bool {
    controller_reference(pod).is_some_and(|owner| owner["kind"] == kind)
}

/// Returns the node for which the DaemonSet controller has made a Pod.
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

/// Returns the request with which the scheduler binds a Pod to a node, whose labels are looked up in `cluster`.
pub fn binding_request(namespace: &str, pod: &str, node: &str, cluster: &Manifests) -> Request {
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
    let request = Request::creation(Resource::Binding, object, Requester::Scheduler);
    let request = match pod == ANY_POD {
        true => request.assuming(&["object.metadata.name", "request.name"], "the name of the Pod that is bound"),
        false => request,
    };
    match node == CREATED {
        true => request.assuming(&["object.target", "object.metadata.labels"], "of a node that Karpenter creates"),
        false => request,
    }
}

/// Returns the Pod as it is stored after the binding: the API server copies the Binding's annotations and labels over
/// the Pod's, in the write that sets the node.
pub fn bound_pod(pod: &Value, binding: &Value) -> Value {
    let mut stored = pod.clone();
    for kind in ["annotations", "labels"] {
        for (key, value) in members(&binding["metadata"][kind]) {
            set(&mut stored, &["metadata", kind, key], value.clone());
        }
    }
    stored["spec"]["nodeName"] = binding["target"]["name"].clone();
    stored
}

/// Returns the environment of the Pod's containers, with the downward API's fields resolved as a kubelet does.
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

/// Returns a field by its path, such as `metadata.annotations['example.com/zone']`; a key that is missing is empty.
fn field(pod: &Value, path: &str) -> Value {
    let (path, key) = match path.split_once("['") {
        Some((path, key)) => (path, Some(key.trim_end_matches("']"))),
        None => (path, None),
    };
    let value = path.split('.').chain(key).fold(pod, |value, step| &value[step]);
    if value.is_null() { Value::from("") } else { value.clone() }
}

/// The beginning of the name of the volume with a Pod's token.
const TOKEN: &str = "kube-api-access-";

/// Returns whether this is the volume with a Pod's token, or where it is mounted.
fn is_token(volume: &Value) -> bool {
    text(&volume["name"]).starts_with(TOKEN)
}

/// Takes that volume away, whose name is random.
pub fn remove_token(spec: &mut Value) {
    let remove_from = |owner: &mut Value, list: &str| {
        if let Some(volumes) = owner.get_mut(list).and_then(Value::as_array_mut) {
            volumes.retain(|volume| !is_token(volume));
        }
    };
    remove_from(spec, "volumes");
    containers(spec).for_each(|container| remove_from(container, "volumeMounts"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(kind: &str, spec: Value) -> Value {
        let template = json!({ "metadata": { "name": "other", "labels": { "app": "web" } }, "spec": spec });
        let (api_version, spec) = match kind {
            "CronJob" => ("batch/v1", json!({ "jobTemplate": { "spec": { "template": template } } })),
            "Job" => ("batch/v1", json!({ "template": template })),
            "ReplicationController" => ("v1", json!({ "template": template })),
            _ => ("apps/v1", json!({ "template": template })),
        };
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "web", "namespace": "a" }, "spec": spec })
    }

    #[test]
    fn a_template_of_a_wrong_type_is_left_as_it_is() {
        let mut deployment = workload("Deployment", json!({}));
        deployment["spec"]["template"]["metadata"]["labels"] = json!(["x"]);
        let pod = pod_request(&deployment).unwrap();
        assert_eq!(pod.json["object"]["metadata"]["labels"], json!(["x"]));
        let daemon_set = workload("DaemonSet", json!({ "affinity": [] }));
        let pod = daemon_pod_request(&daemon_set, "n1").unwrap();
        assert_eq!(pod.json["object"]["spec"]["affinity"], json!([]));
    }

    #[test]
    fn the_controller_of_each_kind_makes_pods() {
        let makers = [
            ("Deployment", "replicaset-controller"),
            ("ReplicaSet", "replicaset-controller"),
            ("StatefulSet", "statefulset-controller"),
            ("DaemonSet", "daemon-set-controller"),
            ("Job", "job-controller"),
            ("CronJob", "job-controller"),
            ("ReplicationController", "replication-controller"),
        ];
        for (kind, maker) in makers {
            let request = pod_request(&workload(kind, json!({}))).unwrap().json;
            let user = format!("system:serviceaccount:kube-system:{maker}");
            assert_eq!(request["userInfo"]["username"], user, "{kind}");
            assert_eq!(request["object"]["metadata"]["labels"]["app"], "web", "{kind}");
            let name = request.get("name").and_then(Value::as_str);
            assert_eq!(name, (kind == "StatefulSet").then_some("web-0"), "{kind}");
        }
        assert_eq!(pod_request(&workload("ConfigMap", json!({}))).map(|request| request.json), None);
    }

    #[test]
    fn a_pod_of_a_daemon_set_names_its_node_and_keeps_its_selector() {
        let spec = json!({
            "nodeSelector": { "pool": "blue" },
            "affinity": { "nodeAffinity": { REQUIRED_AFFINITY: { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "disk", "operator": "Exists" }] },
            ] } } },
        });
        let request = daemon_pod_request(&workload("DaemonSet", spec), "one").unwrap().json;
        let field = json!({ "key": "metadata.name", "operator": "In", "values": ["one"] });
        let spec = &request["object"]["spec"];
        let terms = &spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY]["nodeSelectorTerms"];
        assert_eq!(*terms, json!([{ "matchFields": [field] }]));
        assert_eq!(spec["nodeSelector"], json!({ "pool": "blue" }));
        let tolerated: Vec<&str> = spec["tolerations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|toleration| toleration["key"].as_str().unwrap())
            .collect();
        assert!(tolerated.contains(&"node.kubernetes.io/unschedulable"), "{tolerated:?}");
        assert_eq!(tolerated.iter().filter(|key| key.ends_with("not-ready")).count(), 1, "{tolerated:?}");
    }
}
