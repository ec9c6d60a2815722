//! Names settings and their paths. A mistake has the path of its setting.

use std::fmt;

use serde::Serialize;

use crate::json::{ReadError, Within};

/// The block about placement.
pub const PLACEMENT: &str = "placement";

/// The block about node metadata.
pub const NODE_METADATA: &str = "nodeMetadata";

/// The block of the in-tree plugin.
pub const NODE_SELECTOR_PLUGIN: &str = "podNodeSelectorPluginConfig";

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

/// A mistake in one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
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
