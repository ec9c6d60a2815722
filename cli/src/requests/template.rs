//! A Pod as its controller would make it from the template of a workload.

use anyhow::Result;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    admission::{MADE_UP_UID, controller_user, creation_request},
    controllers::{Controller, is_by_controller},
    defaults::push,
    plugins::{add_tolerations, add_tolerations_of_unready_nodes, merge_runtime_class},
    resource::{REQUIRED_AFFINITY, resource_of, template_path},
};
use crate::input::{
    json::{members, remove, text, typed},
    manifests::Manifests,
};

/// The request with which a controller would create a Pod of `workload`; none, if no controller makes Pods of such.
///
/// A Pod of a DaemonSet is made for one node: see [`daemon_pod_request`].
pub fn pod_request(workload: &Value, cluster: &Manifests) -> Option<Value> {
    let kind = text(&workload["kind"]);
    let controller = Controller::of_kind(kind)?;
    let name = text(&workload["metadata"]["name"]);
    let (owner_kind, owner) = controller.pod_owner(kind, name);
    let owner_resource = Resource::all().find(|resource| resource.kind() == owner_kind)?;
    let mut pod = template(workload)?.clone();
    if ["metadata", "spec"].iter().any(|part| !(pod[part].is_null() || pod[part].is_object())) {
        return None;
    }
    merge_runtime_class(&mut pod["spec"], cluster);
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
            metadata["labels"][key] = value.into();
        }
    }
    Some(creation_request(Resource::Pod, pod, controller_user(owner_kind)))
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

/// The request with which the DaemonSet controller would create the Pod of `daemon_set` for a node: required node
/// affinity is replaced by a term that names the node. A template that names its node has a Pod for that one alone.
///
/// Upstream: `ReplaceDaemonSetPodNodeNameNodeAffinity` of `k8s.io/kubernetes/pkg/controller/daemon/util`.
pub fn daemon_pod_request(daemon_set: &Value, node: &str, cluster: &Manifests) -> Option<Value> {
    let mut creation = pod_request(daemon_set, cluster)?;
    let own = text(&creation["object"]["spec"]["nodeName"]);
    let node = if own.is_empty() { node } else { own };
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let terms = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
    creation["object"]["spec"]["affinity"]["nodeAffinity"][REQUIRED_AFFINITY] = terms;
    Some(creation)
}

/// The PodSpec with which the DaemonSet controller compares nodes: no RuntimeClass is merged into it.
///
/// Upstream: `NodeShouldRunDaemonPod` of `k8s.io/kubernetes/pkg/controller/daemon`.
pub fn daemon_controller_spec(daemon_set: &Value) -> Option<Value> {
    let mut spec = template(daemon_set)?["spec"].clone();
    add_controller_tolerations(&mut spec, Controller::of_kind(Resource::DaemonSet.kind())?);
    Some(spec)
}

/// The Pod template of an object, wherever its kind has it.
pub fn template(object: &Value) -> Option<&Value> {
    let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))?;
    let template = template_path(resource)?.iter().fold(object, |found, step| &found[*step]);
    template.is_object().then_some(template)
}

/// Whether a ReplicaSet or a Job makes other Pods than its owner would make now: from an older template.
pub fn makes_other_pods(owner: &Value, part: &Value) -> bool {
    let (Some(current), Some(of_part)) = (template(owner), template(part)) else { return false };
    let differ = |field: &str| {
        let [one, other] = [current, of_part].map(|template| {
            members(&template["metadata"][field]).filter(|(key, _)| !is_by_controller(key)).collect::<Vec<_>>()
        });
        one != other
    };
    current["spec"] != of_part["spec"] || differ("labels") || differ("annotations")
}

/// Checks the types of the fields of a Pod, or of the Pod template of an object.
///
/// # Errors
/// A field has a wrong type: its path, what was expected, and what was found.
pub fn check_types(object: &Value) -> Result<()> {
    let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]));
    let path: String = resource.and_then(template_path).into_iter().flatten().map(|step| format!("{step}.")).collect();
    typed::<PodTemplateSpec>(template(object).unwrap_or(object), &path).map(drop)
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
            let request = pod_request(&workload(kind, json!({})), &Manifests::default()).unwrap();
            let user = format!("system:serviceaccount:kube-system:{maker}");
            assert_eq!(request["userInfo"]["username"], user, "{kind}");
            assert_eq!(request["object"]["metadata"]["labels"]["app"], "web", "{kind}");
            let name = request.get("name").and_then(Value::as_str);
            assert_eq!(name, (kind == "StatefulSet").then_some("web-0"), "{kind}");
        }
        assert_eq!(pod_request(&workload("ConfigMap", json!({})), &Manifests::default()), None);
    }

    #[test]
    fn a_pod_of_a_daemon_set_names_its_node_and_keeps_its_selector() {
        let spec = json!({
            "nodeSelector": { "pool": "blue" },
            "affinity": { "nodeAffinity": { REQUIRED_AFFINITY: { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "disk", "operator": "Exists" }] },
            ] } } },
        });
        let request = daemon_pod_request(&workload("DaemonSet", spec), "one", &Manifests::default()).unwrap();
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

    #[test]
    fn the_runtime_class_is_merged() {
        let class = json!({
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": { "name": "kata" },
            "handler": "kata",
            "scheduling": { "nodeSelector": { "kata": "yes" } },
        });
        let deployment = workload("Deployment", json!({ "runtimeClassName": "kata" }));
        let request = pod_request(&deployment, &Manifests::from_iter([class])).unwrap();
        assert_eq!(request["object"]["spec"]["nodeSelector"], json!({ "kata": "yes" }));
    }
}
