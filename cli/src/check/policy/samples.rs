//! Samples of the requests that settings are about.

use node_placement_policy::{resource::Resource as Known, settings::key::TargetKind};
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec, SettingsFile,
    input::settings::entries,
    policies::required_rules::{Feature, Request, Update},
    requests::{
        admission::{self, kubelet, scheduler, somebody},
        delivery::NAMESPACE_NAME,
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
}

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
        samples.push(Sample { title: format!("{operation} of {resource}"), request, object, old_object });
    }
    samples.extend(feature.updates.iter().flat_map(|update| updates(*update, feature, file)));
    samples
}

/// An object of a resource, some of whose parts were changed.
fn object(resource: &str, changed: &[Part]) -> Value {
    let value = |part| if changed.contains(&part) { "after" } else { "before" };
    let metadata = json!({
        "name": "sample",
        "labels": { "a": value(Part::Labels) },
        "annotations": { "a": value(Part::Annotations) },
    });
    let containers = json!([{ "name": "c", "image": "i" }]);
    let spec = json!({ "containers": containers, "nodeSelector": { "a": value(Part::Template) } });
    let mut object = json!({ "metadata": metadata });
    match known(resource) {
        Known::Pod => object["spec"] = spec,
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
    let pod = |fields: Value| {
        let mut pod = json!({
            "metadata": { "name": "sample" }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
        });
        json_patch::merge(&mut pod, &fields);
        pod
    };
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
    vec![Sample { title: format!("UPDATE {title}"), request: POD_UPDATE, object, old_object }]
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
        Some(Sample { title, request: POD_UPDATE, object, old_object })
    };
    [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(sample).collect()
}

impl Sample {
    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, policy: &PolicySpec) -> bool {
        policy.sends(self.request)
    }

    /// The request, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (group, name, operation) = self.request;
        let known = known(name);
        let user_info = match known {
            Known::Node => kubelet("node-a"),
            Known::Binding => scheduler(),
            _ => somebody(),
        };
        let in_namespace = |object: &Value| {
            let mut object = object.clone();
            match known {
                _ if object.is_null() => {}
                Known::Node => {}
                Known::Namespace => {
                    object["metadata"]["name"] = namespace.into();
                    object["metadata"]["labels"][NAMESPACE_NAME] = namespace.into();
                }
                _ => object["metadata"]["namespace"] = namespace.into(),
            }
            object
        };
        let resource = Resource { group, kind: known.kind(), name };
        let mut request = admission::request(resource, in_namespace(&self.object), user_info);
        request["operation"] = operation.into();
        request["oldObject"] = in_namespace(&self.old_object);
        request
    }
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
pub fn namespaces(file: &SettingsFile) -> Vec<String> {
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
