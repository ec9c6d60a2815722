use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{document::read_document, metadata::ContextAwareResource};

/// The block of the settings that names the managed keys.
pub(crate) const NODE_METADATA: &str = "nodeMetadata";

/// A file with the settings of the policy, or with a whole policy that has them.
#[derive(Debug)]
pub struct SettingsFile {
    pub settings: Value,
    /// How the policy is deployed, if the file says so.
    pub deployment: Option<Deployment>,
}

/// What of a ClusterAdmissionPolicy decides which requests reach the policy, and what it may look up.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deployment {
    pub rules: Vec<Rule>,
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub namespace_selector: LabelSelector,
    pub object_selector: LabelSelector,
    /// CEL, which nobody here evaluates.
    pub match_conditions: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    match_labels: Map<String, Value>,
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
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

impl Deployment {
    /// Whether a rule sends this: `("apps", "deployments", "CREATE")`, `("", "pods/binding", "CREATE")`.
    pub fn sends(&self, group: &str, resource: &str, operation: &str) -> bool {
        self.rules.iter().any(|rule| rule.covers(group, resource, operation))
    }

    /// Whether the policy may look up Nodes, or Namespaces.
    pub fn may_look_up(&self, kind: &str) -> bool {
        self.context_aware_resources.iter().any(|resource| resource.api_version == "v1" && resource.kind == kind)
    }
}

impl Rule {
    fn covers(&self, group: &str, resource: &str, operation: &str) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let (plural, sub_resource) = resource.split_once('/').unwrap_or((resource, ""));
        let resource_matches = |pattern: &str| match pattern.split_once('/') {
            None if pattern == "*" => sub_resource.is_empty(),
            None => pattern == resource,
            Some((left, right)) => {
                (left == "*" || left == plural) && (right == "*" || right == sub_resource && !sub_resource.is_empty())
            }
        };
        has(&self.api_groups, group)
            && has(&self.operations, operation)
            && self.resources.iter().any(|pattern| resource_matches(pattern))
    }
}

impl LabelSelector {
    /// Whether labels are selected; an empty selector selects all.
    pub fn matches(&self, labels: &Value) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).and_then(Value::as_str);
        let is_listed = || value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        match self.operator {
            Operator::In => is_listed(),
            Operator::NotIn => !is_listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
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
