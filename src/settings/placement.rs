//! The block `placement`, and what its settings can be that choose one of a few words.

use super::{Setting, reference};
use crate::json::{never_null, null_is_default, objects, optional_objects, word};
use crate::message::quote;
use crate::selector::syntax;
use crate::toleration::Toleration;
use serde::Deserialize;

/// The name of the block.
pub const PLACEMENT: &str = "placement";

/// The key of the in-tree plugin's configuration that holds where a namespace has no annotation.
pub const CLUSTER_DEFAULT_NODE_SELECTOR: &str = "clusterDefaultNodeSelector";

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
    #[serde(deserialize_with = "optional_objects")]
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
    pub on_default_conflict: OnDefaultConflict,
    /// What is done about what the API server merges into Pods from their RuntimeClass.
    #[serde(deserialize_with = "word")]
    pub on_runtime_classes: OnRuntimeClasses,
    /// What happens with node affinity that asks for more than the whitelist allows.
    #[serde(deserialize_with = "word")]
    pub on_node_affinity: OnNodeAffinity,
    /// What happens with a Pod that names its node.
    #[serde(deserialize_with = "word")]
    pub on_node_name: OnNodeName,
    /// What the annotations of namespaces about tolerations count for.
    #[serde(deserialize_with = "word")]
    pub on_toleration_annotations: OnTolerationAnnotations,
    /// What is done for Pods that request extended resources.
    #[serde(deserialize_with = "word")]
    pub on_extended_resources: OnExtendedResources,
    /// What happens with a workload whose Pods would be rejected.
    #[serde(deserialize_with = "word")]
    pub on_workloads: OnRejectedPods,
    /// What happens with the template of a DaemonSet.
    #[serde(deserialize_with = "word")]
    pub on_daemon_sets: OnDaemonSets,
    /// What happens with a Namespace whose annotations are malformed or not allowed.
    #[serde(deserialize_with = "word")]
    pub on_namespaces: OnRejectedPods,
    /// What happens with a Binding to a node that the namespace may not use.
    #[serde(deserialize_with = "word")]
    pub on_bindings: OnBindings,
    /// What happens where a kubelet gives its Node a label that decides which Pods it gets.
    #[serde(deserialize_with = "word")]
    pub on_nodes: OnNodes,
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
    /// The labels of the Pods. The other Pods go on to the next entry.
    #[serde(deserialize_with = "never_null")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub pod_selector: Option<String>,
    /// The node selector that always holds.
    #[serde(deserialize_with = "never_null")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub required_node_selector: Option<String>,
    /// The node selector that holds where no annotation is present.
    pub default_node_selector: Option<String>,
    /// What Pods may ask for.
    pub allowed_node_selector: Option<String>,
    /// The labels that Pods must not select nodes by, whatever else is allowed: keys, or prefixes with their slash and
    /// `*`.
    #[serde(deserialize_with = "null_is_default")]
    pub forbidden_node_labels: Vec<String>,
    /// What Pods prefer of nodes, and run without.
    #[serde(deserialize_with = "objects")]
    pub preferred_node_selector: Vec<PreferredNodeSelector>,
    /// What is added to the tolerations of Pods.
    #[serde(deserialize_with = "optional_objects")]
    pub default_tolerations: Option<Vec<Toleration>>,
    /// What Pods may tolerate.
    #[serde(deserialize_with = "optional_objects")]
    pub allowed_tolerations: Option<Vec<Toleration>>,
    /// What Pods must not tolerate.
    #[serde(deserialize_with = "optional_objects")]
    pub forbidden_tolerations: Option<Vec<Toleration>>,
    /// Whether all this is enforced.
    #[serde(deserialize_with = "word")]
    pub enforcement: Enforcement,
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
    /// Returns whether any annotation of namespaces counts.
    pub fn reads_annotations(&self) -> bool {
        !self.namespace_annotations.0.is_empty() || self.honors_toleration_annotations()
    }

    /// Returns whether the annotations of namespaces say what Pods tolerate.
    pub fn honors_toleration_annotations(&self) -> bool {
        self.on_toleration_annotations == OnTolerationAnnotations::Honor
    }
}

impl NamespaceEntry {
    /// Returns whether the name fits a `namespace`; without one, all do.
    pub fn name_fits(&self, namespace: &str) -> bool {
        match &self.name {
            Some(pattern) => is_name_of(pattern, namespace),
            None => self.namespace_selector.is_some(),
        }
    }

    /// Returns whether this holds for all Pods of the namespaces whose name fits.
    pub const fn matches_by_name_alone(&self) -> bool {
        self.namespace_selector.is_none() && self.pod_selector.is_none()
    }

    /// Returns whether this depends on labels of the Namespace.
    pub fn reads_labels(&self) -> bool {
        self.namespace_selector.is_some() || self.texts_with_references().next().is_some()
    }

    /// Returns whether it says which node labels Pods may select by, or must not.
    pub fn limits_labels(&self) -> bool {
        self.allowed_node_selector.is_some() || !self.forbidden_node_labels.is_empty()
    }

    /// Returns whether this says what Pods may or must not tolerate.
    pub fn validates_tolerations(&self) -> bool {
        self.allowed_tolerations.is_some() || self.forbidden_tolerations.is_some()
    }

    /// Returns the keys of the labels that this refers to.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.texts_with_references().flat_map(|text| reference::keys(text))
    }

    /// Returns the node selectors that are required or allowed, each with its setting; without the preferred ones.
    pub fn node_selectors(&self) -> impl Iterator<Item = (Setting, &String)> {
        let allowed = self.allowed_node_selector.as_ref().map(|text| (Setting::AllowedNodeSelector, text));
        self.required_node_selectors().chain(allowed)
    }

    /// Returns the node selectors that are required, always or as a default, each with its setting.
    pub fn required_node_selectors(&self) -> impl Iterator<Item = (Setting, &String)> {
        let required = self.required_node_selector.as_ref().map(|text| (Setting::RequiredNodeSelector, text));
        let default = self.default_node_selector.as_ref().map(|text| (Setting::DefaultNodeSelector, text));
        required.into_iter().chain(default)
    }

    /// Returns the lists of tolerations, each with its setting.
    pub fn toleration_lists(&self) -> impl Iterator<Item = (Setting, &Vec<Toleration>)> {
        let lists = [
            (Setting::DefaultTolerations, &self.default_tolerations),
            (Setting::AllowedTolerations, &self.allowed_tolerations),
            (Setting::ForbiddenTolerations, &self.forbidden_tolerations),
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

/// Returns whether `pattern`, which requests do not check anew, is about the namespace of this name.
pub fn is_name_of(pattern: &str, namespace: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => namespace.starts_with(beginning),
        None => !pattern.is_empty() && pattern == namespace,
    }
}

/// What happens with node affinity that asks for more than the whitelist allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnNodeAffinity {
    /// It is rejected, like such a nodeSelector.
    #[default]
    Check,
    /// It is free.
    Ignore,
}

/// What happens with a Pod that names its node, and so passes no scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnNodeName {
    /// The node is looked up, and must be one that the Pod may use.
    #[default]
    Verify,
    /// Rejected.
    Reject,
    /// Accepted.
    Ignore,
}

/// What happens with a workload, or a Namespace, whose Pods would be rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnRejectedPods {
    /// Rejected.
    #[default]
    Reject,
    /// Accepted with a warning.
    Warn,
    /// Accepted; only its Pods are validated.
    Ignore,
}

/// What happens with the template of a DaemonSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnDaemonSets {
    /// What the namespace demands is added to it, selectors and tolerations; what would be rejected is rejected.
    #[default]
    Inject,
    /// Rejected unless it needs no injection. (Of a DaemonSet that another object owns, a warning tells what it
    /// needs; with `Inject`, too.)
    Reject,
    /// Accepted with a warning.
    Warn,
    /// Accepted.
    Ignore,
}

/// What happens with a Binding to a node that the namespace may not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnBindings {
    /// The node is looked up, and must match the namespace's node selector.
    Verify,
    /// Accepted.
    #[default]
    Ignore,
}

/// What happens where a kubelet gives its Node a label that decides which Pods it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnNodes {
    /// Rejected, the creation of a Node with such a label too.
    Reject,
    /// Rejected; but a Node may be created with such a label.
    RejectChanges,
    /// Accepted.
    #[default]
    Ignore,
}

/// What the annotations of namespaces about tolerations count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnTolerationAnnotations {
    /// Their defaults are added to Pods, and their whitelist narrows what the settings allow.
    Honor,
    /// Nothing.
    #[default]
    Ignore,
}

/// What is done for Pods that request extended resources, such as GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnExtendedResources {
    /// They tolerate taints with the resource as key.
    Tolerate,
    /// Nothing.
    #[default]
    Ignore,
}

/// What happens where a Pod chooses otherwise than a default says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnDefaultConflict {
    /// Rejected.
    #[default]
    Reject,
    /// The default does not hold for what the Pod chose.
    Yield,
}

/// What is done about what the API server merges into Pods from their RuntimeClass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnRuntimeClasses {
    /// The RuntimeClass is looked up, and what it brings is not validated by whitelists.
    Resolve,
    /// It is validated like what Pods ask for themselves.
    #[default]
    Ignore,
}

/// Whether the rules of an entry are enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum Enforcement {
    /// What breaks a rule is rejected, and what is demanded is added.
    #[default]
    Enforce,
    /// Everything passes as it came; a warning tells what would happen.
    Warn,
}
