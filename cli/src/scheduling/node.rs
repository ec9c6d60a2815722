//! A Node, as far as scheduling looks at it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use node_placement_policy::toleration::{NO_SCHEDULE, Taint};

use super::resources::{Amount, amounts};

/// The taint of a node that was cordoned.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The taints that keep Pods away for as long as somebody wants it so.
    pub lasting_taints: Vec<Taint>,
    /// The taints that keep Pods away until a condition passes: cordoned, not ready, draining.
    pub passing_taints: Vec<Taint>,
    /// What it has for Pods.
    pub allocatable: BTreeMap<String, Amount>,
}

impl From<&v1::Node> for Node {
    fn from(node: &v1::Node) -> Self {
        let spec = node.spec.as_ref();
        let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten().map(taint);
        let (lasting_taints, mut passing_taints) = split(taints);
        // Its controller adds the taint a moment later, and a Node in a file may never get it.
        let is_cordoned = spec.and_then(|spec| spec.unschedulable).unwrap_or_default();
        if is_cordoned && passing_taints.iter().all(|taint| taint.key != UNSCHEDULABLE) {
            let effect = NO_SCHEDULE.to_owned();
            passing_taints.push(Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect });
        }
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            lasting_taints,
            passing_taints,
            allocatable: amounts(allocatable),
        }
    }
}

/// As the policy compares it.
pub fn taint(taint: &v1::Taint) -> Taint {
    Taint { key: taint.key.clone(), value: taint.value.clone().unwrap_or_default(), effect: taint.effect.clone() }
}

/// Those that keep Pods away: the lasting ones, sorted, and the passing ones.
pub fn split(taints: impl Iterator<Item = Taint>) -> (Vec<Taint>, Vec<Taint>) {
    let away = taints.filter(Taint::keeps_pods_away);
    let (passing, mut lasting): (Vec<_>, Vec<_>) = away.partition(Taint::is_passing);
    lasting.sort_by_key(ToString::to_string);
    (lasting, passing)
}
