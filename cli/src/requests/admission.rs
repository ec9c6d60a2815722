//! The requests that an API server would send if an object were created now, and who sends them.

use anyhow::Result;
use node_placement_policy::resource::Resource;
use serde_json::{Map, Value, json};

use super::{
    controllers::{Controller, controller_reference},
    defaults::add_requests,
    resource::{name_in_rules, resource_of_manifest},
};
use crate::input::json::{fill_nulls, remove, remove_nulls, text};

/// In place of a uid that is not known before.
pub const MADE_UP_UID: &str = "00000000-0000-0000-0000-000000000000";

/// The bare request that creates `object`, which is [`without_server_fields`].
pub fn creation_request(resource: Resource, object: Value, user_info: Value) -> Value {
    request_for(resource, name_in_rules(resource), object, user_info)
}

/// The bare request that asks for what rules call `name`, such as `nodes/status`.
pub fn request_for(resource: Resource, name: &str, mut object: Value, user_info: Value) -> Value {
    fill_nulls(&mut object);
    remove_nulls(&mut object);
    // The API server leaves them out.
    for field in ["labels", "annotations"] {
        if object["metadata"][field].as_object().is_some_and(Map::is_empty) {
            remove(&mut object["metadata"], &[field]);
        }
    }
    if let Some(spec) = object.get_mut("spec").filter(|_| resource == Resource::Pod) {
        add_requests(spec);
    }
    let (name, sub_resource) = name.split_once('/').unwrap_or((name, ""));
    let kind = json!({ "group": resource.group(), "version": "v1", "kind": resource.kind() });
    let plural = json!({ "group": resource.group(), "version": "v1", "resource": name });
    let metadata = &object["metadata"];
    // A Namespace's request is about itself.
    let namespace = if resource == Resource::Namespace { &metadata["name"] } else { &metadata["namespace"] };
    let mut request = json!({
        "uid": MADE_UP_UID,
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": user_info,
        "oldObject": null,
        "dryRun": false,
        "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
    });
    if !sub_resource.is_empty() {
        request["subResource"] = sub_resource.into();
        request["requestSubResource"] = sub_resource.into();
    }
    if let Some(name) = metadata.get("name") {
        request["name"] = name.clone();
    }
    request["object"] = object;
    request
}

/// The request with which an administrator, or the kubelet of a Node, would create what a manifest says; with an `old`
/// object, update that. None, if the policy has no rules for it.
///
/// # Errors
/// The policy knows another version of it.
pub fn manifest_request(mut object: Value, old: Option<Value>) -> Result<Option<Value>> {
    let Some(resource) = resource_of_manifest(text(&object["apiVersion"]), text(&object["kind"]))? else {
        return Ok(None);
    };
    let has_namespace = ![Resource::Namespace, Resource::Node].contains(&resource);
    if has_namespace && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = "default".into();
    }
    // What administrators do to Nodes is not judged.
    let user_info = match resource {
        Resource::Node => kubelet(text(&object["metadata"]["name"])),
        _ => administrator(),
    };
    let mut request = creation_request(resource, object, user_info);
    if let Some(old) = old {
        request["operation"] = "UPDATE".into();
        request["options"]["kind"] = "UpdateOptions".into();
        request["oldObject"] = old;
    }
    Ok(Some(request))
}

/// The request that creates a workload or a Namespace anew, by its controller or an ordinary user. A policy may exempt
/// administrators.
pub fn workload_request(resource: Resource, object: &Value) -> Value {
    creation_request(resource, without_server_fields(object), creator(object))
}

/// Who creates an object: the controller of its owner; an ordinary user, if nothing owns it.
pub fn creator(object: &Value) -> Value {
    controller_reference(object).map_or_else(ordinary_user, |owner| controller_user(text(&owner["kind"])))
}

/// The object as its manifest has it: without what the API server and its controllers write into it.
pub fn without_server_fields(object: &Value) -> Value {
    let mut object = object.clone();
    let server_fields = [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    ];
    remove(&mut object["metadata"], &server_fields);
    object["status"] = json!({});
    match text(&object["kind"]) {
        "Job" => leave_out_generated_selector(&mut object),
        "Deployment" => remove(&mut object["metadata"]["annotations"], &["deployment.kubernetes.io/revision"]),
        _ => {}
    }
    object
}

/// Unless it says `manualSelector`, a Job gets its selector, and its template the labels that this selects, after all
/// webhooks.
fn leave_out_generated_selector(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    remove(&mut job["spec"], &["selector"]);
    let generated: Vec<&str> =
        Controller::of_kind("Job").iter().flat_map(|job| job.labels("")).map(|(key, _)| key).collect();
    for labels in ["/metadata/labels", "/spec/template/metadata/labels"] {
        if let Some(labels) = job.pointer_mut(labels) {
            remove(labels, &generated);
        }
    }
}

/// The user who applies manifests.
pub fn administrator() -> Value {
    json!({ "username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"] })
}

/// A user of no special group.
pub fn ordinary_user() -> Value {
    json!({ "username": "somebody", "groups": ["system:authenticated"] })
}

/// The kubelet of a node.
pub fn kubelet(node: &str) -> Value {
    json!({ "username": format!("system:node:{node}"), "groups": ["system:nodes", "system:authenticated"] })
}

/// The scheduler of Kubernetes.
pub fn scheduler() -> Value {
    json!({ "username": "system:kube-scheduler", "groups": ["system:authenticated"] })
}

/// The controller of owners of this kind; if that is none of Kubernetes' own, an ordinary user.
pub fn controller_user(owner: &str) -> Value {
    let Some(Controller { user, .. }) = Controller::of_kind(owner) else { return ordinary_user() };
    json!({
        "username": format!("system:serviceaccount:kube-system:{user}"),
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    })
}

/// Whether a Namespace is being deleted: an API server creates nothing in it.
///
/// Upstream: the admission plugin `NamespaceLifecycle`.
pub fn is_terminating(namespace: &Value) -> bool {
    namespace["metadata"]["deletionTimestamp"].is_string() || namespace["status"]["phase"] == "Terminating"
}
