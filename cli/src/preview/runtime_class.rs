//! What the API server makes of a Pod before webhooks see it: it merges the Pod's RuntimeClass into it.

use serde_json::{Value, json};

use super::{
    creation::{list_of, members, text},
    phrases::counted,
};
use crate::{Identity, Manifests};

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

/// What the RuntimeClass of a Pod has brought to it, in words: nobody finds that in a manifest.
pub fn brings(spec: &Value, cluster: &Manifests) -> Option<String> {
    let class = named(spec)?;
    let scheduling = &cluster.find(&identity(class))?["scheduling"];
    let selector = members(&scheduling["nodeSelector"]).map(|(key, value)| format!("{key}={}", text(value)));
    let tolerations = list_of(&scheduling["tolerations"]).len();
    let tolerations = (tolerations > 0).then(|| counted(tolerations, "toleration"));
    let brought: Vec<String> = selector.chain(tolerations).collect();
    (!brought.is_empty()).then(|| format!("RuntimeClass {class} brings {}", brought.join(", ")))
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
