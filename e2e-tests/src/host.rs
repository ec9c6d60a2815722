use std::sync::{Arc, Mutex};

use anyhow::Result;
use serde_json::Value;

#[cfg(feature = "wasm")]
use crate::wasm;
use crate::{
    cluster::{Cluster, Lookup},
    desk::{Desk, lock},
    metadata::Metadata,
    native,
};

/// A policy, bound by what its metadata file declares.
pub struct Policy {
    pub(crate) engine: Engine,
    pub(crate) metadata: Arc<Metadata>,
}

pub(crate) enum Engine {
    #[cfg(feature = "wasm")]
    Wasm(Box<wasm::Module>),
    Native,
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
    /// The crate that the module is made of, as it is linked here.
    pub fn native(metadata: Metadata) -> Self {
        Self { engine: Engine::Native, metadata: Arc::new(metadata) }
    }

    /// Calls one operation; of a module, that of a fresh instance.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + 'static) -> Call {
        let desk = Arc::new(Mutex::new(Desk::new(self.metadata.clone(), Box::new(cluster))));
        let result = match &self.engine {
            #[cfg(feature = "wasm")]
            Engine::Wasm(module) => module.call(operation, payload, desk.clone()),
            Engine::Native => native::call(operation, payload, &desk),
        };
        Call::of(result, &desk)
    }
}

impl Call {
    /// With what arrived at the desk meanwhile.
    pub(crate) fn of(result: Result<Vec<u8>>, desk: &Mutex<Desk>) -> Self {
        let mut desk = lock(desk);
        Self {
            result: result.map_err(|error| format!("{error:#}")),
            lookups: std::mem::take(&mut desk.lookups),
            logs: std::mem::take(&mut desk.logs),
            refused: std::mem::take(&mut desk.refused),
            complaint: desk.cluster.verify().err().map(|error| format!("{error:#}")),
        }
    }
}
