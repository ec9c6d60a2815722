//! How Pods that are misplaced can be replaced.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::Value;

use super::outcome::{Forecast, Judged, JudgedSubject, Outcome, Why};
use crate::{
    cluster::Kind,
    input::{
        json::{list_of, text},
        kubectl::Listed,
        manifests::Identity,
    },
    webhook::{delivery::selects, pods as template},
};

/// A workload with misplaced Pods: they get other nodes when they are created anew, which the policy does not do.
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

/// The PodDisruptionBudgets of a cluster; nothing, if it did not list them.
pub struct Budgets(Option<Vec<PodDisruptionBudget>>);

impl Budgets {
    /// Those of a cluster; what can't be read covers nothing.
    pub fn new(cluster: &Listed) -> Self {
        let is_unreadable = cluster.unreadable.iter().any(|it| it.kind == Kind::PodDisruptionBudget);
        Self((!is_unreadable).then(|| cluster.manifests.all().filter_map(Result::ok).collect()))
    }

    /// The names of those that cover a Pod with these labels.
    fn covering(&self, namespace: &str, labels: &Value) -> Option<Vec<String>> {
        let covers = |budget: &&PodDisruptionBudget| {
            let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            budget.metadata.namespace.as_deref() == Some(namespace) && selector.is_some_and(|it| selects(it, labels))
        };
        let budgets = self.0.as_ref()?.iter().filter(covers);
        Some(budgets.filter_map(|budget| budget.metadata.name.clone()).collect())
    }
}

impl Restart {
    /// Returns how to replace the Pods of a workload, if they are misplaced.
    pub fn new(JudgedSubject { subject, judged, .. }: &JudgedSubject<'_>, budgets: &Budgets) -> Option<Self> {
        let manifest = subject.manifest?;
        let misplaced = judged.all().find(|it| it.forecast == Forecast::real(Outcome::Misplaced))?;
        if judged.all().any(|it| it.forecast < misplaced.forecast) {
            return None;
        }
        let object = manifest.parse();
        let pod = template::template(&object).unwrap_or(&object);
        let budgets = budgets.covering(&subject.namespace, &pod["metadata"]["labels"]);
        // A new Pod may come to a node where it waits while the old one is gone.
        let obstacle = match judged.all().find(|it| it.forecast == Forecast::real(Outcome::CannotTell)) {
            Some(Judged { why: Why::Unbound(_), .. }) if matches!(misplaced.why, Why::Unbound(_)) => {
                Some("the scheduler may pick these nodes again, where Bindings are refused".to_owned())
            }
            Some(other) => other.reason(),
            None => obstacle(&object, &pod["spec"], subject.owner.as_deref()),
        };
        let Identity { kind, name, .. } = manifest.identity.clone();
        Some(Self { namespace: subject.namespace.clone(), kind, name, pods: misplaced.pods, obstacle, budgets })
    }
}

/// What speaks against `kubectl rollout restart`.
fn obstacle(object: &Value, pod: &Value, owner: Option<&str>) -> Option<String> {
    let spec = &object["spec"];
    let obstacle = match text(&object["kind"]) {
        "Pod" if owner.is_none() => "nobody makes its Pods again if they are deleted",
        "Deployment" if spec["paused"] == true => "the Deployment is paused",
        "StatefulSet" if spec["updateStrategy"]["type"] == "OnDelete" => {
            "its updateStrategy is OnDelete: Pods are replaced when they are deleted"
        }
        "StatefulSet" if spec["updateStrategy"]["rollingUpdate"]["partition"].as_u64().is_some_and(|it| it > 0) => {
            "its partition keeps Pods as they are; finish its rollout first"
        }
        "Deployment" | "StatefulSet" => {
            if let Some(owner) = owner {
                return Some(format!("it belongs to {owner}, which may undo a restart"));
            }
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
