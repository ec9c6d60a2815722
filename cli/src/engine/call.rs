//! One call into a policy: what runs it, and what comes of it.

use std::{
    any::Any,
    sync::{Arc, Mutex},
};

use anyhow::Result;
use node_placement_policy::decision::Cause;
use serde_json::Value;

use super::{
    cluster::Lookup,
    host_calls::{HostCalls, lock},
};

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
    /// What the [`Cluster`](super::cluster::Cluster) had to complain about afterwards.
    pub complaint: Option<String>,
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
