//! How what moves can be moved.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use super::{judging::Judged, subject::Subject};
use crate::{
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifests},
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
    /// Why a restart is not proposed.
    pub obstacle: Option<Obstacle>,
    /// The names of the PodDisruptionBudgets that cover its Pods.
    pub budgets: Vec<String>,
}

/// What speaks against `kubectl rollout restart`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nobody makes its Pods again.
    NobodyMakesItAgain,
    /// `kubectl` restarts no such kind.
    NoRestart,
    /// A volume that may not move with the Pod.
    Volume(String),
    /// The Deployment is paused.
    Paused,
    /// The StatefulSet replaces a Pod when somebody deletes it.
    OnDelete,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyMakesItAgain => f.write_str("nobody makes its Pods again if they are deleted"),
            Self::NoRestart => f.write_str("kubectl can't restart it; new Pods of it run on the other nodes"),
            Self::Volume(volume) => write!(f, "{volume} may not move with the Pod"),
            Self::Paused => f.write_str("the Deployment is paused"),
            Self::OnDelete => f.write_str("its updateStrategy is OnDelete: Pods are replaced when they are deleted"),
        }
    }
}

/// The PodDisruptionBudgets of a cluster, by namespace.
pub struct Budgets(BTreeMap<String, Vec<(String, LabelSelector)>>);

impl Budgets {
    /// Those of a cluster; what can't be read covers nothing.
    pub fn of(cluster: &Manifests) -> Self {
        let mut budgets: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for manifest in cluster.objects() {
            let Identity { api_version, kind, namespace, name } = &manifest.identity;
            if (api_version.as_str(), kind.as_str()) != ("policy/v1", "PodDisruptionBudget") {
                continue;
            }
            let object = manifest.parse();
            if let Ok(selector) = serde_json::from_value::<LabelSelector>(object["spec"]["selector"].clone()) {
                let namespace = namespace.clone().unwrap_or_default();
                budgets.entry(namespace).or_default().push((name.clone(), selector));
            }
        }
        Self(budgets)
    }

    fn covering(&self, namespace: &str, labels: &Value) -> Vec<String> {
        let budgets = self.0.get(namespace).into_iter().flatten();
        budgets.filter(|(_, selector)| selects(selector, labels)).map(|(name, _)| name.clone()).collect()
    }
}

/// How to move a subject that moves.
pub fn restart(subject: &Subject<'_>, object: &Value, judged: &Judged, budgets: &Budgets) -> Restart {
    let Identity { kind, namespace, name, .. } = subject.manifest.identity.clone();
    let namespace = namespace.unwrap_or_default();
    let pod = template::template(object).unwrap_or(object);
    let budgets = budgets.covering(&namespace, &pod["metadata"]["labels"]);
    let obstacle = obstacle(object, &pod["spec"], subject.owner.is_some());
    Restart { namespace, kind, name, pods: judged.pods, obstacle, budgets }
}

fn obstacle(object: &Value, pod: &Value, has_owner: bool) -> Option<Obstacle> {
    let spec = &object["spec"];
    match text(&object["kind"]) {
        "Pod" if !has_owner => return Some(Obstacle::NobodyMakesItAgain),
        "Deployment" if spec["paused"] == true => return Some(Obstacle::Paused),
        "StatefulSet" if spec["updateStrategy"]["type"] == "OnDelete" => return Some(Obstacle::OnDelete),
        "Deployment" | "StatefulSet" => {}
        _ => return Some(Obstacle::NoRestart),
    }
    let of_template = list_of(&spec["volumeClaimTemplates"]).first();
    let of_template = of_template.map(|claim| format!("the claim {}", text(&claim["metadata"]["name"])));
    of_template.or_else(|| list_of(&pod["volumes"]).iter().find_map(volume_that_stays)).map(Obstacle::Volume)
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
