//! The policy's own crate, run natively.

use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use node_placement_policy::{Evaluation, decision::Cause, evaluate};
use serde_json::{Value, json};

use super::call::{Engine, HostCalls, lock};

/// Answers as the module does, and calls the host as the module does.
pub struct Native;

impl Engine for Native {
    fn call(&self, operation: &str, payload: &[u8], host_calls: Arc<Mutex<HostCalls>>) -> Result<Vec<u8>> {
        match operation {
            "validate" => {
                let Evaluation { answer, cause } = evaluate(payload, &Host(&host_calls));
                lock(&host_calls).record.cause = cause;
                Ok(answer)
            }
            "validate_settings" => {
                let message = node_placement_policy::validate_settings(payload);
                Ok(json!({ "valid": message.is_none(), "message": message }).to_string().into_bytes())
            }
            _ => bail!("the crate has no operation {operation}"),
        }
    }
}

/// The cause of an answer that a module of the policy gave, which can't tell it: as the crate has it, if its answer is
/// the same.
pub fn cause_of(answer: &[u8], payload: &[u8], host_calls: &Mutex<HostCalls>) -> Option<Cause> {
    // Its own host calls are not told of.
    let record = lock(host_calls).record.clone();
    let evaluation = evaluate(payload, &Host(host_calls));
    lock(host_calls).record = record;
    evaluation.cause.filter(|_| evaluation.answer == answer)
}

struct Host<'h>(&'h Mutex<HostCalls>);

impl Cluster for Host<'_> {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        Ok(String::from_utf8(self.call("kubernetes", "get_resource", &serde_json::to_vec(request)?)?)?)
    }

    fn log(&self, level: LogLevel, message: &str) {
        // A host that refuses to log changes nothing.
        let _ = self.call("tracing", "log", json!({ "level": level, "message": message }).to_string().as_bytes());
    }
}

impl Host<'_> {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
        lock(self.0).serve("kubewarden", namespace, operation, payload)
    }
}

/// What is wrong with settings, a line each.
pub fn mistakes(settings: &Value) -> Vec<String> {
    node_placement_policy::settings::mistakes(&settings.to_string()).iter().map(ToString::to_string).collect()
}
