//! The settings that choose one of a few behaviours.

use serde::Deserialize;

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

/// What happens with a workload whose Pods would be rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnWorkloads {
    /// Rejected.
    #[default]
    Reject,
    /// Accepted with a warning.
    Warn,
    /// Accepted; only its Pods are judged.
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

/// What happens with a Namespace whose annotations are malformed or not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnNamespaces {
    /// Rejected.
    #[default]
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
    /// The RuntimeClass is looked up, and what it brings is not judged by whitelists.
    Resolve,
    /// It is judged like what Pods ask for themselves.
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

/// What happens when the Node that metadata comes from can't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub enum OnLookupFailure {
    /// Rejected; the scheduler tries again.
    #[default]
    Reject,
    /// Accepted with a warning; only defaults are written.
    Ignore,
}
