//! Kubewarden's host: what it calls of the policy, and what the policy calls of it.

use std::error::Error;

use json::Object;
use kubewarden_policy_sdk::host_capabilities::kubernetes::GetResourceRequest;
use kubewarden_policy_sdk::protocol_version_guest;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use wapc_guest::{CallResult, host_call, register_function};

use crate::cluster::{API_VERSION, Cluster, NAMESPACE, NODE, NamespaceName, NodeName};
use crate::field_masks::FieldMasks;

/// Registers what the host can call.
#[expect(unsafe_code, reason = "the host finds it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

#[expect(clippy::unnecessary_wraps, reason = "it is registered by this type")]
fn validate(payload: &[u8]) -> CallResult {
    let (answer, rejection) = crate::validate(payload, &Host);
    if let Some(rejection) = rejection {
        log("info", &rejection.for_log());
    }
    Ok(answer.into_bytes())
}

fn validate_settings(payload: &[u8]) -> CallResult {
    let message = crate::validate_settings(payload);
    let answer = SettingsValidationResponse { valid: message.is_none(), message };
    Ok(serde_json::to_vec(&answer)?)
}

/// The cluster that the host is connected to.
struct Host;

impl Cluster for Host {
    fn namespace(&self, name: &NamespaceName, masks: &FieldMasks) -> Result<String, String> {
        get_resource(NAMESPACE, name.as_str(), masks).map_err(|error| plain(&error.to_string()).to_owned())
    }

    fn node(&self, name: &NodeName, masks: &FieldMasks) -> Result<String, String> {
        get_resource(NODE, name.as_str(), masks).map_err(|error| plain(&error.to_string()).to_owned())
    }

    fn log_failure(&self, failure: &str) {
        log("warning", failure);
    }
}

/// An error of the host without what waPC and the host put before it.
fn plain(error: &str) -> &str {
    let error = error.strip_prefix("Host error: ").unwrap_or(error);
    error.strip_prefix("Callback evaluation failure: ").unwrap_or(error)
}

/// The host's answer as text: the SDK's function would parse all of it into a type.
fn get_resource(kind: &str, name: &str, masks: &FieldMasks) -> Result<String, Box<dyn Error + Send + Sync>> {
    let request = GetResourceRequest {
        api_version: API_VERSION.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: None,
        disable_cache: false,
        field_masks: Some(masks.paths().clone()),
    };
    let answer = host_call("kubewarden", "kubernetes", "get_resource", &serde_json::to_vec(&request)?)?;
    Ok(String::from_utf8(answer)?)
}

/// Logs `message` as an event of the SDK's logging.
///
/// Not by the SDK's own drain: with `slog` and floating-point numbers behind it, that would be a tenth of the module.
fn log(level: &str, message: &str) {
    let mut event = Object::new();
    event.push("level", level);
    event.push("message", message);
    // A host that refuses to log changes nothing.
    let _ = host_call("kubewarden", "tracing", "log", event.to_string().as_bytes());
}
