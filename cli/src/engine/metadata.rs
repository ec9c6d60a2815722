use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::input::documents::read_document;

/// What a policy declares in `policy-metadata.yml` that it will ask its host for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub host_capabilities: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextAwareResource {
    pub api_version: String,
    pub kind: String,
}

/// That of this policy.
const METADATA: &str = include_str!("../../../policy-metadata.yml");

impl Metadata {
    /// What this policy declares.
    ///
    /// # Panics
    /// Its metadata is not written as Kubewarden reads it, and no test has found that.
    pub fn of_this_policy() -> Self {
        yaml_serde::from_str(METADATA).expect("policy-metadata.yml is the metadata of a policy")
    }

    /// Reads a file like `policy-metadata.yml`.
    ///
    /// # Errors
    /// It is none.
    pub fn load(path: &Path) -> Result<Self> {
        serde_json::from_value(read_document(path)?)
            .with_context(|| format!("{} is not the metadata of a policy", path.display()))
    }

    /// Whether a capability such as `kubernetes/get_resource` is declared, by name or by a pattern
    /// (`*`, `kubernetes/*`).
    pub(crate) fn declares_capability(&self, capability: &str) -> bool {
        self.host_capabilities.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => capability.starts_with(prefix),
            None => capability == pattern,
        })
    }

    pub(crate) fn declares_resource(&self, api_version: &str, kind: &str) -> bool {
        self.context_aware_resources.iter().any(|resource| resource.api_version == api_version && resource.kind == kind)
    }
}
