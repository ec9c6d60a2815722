//! One call into a policy: what runs it, what it may ask its host for, where that arrives, and what comes of it.

use std::{
    any::Any,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, anyhow, bail};
use node_placement_policy::decision::Cause;
use serde::Deserialize;
use serde_json::Value;

use super::cluster::{Cluster, Lookup};
use crate::input::{documents::read_document, policy_spec::ContextAwareResource};

/// What runs a policy.
pub trait Engine: Any + Send + Sync {
    /// Calls one operation of a fresh instance, whose host calls arrive at `host_calls`.
    ///
    /// # Errors
    /// The call failed.
    fn call(&self, operation: &str, payload: &[u8], host_calls: Arc<Mutex<HostCalls>>) -> Result<Vec<u8>>;
}

/// What happens beside an answer.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The look-ups that reached the cluster, in order.
    pub lookups: Vec<Lookup>,
    /// What the policy logged; a string where it logged no JSON.
    pub logs: Vec<Value>,
    /// The host calls that were turned down, each with the reason the policy was given.
    pub refused: Vec<String>,
    /// Why it is a rejection; or, under `enforcement: Warn`, why it would be one. Only the policy's own crate can tell.
    pub cause: Option<Cause>,
}

/// What came of one call into a policy.
#[derive(Debug)]
pub struct Call {
    /// The bytes the policy answered with, or the error of the call.
    pub result: Result<Vec<u8>, String>,
    /// What happened meanwhile.
    pub record: Record,
    /// What the [`Cluster`] had to complain about afterwards.
    pub complaint: Option<String>,
}

impl Call {
    /// With the host calls that arrived meanwhile.
    pub fn of(result: Result<Vec<u8>>, host_calls: &Mutex<HostCalls>) -> Self {
        let mut calls = lock(host_calls);
        Self {
            result: result.map_err(|error| format!("{error:#}")),
            record: std::mem::take(&mut calls.record),
            complaint: calls.cluster.verify().err().map(|error| format!("{error:#}")),
        }
    }
}

/// What a policy declares in `policy-metadata.yml` that it will ask its host for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub host_capabilities: Vec<String>,
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

/// Where the host calls of one evaluation arrive.
pub struct HostCalls {
    metadata: Arc<Metadata>,
    pub(crate) cluster: Box<dyn Cluster>,
    pub(crate) record: Record,
}

/// For the time of one host call.
pub fn lock(host_calls: &Mutex<HostCalls>) -> MutexGuard<'_, HostCalls> {
    host_calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostCalls {
    /// Of a policy that declares `metadata`.
    pub fn new(metadata: Arc<Metadata>, cluster: Box<dyn Cluster>) -> Self {
        Self { metadata, cluster, record: Record::default() }
    }

    /// Answers one of them.
    ///
    /// # Errors
    /// What the policy gets to see in place of an answer.
    pub fn serve(&mut self, binding: &str, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
        match (binding, namespace, operation) {
            ("kubewarden", "tracing", "log") => self.log(payload),
            ("kubewarden", "kubernetes", "get_resource") => {
                let lookup = self.admit(payload).inspect_err(|error| self.refuse(error))?;
                self.look_up(lookup)
            }
            _ => {
                let error = anyhow!("this host does not offer {binding}/{namespace}/{operation}");
                self.refuse(&error);
                Err(error)
            }
        }
    }

    /// Logging needs no declaration.
    fn log(&mut self, entry: &[u8]) -> Result<Vec<u8>> {
        let entry = serde_json::from_slice(entry).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(entry)));
        self.record.logs.push(entry);
        Ok(vec![])
    }

    /// Lets only those look-ups pass that the policy's metadata declares.
    fn admit(&self, payload: &[u8]) -> Result<Lookup> {
        if !self.metadata.declares_capability("kubernetes/get_resource") {
            bail!("the policy's metadata does not declare the host capability kubernetes/get_resource");
        }
        let lookup: Lookup = serde_json::from_slice(payload).context("not a get_resource request")?;
        if !self.metadata.declares_resource(&lookup.api_version, &lookup.kind) {
            bail!("the policy's metadata does not declare the resource {}/{}", lookup.api_version, lookup.kind);
        }
        Ok(lookup)
    }

    fn refuse(&mut self, reason: &anyhow::Error) {
        self.record.refused.push(format!("{reason:#}"));
    }

    /// The words before the error are the real host's.
    fn look_up(&mut self, lookup: Lookup) -> Result<Vec<u8>> {
        let answer = self.cluster.get(&lookup);
        self.record.lookups.push(lookup);
        match answer {
            Ok(object) => Ok(object.into_bytes()),
            Err(error) => bail!("Callback evaluation failure: {error:#}"),
        }
    }
}
