use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow};
use cli::{
    Policy,
    engine::host::{Engine, Host},
};
use wapc::{WapcHost, WebAssemblyEngineProvider};
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre, wasmtime};

use crate::clusters::{Metadata, Strict};

/// A module, compiled as policy-server does.
#[derive(Clone)]
pub struct Module(wasmtime::Module);

impl Module {
    /// Compiles the module in a file.
    ///
    /// # Errors
    /// It can't be read, or is no module.
    pub fn load(module: &Path) -> Result<Self> {
        let bytes = fs::read(module).with_context(|| format!("cannot read the module {}", module.display()))?;
        Self::new(&bytes).with_context(|| format!("{} is no policy that this host can run", module.display()))
    }

    /// Compiles a module, in binary or text format.
    ///
    /// # Errors
    /// It is no module.
    pub fn new(module: &[u8]) -> Result<Self> {
        let module = wasmtime::Module::new(&wasmtime::Engine::default(), module);
        Ok(Self(module.map_err(|error| anyhow!("{error:#}"))?))
    }

    /// As a policy that finds whatever it looks up. `max_memory` bounds its linear memory, in bytes.
    ///
    /// # Errors
    /// It is no module of a policy.
    pub fn policy(&self, max_memory: Option<usize>) -> Result<Policy> {
        Ok(Policy::new(self.instance(max_memory)?))
    }

    /// As a policy that is bound by its metadata, and gets only the fields that it asks for.
    ///
    /// # Errors
    /// It is no module of a policy.
    pub fn bound_by(&self, metadata: Metadata) -> Result<Policy> {
        Ok(Policy::new(Strict { engine: self.instance(None)?, metadata: Arc::new(metadata) }))
    }

    fn instance(&self, max_memory: Option<usize>) -> Result<Instance> {
        let engine = WasmtimeEngineProviderBuilder::new()
            .engine(self.0.engine().clone())
            .module(self.0.clone())
            .enable_resource_limits(ResourceLimits { max_memory_size: max_memory, ..ResourceLimits::default() })
            .build_pre()?;
        Ok(Instance(engine))
    }
}

/// A module that is ready to be instantiated, once for every call.
struct Instance(WasmtimeEngineProviderPre);

impl Engine for Instance {
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>> {
        call(Box::new(self.0.rehydrate(None)?), operation, payload, host)
    }
}

/// Calls one operation of what the engine runs, whose host calls arrive at `host`.
pub(crate) fn call(
    engine: Box<dyn WebAssemblyEngineProvider>,
    operation: &str,
    payload: &[u8],
    host: Arc<Host>,
) -> Result<Vec<u8>> {
    let serve = move |_, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
        Ok(host.serve(binding, namespace, operation, payload)?)
    };
    let instance = WapcHost::new(engine, Some(Box::new(serve)))?;
    Ok(instance.call(operation, payload)?)
}
