//! Samples of the requests that settings are about, by the table `samples.yml`.

use std::{collections::BTreeMap, sync::LazyLock};

use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec, SettingsFile,
    input::settings::entries,
    policies::required_rules::{Feature, Request, Update},
    requests::{
        admission::{creator, kubelet, request_for, scheduler},
        plugins::admitted,
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

/// The title of the sample of a Pod that somebody creates.
pub const POD_CREATION: &str = "CREATE of pods";

const CREATE_POD: Request = ("", "pods", "CREATE");
const UPDATE_POD: Request = ("", "pods", "UPDATE");
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// The table, which says what its fields mean. That it can be read is a test.
static TABLE: LazyLock<Table> = LazyLock::new(|| yaml_serde::from_str(include_str!("samples.yml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Table {
    objects: BTreeMap<String, Value>,
    plain: Value,
    any: Vec<Row>,
    pod_creations: Vec<Row>,
    pod_updates: BTreeMap<Update, Vec<Row>>,
    updates: BTreeMap<Update, Vec<Row>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Row {
    what: String,
    before: Option<Value>,
    change: Option<Value>,
    template: Option<Value>,
}

/// One of each kind of request that the feature is about.
pub fn samples(feature: &'static Feature, file: &SettingsFile) -> Vec<Sample> {
    let mut samples = vec![];
    for request in feature.requests() {
        let (_, resource, operation) = request;
        let updates = if resource == "pods" { &TABLE.pod_updates } else { &TABLE.updates };
        let rows: Vec<&Row> = match operation {
            // Only some updates matter.
            "UPDATE" if resource == "pods" || !feature.updates.is_empty() => {
                feature.updates.iter().filter_map(|update| updates.get(update)).flatten().collect()
            }
            _ if request == CREATE_POD => TABLE.any.iter().chain(&TABLE.pod_creations).collect(),
            _ => TABLE.any.iter().collect(),
        };
        samples.extend(rows.into_iter().map(|row| Sample::new(request, row)));
    }
    if feature.updates.contains(&Update::ManagedKeys) {
        samples.extend(updates_of_managed_keys(file));
    }
    samples
}

/// A Pod runs on for as long as its grace period says, and must not change its managed keys then.
fn updates_of_managed_keys(file: &SettingsFile) -> impl Iterator<Item = Sample> {
    let managed = ManagedKeys::of(&file.typed);
    [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(move |kind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let deleted = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", field: { &key: "true" } });
        let before = merged(TABLE.plain.clone(), &json!({ "metadata": deleted, "spec": { "nodeName": "node-a" } }));
        let change = json!({ "metadata": { field: { key: "forged" } } });
        let (before, change) = (Some(before), Some(change));
        let what = format!("Pods being deleted that change {field}");
        Some(Sample::new(UPDATE_POD, &Row { what, before, change, ..Row::default() }))
    })
}

impl Sample {
    /// An update has the object without the change as the old one.
    fn new(request: Request, row: &Row) -> Self {
        let (_, resource, operation) = request;
        let known = known(resource);
        let mut object = json!({ "apiVersion": known.api_version(), "kind": known.kind() });
        for patch in [TABLE.objects.get(known.plural()), row.before.as_ref()].into_iter().flatten() {
            json_patch::merge(&mut object, patch);
        }
        let mut old_object = Value::Null;
        if operation != "CREATE" {
            let stored = json!({ "uid": UID, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" });
            json_patch::merge(&mut object, &json!({ "metadata": stored }));
            old_object = object.clone();
        }
        let in_template = |patch| known.template().iter().rev().fold(patch, |patch, step| json!({ *step: patch }));
        for patch in [row.change.clone(), row.template.clone().map(in_template)].iter().flatten() {
            json_patch::merge(&mut object, patch);
        }
        Self {
            title: format!("{operation} of {}", row.what.replace("RESOURCE", resource)),
            request,
            object,
            old_object,
        }
    }

    /// The creation of a Pod that asks for nothing, with a change of it.
    pub fn plain_pod(change: &Value) -> Self {
        let (what, before, change) = ("pods".to_owned(), Some(TABLE.plain.clone()), Some(change.clone()));
        Self::new(CREATE_POD, &Row { what, before, change, ..Row::default() })
    }

    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, policy: &PolicySpec) -> bool {
        policy.sends(self.request)
    }

    /// The request as an API server sends it, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (_, name, operation) = self.request;
        let known = known(name);
        let mut user_info = match known {
            Resource::Node => kubelet("node-a"),
            Resource::Binding => scheduler(),
            _ => creator(&self.object),
        };
        user_info["uid"] = UID.into();
        let place = match known {
            Resource::Node => json!({}),
            Resource::Namespace => json!({ "metadata": { "name": namespace } }),
            _ => json!({ "metadata": { "namespace": namespace } }),
        };
        let [object, old_object] = [&self.object, &self.old_object].map(|object| match object {
            Value::Null => Value::Null,
            object => merged(object.clone(), &place),
        });
        let mut request = request_for(known, name, object, user_info);
        request["operation"] = operation.into();
        request["oldObject"] = old_object;
        admitted(&request)
    }
}

/// `nodes/status` is about Nodes, `pods/binding` about Bindings.
fn known(resource: &str) -> Resource {
    let plural = if resource == "pods/binding" { "bindings" } else { resource.split('/').next().unwrap_or(resource) };
    Resource::all().find(|known| known.plural() == plural).unwrap_or(Resource::Pod)
}

fn merged(mut object: Value, patch: &Value) -> Value {
    json_patch::merge(&mut object, patch);
    object
}

/// Names of namespaces that entries are about, and one that nobody has heard of: a condition may leave some out.
pub fn namespaces(file: &SettingsFile) -> Vec<String> {
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect()
}
