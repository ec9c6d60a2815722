//! Samples of the requests that settings are about.

use node_placement_policy::{resource::Resource as Known, settings::key::TargetKind};
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec, SettingsFile,
    input::{json::text, settings::entries},
    policies::required_rules::{Feature, Request, Update},
    requests::{
        admission::{self, created_by, kubelet, scheduler, somebody},
        defaults,
        owner::controller,
    },
};

/// A request that a setting is about.
pub struct Sample {
    /// `UPDATE of bound Pods`
    pub title: String,
    request: Request,
    object: Value,
    /// Null, if it is created.
    old_object: Value,
}

/// What a Pod that somebody creates is called.
pub const POD_CREATION: &str = "CREATE of pods";

const CREATE_POD: Request = ("", "pods", "CREATE");
const UPDATE_POD: Request = ("", "pods", "UPDATE");
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// One of each kind of request that the feature is about.
pub fn samples(feature: &'static Feature, file: &SettingsFile) -> Vec<Sample> {
    let mut samples = vec![];
    for request in feature.requests() {
        let (_, resource, operation) = request;
        // Where only some updates matter, these are told apart below.
        if operation == "UPDATE" && (resource == "pods" || !feature.updates.is_empty()) {
            continue;
        }
        let change = json!({ "metadata": { "labels": { "a": "after" }, "annotations": { "a": "after" } } });
        samples.push(Sample::new(&format!("{operation} of {resource}"), request, object(known(resource)), &change));
        if request == CREATE_POD {
            samples.extend(other_pods());
        }
    }
    samples.extend(feature.updates.iter().flat_map(|update| updates(*update, feature, file)));
    samples
}

/// Pods that conditions take for special, and that most Pods are like: those that ask for nothing, and those of
/// controllers, whose name is not known yet.
fn other_pods() -> [Sample; 2] {
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "sample", "uid": UID, "controller": true,
        "blockOwnerDeletion": true,
    });
    let owned = json!({ "metadata": {
        "name": null, "generateName": "sample-", "labels": { "a": "b" }, "ownerReferences": [owner],
    } });
    [("that ask for nothing", json!({})), ("by controllers", owned)]
        .map(|(what, own)| Sample::new(&format!("{POD_CREATION} {what}"), CREATE_POD, plain_pod(), &own))
}

/// The creation of a Pod that asks for nothing, with these labels and annotations.
pub fn pod_with(marks: &Value) -> Sample {
    let marked = json!({ "metadata": { "labels": marks, "annotations": marks } });
    Sample::new(POD_CREATION, CREATE_POD, plain_pod(), &marked)
}

/// A Pod that asks for nothing.
fn plain_pod() -> Value {
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "sample" }, "spec": spec, "status": {} })
}

/// An object that has all that rules look at.
fn object(known: Known) -> Value {
    let marks = json!({ "a": "before" });
    let named = json!({ "name": "sample", "labels": marks, "annotations": marks });
    let pod = merged(plain_pod(), &json!({ "metadata": named, "spec": { "nodeSelector": marks } }));
    let spec = match known {
        Known::Pod => return pod,
        Known::Binding | Known::PodTemplate => Value::Null,
        Known::Namespace | Known::Node => json!({}),
        Known::CronJob => json!({ "schedule": "@daily" }),
        Known::ReplicationController => json!({ "selector": marks }),
        _ => json!({ "selector": { "matchLabels": marks } }),
    };
    let head = json!({ "apiVersion": known.api_version(), "kind": known.kind(), "metadata": named });
    let mut object = merged(head, &json!({ "spec": spec }));
    if known == Known::Binding {
        object["target"] = json!({ "kind": "Node", "name": "node-a" });
        return object;
    }
    object["status"] = json!({});
    let template = json!({ "metadata": { "labels": marks }, "spec": pod["spec"] });
    if known.has_template() { merged(object, &in_template(known, template)) } else { object }
}

/// A Pod template in an object of this kind.
fn in_template(known: Known, template: Value) -> Value {
    known.template().iter().rev().fold(template, |value, step| json!({ *step: value }))
}

fn merged(mut object: Value, patch: &Value) -> Value {
    json_patch::merge(&mut object, patch);
    object
}

/// `nodes/status` is about Nodes, `pods/binding` about Bindings.
fn known(resource: &str) -> Known {
    let plural = if resource == "pods/binding" { "bindings" } else { resource.split('/').next().unwrap_or(resource) };
    Known::all().find(|known| known.plural() == plural).unwrap_or(Known::Pod)
}

fn updates(update: Update, feature: &'static Feature, file: &SettingsFile) -> Vec<Sample> {
    let pod = |what: &str, node: Value, change: Value| {
        let pod = merged(plain_pod(), &json!({ "spec": { "nodeName": node } }));
        vec![Sample::new(&format!("UPDATE of {what}"), UPDATE_POD, pod, &json!({ "spec": change }))]
    };
    let after = json!({ "a": "after" });
    match update {
        Update::Unbound => pod("Pods that are not bound", Value::Null, json!({ "nodeSelector": after })),
        Update::Tolerations => {
            let tolerations = json!({ "tolerations": [{ "operator": "Exists" }] });
            pod("bound Pods that add tolerations", "node-a".into(), tolerations)
        }
        Update::Bound => pod("bound Pods", "node-a".into(), json!({})),
        Update::ManagedKeys => updates_of_managed_keys(file),
        Update::Template => updates_of(feature, "Pod template", |known| {
            in_template(known, json!({ "spec": { "nodeSelector": { "a": "after" } } }))
        }),
        Update::Selector => updates_of(feature, "selector", |_| json!({ "spec": { "selector": { "a": "after" } } })),
        Update::LabelsOrAnnotations => ["label", "annotation"]
            .into_iter()
            .flat_map(|mark| updates_of(feature, mark, |_| json!({ "metadata": { format!("{mark}s"): after } })))
            .collect(),
    }
}

/// An update of each resource that changes one part of the object.
fn updates_of(feature: &'static Feature, what: &str, change: impl Fn(Known) -> Value) -> Vec<Sample> {
    let updated = feature.requests().filter(|(_, resource, operation)| *operation == "UPDATE" && *resource != "pods");
    let sample = |request: Request| {
        let known = known(request.1);
        let title = format!("UPDATE of {} with another {what}", request.1);
        Sample::new(&title, request, object(known), &change(known))
    };
    updated.map(sample).collect()
}

/// A Pod runs on for as long as its grace period says, and must not change its marks then.
fn updates_of_managed_keys(file: &SettingsFile) -> Vec<Sample> {
    let managed = ManagedKeys::of(&file.typed);
    let sample = |kind: TargetKind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let metadata = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", field: { &key: "true" } });
        let pod = merged(plain_pod(), &json!({ "metadata": metadata, "spec": { "nodeName": "node-a" } }));
        let title = format!("UPDATE of Pods being deleted that change {field}");
        Some(Sample::new(&title, UPDATE_POD, pod, &json!({ "metadata": { field: { key: "forged" } } })))
    };
    [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(sample).collect()
}

impl Sample {
    /// The request for `object` with a change; an update has the object without it as the old one.
    fn new(title: &str, request: Request, object: Value, change: &Value) -> Self {
        let (title, (.., operation)) = (title.to_owned(), request);
        if operation == "CREATE" {
            return Self { title, request, object: merged(object, change), old_object: Value::Null };
        }
        let written = json!({ "uid": UID, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" });
        let old_object = merged(object, &json!({ "metadata": written }));
        Self { title, request, object: merged(old_object.clone(), change), old_object }
    }

    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, policy: &PolicySpec) -> bool {
        policy.sends(self.request)
    }

    /// The request as an API server sends it, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (_, name, operation) = self.request;
        let known = known(name);
        let mut user_info = match (known, controller(&self.object)) {
            (Known::Node, _) => kubelet("node-a"),
            (Known::Binding, _) => scheduler(),
            (_, Some(owner)) => created_by(text(&owner["kind"])),
            _ => somebody(),
        };
        user_info["uid"] = UID.into();
        let place = match known {
            Known::Node => json!({}),
            Known::Namespace => json!({ "metadata": { "name": namespace } }),
            _ => json!({ "metadata": { "namespace": namespace } }),
        };
        let [object, old_object] = [&self.object, &self.old_object].map(|object| match object {
            Value::Null => Value::Null,
            object => merged(object.clone(), &place),
        });
        let mut request = admission::request_for(known, name, object, user_info);
        request["operation"] = operation.into();
        request["oldObject"] = old_object;
        defaults::completed(&request)
    }
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
pub fn namespaces(file: &SettingsFile) -> Vec<String> {
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
