//! A Pod as it would be made from the template of a workload.

use serde_json::{Value, json};

use super::{
    creation::{self, created_by, text},
    runtime_class,
};
use crate::{Manifests, resource::POD};

/// The request with which a controller would create a Pod of the workload; none, if no controller makes Pods of such.
pub fn creation_from(workload: &Value, cluster: &Manifests) -> Option<Value> {
    let (kind, name) = (text(&workload["kind"]), text(&workload["metadata"]["name"]));
    // Who makes the Pods of a Deployment, or a CronJob, is made itself.
    let (api_version, maker, template) = match kind {
        "Deployment" => ("apps/v1", "ReplicaSet", "/spec/template"),
        "CronJob" => ("batch/v1", "Job", "/spec/jobTemplate/spec/template"),
        "ReplicaSet" | "StatefulSet" | "DaemonSet" => ("apps/v1", kind, "/spec/template"),
        "Job" => ("batch/v1", kind, "/spec/template"),
        "ReplicationController" => ("v1", kind, "/spec/template"),
        _ => return None,
    };
    let mut pod = workload.pointer(template).filter(|template| template.is_object())?.clone();
    if !(pod["metadata"].is_null() || pod["metadata"].is_object()) {
        return None;
    }
    runtime_class::merge(&mut pod["spec"], cluster);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = POD.kind.into();
    pod["status"] = json!({});
    let owner = json!({ "apiVersion": api_version, "kind": maker, "name": name, "controller": true });
    let metadata = &mut pod["metadata"];
    metadata["generateName"] = format!("{name}-").into();
    metadata["namespace"] = workload["metadata"]["namespace"].clone();
    metadata["ownerReferences"] = json!([owner]);
    Some(creation::request(POD, pod, created_by(maker)))
}
