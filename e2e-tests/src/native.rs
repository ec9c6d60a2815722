use std::sync::Mutex;

use anyhow::{Result, bail};
use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
use serde_json::json;

use crate::desk::{Desk, lock};

/// Answers as the module would, and calls the host as the module does.
pub(crate) fn call(operation: &str, payload: &[u8], desk: &Mutex<Desk>) -> Result<Vec<u8>> {
    match operation {
        "validate" => Ok(node_placement_policy::validate(payload, &Host(desk))),
        "validate_settings" => {
            let message = node_placement_policy::validate_settings(payload);
            Ok(json!({ "valid": message.is_none(), "message": message }).to_string().into_bytes())
        }
        _ => bail!("the crate has no operation {operation}"),
    }
}

struct Host<'d>(&'d Mutex<Desk>);

impl Cluster for Host<'_> {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String, String> {
        let answer = self.call("kubernetes", "get_resource", &serde_json::to_vec(request).map_err(|e| e.to_string())?);
        let plain = |error: &str| error.strip_prefix("Callback evaluation failure: ").unwrap_or(error).to_owned();
        answer.and_then(|object| Ok(String::from_utf8(object)?)).map_err(|error| plain(&error.to_string()))
    }

    fn log(&self, level: LogLevel, message: &str) {
        // A host that refuses to log changes nothing.
        let _ =
            self.call("tracing", "log", json!({ "level": level.as_str(), "message": message }).to_string().as_bytes());
    }
}

impl Host<'_> {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
        lock(self.0).serve("kubewarden", namespace, operation, payload)
    }
}
