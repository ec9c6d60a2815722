//! What the API server makes of a Pod before webhooks see it: it merges the Pod's RuntimeClass into it.

use anyhow::Result;
use k8s_openapi::api::node::v1::RuntimeClass;
use serde_json::{Value, json};

use crate::input::{
    json::{list_of, members, text},
    manifests::{Identity, Manifests},
};

/// Merges the RuntimeClass that a Pod's `spec` names. One that is not known leaves it as it is.
///
/// Upstream: the admission plugin `RuntimeClass`; it refuses a Pod whose selector differs from the class's, which is not
/// the policy's doing.
pub fn merge(spec: &mut Value, cluster: &Manifests) {
    let Some(class) = named(spec).and_then(|class| cluster.find(&identity(class))) else { return };
    let scheduling = class["scheduling"].clone();
    for (key, value) in members(&scheduling["nodeSelector"]) {
        if spec["nodeSelector"].get(key).is_none() {
            spec["nodeSelector"][key] = value.clone();
        }
    }
    for toleration in list_of(&scheduling["tolerations"]) {
        if spec["tolerations"].is_null() {
            spec["tolerations"] = json!([]);
        }
        if let Some(tolerations) = spec["tolerations"].as_array_mut().filter(|list| !list.contains(toleration)) {
            tolerations.push(toleration.clone());
        }
    }
    if !class["overhead"]["podFixed"].is_null() && spec["overhead"].is_null() {
        spec["overhead"] = class["overhead"]["podFixed"].clone();
    }
}

/// The RuntimeClass that a Pod's `spec` names, if the cluster has it.
///
/// # Errors
/// It is none.
pub fn class_of(spec: &Value, cluster: &Manifests) -> Result<Option<RuntimeClass>> {
    named(spec).map_or(Ok(None), |name| cluster.find_typed(None, name))
}

/// The RuntimeClass that a Pod names, and that is not known.
pub fn missing(spec: &Value, cluster: &Manifests) -> Option<String> {
    let class = named(spec)?;
    cluster.find(&identity(class)).is_none().then(|| format!("RuntimeClass {class}"))
}

fn named(spec: &Value) -> Option<&str> {
    Some(text(&spec["runtimeClassName"])).filter(|class| !class.is_empty())
}

fn identity(class: &str) -> Identity {
    Identity::new("node.k8s.io/v1", "RuntimeClass", None, class)
}
