//! The block `placement`, and the words that its settings can have.

use serde::Deserialize;

use super::reference;
use super::setting::Setting;
use crate::json::{never_null, null_is_default, objects, optional_objects, words};
use crate::message::quote;
use crate::selector::syntax;
use crate::toleration::Toleration;

/// The key of the in-tree plugin's configuration for namespaces without an annotation.
pub const CLUSTER_DEFAULT_NODE_SELECTOR: &str = "clusterDefaultNodeSelector";

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
pub const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// Which nodes the Pods of a namespace may use, and which taints they may tolerate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Placement"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// The default node selector of namespaces that have no other default.
    pub cluster_default_node_selector: Option<String>,
    /// The default tolerations of namespaces that have no other default.
    #[serde(deserialize_with = "optional_objects")]
    pub cluster_default_tolerations: Option<Vec<Toleration>>,
    /// The annotations of namespaces that hold node selectors.
    #[serde(deserialize_with = "null_is_default")]
    pub namespace_annotations: NamespaceAnnotations,
    /// The rules by namespace. The first entry that matches applies.
    #[serde(deserialize_with = "objects")]
    pub namespaces: Vec<NamespaceEntry>,
    /// Node labels that kubelets must not set, beside those in node selectors: keys, or prefixes with their slash and
    /// `*`.
    #[serde(deserialize_with = "null_is_default")]
    pub guarded_node_labels: Vec<String>,
    /// Users who may request everything, by their full names.
    #[serde(deserialize_with = "null_is_default")]
    pub exempt_usernames: Vec<String>,
    /// What happens if a Pod chooses other nodes than a default.
    pub on_default_conflict: OnDefaultConflict,
    /// How the selectors and tolerations of RuntimeClasses are validated.
    pub on_runtime_classes: OnRuntimeClasses,
    /// What happens with node affinity that requests more than the whitelist allows.
    pub on_node_affinity: OnNodeAffinity,
    /// What happens with a Pod that names its node.
    pub on_node_name: OnNodeName,
    /// Whether the annotations of namespaces about tolerations count.
    pub on_toleration_annotations: OnTolerationAnnotations,
    /// Whether Pods that request extended resources tolerate their taints.
    pub on_extended_resources: OnExtendedResources,
    /// What happens with a workload whose Pods would be rejected.
    pub on_workloads: OnRejectedPods,
    /// What happens with the template of a DaemonSet.
    pub on_daemon_sets: OnDaemonSets,
    /// What happens with a Namespace whose annotations are malformed or not allowed.
    pub on_namespaces: OnRejectedPods,
    /// What happens with a Binding to a node that the namespace must not use.
    pub on_bindings: OnBindings,
    /// What happens if a kubelet gives its Node a label that decides which Pods it gets.
    pub on_nodes: OnNodes,
}

/// The keys of annotations. The default is the key of the in-tree plugin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct NamespaceAnnotations(pub Vec<String>);

impl Default for NamespaceAnnotations {
    fn default() -> Self {
        Self(vec![IN_TREE_ANNOTATION.to_owned()])
    }
}

/// The rules for some namespaces. At least one of `name` and `namespaceSelector` must be there.
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
    /// The node selector that is always required.
    #[serde(deserialize_with = "never_null")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub required_node_selector: Option<String>,
    /// The node selector that is required if the Namespace has no annotation.
    pub default_node_selector: Option<String>,
    /// The whitelist of node labels that Pods may request.
    pub allowed_node_selector: Option<String>,
    /// The labels that Pods must not select nodes by, whatever else is allowed: keys, or prefixes with their slash and
    /// `*`.
    #[serde(deserialize_with = "null_is_default")]
    pub forbidden_node_labels: Vec<String>,
    /// The node labels that Pods prefer.
    #[serde(deserialize_with = "objects")]
    pub preferred_node_selector: Vec<PreferredNodeSelector>,
    /// The tolerations that are added to Pods.
    #[serde(deserialize_with = "optional_objects")]
    pub default_tolerations: Option<Vec<Toleration>>,
    /// The whitelist of tolerations.
    #[serde(deserialize_with = "optional_objects")]
    pub allowed_tolerations: Option<Vec<Toleration>>,
    /// The forbidden tolerations.
    #[serde(deserialize_with = "optional_objects")]
    pub forbidden_tolerations: Option<Vec<Toleration>>,
    /// Whether the rules are enforced.
    pub enforcement: Enforcement,
}

/// A node selector that Pods prefer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PreferredNodeSelector"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreferredNodeSelector {
    /// The weight, from 1 to 100.
    pub weight: i64,
    /// The preferred nodes.
    pub selector: String,
}

impl Placement {
    /// Returns whether annotations of namespaces are read.
    pub fn reads_annotations(&self) -> bool {
        !self.namespace_annotations.0.is_empty() || self.honors_toleration_annotations()
    }

    /// Returns whether the annotations of namespaces about tolerations are read.
    pub fn honors_toleration_annotations(&self) -> bool {
        self.on_toleration_annotations == OnTolerationAnnotations::Honor
    }
}

impl NamespaceEntry {
    /// Returns whether the name fits a `namespace`. Without a name, every namespace fits.
    pub fn name_fits(&self, namespace: &str) -> bool {
        match &self.name {
            Some(pattern) => is_name_of(pattern, namespace),
            None => self.namespace_selector.is_some(),
        }
    }

    /// Returns whether the entry applies to all Pods of the namespaces whose name fits.
    pub const fn matches_by_name_alone(&self) -> bool {
        self.namespace_selector.is_none() && self.pod_selector.is_none()
    }

    /// Returns whether the entry depends on labels of the Namespace.
    pub fn reads_labels(&self) -> bool {
        self.namespace_selector.is_some() || self.texts_with_references().next().is_some()
    }

    /// Returns whether the entry allows or forbids node labels.
    pub fn limits_labels(&self) -> bool {
        self.allowed_node_selector.is_some() || !self.forbidden_node_labels.is_empty()
    }

    /// Returns whether the entry allows or forbids tolerations.
    pub fn validates_tolerations(&self) -> bool {
        self.allowed_tolerations.is_some() || self.forbidden_tolerations.is_some()
    }

    /// Returns the keys of the labels that the entry refers to.
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

/// The names that namespaces can have.
const NAME: &str = "at most 63 lowercase letters, digits and '-', beginning and ending with a letter or digit";

/// Checks that there can be namespaces that `pattern` fits.
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
    // A longer name may be valid.
    if syntax::is_dns_label(&format!("{beginning}x")) {
        return Ok(());
    }
    Err(format!("no namespace's name can begin with {}, expected {NAME}", quote(beginning)))
}

/// Returns whether `pattern` fits the namespace of this name.
pub fn is_name_of(pattern: &str, namespace: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => namespace.starts_with(beginning),
        None => !pattern.is_empty() && pattern == namespace,
    }
}

words! {
    /// What happens with node affinity that requests more than the whitelist allows.
    OnNodeAffinity {
        /// Rejected, like such a nodeSelector.
        #[default]
        Check,
        /// Accepted.
        Ignore,
    }

    /// What happens with a Pod that names its node. No scheduler checks it.
    OnNodeName {
        /// Rejected unless the node is one that the Pod may use. The node is looked up.
        #[default]
        Verify,
        /// Rejected.
        Reject,
        /// Accepted.
        Ignore,
    }

    /// What happens with a workload, or a Namespace, whose Pods would be rejected.
    OnRejectedPods {
        /// Rejected.
        #[default]
        Reject,
        /// Accepted with a warning.
        Warn,
        /// Accepted; only its Pods are validated.
        Ignore,
    }

    /// What happens with the template of a DaemonSet.
    OnDaemonSets {
        /// Selectors and tolerations of the namespace are added. Rejected if its Pods would be rejected.
        #[default]
        Inject,
        /// Rejected if something must be added. A DaemonSet that another object owns only gets a warning, with `Inject` too.
        Reject,
        /// Accepted with a warning.
        Warn,
        /// Accepted.
        Ignore,
    }

    /// What happens with a Binding to a node that the namespace must not use.
    OnBindings {
        /// Rejected unless the node matches the namespace's node selector. The node is looked up.
        Verify,
        /// Accepted.
        #[default]
        Ignore,
    }

    /// What happens if a kubelet gives its Node a label that decides which Pods it gets.
    OnNodes {
        /// Rejected. So is the creation of a Node with such a label.
        Reject,
        /// Rejected. A Node may be created with such a label.
        RejectChanges,
        /// Accepted.
        #[default]
        Ignore,
    }

    /// Whether the annotations of namespaces about tolerations count.
    OnTolerationAnnotations {
        /// Their defaults are added to Pods, and their whitelist narrows what the settings allow.
        Honor,
        /// They are not read.
        #[default]
        Ignore,
    }

    /// Whether Pods that request extended resources, such as GPUs, tolerate their taints.
    OnExtendedResources {
        /// Pods tolerate taints with the resource as key.
        Tolerate,
        /// No toleration is added.
        #[default]
        Ignore,
    }

    /// What happens if a Pod chooses other nodes than a default.
    OnDefaultConflict {
        /// Rejected.
        #[default]
        Reject,
        /// Accepted. The default does not apply to labels that the Pod chooses.
        Yield,
    }

    /// How the selectors and tolerations that the API server adds to Pods from their RuntimeClass are validated.
    OnRuntimeClasses {
        /// Whitelists do not apply to them. The RuntimeClass is looked up.
        Resolve,
        /// Like those that Pods request themselves.
        #[default]
        Ignore,
    }

    /// Whether the rules of an entry are enforced.
    Enforcement {
        /// Requests that break a rule are rejected. Required selectors and tolerations are added.
        #[default]
        Enforce,
        /// Requests are accepted unchanged. A warning says what would happen.
        Warn,
    }
}
