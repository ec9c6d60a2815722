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

/// What the RuntimeClass of a Pod adds to it: nobody finds that in a manifest.
pub struct Added {
    pub name: String,
    /// In words: `pool=shared`, `a toleration`.
    pub adds: Vec<String>,
}

/// What is added to a Pod by its RuntimeClass, if anything is.
pub fn added(spec: &Value, cluster: &Manifests) -> Option<Added> {
    let name = named(spec)?;
    let scheduling = &cluster.find(&identity(name))?["scheduling"];
    let selector = members(&scheduling["nodeSelector"]).map(|(key, value)| format!("{key}={}", text(value)));
    let toleration = list_of(&scheduling["tolerations"]).first().map(|_| TOLERATION.to_owned());
    let adds: Vec<String> = selector.chain(toleration).collect();
    (!adds.is_empty()).then(|| Added { name: name.to_owned(), adds })
}

const TOLERATION: &str = "a toleration";

impl Added {
    /// Whether a message is about something of it.
    pub fn is_told_in(&self, message: &str) -> bool {
        let is_told = |added: &String| message.contains(if added == TOLERATION { "toleration" } else { added });
        self.adds.iter().any(is_told)
    }
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
    Identity {
        api_version: "node.k8s.io/v1".to_owned(),
        kind: "RuntimeClass".to_owned(),
        namespace: None,
        name: class.to_owned(),
    }
}
