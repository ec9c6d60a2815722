//! Samples of the requests that settings are about, by the table `samples.yml`.

use std::{collections::BTreeMap, sync::LazyLock};

use node_placement_policy::{resource::Resource, settings::key::TargetKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ManagedKeys, PolicySpec, SettingsFile,
    policies::required_rules::{Feature, Request, Update},
    requests::{
        admission::{creator, kubelet, request_for, scheduler},
        plugins::admitted,
    },
};

/// A request that a setting is about: a row of the table, which says what its fields mean.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sample {
    #[serde(skip)]
    request: Request,
    what: String,
    before: Option<Value>,
    change: Option<Value>,
    template: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Table {
    objects: BTreeMap<String, Value>,
    any: Sample,
    plain_pod: Sample,
    controlled_pod: Sample,
    pod_updates: BTreeMap<Update, Vec<Sample>>,
    updates: BTreeMap<Update, Vec<Sample>>,
}

/// That it can be read is a test.
static TABLE: LazyLock<Table> = LazyLock::new(|| yaml_serde::from_str(include_str!("samples.yml")).unwrap_or_default());

/// The title of the sample of a Pod that somebody creates.
pub const POD_CREATION: &str = "CREATE of pods";

const CREATE_POD: Request = ("", "pods", "CREATE");
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// One of each kind of request that the feature is about.
pub fn samples(feature: &'static Feature, file: &SettingsFile) -> Vec<Sample> {
    let mut samples = vec![];
    for request in feature.requests() {
        let (_, resource, operation) = request;
        let mut rows = vec![TABLE.any.clone()];
        if request == CREATE_POD {
            rows.extend([TABLE.plain_pod.clone(), TABLE.controlled_pod.clone()]);
        }
        // Only some updates matter.
        if operation == "UPDATE" && (resource == "pods" || !feature.updates.is_empty()) {
            let updates = if resource == "pods" { &TABLE.pod_updates } else { &TABLE.updates };
            rows = feature.updates.iter().filter_map(|update| updates.get(update)).flatten().cloned().collect();
            if resource == "pods" && feature.updates.contains(&Update::ManagedKeys) {
                rows.extend(updates_of_managed_keys(file));
            }
        }
        samples.extend(rows.into_iter().map(|row| Sample { request, ..row }));
    }
    samples
}

/// A Pod runs on for as long as its grace period says, and must not change its managed keys then.
fn updates_of_managed_keys(file: &SettingsFile) -> impl Iterator<Item = Sample> {
    let managed = ManagedKeys::from_settings(&file.typed);
    [TargetKind::Label, TargetKind::Annotation].into_iter().filter_map(move |kind| {
        let (field, key) = (kind.member(), managed.one(kind)?);
        let deleted = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", field: { &key: "true" } });
        let before = Some(json!({ "metadata": deleted, "spec": { "nodeName": "node-a" } }));
        let change = Some(json!({ "metadata": { field: { key: "forged" } } }));
        Some(Sample { what: format!("Pods being deleted that change {field}"), before, change, ..Sample::default() })
    })
}

impl Sample {
    /// The creation of a Pod that asks for nothing, with these labels and annotations.
    pub fn plain_pod(marks: &Value) -> Self {
        let change = Some(json!({ "metadata": { "labels": marks, "annotations": marks } }));
        Self { request: CREATE_POD, change, ..TABLE.plain_pod.clone() }
    }

    /// `UPDATE of bound Pods`
    pub fn title(&self) -> String {
        let (_, resource, operation) = self.request;
        format!("{operation} of {}", self.what.replace("RESOURCE", resource))
    }

    /// Whether a rule of the policy sends it.
    pub fn is_sent(&self, policy: &PolicySpec) -> bool {
        policy.sends(self.request)
    }

    /// The request as an API server sends it, in a namespace of this name.
    pub fn request(&self, namespace: &str) -> Value {
        let (_, name, operation) = self.request;
        let resource = resource(name);
        let in_namespace = match resource {
            Resource::Node => json!({}),
            Resource::Namespace => json!({ "metadata": { "name": namespace } }),
            _ => json!({ "metadata": { "namespace": namespace } }),
        };
        let mut object = json!({ "apiVersion": resource.api_version(), "kind": resource.kind() });
        for patch in
            [TABLE.objects.get(resource.plural()), self.before.as_ref(), Some(&in_namespace)].into_iter().flatten()
        {
            json_patch::merge(&mut object, patch);
        }
        let mut old_object = Value::Null;
        if operation != "CREATE" {
            let stored = json!({ "uid": UID, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" });
            json_patch::merge(&mut object, &json!({ "metadata": stored }));
            old_object = object.clone();
        }
        let in_template = |patch| resource.template().iter().rev().fold(patch, |patch, step| json!({ *step: patch }));
        for patch in [self.change.clone(), self.template.clone().map(in_template)].iter().flatten() {
            json_patch::merge(&mut object, patch);
        }
        let mut user_info = match resource {
            Resource::Node => kubelet("node-a"),
            Resource::Binding => scheduler(),
            _ => creator(&object),
        };
        user_info["uid"] = UID.into();
        let mut request = request_for(resource, name, object, user_info);
        request["operation"] = operation.into();
        request["oldObject"] = old_object;
        admitted(&request)
    }
}

/// `nodes/status` is about Nodes, `pods/binding` about Bindings.
fn resource(name: &str) -> Resource {
    let plural = if name == "pods/binding" { "bindings" } else { name.split('/').next().unwrap_or(name) };
    Resource::all().find(|resource| resource.plural() == plural).unwrap_or(Resource::Pod)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_can_be_read() -> anyhow::Result<()> {
        let table: super::Table = yaml_serde::from_str(include_str!("samples.yml"))?;
        assert_eq!(table.objects.len(), super::Resource::all().count());
        Ok(())
    }
}
