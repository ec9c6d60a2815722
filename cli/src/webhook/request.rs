//! The requests that an API server sends to webhooks: for an object that is applied or created anew, by whom, and what of
//! them is not known here.

use anyhow::{Result, ensure};
use node_placement_policy::resource::Resource;
use serde_json::{Map, Value, json};

use super::{
    defaults::{add_defaults, add_requests, contradiction_with_class, merge_runtime_class},
    fields::Read,
    resource::{name_in_rules, requested, resource_of_manifest},
};
use crate::{
    cluster::{
        controllers::{Controller, controller_reference},
        is_terminating,
        manifests::Manifests,
    },
    engine::policy::admission_request,
    input::json::{fill_nulls, qualified_name, remove, remove_nulls, text},
};

/// In place of a uid that is not known before.
pub const MADE_UP_UID: &str = "00000000-0000-0000-0000-000000000000";

/// A request, and which of its fields are not known here.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request, as an API server sends it within an AdmissionReview.
    pub json: Value,
    unknown: Vec<Unknown>,
    /// Whether the API server has completed it already.
    pub is_complete: bool,
}

/// A field that is made up, or that the API server may still fill in; and why.
#[derive(Clone, Copy, Debug)]
pub struct Unknown {
    /// As in `object.spec.containers.*.resources`.
    path: &'static str,
    reason: &'static str,
    /// Whether it has a value that most requests have: with it, a request that passes is sent.
    is_assumed: bool,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester<'n> {
    /// The user who applies manifests.
    Administrator,
    /// A user of no special group. Who it is, is not known.
    Somebody,
    /// The kubelet of a node.
    Kubelet(&'n str),
    /// The scheduler of Kubernetes.
    Scheduler,
    /// The controller of workloads of a kind.
    ControllerOf(&'n str),
}

/// The fields that plugins of an API server add to a Pod that lacks them.
const ADDED_IF_ABSENT: [&str; 7] = [
    "object.spec.serviceAccountName",
    "object.spec.serviceAccount",
    "object.spec.automountServiceAccountToken",
    "object.spec.imagePullSecrets",
    "object.spec.priority",
    "object.spec.priorityClassName",
    "object.spec.preemptionPolicy",
];

/// The fields that plugins of an API server add to, whatever a Pod has.
const ADDED_TO: [&str; 7] = [
    "object.spec.volumes",
    "object.spec.tolerations",
    "object.spec.resources",
    "object.spec.containers.*.resources",
    "object.spec.containers.*.volumeMounts",
    "object.spec.initContainers.*.resources",
    "object.spec.initContainers.*.volumeMounts",
];

impl Request {
    /// Returns a request that was recorded: all of it is known.
    pub fn recorded(json: Value) -> Self {
        Self { json, unknown: vec![], is_complete: true }
    }

    /// Returns a request that is made from a manifest. Of a new Pod, not all is known: an API server and its plugins
    /// fill in more.
    pub fn new(json: Value) -> Self {
        let mut request = Self { is_complete: false, ..Self::recorded(json) };
        if request.is_pod_creation() {
            let reason = "which the API server may fill in";
            let is_absent = |path: &&&str| {
                let field = path.trim_start_matches("object.spec.");
                request.json["object"]["spec"].get(field).is_none_or(Value::is_null)
            };
            let paths = ADDED_IF_ABSENT.iter().filter(is_absent).chain(&ADDED_TO);
            request.unknown = paths.map(|path| Unknown { path, reason, is_assumed: false }).collect();
        }
        request
    }

    /// Returns the request that creates `object`, which is [`without_server_fields`].
    pub fn creation(resource: Resource, object: Value, requester: Requester<'_>) -> Self {
        Self::of(resource, name_in_rules(resource), object, requester)
    }

    /// Returns the creation of an object by the name that rules have for it, such as `nodes/status`.
    pub fn of(resource: Resource, name: &str, object: Value, requester: Requester<'_>) -> Self {
        let request = Self::new(creation(resource, name, object, requester.user_info()));
        if requester.is_known() {
            return request;
        }
        let reason = "which depends on who creates the object, and how";
        request.assuming(&["request.userInfo", "request.options"], reason)
    }

    /// Returns the request with fields whose values are assumed.
    #[must_use]
    pub fn assuming(mut self, paths: &[&'static str], reason: &'static str) -> Self {
        self.unknown.extend(paths.iter().map(|path| Unknown { path, reason, is_assumed: true }));
        self
    }

    /// Returns why a field that an expression reads is not known; with `assumed`, also why it is only assumed.
    pub fn unknown_in(&self, read: &Read, assumed: bool) -> Option<String> {
        let mut unknown = self.unknown.iter().filter(|unknown| assumed || !unknown.is_assumed);
        let unknown = unknown.find(|unknown| read.overlaps(unknown.path))?;
        Some(format!("it reads {}, {}", read.path(), unknown.reason))
    }

    /// Returns the request with the defaults that every stored object has.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        for member in ["object", "oldObject"] {
            let Some(object) = self.json.get_mut(member).filter(|object| object.is_object()) else { continue };
            add_defaults(object);
            // People read the name in messages, so it has no hash.
            if let Some(owner) = controller_reference(object).filter(|owner| owner["uid"] == MADE_UP_UID) {
                object["metadata"]["generateName"] = format!("{}-", text(&owner["name"])).into();
            }
        }
        self
    }

    /// Returns whether it creates a Pod.
    pub fn is_pod_creation(&self) -> bool {
        self.json["operation"] == "CREATE"
            && self.json["object"]["kind"] == "Pod"
            && text(&self.json["subResource"]).is_empty()
    }

    /// Returns why the API server refuses what a manifest creates before it asks any webhook: the namespace is being deleted,
    /// or the Pod contradicts its RuntimeClass.
    ///
    /// Upstream: the admission plugins `NamespaceLifecycle` and `RuntimeClass`.
    pub fn refused_before_webhooks(&self, cluster: &Manifests) -> Option<String> {
        if self.is_complete || self.json["operation"] != "CREATE" || !text(&self.json["subResource"]).is_empty() {
            return None;
        }
        let namespace = self.namespace().filter(|_| self.json["object"]["kind"] != "Namespace");
        if namespace.and_then(|name| cluster.namespace(name)).is_some_and(is_terminating) {
            return Some("the namespace is being deleted, and the API server creates nothing in it".to_owned());
        }
        contradiction_with_class(&self.json["object"]["spec"], cluster).filter(|_| self.is_pod_creation())
    }

    /// Completes the request of a new Pod as the API server does: with its RuntimeClass, if the cluster has it.
    pub fn complete(&mut self, cluster: &Manifests) {
        if !self.is_complete && self.is_pod_creation() {
            merge_runtime_class(&mut self.json["object"]["spec"], cluster);
        }
    }

    /// Returns the name of the namespace that it is about; `None` if it is about something of the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.json["namespace"].as_str().filter(|name| !name.is_empty())
    }

    /// Returns `CREATE pods/binding team-a/web`.
    pub fn title(&self) -> String {
        let ((_, resource), metadata) = (requested(&self.json), &self.json["object"]["metadata"]);
        let names = [&self.json["name"], &metadata["name"], &metadata["generateName"]];
        let name = names.into_iter().find_map(Value::as_str).unwrap_or_default();
        // The namespace of a Namespace's request is its name.
        let namespace = if resource == "namespaces" { "" } else { text(&self.json["namespace"]) };
        let name = qualified_name(namespace, name);
        format!("{} {resource} {name}", text(&self.json["operation"])).trim_end().to_owned()
    }
}

impl Requester<'_> {
    /// Returns who creates an object: the controller of its owner, or an unknown user if nothing owns it.
    pub fn creator(object: &Value) -> Requester<'_> {
        controller_reference(object).map_or(Requester::Somebody, |owner| Requester::ControllerOf(text(&owner["kind"])))
    }

    fn controller(&self) -> Option<&'static Controller> {
        match self {
            Self::ControllerOf(kind) => Controller::of_kind(kind),
            _ => None,
        }
    }

    /// Returns whether the user is known. The controller of a custom kind may be anybody.
    fn is_known(&self) -> bool {
        !matches!(self, Self::Somebody | Self::ControllerOf(_)) || self.controller().is_some()
    }

    fn user_info(&self) -> Value {
        if let Some(Controller { user, .. }) = self.controller() {
            return json!({
                "username": format!("system:serviceaccount:kube-system:{user}"),
                "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            });
        }
        let (username, group) = match self {
            Self::Administrator => ("kubernetes-admin".to_owned(), Some("system:masters")),
            Self::Somebody | Self::ControllerOf(_) => ("somebody".to_owned(), None),
            Self::Kubelet(node) => (format!("system:node:{node}"), Some("system:nodes")),
            Self::Scheduler => ("system:kube-scheduler".to_owned(), None),
        };
        let groups: Vec<&str> = group.into_iter().chain(["system:authenticated"]).collect();
        json!({ "username": username, "groups": groups })
    }
}

fn creation(resource: Resource, name: &str, mut object: Value, user_info: Value) -> Value {
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

/// Returns the request that a document is, with or without its AdmissionReview, or that its manifest makes; `None` if the
/// policy does not handle its kind.
///
/// # Errors
/// The document is neither a request nor a manifest, or the policy knows another version of its kind.
pub fn request_from(document: &Value, old: Option<Value>) -> Result<Option<Request>> {
    if let Some(mut request) = recorded_request(document).cloned() {
        if let Some(old) = old {
            request["oldObject"] = old;
        }
        add_namespace(&mut request);
        return Ok(Some(Request::recorded(request)));
    }
    ensure!(
        document.get("kind").is_some() && document.get("metadata").is_some_and(Value::is_object),
        "expected an object with apiVersion, kind and metadata, or an admission request"
    );
    manifest_request(document.clone(), old)
}

/// Writes the namespace of a request into its object, as the API server does before it asks anybody.
fn add_namespace(request: &mut Value) {
    let (namespace, (_, resource)) = (request["namespace"].clone(), requested(request));
    let is_in_one = namespace.is_string() && !["namespaces", "nodes"].contains(&resource.as_str());
    if let Some(metadata) = request.pointer_mut("/object/metadata").filter(|metadata| is_in_one && metadata.is_object())
        && metadata["namespace"].is_null()
    {
        metadata["namespace"] = namespace;
    }
}

/// Returns the request that a document is, with or without its AdmissionReview.
pub fn recorded_request(document: &Value) -> Option<&Value> {
    Some(admission_request(document)).filter(|request| request.get("operation").is_some())
}

/// Returns the request with which an administrator, or the kubelet of a Node, would create what a manifest says; with an
/// `old` object, update that. `None` if the policy has no rules for it.
///
/// # Errors
/// The policy knows another version of it.
pub fn manifest_request(mut object: Value, old: Option<Value>) -> Result<Option<Request>> {
    let Some(resource) = resource_of_manifest(text(&object["apiVersion"]), text(&object["kind"]))? else {
        return Ok(None);
    };
    let has_namespace = ![Resource::Namespace, Resource::Node].contains(&resource);
    if has_namespace && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = "default".into();
    }
    // What administrators do to Nodes is not judged.
    let name = text(&object["metadata"]["name"]).to_owned();
    let requester = if resource == Resource::Node { Requester::Kubelet(&name) } else { Requester::Administrator };
    let mut request = Request::creation(resource, object, requester);
    if let Some(old) = old {
        request.json["operation"] = "UPDATE".into();
        request.json["options"]["kind"] = "UpdateOptions".into();
        request.json["oldObject"] = old;
        request.unknown.clear();
    }
    Ok(Some(request))
}

/// Returns the request that creates a workload or a Namespace anew, by its controller or somebody.
pub fn workload_request(resource: Resource, object: &Value) -> Request {
    Request::creation(resource, without_server_fields(object), Requester::creator(object))
}

/// Returns the object as its manifest has it: without what the API server and its controllers write into it.
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
