//! Names settings, and the places in the settings or on a Namespace that require something.

use std::fmt;

use serde::Serialize;

use super::node_metadata::NODE_METADATA;
use super::placement::{NamespaceEntry, PLACEMENT};
use crate::json::{ReadError, Within};
use crate::message::quote;

/// The block of the in-tree plugin.
pub(super) const NODE_SELECTOR_PLUGIN: &str = "podNodeSelectorPluginConfig";

/// A setting, of the block `placement`, of an entry of its `namespaces`, or of the block `nodeMetadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Setting {
    /// `namespaceSelector`
    NamespaceSelector,
    /// `podSelector`
    PodSelector,
    /// `requiredNodeSelector`
    RequiredNodeSelector,
    /// `defaultNodeSelector`
    DefaultNodeSelector,
    /// `allowedNodeSelector`
    AllowedNodeSelector,
    /// `forbiddenNodeLabels`
    ForbiddenNodeLabels,
    /// `preferredNodeSelector`
    PreferredNodeSelector,
    /// `defaultTolerations`
    DefaultTolerations,
    /// `allowedTolerations`
    AllowedTolerations,
    /// `forbiddenTolerations`
    ForbiddenTolerations,
    /// `clusterDefaultNodeSelector`
    ClusterDefaultNodeSelector,
    /// `clusterDefaultTolerations`
    ClusterDefaultTolerations,
    /// `onNodeName`
    OnNodeName,
    /// `onDaemonSets`
    OnDaemonSets,
    /// `onNodes`
    OnNodes,
    /// `propagate`
    Propagate,
    /// `protect`
    Protect,
}

impl fmt::Display for Setting {
    /// Writes the name as it stands in the settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The path of a setting, as in `placement.namespaces[1].allowedNodeSelector`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingPath {
    /// A field of the block `placement`.
    Placement(Setting),
    /// A field of the entry of `placement.namespaces` at this position, counted from zero.
    Entry(usize, Setting),
    /// The configuration of the in-tree plugin for a namespace.
    PluginConfig(String),
    /// A field of the block `nodeMetadata`.
    NodeMetadata(Setting),
    /// The entry of `nodeMetadata.propagate` at this position, counted from zero.
    Propagation(usize),
}

impl fmt::Display for SettingPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placement(setting) => write!(f, "{PLACEMENT}.{setting}"),
            Self::Entry(position, setting) => write!(f, "{PLACEMENT}.namespaces[{position}].{setting}"),
            Self::PluginConfig(namespace) => write!(f, "{NODE_SELECTOR_PLUGIN}.{namespace}"),
            Self::NodeMetadata(setting) => write!(f, "{NODE_METADATA}.{setting}"),
            Self::Propagation(position) => write!(f, "{NODE_METADATA}.{}[{position}]", Setting::Propagate),
        }
    }
}

/// The place that requires something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source<'s> {
    /// A field of the block `placement`.
    Placement(Setting),
    /// A field of an entry of `placement.namespaces`.
    Entry(EntryAt<'s>, Setting),
    /// The configuration of the in-tree plugin for a namespace.
    PluginConfig(&'s str),
    /// An annotation of a Namespace.
    Annotation {
        /// Its key.
        key: &'s str,
        /// The namespace.
        namespace: &'s str,
    },
}

/// An entry of `placement.namespaces`, and its position there, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryAt<'s> {
    /// Its position.
    pub position: usize,
    /// The entry.
    pub entry: &'s NamespaceEntry,
}

impl Source<'_> {
    /// Returns whether this is a node selector that holds where no annotation is present.
    pub fn is_default(&self) -> bool {
        use Setting::{ClusterDefaultNodeSelector, DefaultNodeSelector};
        matches!(self, Self::Entry(_, DefaultNodeSelector) | Self::Placement(ClusterDefaultNodeSelector))
    }

    /// Returns whether this is an annotation.
    pub const fn is_annotation(&self) -> bool {
        matches!(self, Self::Annotation { .. })
    }

    /// Returns the path of the setting, or `None` for an annotation.
    pub fn setting(&self) -> Option<SettingPath> {
        match *self {
            Self::Placement(setting) => Some(SettingPath::Placement(setting)),
            Self::Entry(at, setting) => Some(SettingPath::Entry(at.position, setting)),
            Self::PluginConfig(namespace) => Some(SettingPath::PluginConfig(namespace.to_owned())),
            Self::Annotation { .. } => None,
        }
    }

    /// Returns the key of the annotation, or `None` for a setting.
    pub fn annotation(&self) -> Option<String> {
        if let Self::Annotation { key, .. } = *self { Some(key.to_owned()) } else { None }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Annotation { key, namespace } = self {
            return write!(f, "annotation {key} of namespace {}", quote(namespace));
        }
        if let Some(path) = self.setting() {
            path.fmt(f)?;
        }
        let Self::Entry(at, _) = self else { return Ok(()) };
        // Its name too: a position is hard to find in a long list.
        match (&at.entry.name, &at.entry.namespace_selector) {
            (Some(name), _) => write!(f, " (name {}", quote(name))?,
            (None, Some(selector)) => write!(f, " (namespaceSelector {}", quote(selector))?,
            (None, None) => return Ok(()),
        }
        if let Some(selector) = &at.entry.pod_selector {
            write!(f, ", podSelector {}", quote(selector))?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for EntryAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PLACEMENT}.namespaces[{}]", self.position)
    }
}

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub(super) ReadError);

impl SettingsError {
    /// Returns the mistake `problem` at `path`; an empty path stands for the settings as a whole.
    pub fn new(path: &dyn fmt::Display, problem: impl Into<String>) -> Self {
        Self(ReadError::new(problem).within(&path.to_string()))
    }

    /// Returns the error about the value.
    pub const fn error(&self) -> &ReadError {
        &self.0
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
