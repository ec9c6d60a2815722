//! A policy, bound by what its metadata declares.

use std::sync::{Arc, Mutex};

#[cfg(feature = "module")]
use super::interpreter::Interpreted;
use super::{
    call::{Call, Engine, HostCalls, Metadata},
    cluster::Cluster,
    native::Native,
};

/// A policy, bound by what its metadata declares.
pub struct Policy {
    engine: Box<dyn Engine>,
    metadata: Arc<Metadata>,
}

impl Policy {
    /// A policy that `engine` runs.
    pub fn new(engine: impl Engine, metadata: Metadata) -> Self {
        Self { engine: Box::new(engine), metadata: Arc::new(metadata) }
    }

    /// The policy's crate, as it is linked here.
    pub fn native() -> Self {
        Self::new(Native, Metadata::of_this_policy())
    }

    /// A module of the policy, in WebAssembly's binary format, by an interpreter.
    ///
    /// # Errors
    /// It is no module, or none that a waPC host can run.
    #[cfg(feature = "module")]
    pub fn interpreted(module: &[u8]) -> anyhow::Result<Self> {
        Ok(Self::new(Interpreted::load(module)?, Metadata::of_this_policy()))
    }

    /// What runs it.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// What it may ask its host for.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Calls one operation of a fresh instance.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + 'static) -> Call {
        let host_calls = Arc::new(Mutex::new(HostCalls::new(self.metadata.clone(), Box::new(cluster))));
        let result = self.engine.call(operation, payload, host_calls.clone());
        Call::of(result, &host_calls)
    }
}
