//! Clusters that a policy may find: one in trouble, none, and one behind a host as strict as the real one.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow, bail, ensure};
use cli::{
    Cluster, GetResourceRequest, LogLevel,
    engine::host::{Engine, Host, Record},
    read_document,
    webhook::policy_spec::ContextAwareResource,
};
use serde::Deserialize;
use serde_json::Value;

/// A closure that scripts what no cluster does on demand: errors, broken answers.
#[derive(Clone, Copy)]
pub struct Scripted<F>(pub F);

impl<F: Fn(&GetResourceRequest) -> Result<String, String>> Cluster for Scripted<F> {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        (self.0)(request).map_err(|error| anyhow!(error))
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

/// For evaluations that need no cluster: every look-up fails.
#[derive(Clone, Copy)]
pub struct NoCluster;

impl Cluster for NoCluster {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        bail!("there is no cluster to look up {} {} in", request.kind, request.name)
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

/// What a policy declares in `policy-metadata.yml` that it will ask its host for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub host_capabilities: Vec<String>,
}

impl Metadata {
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
    fn declares_capability(&self, capability: &str) -> bool {
        self.host_capabilities.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => capability.starts_with(prefix),
            None => capability == pattern,
        })
    }

    fn declares_resource(&self, api_version: &str, kind: &str) -> bool {
        self.context_aware_resources.iter().any(|resource| resource.api_version == api_version && resource.kind == kind)
    }
}

/// Runs a policy in a host that is as strict as the real one: only what the policy's metadata declares is looked up, and
/// of an object the policy gets only the fields that it asks for.
pub(crate) struct Strict<E> {
    pub(crate) engine: E,
    pub(crate) metadata: Arc<Metadata>,
}

impl<E: Engine> Engine for Strict<E> {
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>> {
        let gate = Gate { metadata: self.metadata.clone(), host: host.clone() };
        let strict = Arc::new(Host::new(gate));
        let answer = self.engine.call(operation, payload, strict.clone());
        // What the gate lets through, the host has recorded.
        let Record { logs, cause, .. } = strict.record().clone();
        let mut record = host.record();
        (record.logs, record.cause) = (logs, cause);
        answer
    }
}

struct Gate {
    metadata: Arc<Metadata>,
    host: Arc<Host>,
}

impl Cluster for Gate {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        let GetResourceRequest { api_version, kind, field_masks, .. } = request;
        ensure!(
            self.metadata.declares_capability("kubernetes/get_resource"),
            "the policy's metadata does not declare the host capability kubernetes/get_resource"
        );
        ensure!(
            self.metadata.declares_resource(api_version, kind),
            "the policy's metadata does not declare the resource {api_version}/{kind}"
        );
        let text = self.host.get_resource(request)?;
        Ok(match (field_masks, serde_json::from_str(&text)) {
            (Some(masks), Ok(object)) => pruned(&object, masks).to_string(),
            _ => text,
        })
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

/// The object without what the real host prunes: what identifies it and all of `metadata` stay.
fn pruned(object: &Value, masks: &BTreeSet<String>) -> Value {
    let always = ["apiVersion", "kind", "metadata"];
    let Some(fields) = object.as_object().filter(|_| !masks.is_empty()) else { return object.clone() };
    let kept = fields.iter().filter_map(|(name, value)| match always.contains(&name.as_str()) {
        true => Some((name.clone(), value.clone())),
        false => kept(name, name, value, masks),
    });
    Value::Object(kept.collect())
}

/// The field `name` at `path` as far as masks name it, or what is below it. Masks know nothing of lists: they go
/// through to the items.
fn kept(name: &str, path: &str, value: &Value, masks: &BTreeSet<String>) -> Option<(String, Value)> {
    let is_above = |mask: &String| mask.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    if masks.contains(path) {
        return Some((name.to_owned(), value.clone()));
    }
    masks.iter().any(is_above).then(|| (name.to_owned(), pruned_below(path, value, masks)))
}

fn pruned_below(path: &str, value: &Value, masks: &BTreeSet<String>) -> Value {
    match value {
        Value::Object(fields) => {
            let below = |(name, value): (&String, &Value)| kept(name, &format!("{path}.{name}"), value, masks);
            Value::Object(fields.iter().filter_map(below).collect())
        }
        Value::Array(items) => items.iter().map(|item| pruned_below(path, item, masks)).collect(),
        scalar => scalar.clone(),
    }
}
