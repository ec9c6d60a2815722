use std::{
    any::Any,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result, anyhow};
use cli::{
    Metadata, Policy,
    engine::call::{Engine, HostCalls, lock},
};
use wapc::{WapcHost, WebAssemblyEngineProvider};
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre, wasmtime};

/// Policies as policy-server runs them.
pub trait Compiled: Sized {
    /// Compiles a module that is bound by what its metadata file declares.
    ///
    /// # Errors
    /// It can't be read, or is no module.
    fn load(module: &Path, metadata: &Path) -> Result<Self>;

    /// Compiles a module, in binary or text format. `max_memory` bounds its linear memory, in bytes.
    ///
    /// # Errors
    /// It is no module.
    fn from_bytes(module: &[u8], metadata: Metadata, max_memory: Option<usize>) -> Result<Self>;

    /// The same module with another bound of its linear memory, in bytes.
    ///
    /// # Errors
    /// It is no compiled module.
    fn with_max_memory(&self, max_memory: usize) -> Result<Self>;
}

impl Compiled for Policy {
    fn load(module: &Path, metadata: &Path) -> Result<Self> {
        let bytes = fs::read(module).with_context(|| format!("cannot read the module {}", module.display()))?;
        Self::from_bytes(&bytes, Metadata::load(metadata)?, None)
            .with_context(|| format!("{} is no policy that this host can run", module.display()))
    }

    fn from_bytes(module: &[u8], metadata: Metadata, max_memory: Option<usize>) -> Result<Self> {
        let module =
            wasmtime::Module::new(&wasmtime::Engine::default(), module).map_err(|error| anyhow!("{error:#}"))?;
        Ok(Self::new(Module::bound(module, max_memory)?, metadata))
    }

    fn with_max_memory(&self, max_memory: usize) -> Result<Self> {
        let engine: &dyn Any = self.engine();
        let module: &Module = engine.downcast_ref().context("only a module has linear memory")?;
        Ok(Self::new(Module::bound(module.compiled.clone(), Some(max_memory))?, self.metadata().clone()))
    }
}

/// A compiled module.
struct Module {
    compiled: wasmtime::Module,
    engine: WasmtimeEngineProviderPre,
}

impl Module {
    fn bound(compiled: wasmtime::Module, max_memory: Option<usize>) -> Result<Self> {
        let engine = WasmtimeEngineProviderBuilder::new()
            .engine(compiled.engine().clone())
            .module(compiled.clone())
            .enable_resource_limits(ResourceLimits { max_memory_size: max_memory, ..ResourceLimits::default() })
            .build_pre()?;
        Ok(Self { compiled, engine })
    }
}

impl Engine for Module {
    fn call(&self, operation: &str, payload: &[u8], host_calls: Arc<Mutex<HostCalls>>) -> Result<Vec<u8>> {
        call(Box::new(self.engine.rehydrate(None)?), operation, payload, host_calls)
    }
}

/// Calls one operation of what the engine runs, whose host calls arrive at `host_calls`.
pub(crate) fn call(
    engine: Box<dyn WebAssemblyEngineProvider>,
    operation: &str,
    payload: &[u8],
    host_calls: Arc<Mutex<HostCalls>>,
) -> Result<Vec<u8>> {
    let serve = move |_, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
        Ok(lock(&host_calls).serve(binding, namespace, operation, payload)?)
    };
    let instance = WapcHost::new(engine, Some(Box::new(serve)))?;
    Ok(instance.call(operation, payload)?)
}
