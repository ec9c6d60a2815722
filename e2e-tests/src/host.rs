use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use wapc::WapcHost;
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::{
    cluster::{Cluster, Lookup},
    metadata::Metadata,
};

/// A compiled policy.
pub struct Policy {
    engine: WasmtimeEngineProviderPre,
    metadata: Arc<Metadata>,
}

/// What came of one call into a policy.
#[derive(Debug)]
pub struct Call {
    /// The bytes the policy answered with, or the error of the call.
    pub result: Result<Vec<u8>, String>,
    /// The look-ups that reached the cluster, in order.
    pub lookups: Vec<Lookup>,
    /// What the policy logged; a string where it logged no JSON.
    pub logs: Vec<Value>,
    /// The host calls that were turned down, each with the reason the policy was given.
    pub refused: Vec<String>,
    /// What the [`Cluster`] had to complain about afterwards.
    pub complaint: Option<String>,
}

impl Policy {
    /// Compiles a module that is bound by what its metadata file declares.
    pub fn load(module: &Path, metadata: &Path) -> Result<Self> {
        let bytes = fs::read(module).with_context(|| format!("cannot read the module {}", module.display()))?;
        Self::from_bytes(&bytes, Metadata::load(metadata)?, None)
            .with_context(|| format!("{} is no policy that this host can run", module.display()))
    }

    /// Compiles a module, in binary or text format. `max_memory` bounds its linear memory, in bytes.
    pub fn from_bytes(module: &[u8], metadata: Metadata, max_memory: Option<usize>) -> Result<Self> {
        let engine = WasmtimeEngineProviderBuilder::new()
            .module_bytes(module)
            .enable_resource_limits(ResourceLimits { max_memory_size: max_memory, ..ResourceLimits::default() })
            .build_pre()?;
        Ok(Self { engine, metadata: Arc::new(metadata) })
    }

    /// Calls one operation of a fresh instance.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + 'static) -> Call {
        let desk = Arc::new(Mutex::new(Desk::new(self.metadata.clone(), Box::new(cluster))));
        let result = self
            .instantiate(desk.clone())
            .and_then(|instance| Ok(instance.call(operation, payload)?))
            .map_err(|error| format!("{error:#}"));
        let mut desk = lock(&desk);
        Call {
            result,
            lookups: std::mem::take(&mut desk.lookups),
            logs: std::mem::take(&mut desk.logs),
            refused: std::mem::take(&mut desk.refused),
            complaint: desk.cluster.verify().err().map(|error| format!("{error:#}")),
        }
    }

    fn instantiate(&self, desk: Arc<Mutex<Desk>>) -> Result<WapcHost> {
        let engine = Box::new(self.engine.rehydrate(None)?);
        let host = WapcHost::new(
            engine,
            Some(Box::new(move |_, binding, namespace, operation, payload| {
                Ok(lock(&desk).serve(binding, namespace, operation, payload)?)
            })),
        )?;
        Ok(host)
    }
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the host calls of one instance arrive.
struct Desk {
    metadata: Arc<Metadata>,
    cluster: Box<dyn Cluster>,
    lookups: Vec<Lookup>,
    logs: Vec<Value>,
    refused: Vec<String>,
}

impl Desk {
    fn new(metadata: Arc<Metadata>, cluster: Box<dyn Cluster>) -> Self {
        Self { metadata, cluster, lookups: vec![], logs: vec![], refused: vec![] }
    }

    fn serve(&mut self, binding: &str, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
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
        self.logs.push(entry);
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
        self.refused.push(format!("{reason:#}"));
    }

    /// The words before the error are the real host's.
    fn look_up(&mut self, lookup: Lookup) -> Result<Vec<u8>> {
        let answer = self.cluster.get(&lookup);
        self.lookups.push(lookup);
        match answer {
            Ok(object) => Ok(object.into_bytes()),
            Err(error) => bail!("Callback evaluation failure: {error:#}"),
        }
    }
}
