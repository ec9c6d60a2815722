//! The interface to Kubewarden: the functions that the host calls, and the policy's calls to the host.

use anyhow::{Error, Result};
use kubewarden_policy_sdk::protocol_version_guest;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde::Serialize;
use wapc_guest::{CallResult, host_call, register_function};

use crate::cluster::{Cluster, GetResourceRequest, LogLevel};

/// Registers the functions that the host can call.
#[expect(unsafe_code, reason = "the host finds it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

#[expect(clippy::unnecessary_wraps, reason = "it is registered by this type")]
fn validate(payload: &[u8]) -> CallResult {
    Ok(crate::validate(payload, &Host))
}

fn validate_settings(payload: &[u8]) -> CallResult {
    let message = crate::validate_settings(payload);
    let answer = SettingsValidationResponse { valid: message.is_none(), message };
    Ok(serde_json::to_vec(&answer)?)
}

/// The cluster that the host is connected to.
struct Host;

impl Cluster for Host {
    /// Returns the host's answer as text. The SDK's function would parse all of it into a type.
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        let request = serde_json::to_vec(request)?;
        let answer = host_call("kubewarden", "kubernetes", "get_resource", &request).map_err(Error::from_boxed)?;
        Ok(String::from_utf8(answer)?)
    }

    /// Sends an event in the SDK's format. The SDK's own drain would be a tenth of the module, because it contains `slog`
    /// and code for floating-point numbers.
    fn log(&self, level: LogLevel, message: &str) {
        let event = LogEvent { level, message };
        if let Ok(event) = serde_json::to_vec(&event) {
            // If the host refuses to log, the answer stays the same.
            let _ = host_call("kubewarden", "tracing", "log", &event);
        }
    }
}

#[derive(Serialize)]
struct LogEvent<'m> {
    level: LogLevel,
    message: &'m str,
}
