//! How Pods that are misplaced can be replaced.

use std::collections::BTreeMap;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::{
    finding::{Finding, JudgedSubject, Why},
    outcome::{Forecast, Outcome},
    subject::What,
};
use crate::cluster::{
    self, BoundVolume, Cluster, Kind,
    manifests::{Identity, Manifests},
    selectors::selects,
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
pub struct Budgets<'c>(Option<&'c [PodDisruptionBudget]>);

impl<'c> Budgets<'c> {
    /// Returns those of a cluster.
    pub fn new(objects: &Manifests, cluster: &'c Cluster) -> Self {
        let is_unlisted = objects.unlisted.iter().any(|it| it.kind == Kind::PodDisruptionBudget);
        Self((!is_unlisted).then_some(cluster.budgets.as_slice()))
    }

    /// Returns the names of those that cover a Pod with these labels.
    fn covering(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Option<Vec<String>> {
        let covers = |budget: &&PodDisruptionBudget| {
            let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let label = |key: &str| labels.get(key).map(String::as_str);
            budget.metadata.namespace.as_deref() == Some(namespace) && selector.is_some_and(|it| selects(it, label))
        };
        let budgets = self.0?.iter().filter(covers);
        Some(budgets.filter_map(|budget| budget.metadata.name.clone()).collect())
    }
}

impl Restart {
    /// Returns whether both are about the same object.
    pub fn is_of_same(&self, other: &Self) -> bool {
        (&self.namespace, &self.kind, &self.name) == (&other.namespace, &other.kind, &other.name)
    }

    /// Returns how to replace the Pods of a workload, if they are misplaced.
    pub fn new(JudgedSubject { subject, findings, .. }: &JudgedSubject<'_>, budgets: &Budgets<'_>) -> Option<Self> {
        let misplaced = findings.all().find(|it| it.forecast == Forecast::real(Outcome::Misplaced))?;
        if findings.all().any(|it| it.forecast < misplaced.forecast) {
            return None;
        }
        let (manifest, labels, obstacle) = match subject.what {
            What::Workload(workload) | What::Standing(_, workload) => {
                (&workload.json, &workload.template.labels, obstacle(&workload.restart))
            }
            What::Pod(pod) => (&pod.json, &pod.labels, Some(obstacle_of_pod(subject.owner.as_deref()))),
            What::Revision(_) | What::Plain => return None,
        };
        let budgets = budgets.covering(&subject.namespace, labels);
        // A new Pod may come to a node where it waits while the old one is gone.
        let obstacle = match findings.all().find(|it| it.forecast == Forecast::real(Outcome::CannotTell)) {
            Some(Finding { why: Why::Unbound(_), .. }) if matches!(misplaced.why, Why::Unbound(_)) => {
                Some("the scheduler may pick these nodes again, where Bindings are refused".to_owned())
            }
            Some(other) => other.reason(),
            None => obstacle,
        };
        let Identity { kind, name, .. } = manifest.identity.clone();
        let pods = if subject.is_standing() { 1 } else { misplaced.pods };
        Some(Self { namespace: subject.namespace.clone(), kind, name, pods, obstacle, budgets })
    }
}

/// Returns what speaks against `kubectl rollout restart`.
fn obstacle(restart: &cluster::Restart) -> Option<String> {
    let obstacle = match restart {
        cluster::Restart::Rollout => return None,
        cluster::Restart::Owned(owner) => return Some(format!("it belongs to {owner}, which may undo a restart")),
        cluster::Restart::Volume(BoundVolume::Claim(name)) => {
            return Some(format!("the claim {name} may not move with the Pod"));
        }
        cluster::Restart::Volume(BoundVolume::HostPath(name)) => {
            return Some(format!("the hostPath volume {name} may not move with the Pod"));
        }
        cluster::Restart::Paused => "the Deployment is paused",
        cluster::Restart::OnDelete => "its updateStrategy is OnDelete: Pods are replaced when they are deleted",
        cluster::Restart::Partition => "its partition keeps Pods as they are; finish its rollout first",
        cluster::Restart::NotOfItsKind => "kubectl can't restart it; new Pods of it run on the other nodes",
    };
    Some(obstacle.to_owned())
}

fn obstacle_of_pod(owner: Option<&str>) -> String {
    match owner {
        None => "nobody makes its Pods again if they are deleted".to_owned(),
        Some(_) => "kubectl can't restart it; new Pods of it run on the other nodes".to_owned(),
    }
}
