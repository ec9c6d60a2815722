//! Kubernetes' controllers: what each gives to the Pods that it creates, and which objects own which.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

use super::manifests::{Identity, Manifests};
use crate::input::{json::text, yaml};

/// The controller of a kind of workload; `controllers.yml` says what the fields mean.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Controller {
    pub user: String,
    pod_owner: Option<PodOwner>,
    pub finalizers: Vec<Value>,
    labels: BTreeMap<String, String>,
    pub tolerations: Vec<Value>,
    pub tolerations_on_host_network: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct PodOwner {
    kind: String,
    suffix: String,
}

/// The controllers by the kind of workload. A test holds that they can be read.
static CONTROLLERS: LazyLock<BTreeMap<String, Controller>> =
    LazyLock::new(|| yaml::built_in(include_str!("controllers.yml")));

impl Controller {
    /// Returns the controller of workloads of this kind, if it is one of Kubernetes' own.
    pub fn of_kind(kind: &str) -> Option<&'static Self> {
        CONTROLLERS.get(kind)
    }

    /// Returns the kind and name of what owns the Pods of a workload of this `kind` and `name`.
    pub fn pod_owner<'k>(&'k self, kind: &'k str, name: &str) -> (&'k str, String) {
        let between = self.pod_owner.as_ref();
        between.map_or_else(|| (kind, name.to_owned()), |owner| (&owner.kind, format!("{name}{}", owner.suffix)))
    }

    /// Returns the labels that it gives to a Pod whose owner has this name.
    pub fn labels(&self, owner: &str) -> impl Iterator<Item = (&str, String)> {
        self.labels.iter().map(move |(key, value)| (key.as_str(), value.replace("NAME", owner)))
    }
}

/// Returns whether a label or an annotation is given to Pods by their controller.
pub fn is_by_controller(key: &str) -> bool {
    ["apps.kubernetes.io/", "batch.kubernetes.io/"].iter().any(|prefix| key.starts_with(prefix))
        || CONTROLLERS.values().any(|controller| controller.labels.contains_key(key))
}

/// Returns the object that controls a Pod, if the cluster has it, or the Deployment behind that.
pub fn controller_of<'c>(pod: &Value, cluster: &'c Manifests) -> Option<&'c Value> {
    let owner = identity(controller_reference(pod)?, pod);
    cluster.find(&owner).or_else(|| cluster.find(&deployment_behind(&owner, pod)?))
}

/// Returns the Deployment of a ReplicaSet that owns `pod`. ReplicaSets are seldom listed, and need not be: their name
/// is that of the Deployment, and the hash of its template, which the Pod has as a label.
fn deployment_behind(replica_set: &Identity, pod: &Value) -> Option<Identity> {
    let hash = text(&pod["metadata"]["labels"]["pod-template-hash"]);
    if replica_set.kind != "ReplicaSet" || hash.is_empty() {
        return None;
    }
    let name = replica_set.name.strip_suffix(hash)?.strip_suffix('-')?;
    Some(Identity { kind: "Deployment".to_owned(), name: name.to_owned(), ..replica_set.clone() })
}

/// Returns the reference to the owner that controls the object.
pub fn controller_reference(object: &Value) -> Option<&Value> {
    let mut owners = object["metadata"]["ownerReferences"].as_array()?.iter();
    owners.find(|owner| owner["controller"] == true)
}

fn identity(reference: &Value, object: &Value) -> Identity {
    Identity {
        api_version: text(&reference["apiVersion"]).to_owned(),
        kind: text(&reference["kind"]).to_owned(),
        // The owner of a mirror Pod is its Node; all others are in the object's namespace.
        namespace: object["metadata"]["namespace"].as_str().filter(|_| reference["kind"] != "Node").map(str::to_owned),
        name: text(&reference["name"]).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, name: &str, owner: Option<(&str, &str, &str)>) -> Value {
        let owners = owner.map(|(api_version, kind, name)| {
            json!([{ "apiVersion": api_version, "kind": kind, "name": name, "controller": true }])
        });
        let metadata = json!({
            "name": name,
            "namespace": "team-a",
            "ownerReferences": owners,
            "labels": { "pod-template-hash": "5d9c" },
        });
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    }

    fn cluster() -> Manifests {
        Manifests::from_iter([
            object("apps/v1", "Deployment", "web", None),
            object("apps/v1", "Deployment", "api", None),
            object("apps/v1", "ReplicaSet", "web-5d9c", Some(("apps/v1", "Deployment", "web"))),
            object("batch/v1", "CronJob", "nightly", None),
            object("batch/v1", "Job", "nightly-1", Some(("batch/v1", "CronJob", "nightly"))),
        ])
    }

    #[rstest]
    #[case::a_replica_set("apps/v1", "ReplicaSet", "web-5d9c", Some("ReplicaSet web-5d9c"))]
    #[case::a_deployment_whose_replica_set_is_not_listed("apps/v1", "ReplicaSet", "api-5d9c", Some("Deployment api"))]
    #[case::a_job("batch/v1", "Job", "nightly-1", Some("Job nightly-1"))]
    #[case::nothing_that_is_there("argoproj.io/v1alpha1", "Rollout", "web", None)]
    fn a_pod_is_made_by_its_owner(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] name: &str,
        #[case] maker: Option<&str>,
    ) {
        let (pod, cluster) = (object("v1", "Pod", "p", Some((api_version, kind, name))), cluster());
        let found =
            controller_of(&pod, &cluster).map(|it| format!("{} {}", text(&it["kind"]), text(&it["metadata"]["name"])));
        assert_eq!(found.as_deref(), maker);
        assert_eq!(controller_of(&object("v1", "Pod", "p", None), &cluster), None);
    }

    #[test]
    fn the_table_of_controllers_can_be_read() {
        assert_eq!(Controller::of_kind("Job").unwrap().labels("web").count(), 4);
        assert!(is_by_controller("pod-template-hash") && !is_by_controller("app"));
    }
}
