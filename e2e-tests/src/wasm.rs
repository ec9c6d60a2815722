use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use wapc::WapcHost;
use wasmtime_provider::{ResourceLimits, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

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
        let engine = WasmtimeEngineProviderBuilder::new()
            .module_bytes(module)
            .enable_resource_limits(ResourceLimits { max_memory_size: max_memory, ..ResourceLimits::default() })
            .build_pre()?;
        Ok(Self { engine: Engine::Wasm(Box::new(Module(engine))), metadata: Arc::new(metadata) })
    }
}

/// A compiled module.
pub(crate) struct Module(WasmtimeEngineProviderPre);

impl Module {
    /// Calls one operation of a fresh instance.
    pub(crate) fn call(&self, operation: &str, payload: &[u8], desk: Arc<Mutex<Desk>>) -> Result<Vec<u8>> {
        let engine = Box::new(self.0.rehydrate(None)?);
        let instance = WapcHost::new(
            engine,
            Some(Box::new(move |_, binding, namespace, operation, payload| {
                Ok(lock(&desk).serve(binding, namespace, operation, payload)?)
            })),
        )?;
        Ok(instance.call(operation, payload)?)
    }
}
