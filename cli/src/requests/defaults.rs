//! What the API server and the DaemonSet controller add to objects before webhooks see them: tolerations, which the
//! policy looks at, and fields with a default, which the `matchConditions` of a policy may look at.

use serde_json::{Map, Value, json};

use super::resource::{NAMESPACE_NAME, resource_of, template_path};
use crate::input::json::{list_of, text};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Adds the tolerations of unready nodes that every Pod gets, unless it has such.
///
/// Upstream: the admission plugin `DefaultTolerationSeconds`.
pub fn add_tolerations(spec: &mut Value) {
    for key in [NOT_READY, UNREACHABLE] {
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

/// Adds the tolerations that the DaemonSet controller gives its Pods.
///
/// Upstream: `AddOrUpdateDaemonPodTolerations` of `k8s.io/kubernetes/pkg/controller/daemon/util`.
pub fn add_tolerations_of_daemon_sets(spec: &mut Value) {
    let mut added = vec![
        (NOT_READY, "NoExecute"),
        (UNREACHABLE, "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if spec["hostNetwork"] == true {
        added.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    for (key, effect) in added {
        let toleration = json!({ "key": key, "operator": "Exists", "effect": effect });
        if !list_of(&spec["tolerations"]).contains(&toleration) {
            push(spec, "tolerations", toleration);
        }
    }
}

/// The request as the API server sends it: with the defaults of fields that its object, and the old one, lack.
///
/// Upstream: `SetDefaults_*` of `k8s.io/kubernetes/pkg/apis`, and the admission plugins `ServiceAccount`, `Priority`
/// and `DefaultTolerationSeconds`.
pub fn completed(request: &Value) -> Value {
    completed_with(request, add_token)
}

/// The request of a Pod that is created, where the API server's admission plugins give it all that depends on objects
/// which nobody looks at here: the ServiceAccount, PriorityClasses, LimitRanges. Nothing for other requests, and for Pods
/// that have been through those plugins.
pub fn admitted_otherwise(request: &Value) -> Option<Value> {
    let is_new_pod = request["object"]["kind"] == "Pod"
        && request["operation"] == "CREATE"
        && text(&request["subResource"]).is_empty()
        && !request["object"]["spec"]["priority"].is_number();
    is_new_pod.then(|| completed_with(request, admit_otherwise))
}

fn completed_with(request: &Value, admit: fn(&mut Value)) -> Value {
    let mut request = request.clone();
    for member in ["object", "oldObject"] {
        if request[member].is_object() {
            complete(&mut request[member], admit);
        }
    }
    request
}

/// A ServiceAccount may say that its Pods get no token.
fn admit_otherwise(spec: &mut Value) {
    for container in containers(spec) {
        let amounts = json!({ "cpu": "1", "memory": "1Gi" });
        fill(&mut container["resources"], json!({ "requests": amounts, "limits": amounts }));
    }
    fill(spec, json!({ "imagePullSecrets": [{ "name": "of-the-service-account" }] }));
    let is_of_the_system = text(&spec["priorityClassName"]).starts_with("system-");
    if !is_of_the_system {
        let priority = json!({ "priority": HIGHEST_PRIORITY, "preemptionPolicy": "Never" });
        fill(spec, priority);
        fill(spec, json!({ "priorityClassName": "the-default" }));
    }
}

/// What the fields are called in which [`admitted_otherwise`] differs, as far as their names have in common.
pub const ADMITTED: [&str; 5] = ["olume", "imagePullSecrets", "resources", "riority", "preemptionPolicy"];

/// The highest priority that a PriorityClass of somebody's own can have.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;
/// What the name of the volume with a Pod's token begins with.
const TOKEN: &str = "kube-api-access-";

/// Whether this is the volume with a Pod's token, or where it is mounted.
pub fn is_token(volume: &Value) -> bool {
    text(&volume["name"]).starts_with(TOKEN)
}

fn complete(object: &mut Value, admit: fn(&mut Value)) {
    let (api_version, kind) = (text(&object["apiVersion"]).to_owned(), text(&object["kind"]).to_owned());
    let Some(resource) = resource_of(&api_version, &kind) else { return };
    match kind.as_str() {
        "Pod" => return complete_pod(object, admit),
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            fill(
                object,
                json!({ "metadata": { "labels": { NAMESPACE_NAME: name } }, "status": { "phase": "Active" } }),
            );
        }
        _ => {}
    }
    let defaults = defaults_of(&kind, &object["spec"]);
    if object["spec"].is_object() {
        fill(&mut object["spec"], defaults);
    }
    let Some(steps) = template_path(resource) else { return };
    let mut template = object;
    for step in steps {
        let Some(below) = template.get_mut(*step) else { return };
        template = below;
    }
    if template["spec"].is_object() {
        complete_pod_spec(&mut template["spec"]);
    }
}

/// Of the `spec` of a workload.
fn defaults_of(kind: &str, spec: &Value) -> Value {
    let rolling = |strategy: &str, parameters: Value| match text(&spec[strategy]["type"]) {
        "" | "RollingUpdate" => json!({ "type": "RollingUpdate", "rollingUpdate": parameters }),
        _ => json!({}),
    };
    match kind {
        "Deployment" => json!({
            "replicas": 1,
            "strategy": rolling("strategy", json!({ "maxUnavailable": "25%", "maxSurge": "25%" })),
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        }),
        "ReplicaSet" | "ReplicationController" => json!({ "replicas": 1 }),
        "StatefulSet" => json!({
            "replicas": 1,
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": rolling("updateStrategy", json!({ "partition": 0 })),
            "revisionHistoryLimit": 10,
            "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Retain", "whenScaled": "Retain" },
        }),
        "DaemonSet" => json!({
            "updateStrategy": rolling("updateStrategy", json!({ "maxUnavailable": 1, "maxSurge": 0 })),
            "revisionHistoryLimit": 10,
        }),
        "Job" => {
            let replacement = if spec["podFailurePolicy"].is_object() { "Failed" } else { "TerminatingOrFailed" };
            let mut job = json!({
                "parallelism": 1,
                "backoffLimit": 6,
                "completionMode": "NonIndexed",
                "suspend": false,
                "manualSelector": false,
                "podReplacementPolicy": replacement,
            });
            // A Job of which only the parallelism is said takes its Pods from a queue.
            if spec["parallelism"].is_null() {
                job["completions"] = 1.into();
            }
            job
        }
        "CronJob" => json!({
            "concurrencyPolicy": "Allow",
            "suspend": false,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        }),
        _ => json!({}),
    }
}

fn complete_pod(pod: &mut Value, admit: fn(&mut Value)) {
    if !pod["spec"].is_object() {
        return;
    }
    let spec = &mut pod["spec"];
    add_tolerations(spec);
    fill(spec, json!({ "enableServiceLinks": true, "serviceAccountName": "default" }));
    complete_pod_spec(spec);
    add_requests(spec);
    admit(spec);
    let priority = match text(&spec["priorityClassName"]) {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => 0_i64,
    };
    fill(spec, json!({ "priority": priority, "preemptionPolicy": "PreemptLowerPriority" }));
}

/// Writes limits of a Pod and its containers where requests are missing.
///
/// Upstream: `SetDefaults_Pod` of `k8s.io/kubernetes/pkg/apis/core/v1`.
pub fn add_requests(spec: &mut Value) {
    let add = |has_resources: &mut Value| {
        let limits = has_resources["resources"]["limits"].clone();
        if limits.is_object() {
            fill(&mut has_resources["resources"], json!({ "requests": limits }));
        }
    };
    add(spec);
    containers(spec).for_each(add);
}

/// Adds the volume with which the API server hands a Pod its token, and mounts it in every container.
fn add_token(spec: &mut Value) {
    let has_token = list_of(&spec["volumes"]).iter().any(is_token);
    if has_token || spec["automountServiceAccountToken"] == false {
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

/// What templates get as well.
fn complete_pod_spec(spec: &mut Value) {
    fill(
        spec,
        json!({
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        }),
    );
    if let Some(account) = spec["serviceAccountName"].as_str().map(str::to_owned) {
        fill(spec, json!({ "serviceAccount": account }));
    }
    for container in containers(spec) {
        let image = text(&container["image"]);
        let name = image.rsplit('/').next().unwrap_or_default();
        let is_latest = !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
        let pull = if is_latest { "Always" } else { "IfNotPresent" };
        fill(
            container,
            json!({
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": pull,
            }),
        );
        for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            fill(port, json!({ "protocol": "TCP" }));
        }
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            if container[probe].is_object() {
                let timing =
                    json!({ "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3 });
                fill(&mut container[probe], timing);
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if volume[source].is_object() {
                fill(&mut volume[source], json!({ "defaultMode": 420 }));
            }
        }
    }
}

/// The containers of a Pod, with those that run before them.
pub fn containers(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flat_map(Map::iter_mut);
    let lists = lists.filter(|(name, _)| ["containers", "initContainers"].contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter(|container| container.is_object())
}

/// Puts in what is absent, in objects within it too.
fn fill(value: &mut Value, defaults: Value) {
    match (value, defaults) {
        (Value::Object(members), Value::Object(defaults)) => {
            for (key, default) in defaults {
                fill(members.entry(key).or_insert(Value::Null), default);
            }
        }
        (value, default) if value.is_null() => *value = default,
        _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_template_gets_no_fields_of_pods() {
        let spec = json!({ "finalizers": ["kubernetes"] });
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" }, "spec": spec });
        let completed = completed(&json!({ "operation": "CREATE", "object": object }));
        assert_eq!(completed["object"]["spec"], spec);
        assert_eq!(completed["object"]["metadata"]["labels"][NAMESPACE_NAME], "a");
    }
}
