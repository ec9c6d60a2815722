//! Writes into objects what an API server writes before it calls webhooks: the defaults that every stored object has
//! (`defaults.yml` has those that depend on nothing but the kind), and of a Pod its RuntimeClass.

use std::sync::LazyLock;

use anyhow::Result;
use k8s_openapi::api::node::v1::RuntimeClass;
use node_placement_policy::{placement::tolerations::UNTIL_EVICTED, resource::Resource};
use serde_json::{Map, Value, json};

use super::resource::NAMESPACE_NAME;
use crate::{
    cluster::{
        kind::resource_of,
        manifests::{Identity, Manifest, Manifests},
        pod_template::pod_spec_pointer,
    },
    input::{
        json::{list_of, members, remove, set, text},
        yaml,
    },
};

/// The defaults by kind. A test holds that they can be read.
static DEFAULTS: LazyLock<Value> = LazyLock::new(|| yaml::built_in(include_str!("defaults.yml")));

/// Fills in the fields that an object lacks, and its Pod template.
pub fn add_defaults(object: &mut Value) {
    let kind = text(&object["kind"]).to_owned();
    let Some(resource) = resource_of(text(&object["apiVersion"]), &kind) else { return };
    if resource == Resource::Namespace {
        let labels = json!({ NAMESPACE_NAME: object["metadata"]["name"] });
        fill(object, &json!({ "metadata": { "labels": labels }, "status": { "phase": "Active" } }));
    }
    if let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) {
        add_defaults_of_kind(spec, &kind);
    }
    let pod_spec = pod_spec_pointer(resource).and_then(|pointer| object.pointer_mut(&pointer));
    if let Some(spec) = pod_spec.filter(|spec| spec.is_object()) {
        add_defaults_of_pod(spec);
    }
    if let Some(spec) = object.get_mut("spec").filter(|_| resource == Resource::Pod) {
        add_requests(spec);
    }
}

fn add_defaults_of_kind(spec: &mut Value, kind: &str) {
    if kind == "Job" {
        // A Job of which only the parallelism is said takes its Pods from a queue.
        let completions = if spec["parallelism"].is_null() { json!(1) } else { Value::Null };
        let replacement = if spec["podFailurePolicy"].is_object() { json!("Failed") } else { Value::Null };
        fill(spec, &json!({ "completions": completions, "podReplacementPolicy": replacement }));
    }
    fill(spec, &DEFAULTS[kind]);
    for field in ["strategy", "updateStrategy"] {
        let strategy = spec.get_mut(field).filter(|strategy| !["", "RollingUpdate"].contains(&text(&strategy["type"])));
        if let Some(strategy) = strategy {
            remove(strategy, &["rollingUpdate"]);
        }
    }
}

fn add_defaults_of_pod(spec: &mut Value) {
    fill(spec, &DEFAULTS["PodSpec"]);
    for container in containers(spec) {
        let image = text(&container["image"]);
        let name = image.rsplit('/').next().unwrap_or_default();
        let is_latest = !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
        let policy = if is_latest { "Always" } else { "IfNotPresent" };
        fill(container, &json!({ "imagePullPolicy": policy }));
    }
}

/// Writes limits of a Pod and its containers where requests are missing.
///
/// Upstream: `SetDefaults_Pod` of `k8s.io/kubernetes/pkg/apis/core/v1`.
pub fn add_requests(spec: &mut Value) {
    let add = |owner: &mut Value| {
        let limits = owner["resources"]["limits"].clone();
        if limits.is_object() {
            fill(&mut owner["resources"], &json!({ "requests": limits }));
        }
    };
    add(spec);
    containers(spec).for_each(add);
}

/// Returns the containers of a Pod, with those that run before them.
pub fn containers(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flat_map(Map::iter_mut);
    let lists = lists.filter(|(name, _)| ["containers", "initContainers"].contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter(|container| container.is_object())
}

/// Puts in what is absent, in objects within it too; `defaults.yml` says what its keys mean.
fn fill(value: &mut Value, defaults: &Value) {
    let Value::Object(defaults) = defaults else {
        if value.is_null() {
            *value = defaults.clone();
        }
        return;
    };
    if value.is_null() {
        *value = json!({});
    }
    let Some(members) = value.as_object_mut() else { return };
    for (key, default) in defaults.iter().filter(|(_, default)| !default.is_null()) {
        if let Some(list) = key.strip_suffix("[]") {
            let elements = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            elements.filter(|element| element.is_object()).for_each(|element| fill(element, default));
        } else if let Some(optional) = key.strip_suffix('?') {
            let present = members.get_mut(optional).filter(|member| member.is_object());
            present.into_iter().for_each(|member| fill(member, default));
        } else {
            fill(members.entry(key).or_insert(Value::Null), default);
        }
    }
}

/// Adds an item to a list, which may be absent.
pub fn push(value: &mut Value, list: &str, item: Value) {
    if value[list].is_null() {
        value[list] = json!([]);
    }
    if let Some(items) = value[list].as_array_mut() {
        items.push(item);
    }
}

/// Adds the tolerations of unready nodes that every Pod gets, unless it has such.
///
/// Upstream: the admission plugin `DefaultTolerationSeconds`.
pub fn add_tolerations_of_unready_nodes(spec: &mut Value) {
    for key in UNTIL_EVICTED {
        let tolerates = |toleration: &Value| {
            let (own, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
            (own == key || own.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        };
        if !list_of(&spec["tolerations"]).iter().any(tolerates) {
            let added = json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            push(spec, "tolerations", added);
        }
    }
}

/// Adds those tolerations that a Pod does not have.
pub fn add_tolerations<'t>(spec: &mut Value, tolerations: impl IntoIterator<Item = &'t Value>) {
    for toleration in tolerations {
        if !list_of(&spec["tolerations"]).contains(toleration) {
            push(spec, "tolerations", toleration.clone());
        }
    }
}

/// Returns why the API server refuses a Pod before it asks any webhook: it contradicts its RuntimeClass.
///
/// Upstream: the admission plugin `RuntimeClass`.
pub fn contradiction_with_class(spec: &Value, cluster: &Manifests) -> Option<String> {
    let class = runtime_class_identity(spec).and_then(|class| cluster.find(&class))?;
    let mut pairs = members(&class["scheduling"]["nodeSelector"]);
    let (key, value) = pairs.find(|(key, value)| spec["nodeSelector"].get(key).is_some_and(|own| own != *value))?;
    Some(format!(
        "the API server refuses a Pod that requests {key}={}, since its RuntimeClass {} requires {key}={}",
        text(&spec["nodeSelector"][key.as_str()]),
        text(&class["metadata"]["name"]),
        text(value)
    ))
}

/// Merges the RuntimeClass that a Pod's `spec` names. One that is not known leaves it as it is.
///
/// Upstream: the admission plugin `RuntimeClass`.
pub fn merge_runtime_class(spec: &mut Value, cluster: &Manifests) {
    let Some(class) = runtime_class_identity(spec).and_then(|class| cluster.find(&class)) else { return };
    for (key, value) in members(&class["scheduling"]["nodeSelector"]) {
        if spec["nodeSelector"].get(key).is_none() {
            set(spec, &["nodeSelector", key], value.clone());
        }
    }
    add_tolerations(spec, list_of(&class["scheduling"]["tolerations"]));
    if spec["overhead"].is_null() {
        fill(spec, &json!({ "overhead": class["overhead"]["podFixed"] }));
    }
}

/// Returns the RuntimeClass that a Pod's `spec` names, if the cluster has it.
///
/// # Errors
/// The object of that name is not a RuntimeClass.
pub fn runtime_class(spec: &Value, cluster: &Manifests) -> Result<Option<RuntimeClass>> {
    let Some(class) = runtime_class_identity(spec) else { return Ok(None) };
    cluster.manifest(&class).map(Manifest::typed).transpose()
}

/// Returns the RuntimeClass that a Pod's `spec` names, and that the cluster lacks.
pub fn missing_runtime_class(spec: &Value, cluster: &Manifests) -> Option<Identity> {
    runtime_class_identity(spec).filter(|class| cluster.manifest(class).is_none())
}

fn runtime_class_identity(spec: &Value) -> Option<Identity> {
    let name = spec["runtimeClassName"].as_str().filter(|name| !name.is_empty())?;
    Some(Identity::new("node.k8s.io/v1", "RuntimeClass", None, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_defaults(mut object: Value) -> Value {
        add_defaults(&mut object);
        object
    }

    #[test]
    fn what_holds_no_template_gets_no_fields_of_pods() {
        let spec = json!({ "finalizers": ["kubernetes"] });
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" }, "spec": spec });
        let completed = with_defaults(object);
        assert_eq!(completed["spec"], spec);
        assert_eq!(completed["metadata"]["labels"][NAMESPACE_NAME], "a");
    }

    #[test]
    fn the_runtime_class_is_merged() {
        let class = json!({
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": { "name": "kata" },
            "handler": "kata",
            "scheduling": { "nodeSelector": { "kata": "yes" } },
        });
        let mut spec = json!({ "runtimeClassName": "kata" });
        merge_runtime_class(&mut spec, &Manifests::from_iter([class]));
        assert_eq!(spec["nodeSelector"], json!({ "kata": "yes" }));
    }

    #[test]
    fn defaults_are_filled_in_at_every_depth() {
        let container = json!({ "image": "a:1", "livenessProbe": { "periodSeconds": 5 }, "ports": [{}] });
        let template = json!({ "spec": { "initContainers": [container], "volumes": [{ "secret": {} }] } });
        let spec = json!({ "template": template, "strategy": { "type": "Recreate" } });
        let completed = with_defaults(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec }));
        assert_eq!(completed["spec"]["replicas"], 1);
        assert_eq!(completed["spec"]["strategy"], json!({ "type": "Recreate" }));
        let pod = &completed["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"], json!([{ "secret": { "defaultMode": 420 } }]));
        let container = &pod["initContainers"][0];
        let probe = json!({ "timeoutSeconds": 1, "periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3 });
        assert_eq!(container["livenessProbe"], probe);
        assert_eq!(container["ports"], json!([{ "protocol": "TCP" }]));
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
        assert!(container.get("readinessProbe").is_none() && pod.get("serviceAccount").is_none(), "{completed}");
    }
}
