//! Whom a policy's look-ups reach.

use std::{collections::BTreeSet, fmt};

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::input::manifests::{Identity, Manifests};

/// One `kubernetes/get_resource` call of a policy.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Lookup {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub disable_cache: bool,
    #[serde(default)]
    pub field_masks: Option<BTreeSet<String>>,
}

/// For people: `Node worker-1`, `ConfigMap team-a/limits`.
impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl Lookup {
    /// With the fields that are asked for: `Node worker-1 (metadata.labels)`.
    pub fn describe(&self) -> String {
        let masks: Vec<&str> = self.field_masks.iter().flatten().map(String::as_str).collect();
        format!("{self} ({})", masks.join(", "))
    }
}

/// Whom a policy's look-ups reach.
pub trait Cluster: Send {
    /// The JSON text of the object, or the error that the policy gets to see.
    fn get(&mut self, lookup: &Lookup) -> Result<String>;

    /// Asked once the policy has answered: did everything go as it had to?
    fn verify(&self) -> Result<()> {
        Ok(())
    }
}

/// A closure scripts what no cluster does on demand: errors, broken answers.
impl<F> Cluster for F
where
    F: FnMut(&Lookup) -> Result<String, String> + Send,
{
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        self(lookup).map_err(|error| anyhow!(error))
    }
}

impl Cluster for Box<dyn Cluster> {
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        (**self).get(lookup)
    }

    fn verify(&self) -> Result<()> {
        (**self).verify()
    }
}

/// For evaluations that need no cluster: every look-up fails.
pub struct NoCluster;

impl Cluster for NoCluster {
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        bail!("there is no cluster to look up {lookup} in")
    }
}

impl Manifests {
    /// Whether a look-up of the policy finds something.
    pub fn finds(&self, lookup: &Lookup) -> bool {
        self.manifest(&Identity::from(lookup)).is_some()
    }
}

impl From<&Lookup> for Identity {
    fn from(lookup: &Lookup) -> Self {
        let Lookup { api_version, kind, name, namespace, .. } = lookup.clone();
        Self { api_version, kind, namespace, name }
    }
}

impl Cluster for Manifests {
    /// The real host's words where there is no such object: policies recognise them.
    fn get(&mut self, lookup: &Lookup) -> Result<String> {
        let Lookup { api_version, kind, name, namespace, .. } = lookup;
        let object = self.find(&Identity::from(lookup)).ok_or_else(|| {
            anyhow!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
        })?;
        Ok(match &lookup.field_masks {
            Some(masks) => pruned(object, masks).to_string(),
            None => object.to_string(),
        })
    }
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
