use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::{deployment::Deployment, document::read_documents};

/// The blocks of the settings, by their names.
pub(crate) const PLACEMENT: &str = "placement";
pub(crate) const PLUGIN_CONFIGS: [&str; 2] = ["podNodeSelectorPluginConfig", "podTolerationRestrictionPluginConfig"];
/// It names the managed keys.
pub(crate) const NODE_METADATA: &str = "nodeMetadata";

const EXPECTED: &str = "expected what stands under spec.settings of a policy, or a whole ClusterAdmissionPolicy";

/// A file with the settings of the policy, or with a whole policy that has them.
#[derive(Debug)]
pub struct SettingsFile {
    pub settings: Value,
    /// How the policy is deployed, if the file says so.
    pub deployment: Option<Deployment>,
}

impl SettingsFile {
    /// Reads settings, or a ClusterAdmissionPolicy.
    pub fn load(path: &Path) -> Result<Self> {
        let mut documents = read_documents(path)?;
        let read = match documents.len() {
            0 => Err(anyhow!("{EXPECTED}; the file is empty")),
            1 => Self::read(documents.remove(0)),
            count => {
                let kinds: Vec<_> = documents.iter().map(|document| document["kind"].as_str().unwrap_or("?")).collect();
                Err(anyhow!("{EXPECTED}; found {count} documents: {}", kinds.join(", ")))
            }
        };
        read.with_context(|| path.display().to_string())
    }

    fn read(document: Value) -> Result<Self> {
        let Value::Object(fields) = &document else {
            bail!("{EXPECTED}; found {}", if document.is_array() { "a list" } else { "a text or number" });
        };
        match fields.get("kind").and_then(Value::as_str) {
            Some("ClusterAdmissionPolicy") => {}
            Some("AdmissionPolicy") => {
                bail!("an AdmissionPolicy cannot look up Namespaces and Nodes: make it a ClusterAdmissionPolicy")
            }
            Some(kind) => bail!("{EXPECTED}; found a {kind}"),
            None => {
                let part = ["spec", "settings"].into_iter().find(|part| fields.contains_key(*part));
                if let Some(part) = part {
                    bail!("{EXPECTED}; found {part}: of a policy without its apiVersion and kind");
                }
                return Ok(Self { settings: document, deployment: None });
            }
        }
        let spec = fields.get("spec").with_context(|| format!("{EXPECTED}; spec is missing"))?;
        let settings = spec.get("settings").cloned().unwrap_or_default();
        Ok(Self { settings, deployment: Some(Deployment::read(spec)?) })
    }
}

/// The keys of Pods that node metadata is written to; a trailing `*` stands for any rest.
#[derive(Debug, Default)]
pub struct ManagedKeys {
    labels: Vec<String>,
    annotations: Vec<String>,
}

impl ManagedKeys {
    pub fn of(settings: &Value) -> Self {
        let mut managed = Self::default();
        for entry in settings[NODE_METADATA]["propagate"].as_array().into_iter().flatten() {
            let key = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
            let (label, annotation) = (key("podLabel"), key("podAnnotation"));
            let source = key("nodeLabel").or(key("nodeAnnotation")).filter(|_| label.is_none());
            managed.labels.extend(label);
            managed.annotations.extend(annotation.or(source));
        }
        managed
    }

    /// In words: `label example.com/rack`.
    pub fn named(&self) -> Vec<String> {
        let labels = self.labels.iter().map(|key| format!("label {key}"));
        let annotations = self.annotations.iter().map(|key| format!("annotation {key}"));
        labels.chain(annotations).collect()
    }

    pub fn has_label(&self, key: &str) -> bool {
        covers(&self.labels, key)
    }

    pub fn has_annotation(&self, key: &str) -> bool {
        covers(&self.annotations, key)
    }
}

fn covers(keys: &[String], key: &str) -> bool {
    keys.iter().any(|managed| match managed.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == managed,
    })
}
