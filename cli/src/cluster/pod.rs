//! Pods, and the part of a PodSpec that a verdict depends on.

use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::{
    api::core::v1::{self, Container, PodSpec},
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta},
    jiff::Timestamp,
};

use serde_json::Value;

use super::{Finished, Owner, manifests::Manifest};
use crate::input::json::part;

/// The name of a Node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

/// A Pod that is neither finished nor being deleted; or the newest of a group that has finished.
#[derive(Clone, Debug)]
pub struct Pod {
    /// The object as it was written down.
    pub json: Arc<Manifest>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The part of its `spec` that a verdict depends on, without `nodeName`. Pods of one workload that are alike share it.
    pub spec: Arc<PodSpec>,
    /// The Node that it is on, which may be gone: see [`Cluster::is_gone`](super::Cluster::is_gone).
    pub node: Option<NodeId>,
    /// Whether its creator wrote `spec.nodeName`, so that its replacement will have it too. Managed fields say that.
    pub names_node: bool,
    /// Whether it has `spec.schedulingGates`.
    pub is_gated: bool,
    /// Whether it is a manifest that is still to be created: it has neither a status nor a uid.
    pub is_manifest: bool,
    /// The time of its creation.
    pub created: Option<Timestamp>,
    /// Its controlling owner, where it is judged by itself.
    pub owner: Option<Owner>,
    /// Set if it has finished, and its owner may create more.
    pub finished: Option<Finished>,
}

impl Pod {
    /// Returns its namespace.
    pub fn namespace(&self) -> &str {
        self.json.identity.namespace.as_deref().unwrap_or_default()
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.json.identity.name
    }

    /// Returns whether it waits for a node. It is not created again; only its Binding is still to come.
    pub const fn is_standing(&self) -> bool {
        self.node.is_none() && !self.is_manifest && self.finished.is_none()
    }

    /// Makes a Pod of an object, which is `pod`.
    pub(super) fn new(json: Arc<Manifest>, pod: v1::Pod) -> Self {
        let v1::Pod { metadata, spec, status } = pod;
        let mut spec = thinned(spec.unwrap_or_default());
        let node = spec.node_name.take().filter(|name| !name.is_empty());
        Self {
            names_node: node.is_some() && is_node_named_by_creator(&metadata),
            is_gated: spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()),
            is_manifest: status.is_none() && metadata.uid.is_none(),
            created: metadata.creation_timestamp.map(|time| time.0),
            labels: metadata.labels.unwrap_or_default(),
            node: node.map(NodeId::from),
            spec: Arc::new(spec),
            owner: None,
            finished: None,
            json,
        }
    }
}

/// The manager of fields that were there before the first server-side apply, whoever wrote them.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Returns whether managed fields say that the creator of a Pod wrote `spec.nodeName`. The scheduler's Binding leaves no
/// entry; server-side apply of a whole live object does, at a later time.
fn is_node_named_by_creator(metadata: &ObjectMeta) -> bool {
    let created = metadata.creation_timestamp.as_ref();
    let mut entries = metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        let is_from_creation = match entry.operation.as_deref() {
            Some("Update") => entry.manager.as_deref() != Some(BEFORE_FIRST_APPLY),
            Some("Apply") => entry.time.is_some() && entry.time.as_ref() == created,
            _ => false,
        };
        is_from_creation && has_node_name(entry)
    })
}

/// Returns whether managed fields say that the creator of a Pod wrote `spec.nodeName`.
pub fn names_its_node(pod: &Value) -> bool {
    part(&pod["metadata"], "metadata.").is_ok_and(|metadata| is_node_named_by_creator(&metadata))
}

fn has_node_name(entry: &ManagedFieldsEntry) -> bool {
    entry.fields_v1.as_ref().is_some_and(|fields| fields.0["f:spec"].get("f:nodeName").is_some())
}

/// Returns what a verdict depends on of a PodSpec: environment, probes, commands and the like are dropped, since 20,000
/// of them fill the memory.
pub(super) fn thinned(spec: PodSpec) -> PodSpec {
    let containers = |list: Vec<Container>| list.into_iter().map(thinned_container).collect();
    PodSpec {
        containers: containers(spec.containers),
        init_containers: spec.init_containers.map(containers),
        ephemeral_containers: None,
        security_context: None,
        dns_config: None,
        host_aliases: None,
        image_pull_secrets: None,
        volumes: spec.volumes.map(|volumes| volumes.into_iter().filter(may_bind_to_a_node).collect()),
        ..spec
    }
}

fn thinned_container(container: Container) -> Container {
    let Container { name, image, ports, resources, restart_policy, .. } = container;
    Container { name, image, ports, resources, restart_policy, ..Container::default() }
}

/// Returns whether a volume may be bound to a node or a zone.
fn may_bind_to_a_node(volume: &v1::Volume) -> bool {
    volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some() || volume.host_path.is_some()
}

impl NodeId {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<String> for NodeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<&str> for NodeId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn pod(entry: &Value) -> Pod {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "web", "namespace": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [entry],
            },
            "spec": { "nodeName": "n1", "containers": [{ "name": "c", "image": "i", "env": [{ "name": "E" }] }] },
        });
        let manifest = crate::Manifests::from_iter([object]).objects()[0].clone();
        let typed = manifest.typed().unwrap();
        Pod::new(manifest, typed)
    }

    #[rstest]
    #[case::its_creator(json!({ "operation": "Update", "manager": "kubelet" }), true)]
    #[case::server_side_apply_at_its_creation(
        json!({ "operation": "Apply", "time": "2026-01-01T00:00:00Z" }), true
    )]
    #[case::a_later_server_side_apply(json!({ "operation": "Apply", "time": "2026-01-02T00:00:00Z" }), false)]
    #[case::whoever_was_before(json!({ "operation": "Update", "manager": "before-first-apply" }), false)]
    fn managed_fields_tell_who_named_the_node(#[case] mut entry: Value, #[case] names_node: bool) {
        assert!(!pod(&entry).names_node, "an entry without the field");
        entry["fieldsV1"] = json!({ "f:spec": { "f:nodeName": {} } });
        assert_eq!(pod(&entry).names_node, names_node);
    }

    #[test]
    fn what_no_verdict_depends_on_is_dropped() {
        let pod = pod(&json!({}));
        assert_eq!(pod.spec.containers[0].env, None);
        assert_eq!(pod.spec.containers[0].image.as_deref(), Some("i"));
        assert_eq!((pod.node, pod.spec.node_name.as_ref()), (Some("n1".into()), None));
    }
}
