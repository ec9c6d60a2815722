//! Settings, exactly as users write them. Read once per request, from `settings` of what the host sends.
//!
//! - [`placement`], [`node_metadata`]: the types of the two jobs. Selectors stay text in them: of a thousand entries a
//!   request needs one.
//! - [`choice`]: the settings with a few words to choose from.
//! - [`key`], [`field_path`], [`name_pattern`], [`reference`], [`source`]: what stands in some of them, and where it
//!   stands.
//! - [`validate`]: every mistake that the types don't find.

pub mod choice;
mod earlier_entries;
pub mod field_path;
pub mod key;
pub mod name_pattern;
pub mod node_metadata;
pub mod placement;
pub mod reference;
pub mod source;
mod validate;
mod validate_node_metadata;
mod validate_placement;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::json::read::{ReadError, read};
use crate::json::strict::from_object;
use crate::toleration::PluginConfig;

pub use choice::{
    Enforcement, OnBindings, OnDaemonSets, OnDefaultConflict, OnExtendedResources, OnLookupFailure, OnNamespaces,
    OnNodeAffinity, OnNodeName, OnNodes, OnRuntimeClasses, OnTolerationAnnotations, OnWorkloads,
};
pub use node_metadata::{NodeMetadata, Propagate};
pub use placement::{NamespaceEntry, Placement, PreferredNodeSelector};
pub use source::Source;
pub use validate::mistakes;

/// What stands under `spec.settings` of a policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Settings"))]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Which nodes the Pods of a namespace may use, and which taints they may tolerate.
    pub placement: Option<Placement>,
    /// Instead of `placement`: the configuration of the in-tree plugin PodNodeSelector.
    pub pod_node_selector_plugin_config: Option<PodNodeSelectorPluginConfig>,
    /// Instead of `placement`: the configuration of the in-tree plugin PodTolerationRestriction.
    pub pod_toleration_restriction_plugin_config: Option<PluginConfig>,
    /// What Pods learn about the node they landed on.
    pub node_metadata: Option<NodeMetadata>,
}

/// The configuration of the in-tree plugin `PodNodeSelector`: what is allowed in a namespace, by its name; and
/// `clusterDefaultNodeSelector`.
pub type PodNodeSelectorPluginConfig = BTreeMap<String, Option<String>>;

from_object!(Settings);

/// The blocks, in the order in which messages name them.
pub(crate) const PLACEMENT: &str = "placement";
pub(crate) const NODE_SELECTOR_PLUGIN: &str = "podNodeSelectorPluginConfig";
pub(crate) const TOLERATION_PLUGIN: &str = "podTolerationRestrictionPluginConfig";
pub(crate) const NODE_METADATA: &str = "nodeMetadata";

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    path: String,
    problem: String,
}

impl Settings {
    /// Reads the `text` of the settings; absent ones are empty.
    ///
    /// # Errors
    /// It is not JSON, or not of these types.
    pub fn read(text: Option<&str>) -> Result<Self, SettingsError> {
        let Some(text) = text else { return Ok(Self::default()) };
        let settings: Option<Self> = read(text)?;
        Ok(settings.unwrap_or_default())
    }
}

impl SettingsError {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    #[cold]
    #[inline(never)]
    pub fn new(path: &dyn fmt::Display, problem: impl Into<String>) -> Self {
        Self { path: path.to_string(), problem: problem.into() }
    }
}

impl From<ReadError> for SettingsError {
    fn from(error: ReadError) -> Self {
        Self::new(&error.path(), error.problem())
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}
