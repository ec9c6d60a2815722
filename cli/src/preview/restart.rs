//! How what moves can be moved.

use std::collections::BTreeMap;

use k8s_openapi::{api::policy::v1::PodDisruptionBudget, apimachinery::pkg::apis::meta::v1::LabelSelector};
use serde_json::Value;

use super::outcome::{Judged, Why};
use crate::{
    input::{
        json::{list_of, text},
        kubectl::Listed,
        manifests::{Identity, Manifest},
    },
    requests::{delivery::selects, template},
};

/// A workload whose Pods move to other nodes when they are made again, which the policy does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How many of its Pods run where they could not be made again.
    pub pods: usize,
    /// Why a restart is not proposed, if it is not.
    pub obstacle: Option<String>,
    /// The names of the PodDisruptionBudgets that cover its Pods; nothing, if the cluster did not list them.
    pub budgets: Option<Vec<String>>,
}

/// The PodDisruptionBudgets of a cluster, by namespace; nothing, if it did not list them.
pub struct Budgets(Option<BTreeMap<String, Vec<(String, LabelSelector)>>>);

impl Budgets {
    /// Those of a cluster; what can't be read covers nothing.
    pub fn of(cluster: &Listed) -> Self {
        if cluster.unreadable.iter().any(|it| it.resource.starts_with("poddisruptionbudgets")) {
            return Self(None);
        }
        let mut budgets: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for PodDisruptionBudget { metadata, spec, .. } in cluster.manifests.all().filter_map(Result::ok) {
            if let Some(selector) = spec.and_then(|spec| spec.selector) {
                let namespace = metadata.namespace.unwrap_or_default();
                budgets.entry(namespace).or_default().push((metadata.name.unwrap_or_default(), selector));
            }
        }
        Self(Some(budgets))
    }

    fn covering(&self, namespace: &str, labels: &Value) -> Option<Vec<String>> {
        let budgets = self.0.as_ref()?.get(namespace).into_iter().flatten();
        Some(budgets.filter(|(_, selector)| selects(selector, labels)).map(|(name, _)| name.clone()).collect())
    }
}

/// How to move a workload that moves.
pub fn restart(manifest: &Manifest, has_owner: bool, judged: &Judged, budgets: &Budgets) -> Restart {
    let (Identity { kind, namespace, name, .. }, object) = (manifest.identity.clone(), manifest.parse());
    let namespace = namespace.unwrap_or_default();
    let pod = template::template(&object).unwrap_or(&object);
    let budgets = budgets.covering(&namespace, &pod["metadata"]["labels"]);
    let obstacle = match judged.why {
        // A new Pod may come to the same node, and wait there while the old one is gone.
        Why::Unbound(_) => Some("the scheduler may pick these nodes again, where Bindings are refused".to_owned()),
        _ => obstacle(&object, &pod["spec"], has_owner),
    };
    Restart { namespace, kind, name, pods: judged.pods, obstacle, budgets }
}

/// What speaks against `kubectl rollout restart`.
fn obstacle(object: &Value, pod: &Value, has_owner: bool) -> Option<String> {
    let spec = &object["spec"];
    let obstacle = match text(&object["kind"]) {
        "Pod" if !has_owner => "nobody makes its Pods again if they are deleted",
        "Deployment" if spec["paused"] == true => "the Deployment is paused",
        "StatefulSet" if spec["updateStrategy"]["type"] == "OnDelete" => {
            "its updateStrategy is OnDelete: Pods are replaced when they are deleted"
        }
        "StatefulSet" if spec["updateStrategy"]["rollingUpdate"]["partition"].as_u64().is_some_and(|it| it > 0) => {
            "its partition keeps Pods as they are; finish its rollout first"
        }
        "Deployment" | "StatefulSet" => {
            let of_template = list_of(&spec["volumeClaimTemplates"]).first();
            let of_template = of_template.map(|claim| format!("the claim {}", text(&claim["metadata"]["name"])));
            let volume = of_template.or_else(|| list_of(&pod["volumes"]).iter().find_map(volume_that_stays))?;
            return Some(format!("{volume} may not move with the Pod"));
        }
        _ => "kubectl can't restart it; new Pods of it run on the other nodes",
    };
    Some(obstacle.to_owned())
}

/// A volume that may be bound to a node, or a zone.
fn volume_that_stays(volume: &Value) -> Option<String> {
    let name = text(&volume["name"]);
    if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        return Some(format!("the claim {claim}"));
    }
    ["hostPath", "local"]
        .into_iter()
        .find(|kind| volume.get(*kind).is_some())
        .map(|kind| format!("the {kind} volume {name}"))
}
