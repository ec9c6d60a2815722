use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result, anyhow, bail};
use wapc::{WapcHost, WebAssemblyEngineProvider};
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre, wasmtime};

use crate::{
    desk::{Desk, lock},
    host::{Engine, Policy},
    metadata::Metadata,
};

impl Policy {
    /// Compiles a module that is bound by what its metadata file declares.
    pub fn load(module: &Path, metadata: &Path) -> Result<Self> {
        let bytes = fs::read(module).with_context(|| format!("cannot read the module {}", module.display()))?;
        Self::from_bytes(&bytes, Metadata::load(metadata)?, None)
            .with_context(|| format!("{} is no policy that this host can run", module.display()))
    }

    /// Compiles a module, in binary or text format. `max_memory` bounds its linear memory, in bytes.
    pub fn from_bytes(module: &[u8], metadata: Metadata, max_memory: Option<usize>) -> Result<Self> {
        let module =
            wasmtime::Module::new(&wasmtime::Engine::default(), module).map_err(|error| anyhow!("{error:#}"))?;
        Self::of(module, Arc::new(metadata), max_memory)
    }

    /// The same module with another bound of its linear memory, in bytes.
    pub fn with_max_memory(&self, max_memory: usize) -> Result<Self> {
        match &self.engine {
            Engine::Wasm(module) => Self::of(module.compiled.clone(), self.metadata.clone(), Some(max_memory)),
            Engine::Native => bail!("only a module has linear memory"),
        }
    }

    fn of(compiled: wasmtime::Module, metadata: Arc<Metadata>, max_memory: Option<usize>) -> Result<Self> {
        let engine = WasmtimeEngineProviderBuilder::new()
            .engine(compiled.engine().clone())
            .module(compiled.clone())
            .enable_resource_limits(ResourceLimits { max_memory_size: max_memory, ..ResourceLimits::default() })
            .build_pre()?;
        Ok(Self { engine: Engine::Wasm(Box::new(Module { compiled, engine })), metadata })
    }
}

/// A compiled module.
pub(crate) struct Module {
    compiled: wasmtime::Module,
    engine: WasmtimeEngineProviderPre,
}

impl Module {
    /// Calls one operation of a fresh instance.
    pub(crate) fn call(&self, operation: &str, payload: &[u8], desk: Arc<Mutex<Desk>>) -> Result<Vec<u8>> {
        call(Box::new(self.engine.rehydrate(None)?), operation, payload, desk)
    }
}

/// Calls one operation of what the engine runs, whose host calls arrive at the desk.
pub(crate) fn call(
    engine: Box<dyn WebAssemblyEngineProvider>,
    operation: &str,
    payload: &[u8],
    desk: Arc<Mutex<Desk>>,
) -> Result<Vec<u8>> {
    let serve = move |_, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
        Ok(lock(&desk).serve(binding, namespace, operation, payload)?)
    };
    let instance = WapcHost::new(engine, Some(Box::new(serve)))?;
    Ok(instance.call(operation, payload)?)
}
