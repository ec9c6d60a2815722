//! Samples of the requests that settings are about.

use node_placement_policy::settings::key::TargetKind;
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec,
    input::settings::{entries, read},
    policies::required_rules::{Feature, Update},
    requests::resource::{NAMESPACE_NAME, group_of},
};

/// A request that a setting is about.
pub struct Sample {
    /// `UPDATE of bound Pods`
    pub title: String,
    resource: &'static str,
    operation: &'static str,
    username: &'static str,
    groups: &'static [&'static str],
    object: Value,
    old_object: Value,
}

const USERS: &[&str] = &["system:authenticated"];
const KUBELETS: &[&str] = &["system:nodes", "system:authenticated"];

/// One of each kind of request that the feature is about.
pub fn samples(feature: &Feature, settings: &Value) -> Vec<Sample> {
    let mut samples = vec![];
    for (_, resource, operation) in feature.requests() {
        // Where only some updates matter, these are told apart below.
        if operation == "UPDATE" && (resource == "pods" || !feature.updates.is_empty()) {
            continue;
        }
        let (username, groups) = match resource {
            "nodes" | "nodes/status" => ("system:node:node-a", KUBELETS),
            "pods/binding" | "bindings" => ("system:kube-scheduler", USERS),
            _ => ("ada", USERS),
        };
        let old_object = if operation == "UPDATE" { Contents::default().of(resource) } else { Value::Null };
        let object = Contents { labels: "after", annotations: "after", ..Contents::default() }.of(resource);
        let title = format!("{operation} of {resource}");
        samples.push(Sample { title, resource, operation, username, groups, object, old_object });
    }
    for update in feature.updates {
        samples.extend(updates(*update, feature, settings));
    }
    samples
}

/// What stands in the parts of an object that rules look at.
struct Contents {
    labels: &'static str,
    annotations: &'static str,
    selector: &'static str,
    template: &'static str,
}

impl Default for Contents {
    fn default() -> Self {
        Self { labels: "before", annotations: "before", selector: "before", template: "before" }
    }
}

impl Contents {
    /// An object of a resource with these.
    fn of(&self, resource: &str) -> Value {
        let metadata = json!({
            "name": "sample", "labels": { "a": self.labels }, "annotations": { "a": self.annotations },
        });
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "nodeSelector": { "a": self.template } });
        let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": spec });
        match resource {
            "pods" => json!({ "metadata": metadata, "spec": spec }),
            "pods/binding" | "bindings" => {
                json!({ "metadata": metadata, "target": { "kind": "Node", "name": "node-a" } })
            }
            "namespaces" | "nodes" | "nodes/status" => json!({ "metadata": metadata, "spec": {} }),
            "podtemplates" => json!({ "metadata": metadata, "template": template }),
            "cronjobs" => {
                json!({ "metadata": metadata, "spec": { "jobTemplate": { "spec": { "template": template } } } })
            }
            "replicationcontrollers" => {
                json!({ "metadata": metadata, "spec": { "selector": { "a": self.selector }, "template": template } })
            }
            _ => json!({
                "metadata": metadata,
                "spec": { "selector": { "matchLabels": { "a": self.selector } }, "template": template },
            }),
        }
    }
}

/// An update of each resource that changes one part of the object.
fn updates_of_a_part(what: &str, feature: &Feature, after: &Contents) -> Vec<Sample> {
    let resources = feature.updated().filter(|resource| *resource != "pods");
    let samples = resources.map(|resource| Sample {
        title: format!("UPDATE of {resource} with another {what}"),
        resource,
        operation: "UPDATE",
        username: "ada",
        groups: USERS,
        object: after.of(resource),
        old_object: Contents::default().of(resource),
    });
    samples.collect()
}

fn updates(update: Update, feature: &Feature, settings: &Value) -> Vec<Sample> {
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    let mut bound = spec.clone();
    bound["nodeName"] = "node-a".into();
    let mut tolerating = bound.clone();
    tolerating["tolerations"] = json!([{ "operator": "Exists" }]);
    let mut chosen = spec.clone();
    chosen["nodeSelector"] = json!({ "a": "b" });
    let plain = json!({ "name": "sample" });
    let (title, specs) = match update {
        Update::Unbound => ("of Pods that are not bound", [spec, chosen]),
        Update::Tolerations => ("of bound Pods that add tolerations", [bound, tolerating]),
        Update::Bound => ("of bound Pods", [bound.clone(), bound]),
        Update::ManagedKeys => return updates_of_managed_keys(&bound, settings),
        Update::Template => {
            let after = Contents { template: "after", ..Contents::default() };
            return updates_of_a_part("Pod template", feature, &after);
        }
        Update::Selector => {
            let after = Contents { selector: "after", ..Contents::default() };
            return updates_of_a_part("selector", feature, &after);
        }
        Update::LabelsOrAnnotations => {
            let labels = Contents { labels: "after", ..Contents::default() };
            let annotations = Contents { annotations: "after", ..Contents::default() };
            let mut samples = updates_of_a_part("label", feature, &labels);
            samples.extend(updates_of_a_part("annotation", feature, &annotations));
            return samples;
        }
    };
    let [old, new] = specs.map(|spec| json!({ "metadata": plain, "spec": spec }));
    vec![update_of_a_pod(title, old, new)]
}

/// A Pod runs on for as long as its grace period says, and must not change its marks then.
fn updates_of_managed_keys(spec: &Value, settings: &Value) -> Vec<Sample> {
    let managed = ManagedKeys::of(&read(settings));
    let samples = [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(|kind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let [old, new] = ["true", "forged"].map(|value| {
            let mut metadata = json!({ "name": "sample", "deletionTimestamp": "2026-01-01T00:00:00Z" });
            metadata[field] = json!({ key.as_str(): value });
            json!({ "metadata": metadata, "spec": spec })
        });
        Some(update_of_a_pod(&format!("of Pods being deleted that change {field}"), old, new))
    });
    samples.collect()
}

fn update_of_a_pod(title: &str, old_object: Value, object: Value) -> Sample {
    Sample {
        title: format!("UPDATE {title}"),
        resource: "pods",
        operation: "UPDATE",
        username: "ada",
        groups: USERS,
        object,
        old_object,
    }
}

impl Sample {
    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, deployment: &PolicySpec) -> bool {
        deployment.sends((group_of(self.resource), self.resource, self.operation))
    }

    /// It, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (resource, sub_resource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        let mut request = json!({
            "uid": "00000000-0000-0000-0000-000000000000",
            "operation": self.operation,
            "resource": { "group": group_of(self.resource), "version": "v1", "resource": resource },
            "subResource": sub_resource,
            "name": "sample",
            "userInfo": { "username": self.username, "groups": self.groups },
            "dryRun": false,
            "object": self.object,
            "oldObject": self.old_object,
        });
        if resource == "nodes" {
            return request;
        }
        request["namespace"] = namespace.into();
        if resource == "namespaces" {
            request["name"] = namespace.into();
        }
        for object in ["object", "oldObject"] {
            match &mut request[object] {
                Value::Null => {}
                object if resource == "namespaces" => {
                    object["metadata"]["name"] = namespace.into();
                    object["metadata"]["labels"][NAMESPACE_NAME] = namespace.into();
                }
                object => object["metadata"]["namespace"] = namespace.into(),
            }
        }
        request
    }
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
pub fn namespaces(settings: &Value) -> Vec<String> {
    let settings = read(settings);
    let names = entries(&settings).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
