//! The configuration of the in-tree admission plugin `PodTolerationRestriction`.

use serde::Deserialize;

use super::Toleration;
use crate::json::strict::{from_object, null_is_default};

/// The plugin's configuration, as it stands in the API server's file: case matters, unknown fields don't.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PluginConfig"))]
#[serde(remote = "Self", default)]
pub struct PluginConfig {
    /// What is added to Pods of namespaces without an annotation.
    #[serde(deserialize_with = "null_is_default")]
    pub default: Vec<Toleration>,
    /// What Pods of namespaces without an annotation may tolerate; empty allows everything.
    #[serde(deserialize_with = "null_is_default")]
    pub whitelist: Vec<Toleration>,
}

from_object!(PluginConfig);

/// Whether something on the plugin's `whitelist` covers `toleration`; an empty one allows everything
/// (`VerifyAgainstWhitelist`).
pub fn is_allowed(toleration: &Toleration, whitelist: &[Toleration]) -> bool {
    whitelist.is_empty() || whitelist.iter().any(|allowed| allowed.is_superset_of(toleration))
}
