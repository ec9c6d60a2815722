//! Engines that run a policy, and the host that they call: look-ups are served by a cluster, and a record is kept of
//! them and of what is logged.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use node_placement_policy::{
    Evaluation,
    cluster::{Cluster, GetResourceRequest, LogLevel},
    decision::Cause,
    evaluate, validate_settings,
};
use serde_json::{Value, json};

/// An engine that runs a policy: its own crate ([`Native`]), or a module of it.
pub trait Engine: Send + Sync {
    /// Calls one operation of a fresh instance, `validate` or `validate_settings`, whose host calls arrive at `host`.
    ///
    /// # Errors
    /// The call failed.
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>>;
}

/// The policy's own crate, as it is linked here. It answers as the module does, and calls the host as the module does.
pub struct Native;

impl Engine for Native {
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>> {
        match operation {
            "validate" => {
                let Evaluation { answer, cause } = evaluate(payload, &*host);
                host.record().cause = cause;
                Ok(answer)
            }
            "validate_settings" => {
                let message = validate_settings(payload);
                Ok(json!({ "valid": message.is_none(), "message": message }).to_string().into_bytes())
            }
            _ => bail!("the crate has no operation {operation}"),
        }
    }
}

/// The host calls of an evaluation, and the cause of a rejection.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The look-ups that reached the cluster, in order.
    pub lookups: Vec<GetResourceRequest>,
    /// The log entries of the policy; a string where it logged no JSON.
    pub logs: Vec<Value>,
    /// The cause of a rejection, or under `enforcement: Warn` of a warning. Only the policy's own crate reports it.
    pub cause: Option<Cause>,
}

/// The host of one evaluation.
pub struct Host {
    cluster: Box<dyn Cluster + Send + Sync>,
    record: Mutex<Record>,
}

impl Host {
    /// Returns a host that is connected to `cluster`.
    pub fn new(cluster: impl Cluster + Send + Sync + 'static) -> Self {
        Self { cluster: Box::new(cluster), record: Mutex::default() }
    }

    /// Returns the record of the host calls.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a host call of a module, as it comes through waPC.
    ///
    /// # Errors
    /// What the module gets to see in place of an answer.
    pub fn serve(&self, binding: &str, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
        match (binding, namespace, operation) {
            ("kubewarden", "tracing", "log") => {
                let entry = serde_json::from_slice(payload);
                self.record().logs.push(entry.unwrap_or_else(|_| String::from_utf8_lossy(payload).into()));
                Ok(vec![])
            }
            ("kubewarden", "kubernetes", "get_resource") => {
                let request = serde_json::from_slice(payload).context("not a get_resource request")?;
                let object = self.get_resource(&request);
                // The real host's words.
                Ok(object.map_err(|error| anyhow!("Callback evaluation failure: {error:#}"))?.into_bytes())
            }
            _ => bail!("this host does not offer {binding}/{namespace}/{operation}"),
        }
    }

    /// Tells the cause of an answer that a module gave, which can't tell it: as the crate has it, if it answers the same.
    pub fn find_cause(&self, payload: &[u8], answer: &[u8]) {
        let record = self.record().clone();
        let native = evaluate(payload, self);
        // The host calls of the crate are not those of the module.
        *self.record() = Record { cause: native.cause.filter(|_| native.answer == answer), ..record };
    }
}

impl Cluster for Host {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        self.record().lookups.push(request.clone());
        self.cluster.get_resource(request)
    }

    fn log(&self, level: LogLevel, message: &str) {
        self.record().logs.push(json!({ "level": level, "message": message }));
    }
}
