//! A file with settings, or with the policy that has them.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail, ensure};
use node_placement_policy::json::error::most_alike;
use serde_json::Value;

use super::policy_spec::PolicySpec;
use crate::{
    cluster::{Kind, manifests::Manifests},
    input::{
        documents::{of_file, positioned_documents, read_text},
        json::{members, title},
        settings::{self, Settings, read},
        yaml::{Document, RepeatedKey},
    },
};

const POLICY: &str = "ClusterAdmissionPolicy";

/// The end of the kinds of Kubewarden's policies.
const POLICIES: &str = "AdmissionPolicy";

const EXPECTED: &str = "expected what stands under spec.settings of a policy, or a whole ClusterAdmissionPolicy";

/// A document with the settings of the policy, or with a whole policy that has them.
///
/// ```
/// use cli::SettingsFile;
/// use serde_json::json;
///
/// let settings = json!({ "placement": { "clusterDefaultNodeSelector": "pool=shared" } });
/// let file = SettingsFile::read(settings).unwrap();
/// assert!(file.places_pods() && file.policy.is_none());
/// assert!(SettingsFile::read(json!({ "kind": "Pod" })).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct SettingsFile {
    /// As in the file.
    pub settings: Value,
    /// As the policy reads them.
    pub typed: Settings,
    /// The policy's name.
    pub name: Option<String>,
    /// Its labels and annotations, as `labels` and `annotations`.
    pub metadata: Value,
    /// The `spec` of the policy; `None` for settings alone.
    pub policy: Option<PolicySpec>,
}

/// The blocks by which settings are known to be those of this policy.
const BLOCKS: [&str; 3] = ["placement", "podNodeSelectorPluginConfig", "nodeMetadata"];

/// Returns whether settings are those of this policy, and not another one's.
pub fn is_of_this_policy(settings: &Value) -> bool {
    BLOCKS.iter().any(|block| settings.get(block).is_some())
}

/// Returns whether a document is another object than a policy of this module. Settings without a policy are none, nor
/// is a policy with a misspelt block, or without settings.
pub fn is_foreign(document: &Value) -> bool {
    let (Some(kind), spec) = (document["kind"].as_str(), &document["spec"]) else { return false };
    let may_be_block = |(field, _): (&String, &Value)| most_alike(field, &BLOCKS).is_some();
    let is_own = members(&spec["settings"]).any(may_be_block)
        || spec["module"].as_str().is_none_or(|module| module.contains("node-placement"));
    !(kind.ends_with(POLICIES) && is_own)
}

/// Returns the labels of nodes that the policies of a deployment name.
pub fn label_keys_of_files(files: &[SettingsFile]) -> BTreeSet<String> {
    let placing = files.iter().filter(|file| file.places_pods());
    placing.flat_map(|file| settings::label_keys_of_settings(&file.typed)).collect()
}

/// Returns the policies of this module that are deployed: ClusterAdmissionPolicies with its settings.
///
/// # Errors
/// A field of one has a wrong type.
pub fn deployed_policies(objects: &Manifests) -> Result<Vec<SettingsFile>> {
    let kind = Kind::ClusterAdmissionPolicy;
    let policies = objects.of_kind(kind.api_version(), kind.name()).map(|policy| policy.parse());
    policies.filter(|policy| is_of_this_policy(&policy["spec"]["settings"])).map(SettingsFile::read).collect()
}

impl SettingsFile {
    /// Returns whether it is a policy whose rules are about Nodes alone: one that guards these, beside one that places
    /// Pods.
    pub fn is_about_nodes(&self) -> bool {
        self.policy.as_ref().is_some_and(PolicySpec::is_about_nodes)
    }

    /// Returns this policy, or these settings, with `settings` in their place.
    pub fn with_settings(&self, settings: Value) -> Self {
        Self { typed: read(&settings), settings, ..self.clone() }
    }

    /// Returns whether it places Pods.
    pub fn places_pods(&self) -> bool {
        let Settings { placement, pod_node_selector_plugin_config, .. } = &self.typed;
        !self.is_about_nodes() && (placement.is_some() || pod_node_selector_plugin_config.is_some())
    }

    /// Reads settings, or ClusterAdmissionPolicies: all of a file are one deployment. Also returns what is passed over:
    /// documents that are no policy of this module.
    ///
    /// # Errors
    /// The file can't be read, has a key twice, or has neither settings nor a ClusterAdmissionPolicy of this module.
    pub fn load(path: &Path) -> Result<(Vec<Self>, Vec<String>)> {
        let documents = positioned_documents(&read_text(path)?).map_err(|error| of_file(path, error))?;
        if let Some(RepeatedKey { position, path: key }) = documents.iter().flat_map(Document::repeated_keys).next() {
            bail!("{}:{position}: {key}: this key stands there twice; remove one of them", path.display());
        }
        let documents: Vec<Value> = documents.into_iter().map(|document| document.value).collect();
        let passed_over = documents.iter().filter(|document| is_foreign(document)).map(title).collect();
        Ok((Self::read_all(documents).with_context(|| path.display().to_string())?, passed_over))
    }

    /// Reads settings, or ClusterAdmissionPolicies, from the documents of a file. Those that are no policy of this module are
    /// passed over.
    ///
    /// # Errors
    /// There are neither settings nor a ClusterAdmissionPolicy of this module, or there are several, and one is no policy.
    pub fn read_all(mut documents: Vec<Value>) -> Result<Vec<Self>> {
        ensure!(!documents.is_empty(), "{EXPECTED}; the file is empty");
        if !documents.iter().all(is_foreign) {
            documents.retain(|document| !is_foreign(document));
        }
        let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap_or("?")).collect();
        if documents.len() > 1 && kinds.iter().any(|kind| *kind != POLICY) {
            bail!("{EXPECTED}; found {} documents: {}", documents.len(), kinds.join(", "));
        }
        documents.into_iter().map(Self::read).collect()
    }

    /// Reads settings, or a ClusterAdmissionPolicy, from a document.
    ///
    /// # Errors
    /// It is no mapping, an object of another kind, or a ClusterAdmissionPolicy whose `spec` can't be read.
    pub fn read(document: Value) -> Result<Self> {
        let Value::Object(fields) = &document else {
            bail!("{EXPECTED}; found {}", if document.is_array() { "a list" } else { "a text or number" });
        };
        match fields.get("kind").and_then(Value::as_str) {
            Some(kind) if kind.ends_with(POLICIES) && is_foreign(&document) => {
                let module = document["spec"]["module"].as_str().unwrap_or("?");
                bail!(
                    "{EXPECTED}; found {} of the module {module}, whose settings have none of {}: they are those of another \
                     policy",
                    title(&document),
                    BLOCKS.join(", ")
                )
            }
            Some(POLICY) => {}
            Some("AdmissionPolicy") => {
                bail!("an AdmissionPolicy cannot look up Namespaces and Nodes: make it a ClusterAdmissionPolicy")
            }
            Some(kind @ ("AdmissionConfiguration" | "Configuration")) => bail!(
                "{EXPECTED}; found {kind}, an API server's configuration: convert it first (kubectl node-placement convert \
                 FILE)"
            ),
            Some(kind) => bail!("{EXPECTED}; found a {kind}"),
            None => {
                if let Some(part) = ["spec", "settings"].into_iter().find(|part| fields.contains_key(*part)) {
                    bail!("{EXPECTED}; found {part}: of a policy without its apiVersion and kind");
                }
                return Ok(Self { typed: read(&document), settings: document, ..Self::default() });
            }
        }
        let spec = fields.get("spec").with_context(|| format!("{EXPECTED}; spec is missing"))?;
        Ok(Self {
            typed: read(&spec["settings"]),
            settings: spec["settings"].clone(),
            name: document["metadata"]["name"].as_str().map(str::to_owned),
            metadata: document["metadata"].clone(),
            policy: Some(PolicySpec::read(spec)?),
        })
    }
}
