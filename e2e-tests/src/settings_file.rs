use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{deployment::Deployment, document::read_document};

/// The block of the settings that names the managed keys.
pub(crate) const NODE_METADATA: &str = "nodeMetadata";

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
        Self::read(read_document(path)?).with_context(|| path.display().to_string())
    }

    fn read(document: Value) -> Result<Self> {
        let Some(kind) = document.get("kind").and_then(Value::as_str).filter(|_| document.get("spec").is_some()) else {
            return Ok(Self { settings: document, deployment: None });
        };
        if kind == "AdmissionPolicy" {
            bail!("an AdmissionPolicy cannot look up Namespaces and Nodes: make it a ClusterAdmissionPolicy");
        }
        ensure!(kind == "ClusterAdmissionPolicy", "expected settings, or a ClusterAdmissionPolicy; found a {kind}");
        let spec = document.get("spec").cloned().unwrap_or_default();
        let settings = spec.get("settings").cloned().unwrap_or_default();
        let deployment = Deployment::deserialize(spec).context("spec of the ClusterAdmissionPolicy")?;
        Ok(Self { settings, deployment: Some(deployment) })
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
