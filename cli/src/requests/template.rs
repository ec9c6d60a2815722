//! A Pod as its controller would make it from the template of a workload.

use anyhow::Result;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    admission::{created_by, request},
    defaults,
    resource::{REQUIRED_AFFINITY, resource_of, template_path},
    runtime_class,
};
use crate::input::{
    json::{members, remove, text, typed},
    manifests::Manifests,
};

/// The request with which a controller would create a Pod of `workload`; none, if no controller makes Pods of such.
///
/// A Pod of a DaemonSet is made for one node: see [`creation_on`].
pub fn creation_from(workload: &Value, cluster: &Manifests) -> Option<Value> {
    let kind = text(&workload["kind"]);
    // Who makes the Pods of a Deployment, or a CronJob, is made itself.
    let (api_version, maker) = match kind {
        "Deployment" | "ReplicaSet" => ("apps/v1", "ReplicaSet"),
        "CronJob" | "Job" => ("batch/v1", "Job"),
        "StatefulSet" | "DaemonSet" => ("apps/v1", kind),
        "ReplicationController" => ("v1", kind),
        _ => return None,
    };
    let mut pod = template(workload)?.clone();
    if ["metadata", "spec"].iter().any(|part| !(pod[part].is_null() || pod[part].is_object())) {
        return None;
    }
    runtime_class::merge(&mut pod["spec"], cluster);
    if kind == "DaemonSet" {
        defaults::add_tolerations_of_daemon_sets(&mut pod["spec"]);
    }
    defaults::add_tolerations(&mut pod["spec"]);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = Resource::Pod.kind().into();
    pod["status"] = json!({});
    let name = text(&workload["metadata"]["name"]);
    let owner = json!({ "apiVersion": api_version, "kind": maker, "name": name, "controller": true });
    // Of a name in the template, controllers take no notice.
    remove(&mut pod["metadata"], &["name"]);
    match kind {
        "StatefulSet" => {
            name_as_of_stateful_set(&mut pod, &format!("{name}-0"));
            let service = Some(&workload["spec"]["serviceName"]).filter(|service| !text(service).is_empty());
            pod["spec"]["subdomain"] = service.cloned().unwrap_or_default();
        }
        "CronJob" | "Job" => {
            defaults::push(&mut pod["metadata"], "finalizers", "batch.kubernetes.io/job-tracking".into())
        }
        _ => {}
    }
    let metadata = &mut pod["metadata"];
    metadata["generateName"] = format!("{name}-").into();
    metadata["namespace"] = workload["metadata"]["namespace"].clone();
    metadata["ownerReferences"] = json!([owner]);
    let labels = &mut metadata["labels"];
    for (key, value) in labels_by_controller(kind, name) {
        if labels[key].is_null() {
            labels[key] = value.into();
        }
    }
    Some(request(Resource::Pod, pod, created_by(maker)))
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
pub fn creation_on(daemon_set: &Value, node: &str, cluster: &Manifests) -> Option<Value> {
    let mut creation = creation_from(daemon_set, cluster)?;
    let own = text(&creation["object"]["spec"]["nodeName"]);
    let node = if own.is_empty() { node } else { own };
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let terms = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
    creation["object"]["spec"]["affinity"]["nodeAffinity"][REQUIRED_AFFINITY] = terms;
    Some(creation)
}

/// The PodSpec with which the DaemonSet controller compares nodes: nobody has merged a RuntimeClass into it yet.
///
/// Upstream: `NodeShouldRunDaemonPod` of `k8s.io/kubernetes/pkg/controller/daemon`.
pub fn seen_by_controller(daemon_set: &Value) -> Option<Value> {
    let mut spec = template(daemon_set)?["spec"].clone();
    defaults::add_tolerations_of_daemon_sets(&mut spec);
    Some(spec)
}

/// The Pod template of an object, wherever its kind has it.
pub fn template(object: &Value) -> Option<&Value> {
    let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))?;
    let mut found = object;
    for step in template_path(resource)? {
        found = &found[*step];
    }
    found.is_object().then_some(found)
}

/// Whether a ReplicaSet or a Job makes other Pods than its owner would make now: from an older template.
pub fn differ(owner: &Value, part: &Value) -> bool {
    let (Some(one), Some(other)) = (template(owner), template(part)) else { return false };
    let said = |template: &Value, kind: &str| -> Vec<(String, Value)> {
        let values = members(&template["metadata"][kind]).filter(|(key, _)| !is_by_controller(key));
        values.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    one["spec"] != other["spec"] || ["labels", "annotations"].iter().any(|kind| said(one, kind) != said(other, kind))
}

/// The labels that the controller of a workload gives to one of its Pods. Of most, nobody can know the value.
fn labels_by_controller(kind: &str, name: &str) -> Vec<(&'static str, String)> {
    let generated = || "generated".to_owned();
    match kind {
        "Deployment" => vec![("pod-template-hash", generated())],
        "DaemonSet" => vec![("controller-revision-hash", generated()), ("pod-template-generation", "1".to_owned())],
        "StatefulSet" => vec![
            ("apps.kubernetes.io/pod-index", "0".to_owned()),
            ("controller-revision-hash", generated()),
            ("statefulset.kubernetes.io/pod-name", format!("{name}-0")),
        ],
        "CronJob" | "Job" => vec![
            ("batch.kubernetes.io/controller-uid", generated()),
            ("batch.kubernetes.io/job-name", name.to_owned()),
            ("controller-uid", generated()),
            ("job-name", name.to_owned()),
        ],
        _ => vec![],
    }
}

/// Labels that controllers give to their Pods, beyond the template's.
const BY_CONTROLLERS: [&str; 6] = [
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-generation",
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
];
const BY_CONTROLLERS_PREFIXES: [&str; 2] = ["apps.kubernetes.io/", "batch.kubernetes.io/"];

/// Whether a label is given to Pods by their controller.
fn is_by_controller(key: &str) -> bool {
    BY_CONTROLLERS.contains(&key) || BY_CONTROLLERS_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Checks what is written of a Pod, or of the Pod template of an object.
///
/// # Errors
/// A field has a wrong type: its path, what was expected, and what was found.
pub fn check(object: &Value) -> Result<()> {
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
            let request = creation_from(&workload(kind, json!({})), &Manifests::default()).unwrap();
            let user = format!("system:serviceaccount:kube-system:{maker}");
            assert_eq!(request["userInfo"]["username"], user, "{kind}");
            assert_eq!(request["object"]["metadata"]["labels"]["app"], "web", "{kind}");
            let name = request.get("name").and_then(Value::as_str);
            assert_eq!(name, (kind == "StatefulSet").then_some("web-0"), "{kind}");
        }
        assert_eq!(creation_from(&workload("ConfigMap", json!({})), &Manifests::default()), None);
    }

    #[test]
    fn a_pod_of_a_daemon_set_names_its_node_and_keeps_its_selector() {
        let spec = json!({
            "nodeSelector": { "pool": "blue" },
            "affinity": { "nodeAffinity": { REQUIRED_AFFINITY: { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "disk", "operator": "Exists" }] },
            ] } } },
        });
        let request = creation_on(&workload("DaemonSet", spec), "one", &Manifests::default()).unwrap();
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
        let request = creation_from(&deployment, &Manifests::from_iter([class])).unwrap();
        assert_eq!(request["object"]["spec"]["nodeSelector"], json!({ "kata": "yes" }));
    }
}
