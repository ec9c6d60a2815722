use std::{collections::BTreeSet, fmt};

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;

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
