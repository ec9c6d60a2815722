//! The typed twin: this policy's rules as Kubewarden policies are usually written, with the SDK, typed Kubernetes
//! objects, and a round trip of the whole object through them.
//!
//! It does what the benches ask of it and no more: less than the policy does, never more. Its selectors are pairs.
//! For any target but Wasm this crate is empty.
#![cfg(target_family = "wasm")]

mod metadata;
mod placement;
mod settings;

use std::collections::BTreeSet;

use k8s_openapi::{
    Resource,
    api::{
        apps::v1::Deployment,
        core::v1::{Binding, Namespace, Pod},
    },
};
use kubewarden_policy_sdk::{
    accept_request,
    host_capabilities::kubernetes::{GetResourceRequest, get_resource},
    mutate_request, protocol_version_guest, reject_request,
    request::ValidationRequest,
    validate_settings,
};
use serde::{Serialize, de::DeserializeOwned};
use wapc_guest::{CallResult, register_function};

use crate::settings::Settings;

/// Registers what Kubewarden calls; the host runs it once for every instance.
// SAFETY: waPC finds the function by this name, and nothing else in the module is called so.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings::<Settings>);
    register_function("protocol_version", protocol_version_guest);
}

/// What became of an object: to be changed or not, or the reason why it is refused.
type Outcome = Result<bool, String>;

fn validate(payload: &[u8]) -> CallResult {
    let ValidationRequest { settings, request } = ValidationRequest::<Settings>::new(payload)?;
    let namespace = request.namespace.as_str();
    match request.kind.kind.as_str() {
        "Pod" => answer(request.object, |pod: &mut Pod| placement::inject(pod, namespace, &settings)),
        "Deployment" => answer(request.object, |it: &mut Deployment| placement::check(it, namespace, &settings)),
        "Namespace" => answer(request.object, |it: &mut Namespace| placement::check_annotation(it, &settings)),
        "Binding" => answer(request.object, |binding: &mut Binding| metadata::propagate(binding, &settings)),
        _ => accept_request(),
    }
}

/// Applies a rule to the object as its type, and answers with what came of it.
fn answer<T>(object: serde_json::Value, rule: impl FnOnce(&mut T) -> Outcome) -> CallResult
where
    T: DeserializeOwned + Serialize,
{
    let mut object: T = serde_json::from_value(object)?;
    match rule(&mut object) {
        Ok(true) => mutate_request(serde_json::to_value(&object)?),
        Ok(false) => accept_request(),
        Err(reason) => reject_request(Some(reason), Some(403), None, None),
    }
}

/// Reads one field of an object of the cluster, which has no namespace.
fn look_up<T: Resource + DeserializeOwned + Clone>(name: &str, field: &str) -> Result<T, String> {
    let request = GetResourceRequest {
        api_version: T::API_VERSION.to_owned(),
        kind: T::KIND.to_owned(),
        name: name.to_owned(),
        namespace: None,
        disable_cache: false,
        field_masks: Some(BTreeSet::from([field.to_owned()])),
    };
    get_resource(&request).map_err(|error| error.to_string())
}
