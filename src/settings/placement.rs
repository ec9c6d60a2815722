//! The block `placement`.

use super::{choice, reference};
use crate::json::{never_null, null_is_default, objects, word};
use crate::message::quote;
use crate::selector::syntax;
use crate::toleration::{Toleration, from_settings};
use serde::Deserialize;

/// The name of the block.
pub const PLACEMENT: &str = "placement";

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
pub const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// What the settings say about placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Placement"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// The default node selector of namespaces that have no other default.
    pub cluster_default_node_selector: Option<String>,
    /// What is added to the tolerations of Pods in namespaces that have no other default.
    #[serde(deserialize_with = "from_settings")]
    pub cluster_default_tolerations: Option<Vec<Toleration>>,
    /// The annotations of namespaces that hold node selectors.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace_annotations: NamespaceAnnotations,
    /// What holds for which namespaces. The first entry that matches wins.
    #[serde(deserialize_with = "objects")]
    pub namespaces: Vec<NamespaceEntry>,
    /// Node labels that kubelets must not set, beside those in node selectors: keys, or prefixes with their slash and
    /// `*`.
    #[serde(deserialize_with = "null_is_default")]
    pub guarded_node_labels: Vec<String>,
    /// Users whose requests are not held to what is allowed and forbidden, by their full names.
    #[serde(deserialize_with = "null_is_default")]
    pub exempt_usernames: Vec<String>,
    /// What happens where a Pod chooses otherwise than a default says.
    #[serde(deserialize_with = "word")]
    pub on_default_conflict: choice::OnDefaultConflict,
    /// What is done about what the API server merges into Pods from their RuntimeClass.
    #[serde(deserialize_with = "word")]
    pub on_runtime_classes: choice::OnRuntimeClasses,
    /// What happens with node affinity that asks for more than the whitelist allows.
    #[serde(deserialize_with = "word")]
    pub on_node_affinity: choice::OnNodeAffinity,
    /// What happens with a Pod that names its node.
    #[serde(deserialize_with = "word")]
    pub on_node_name: choice::OnNodeName,
    /// What the annotations of namespaces about tolerations count for.
    #[serde(deserialize_with = "word")]
    pub on_toleration_annotations: choice::OnTolerationAnnotations,
    /// What is done for Pods that request extended resources.
    #[serde(deserialize_with = "word")]
    pub on_extended_resources: choice::OnExtendedResources,
    /// What happens with a workload whose Pods would be rejected.
    #[serde(deserialize_with = "word")]
    pub on_workloads: choice::OnWorkloads,
    /// What happens with the template of a DaemonSet.
    #[serde(deserialize_with = "word")]
    pub on_daemon_sets: choice::OnDaemonSets,
    /// What happens with a Namespace whose annotations are malformed or not allowed.
    #[serde(deserialize_with = "word")]
    pub on_namespaces: choice::OnNamespaces,
    /// What happens with a Binding to a node that the namespace may not use.
    #[serde(deserialize_with = "word")]
    pub on_bindings: choice::OnBindings,
    /// What happens where a kubelet gives its Node a label that decides which Pods it gets.
    #[serde(deserialize_with = "word")]
    pub on_nodes: choice::OnNodes,
}

/// The keys of annotations; that of the in-tree plugin, if nothing is said.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct NamespaceAnnotations(pub Vec<String>);

impl Default for NamespaceAnnotations {
    fn default() -> Self {
        Self(vec![IN_TREE_ANNOTATION.to_owned()])
    }
}

/// What holds for the namespaces that it is about. At least one of `name` and `namespaceSelector` must be there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NamespaceEntry"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NamespaceEntry {
    /// The name of a namespace, or the beginning of names and `*`.
    pub name: Option<String>,
    /// The labels of the Namespace.
    #[serde(deserialize_with = "never_null")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub namespace_selector: Option<String>,
    /// The node selector that always holds.
    #[serde(deserialize_with = "never_null")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub required_node_selector: Option<String>,
    /// The node selector that holds where no annotation is present.
    pub default_node_selector: Option<String>,
    /// What Pods may ask for.
    pub allowed_node_selector: Option<String>,
    /// What Pods prefer of nodes, and run without.
    #[serde(deserialize_with = "objects")]
    pub preferred_node_selector: Vec<PreferredNodeSelector>,
    /// What is added to the tolerations of Pods.
    #[serde(deserialize_with = "from_settings")]
    pub default_tolerations: Option<Vec<Toleration>>,
    /// What Pods may tolerate.
    #[serde(deserialize_with = "from_settings")]
    pub allowed_tolerations: Option<Vec<Toleration>>,
    /// What Pods must not tolerate.
    #[serde(deserialize_with = "from_settings")]
    pub forbidden_tolerations: Option<Vec<Toleration>>,
    /// Whether all this is enforced.
    #[serde(deserialize_with = "word")]
    pub enforcement: choice::Enforcement,
}

/// What Pods prefer of nodes, and how much.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PreferredNodeSelector"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreferredNodeSelector {
    /// From 1 to 100.
    pub weight: i64,
    /// The preferred nodes.
    pub selector: String,
}

impl Placement {
    /// Whether any annotation of namespaces counts.
    pub fn reads_annotations(&self) -> bool {
        !self.namespace_annotations.0.is_empty() || self.honors_toleration_annotations()
    }

    /// Whether the annotations of namespaces say what Pods tolerate.
    pub fn honors_toleration_annotations(&self) -> bool {
        self.on_toleration_annotations == choice::OnTolerationAnnotations::Honor
    }
}

impl NamespaceEntry {
    /// Whether the name fits a `namespace`; without one, all do.
    pub fn name_fits(&self, namespace: &str) -> bool {
        match &self.name {
            Some(pattern) => is_name_of(pattern, namespace),
            None => self.namespace_selector.is_some(),
        }
    }

    /// Whether this depends on labels of the Namespace.
    pub fn reads_labels(&self) -> bool {
        self.namespace_selector.is_some() || self.texts_with_references().next().is_some()
    }

    /// Whether this says what Pods may or must not tolerate.
    pub fn validates_tolerations(&self) -> bool {
        self.allowed_tolerations.is_some() || self.forbidden_tolerations.is_some()
    }

    /// The keys of the labels that this refers to.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.texts_with_references().flat_map(|text| reference::keys(text))
    }

    /// What it demands of nodes, each with the name of the setting. What it prefers is not among it.
    pub fn node_selectors(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let selectors = [
            ("requiredNodeSelector", &self.required_node_selector),
            ("defaultNodeSelector", &self.default_node_selector),
            ("allowedNodeSelector", &self.allowed_node_selector),
        ];
        selectors.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?)))
    }

    /// Its lists of tolerations, each with the name of the setting.
    pub fn toleration_lists(&self) -> impl Iterator<Item = (&'static str, &Vec<Toleration>)> {
        let lists = [
            ("defaultTolerations", &self.default_tolerations),
            ("allowedTolerations", &self.allowed_tolerations),
            ("forbiddenTolerations", &self.forbidden_tolerations),
        ];
        lists.into_iter().filter_map(|(field, list)| Some((field, list.as_ref()?)))
    }

    fn texts_with_references(&self) -> impl Iterator<Item = &String> {
        let selectors = self.node_selectors().map(|(_, text)| text);
        let preferred = self.preferred_node_selector.iter().map(|preferred| &preferred.selector);
        let values = self.toleration_lists().flat_map(|(_, list)| list).map(|toleration| &toleration.value);
        selectors.chain(preferred).chain(values).filter(|text| reference::is_in(text))
    }
}

/// What namespaces can be called.
const NAME: &str = "at most 63 lowercase letters, digits and '-', beginning and ending with a letter or digit";

/// Checks that there can be namespaces that `pattern` is about.
///
/// # Errors
/// What is wrong with it, and what is expected.
pub fn check_name(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("expected the name of a namespace, or the beginning of names and '*'".to_owned());
    }
    let beginning = pattern.strip_suffix('*').unwrap_or(pattern);
    if beginning.contains('*') {
        return Err(format!("{} has a '*' elsewhere than at its end", quote(pattern)));
    }
    if syntax::is_dns_label(beginning) {
        return Ok(());
    }
    if beginning == pattern {
        return Err(format!("no namespace can be called {}, expected {NAME}", quote(pattern)));
    }
    // It may become a name with a letter more.
    if syntax::is_dns_label(&format!("{beginning}x")) {
        return Ok(());
    }
    Err(format!("no namespace's name can begin with {}, expected {NAME}", quote(beginning)))
}

/// Whether `pattern`, which requests do not check anew, is about the namespace of this name.
pub fn is_name_of(pattern: &str, namespace: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => namespace.starts_with(beginning),
        None => !pattern.is_empty() && pattern == namespace,
    }
}
