//! Settings, exactly as users write them. Read once per request, from `settings` of what the host sends.
//!
//! - [`placement_block`], [`node_metadata_block`]: the types of the two jobs. Selectors stay text in them: of a thousand entries a
//!   request needs one.
//! - [`key`], [`field_path`], [`reference`]: what stands in some of them.
//! - [`setting`], [`source`]: their names and paths, and the places that require something.
//! - `validate`: every mistake that the types don't find. Those that they find, unknown fields and wrong
//!   types, are reported by [`crate::json::read`].

pub mod field_path;
pub mod key;
pub mod node_metadata_block;
pub mod placement_block;
pub mod reference;
pub mod setting;
pub mod source;
mod validate;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::json::read::read;
use crate::json::{FromObject, object};

pub use node_metadata_block::{NodeMetadata, OnLookupFailure, Propagate};
pub use placement_block::{
    Enforcement, NamespaceEntry, OnBindings, OnDaemonSets, OnDefaultConflict, OnExtendedResources, OnNodeAffinity,
    OnNodeName, OnNodes, OnRejectedPods, OnRuntimeClasses, OnTolerationAnnotations, Placement, PreferredNodeSelector,
};
pub use setting::{NODE_METADATA, NODE_SELECTOR_PLUGIN, PLACEMENT, Setting, SettingPath, SettingsError};
pub use source::{EntryAt, Source};
pub use validate::{SettingSelector, first_not_allowed, mistakes};

/// What stands under `spec.settings` of a policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Settings"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Which nodes the Pods of a namespace may use, and which taints they may tolerate.
    #[serde(deserialize_with = "object")]
    pub placement: Option<Placement>,
    /// Instead of `placement`: the configuration of the in-tree plugin PodNodeSelector.
    pub pod_node_selector_plugin_config: Option<PodNodeSelectorPluginConfig>,
    /// What is copied from the node to its Pods.
    #[serde(deserialize_with = "object")]
    pub node_metadata: Option<NodeMetadata>,
}

/// The configuration of the in-tree plugin `PodNodeSelector`: what is allowed in a namespace, by its name; and
/// `clusterDefaultNodeSelector`.
pub type PodNodeSelectorPluginConfig = BTreeMap<String, Option<String>>;

/// A field that people paste from the configuration of an in-tree plugin.
const TOLERATION_PLUGIN: &str = "podTolerationRestrictionPluginConfig";

impl Settings {
    /// Reads the `text` of the settings. Absent settings are empty.
    ///
    /// ```
    /// use node_placement_policy::settings::Settings;
    ///
    /// let text = r#"{"placement": {"namespaces": [{"name": "team-*", "requiredNodeSelector": "pool=blue"}]}}"#;
    /// let placement = Settings::read(Some(text)).unwrap().placement.unwrap();
    /// assert!(placement.namespaces[0].name_fits("team-a"));
    /// let error = Settings::read(Some(r#"{"placement": {"namespace": []}}"#)).unwrap_err();
    /// assert_eq!(error.to_string(), r#"placement: unknown field "namespace", did you mean namespaces?"#);
    /// ```
    ///
    /// # Errors
    /// It is not JSON, or not of these types.
    pub fn read(text: Option<&str>) -> Result<Self, SettingsError> {
        let Some(text) = text else { return Ok(Self::default()) };
        match read::<Option<FromObject<Self>>>(text) {
            Ok(settings) => Ok(settings.map(|read| read.0).unwrap_or_default()),
            Err(error) if error.unknown_field() == Some(TOLERATION_PLUGIN) => {
                let problem = format!(
                    "unknown field \"{TOLERATION_PLUGIN}\": placement replaces it, with defaultTolerations and \
                     allowedTolerations of its namespaces"
                );
                Err(SettingsError::new(&"", problem))
            }
            Err(error) => Err(SettingsError(error)),
        }
    }
}
