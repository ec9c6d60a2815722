//! What the API server's own admission plugins make of a Pod before webhooks see it: they merge its RuntimeClass, and
//! add tolerations, a token and a priority.

use anyhow::Result;
use k8s_openapi::api::node::v1::RuntimeClass;
use node_placement_policy::{placement::tolerations::UNTIL_EVICTED, resource::Resource};
use serde_json::{Value, json};

use super::{
    admission::MADE_UP_UID,
    controllers::controller_reference,
    defaults::{add_defaults, containers, fill, push},
    resource::resource_of,
};
use crate::input::{
    json::{list_of, members, text},
    manifests::{Identity, Manifest, Manifests},
};

/// The request as the API server sends it: with the defaults of fields that its object, and the old one, lack, and with
/// what the plugins `ServiceAccount`, `Priority` and `DefaultTolerationSeconds` add.
pub fn admitted(request: &Value) -> Value {
    admitted_with(request, add_token)
}

/// The request of a Pod that is created, where objects that are not looked at here (the ServiceAccount,
/// PriorityClasses, LimitRanges) have the plugins add all that they can. Nothing for other requests, and for Pods that
/// have been through the plugins.
pub fn admitted_with_all(request: &Value) -> Option<Value> {
    let is_new_pod = request["object"]["kind"] == "Pod"
        && request["operation"] == "CREATE"
        && text(&request["subResource"]).is_empty()
        && !request["object"]["spec"]["priority"].is_number();
    is_new_pod.then(|| admitted_with(request, add_all))
}

/// What the names have in common of the fields in which [`admitted`] and [`admitted_with_all`] differ: of `volumes` and
/// `volumeMounts`, `priority` and `priorityClassName`, and of the variables that conditions define for them.
pub const DIFFERENT_FIELDS: [&str; 5] = ["olume", "imagePullSecrets", "resources", "riority", "preemptionPolicy"];

fn admitted_with(request: &Value, add: fn(&mut Value)) -> Value {
    let mut request = request.clone();
    for member in ["object", "oldObject"] {
        let Some(object) = request.get_mut(member).filter(|object| object.is_object()) else { continue };
        add_defaults(object);
        let is_pod = resource_of(text(&object["apiVersion"]), text(&object["kind"])) == Some(Resource::Pod);
        if let Some(owner) = controller_reference(object).filter(|owner| is_pod && owner["uid"] == MADE_UP_UID) {
            object["metadata"]["generateName"] = format!("{}-", text(&owner["name"])).into();
        }
        if let Some(spec) = object.get_mut("spec").filter(|spec| is_pod && spec.is_object()) {
            add_tolerations_of_unready_nodes(spec);
            add(spec);
            let priority = match text(&spec["priorityClassName"]) {
                "system-node-critical" => 2_000_001_000,
                "system-cluster-critical" => 2_000_000_000,
                _ => 0_i64,
            };
            fill(spec, &json!({ "priority": priority, "preemptionPolicy": "PreemptLowerPriority" }));
        }
    }
    request
}

/// The highest priority that a PriorityClass can have which is not part of Kubernetes.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;

/// No token: a ServiceAccount may say that its Pods get none.
fn add_all(spec: &mut Value) {
    for container in containers(spec) {
        let amounts = json!({ "cpu": "1", "memory": "1Gi" });
        fill(&mut container["resources"], &json!({ "requests": amounts, "limits": amounts }));
    }
    fill(spec, &json!({ "imagePullSecrets": [{ "name": "of-the-service-account" }] }));
    if !text(&spec["priorityClassName"]).starts_with("system-") {
        let (class, priority) = ("the-default", HIGHEST_PRIORITY);
        fill(spec, &json!({ "priority": priority, "preemptionPolicy": "Never", "priorityClassName": class }));
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

/// What the name of the volume with a Pod's token begins with.
const TOKEN: &str = "kube-api-access-";

/// Whether this is the volume with a Pod's token, or where it is mounted.
fn is_token(volume: &Value) -> bool {
    text(&volume["name"]).starts_with(TOKEN)
}

/// Adds the volume with a Pod's token, and mounts it in every container.
fn add_token(spec: &mut Value) {
    if list_of(&spec["volumes"]).iter().any(is_token) || spec["automountServiceAccountToken"] == false {
        return;
    }
    let name = format!("{TOKEN}xxxxx");
    let mount = json!({
        "name": name, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    });
    containers(spec).for_each(|container| push(container, "volumeMounts", mount.clone()));
    let token = json!({ "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } });
    push(spec, "volumes", json!({ "name": name, "projected": { "sources": [token], "defaultMode": 420 } }));
}

/// Takes that volume away, whose name is random.
pub fn remove_token(spec: &mut Value) {
    let remove_from = |owner: &mut Value, list: &str| {
        if let Some(volumes) = owner.get_mut(list).and_then(Value::as_array_mut) {
            volumes.retain(|volume| !is_token(volume));
        }
    };
    remove_from(spec, "volumes");
    containers(spec).for_each(|container| remove_from(container, "volumeMounts"));
}

/// Merges the RuntimeClass that a Pod's `spec` names. One that is not known leaves it as it is.
///
/// Upstream: the admission plugin `RuntimeClass`; it refuses a Pod whose selector differs from the class's, which is not
/// the policy's doing.
pub fn merge_runtime_class(spec: &mut Value, cluster: &Manifests) {
    let Some(class) = runtime_class_identity(spec).and_then(|class| cluster.find(&class)) else { return };
    for (key, value) in members(&class["scheduling"]["nodeSelector"]) {
        if spec["nodeSelector"].get(key).is_none() {
            spec["nodeSelector"][key] = value.clone();
        }
    }
    add_tolerations(spec, list_of(&class["scheduling"]["tolerations"]));
    if spec["overhead"].is_null() {
        fill(spec, &json!({ "overhead": class["overhead"]["podFixed"] }));
    }
}

/// The RuntimeClass that a Pod's `spec` names, if the cluster has it.
///
/// # Errors
/// The object of that name is not a RuntimeClass.
pub fn runtime_class(spec: &Value, cluster: &Manifests) -> Result<Option<RuntimeClass>> {
    let Some(class) = runtime_class_identity(spec) else { return Ok(None) };
    cluster.manifest(&class).map(Manifest::typed).transpose()
}

/// The RuntimeClass that a Pod's `spec` names, and that the cluster lacks.
pub fn missing_runtime_class(spec: &Value, cluster: &Manifests) -> Option<Identity> {
    runtime_class_identity(spec).filter(|class| cluster.manifest(class).is_none())
}

fn runtime_class_identity(spec: &Value) -> Option<Identity> {
    let name = spec["runtimeClassName"].as_str().filter(|name| !name.is_empty())?;
    Some(Identity::new("node.k8s.io/v1", "RuntimeClass", None, name))
}
