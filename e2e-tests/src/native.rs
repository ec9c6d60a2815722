use std::sync::Mutex;

use anyhow::{Result, bail};
use node_placement_policy::cluster::{API_VERSION, Cluster, NAMESPACE, NODE, NamespaceName, NodeName};
use node_placement_policy::field_masks::FieldMasks;
use serde_json::json;

use crate::desk::{Desk, lock};

/// Answers as the module would, and calls the host as the module does.
pub(crate) fn call(operation: &str, payload: &[u8], desk: &Mutex<Desk>) -> Result<Vec<u8>> {
    let host = Host(desk);
    match operation {
        "validate" => {
            let (answer, rejection) = node_placement_policy::validate(payload, &host);
            if let Some(rejection) = rejection {
                host.log("info", &rejection.for_log());
            }
            Ok(answer.into_bytes())
        }
        "validate_settings" => {
            let message = node_placement_policy::validate_settings(payload);
            Ok(json!({ "valid": message.is_none(), "message": message }).to_string().into_bytes())
        }
        _ => bail!("the crate has no operation {operation}"),
    }
}

struct Host<'d>(&'d Mutex<Desk>);

impl Cluster for Host<'_> {
    fn namespace(&self, name: &NamespaceName, masks: &FieldMasks) -> Result<String, String> {
        self.get_resource(NAMESPACE, name.as_str(), masks)
    }

    fn node(&self, name: &NodeName, masks: &FieldMasks) -> Result<String, String> {
        self.get_resource(NODE, name.as_str(), masks)
    }

    fn log_failure(&self, failure: &str) {
        self.log("warning", failure);
    }
}

impl Host<'_> {
    fn get_resource(&self, kind: &str, name: &str, masks: &FieldMasks) -> Result<String, String> {
        let request = json!({
            "api_version": API_VERSION,
            "kind": kind,
            "name": name,
            "namespace": null,
            "disable_cache": false,
            "field_masks": masks.paths(),
        });
        let answer = self.call("kubernetes", "get_resource", &request.to_string());
        let plain = |error: &str| error.strip_prefix("Callback evaluation failure: ").unwrap_or(error).to_owned();
        answer.and_then(|object| Ok(String::from_utf8(object)?)).map_err(|error| plain(&error.to_string()))
    }

    fn log(&self, level: &str, message: &str) {
        // A host that refuses to log changes nothing.
        let _ = self.call("tracing", "log", &json!({ "level": level, "message": message }).to_string());
    }

    fn call(&self, namespace: &str, operation: &str, payload: &str) -> Result<Vec<u8>> {
        lock(self.0).serve("kubewarden", namespace, operation, payload.as_bytes())
    }
}
