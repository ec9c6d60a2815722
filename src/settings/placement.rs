//! The block `placement`.

use serde::Deserialize;

use super::choice::{
    OnBindings, OnDaemonSets, OnExtendedResources, OnNamespaces, OnNodeAffinity, OnNodeName, OnNodes,
    OnTolerationAnnotations, OnWorkloads,
};
use super::name_pattern;
use crate::json::strict::{from_object, never_null, null_is_default};
use crate::toleration::{Toleration, from_settings};

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
pub const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// What the settings say about placement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// The node selector of namespaces that have no other.
    pub cluster_default_node_selector: Option<String>,
    /// What is added to the tolerations of Pods in namespaces that have nothing else.
    #[serde(deserialize_with = "from_settings")]
    pub cluster_default_tolerations: Option<Vec<Toleration>>,
    /// The annotations of namespaces that hold node selectors.
    #[serde(deserialize_with = "annotations")]
    pub namespace_annotations: Vec<String>,
    /// What holds for which namespaces. The first entry that matches wins.
    #[serde(deserialize_with = "null_is_default")]
    pub namespaces: Vec<NamespaceEntry>,
    /// What happens with node affinity that asks for more than the whitelist allows.
    pub on_node_affinity: OnNodeAffinity,
    /// What happens with a Pod that names its node.
    pub on_node_name: OnNodeName,
    /// What the annotations of namespaces about tolerations count for.
    pub on_toleration_annotations: OnTolerationAnnotations,
    /// What is done for Pods that request extended resources.
    pub on_extended_resources: OnExtendedResources,
    /// What happens with a workload whose Pods would be rejected.
    pub on_workloads: OnWorkloads,
    /// What happens with the template of a DaemonSet.
    pub on_daemon_sets: OnDaemonSets,
    /// What happens with a Namespace whose annotations are malformed or not allowed.
    pub on_namespaces: OnNamespaces,
    /// What happens with a Binding to a node that the namespace may not use.
    pub on_bindings: OnBindings,
    /// What happens where a kubelet gives its Node a label that decides which Pods it gets.
    pub on_nodes: OnNodes,
}

/// What holds for the namespaces that it is about. At least one of `name` and `namespaceSelector` must be there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NamespaceEntry {
    /// The name of a namespace, or the beginning of names and `*`.
    pub name: Option<String>,
    /// The labels of the Namespace.
    #[serde(deserialize_with = "never_null")]
    pub namespace_selector: Option<String>,
    /// The node selector that always holds.
    #[serde(deserialize_with = "never_null")]
    pub required_node_selector: Option<String>,
    /// The node selector that holds where no annotation is present.
    pub default_node_selector: Option<String>,
    /// What Pods may ask for.
    pub allowed_node_selector: Option<String>,
    /// What is added to the tolerations of Pods.
    #[serde(deserialize_with = "from_settings")]
    pub default_tolerations: Option<Vec<Toleration>>,
    /// What Pods may tolerate.
    #[serde(deserialize_with = "from_settings")]
    pub allowed_tolerations: Option<Vec<Toleration>>,
    /// What Pods must not tolerate.
    #[serde(deserialize_with = "from_settings")]
    pub forbidden_tolerations: Option<Vec<Toleration>>,
}

from_object!(Placement, NamespaceEntry);

impl Default for Placement {
    fn default() -> Self {
        Self {
            cluster_default_node_selector: None,
            cluster_default_tolerations: None,
            namespace_annotations: vec![IN_TREE_ANNOTATION.to_owned()],
            namespaces: Vec::new(),
            on_node_affinity: OnNodeAffinity::default(),
            on_node_name: OnNodeName::default(),
            on_toleration_annotations: OnTolerationAnnotations::default(),
            on_extended_resources: OnExtendedResources::default(),
            on_workloads: OnWorkloads::default(),
            on_daemon_sets: OnDaemonSets::default(),
            on_namespaces: OnNamespaces::default(),
            on_bindings: OnBindings::default(),
            on_nodes: OnNodes::default(),
        }
    }
}

/// `null` is the annotation of the in-tree plugin, as if nothing was said.
fn annotations<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let keys = Option::<Vec<String>>::deserialize(deserializer)?;
    Ok(keys.unwrap_or_else(|| vec![IN_TREE_ANNOTATION.to_owned()]))
}

impl Placement {
    /// Whether the annotations of namespaces say what Pods tolerate.
    pub fn honors_toleration_annotations(&self) -> bool {
        self.on_toleration_annotations == OnTolerationAnnotations::Honor
    }
}

impl NamespaceEntry {
    /// Whether the name fits a `namespace`; without one, all do.
    pub fn name_fits(&self, namespace: &str) -> bool {
        match &self.name {
            Some(pattern) => name_pattern::matches(pattern, namespace),
            None => self.namespace_selector.is_some(),
        }
    }

    /// Whether this says what Pods may or must not tolerate.
    pub fn judges_tolerations(&self) -> bool {
        self.allowed_tolerations.is_some() || self.forbidden_tolerations.is_some()
    }
}
