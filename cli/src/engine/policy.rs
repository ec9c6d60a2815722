use std::{
    any::Any,
    sync::{Arc, Mutex},
};

use anyhow::Result;
use node_placement_policy::decision::Cause;
use serde_json::Value;

use crate::{
    engine::cluster::{Cluster, Lookup},
    engine::host_calls::{HostCalls, lock},
    engine::interpreter::Interpreted,
    engine::metadata::Metadata,
    engine::native::Native,
};

/// A policy, bound by what its metadata declares.
pub struct Policy {
    engine: Box<dyn Engine>,
    metadata: Arc<Metadata>,
}

/// What runs a policy.
pub trait Engine: Any + Send + Sync {
    /// Calls one operation of a fresh instance, whose host calls arrive at `host_calls`.
    ///
    /// # Errors
    /// The call failed.
    fn call(&self, operation: &str, payload: &[u8], host_calls: Arc<Mutex<HostCalls>>) -> Result<Vec<u8>>;
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
    /// Why it is a rejection; or, under `enforcement: Warn`, why it would be one.
    pub cause: Option<Cause>,
    /// What the [`Cluster`] had to complain about afterwards.
    pub complaint: Option<String>,
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
    pub fn interpreted(module: &[u8]) -> Result<Self> {
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

impl Call {
    /// With the host calls that arrived meanwhile.
    pub fn of(result: Result<Vec<u8>>, host_calls: &Mutex<HostCalls>) -> Self {
        let mut calls = lock(host_calls);
        Self {
            result: result.map_err(|error| format!("{error:#}")),
            lookups: std::mem::take(&mut calls.lookups),
            logs: std::mem::take(&mut calls.logs),
            refused: std::mem::take(&mut calls.refused),
            cause: calls.cause.take(),
            complaint: calls.cluster.verify().err().map(|error| format!("{error:#}")),
        }
    }
}
