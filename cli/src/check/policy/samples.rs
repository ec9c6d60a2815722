//! Samples of the requests that settings are about.

use node_placement_policy::{resource::Resource as Known, settings::key::TargetKind};
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec, SettingsFile,
    input::settings::entries,
    policies::required_rules::{Feature, Request, Update},
    requests::{
        admission::{self, created_by, kubelet, scheduler, somebody},
        defaults,
        resource::Resource,
    },
};

/// A request that a setting is about.
pub struct Sample {
    /// `UPDATE of bound Pods`
    pub title: String,
    request: Request,
    object: Value,
    old_object: Value,
    /// The kind of the controller that sends it; nobody special, if there is none.
    controller: Option<&'static str>,
}

/// What a Pod that somebody creates is called.
pub const POD_CREATION: &str = "CREATE of pods";

/// Parts of an object that rules look at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Labels,
    Annotations,
    Selector,
    Template,
}

/// One of each kind of request that the feature is about.
pub fn samples(feature: &Feature, file: &SettingsFile) -> Vec<Sample> {
    let mut samples = vec![];
    for request in feature.requests() {
        let (_, resource, operation) = request;
        // Where only some updates matter, these are told apart below.
        if operation == "UPDATE" && (resource == "pods" || !feature.updates.is_empty()) {
            continue;
        }
        let old_object = if operation == "UPDATE" { object(resource, &[]) } else { Value::Null };
        let object = object(resource, &[Part::Labels, Part::Annotations]);
        let title = format!("{operation} of {resource}");
        let is_pod_creation = title == POD_CREATION;
        samples.push(Sample { title, request, object, old_object, controller: None });
        if is_pod_creation {
            samples.extend(other_pods());
        }
    }
    samples.extend(feature.updates.iter().flat_map(|update| updates(*update, feature, file)));
    samples
}

/// Pods that conditions take for special, and that most Pods are like: those that ask for nothing, and those of
/// controllers, whose name is not known yet.
fn other_pods() -> [Sample; 2] {
    let request = ("", "pods", "CREATE");
    let plain = plain_pod(json!({}));
    let mut owned = plain.clone();
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "sample", "uid": UID, "controller": true,
        "blockOwnerDeletion": true,
    });
    owned["metadata"] = json!({ "generateName": "sample-", "labels": { "a": "b" }, "ownerReferences": [owner] });
    let sample = |what: &str, object, controller| Sample {
        title: format!("{POD_CREATION} {what}"),
        request,
        object,
        old_object: Value::Null,
        controller,
    };
    [sample("that ask for nothing", plain, None), sample("by controllers", owned, Some("ReplicaSet"))]
}

/// The creation of a Pod that asks for nothing, with these labels and annotations.
pub fn pod_with(marks: &Value) -> Sample {
    let mut object = plain_pod(json!({}));
    object["metadata"]["labels"] = marks.clone();
    object["metadata"]["annotations"] = marks.clone();
    let request = ("", "pods", "CREATE");
    Sample { title: POD_CREATION.to_owned(), request, object, old_object: Value::Null, controller: None }
}

/// A Pod with a container, and these fields.
fn plain_pod(fields: Value) -> Value {
    let mut pod = json!({ "metadata": { "name": "sample" }, "spec": pod_spec() });
    json_patch::merge(&mut pod, &fields);
    pod
}

/// A PodSpec that asks for nothing.
fn pod_spec() -> Value {
    json!({ "containers": [{ "name": "c", "image": "i" }] })
}

const UID: &str = "00000000-0000-0000-0000-000000000000";

/// An object of a resource, some of whose parts were changed.
fn object(resource: &str, changed: &[Part]) -> Value {
    let value = |part| if changed.contains(&part) { "after" } else { "before" };
    let metadata = json!({
        "name": "sample",
        "labels": { "a": value(Part::Labels) },
        "annotations": { "a": value(Part::Annotations) },
    });
    let chosen = json!({ "nodeSelector": { "a": value(Part::Template) } });
    let mut spec = pod_spec();
    json_patch::merge(&mut spec, &chosen);
    let mut object = json!({ "metadata": metadata });
    match known(resource) {
        Known::Pod => object = plain_pod(json!({ "metadata": metadata, "spec": chosen })),
        Known::Binding => object["target"] = json!({ "kind": "Node", "name": "node-a" }),
        known if known.has_template() => {
            let selector = json!({ "a": value(Part::Selector) });
            match known {
                Known::PodTemplate | Known::CronJob => {}
                Known::ReplicationController => object["spec"]["selector"] = selector,
                _ => object["spec"]["selector"]["matchLabels"] = selector,
            }
            let template = known.template().iter().fold(&mut object, |place, step| &mut place[*step]);
            *template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": spec });
            if known == Known::CronJob {
                object["spec"]["schedule"] = "@daily".into();
            }
        }
        _ => object["spec"] = json!({}),
    }
    object
}

/// `nodes/status` is about Nodes, `pods/binding` about Bindings.
fn known(resource: &str) -> Known {
    let plural = resource.split('/').next().unwrap_or(resource);
    let is_meant = |known: &Known| known.plural() == plural;
    if resource == "pods/binding" { Known::Binding } else { Known::all().find(is_meant).unwrap_or(Known::Pod) }
}

fn updates(update: Update, feature: &Feature, file: &SettingsFile) -> Vec<Sample> {
    let pod = plain_pod;
    let bound = pod(json!({ "spec": { "nodeName": "node-a" } }));
    let (title, old_object, object) = match update {
        Update::Unbound => {
            let chosen = pod(json!({ "spec": { "nodeSelector": { "a": "b" } } }));
            ("of Pods that are not bound", pod(json!({})), chosen)
        }
        Update::Tolerations => {
            let mut tolerating = bound.clone();
            tolerating["spec"]["tolerations"] = json!([{ "operator": "Exists" }]);
            ("of bound Pods that add tolerations", bound, tolerating)
        }
        Update::Bound => ("of bound Pods", bound.clone(), bound),
        Update::ManagedKeys => return updates_of_managed_keys(&bound, file),
        Update::Template => return updates_of(Part::Template, "Pod template", feature),
        Update::Selector => return updates_of(Part::Selector, "selector", feature),
        Update::LabelsOrAnnotations => {
            let mut samples = updates_of(Part::Labels, "label", feature);
            samples.extend(updates_of(Part::Annotations, "annotation", feature));
            return samples;
        }
    };
    vec![Sample { title: format!("UPDATE {title}"), request: POD_UPDATE, object, old_object, controller: None }]
}

const POD_UPDATE: Request = ("", "pods", "UPDATE");

/// An update of each resource that changes one part of the object.
fn updates_of(part: Part, what: &str, feature: &Feature) -> Vec<Sample> {
    let updated = feature.requests().filter(|(_, resource, operation)| *operation == "UPDATE" && *resource != "pods");
    let sample = |request: Request| Sample {
        title: format!("UPDATE of {} with another {what}", request.1),
        request,
        object: object(request.1, &[part]),
        old_object: object(request.1, &[]),
        controller: None,
    };
    updated.map(sample).collect()
}

/// A Pod runs on for as long as its grace period says, and must not change its marks then.
fn updates_of_managed_keys(bound: &Value, file: &SettingsFile) -> Vec<Sample> {
    let managed = ManagedKeys::of(&file.typed);
    let sample = |kind: TargetKind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let [old_object, object] = ["true", "forged"].map(|value| {
            let mut pod = bound.clone();
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            pod["metadata"][field] = json!({ key.as_str(): value });
            pod
        });
        let title = format!("UPDATE of Pods being deleted that change {field}");
        Some(Sample { title, request: POD_UPDATE, object, old_object, controller: None })
    };
    [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(sample).collect()
}

impl Sample {
    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, policy: &PolicySpec) -> bool {
        policy.sends(self.request)
    }

    /// The request as an API server sends it, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (group, name, operation) = self.request;
        let known = known(name);
        let mut user_info = match (known, self.controller) {
            (Known::Node, _) => kubelet("node-a"),
            (Known::Binding, _) => scheduler(),
            (_, Some(controller)) => created_by(controller),
            _ => somebody(),
        };
        user_info["uid"] = UID.into();
        let resource = Resource { group, kind: known.kind(), name };
        let is_update = !self.old_object.is_null();
        let in_namespace = |object: &Value| {
            if object.is_null() {
                return Value::Null;
            }
            let mut object = object.clone();
            object["apiVersion"] = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") }.into();
            object["kind"] = resource.kind.into();
            if is_update {
                object["metadata"]["uid"] = UID.into();
                object["metadata"]["resourceVersion"] = "1".into();
                object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
            }
            if known != Known::Binding {
                object["status"] = json!({});
            }
            match known {
                Known::Node => {}
                Known::Namespace => object["metadata"]["name"] = namespace.into(),
                _ => object["metadata"]["namespace"] = namespace.into(),
            }
            object
        };
        let mut request = admission::request(resource, in_namespace(&self.object), user_info);
        request["operation"] = operation.into();
        request["oldObject"] = in_namespace(&self.old_object);
        defaults::completed(&request)
    }
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
pub fn namespaces(file: &SettingsFile) -> Vec<String> {
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
