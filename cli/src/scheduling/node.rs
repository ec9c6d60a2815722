//! A Node, as far as scheduling looks at it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use node_placement_policy::toleration::{NO_SCHEDULE, Taint};

use super::resources::{Amount, amounts};

/// The taint of a node that was cordoned.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The taints that keep Pods away until they are taken away, sorted.
    pub lasting_taints: Vec<Taint>,
    /// The taints that keep Pods away until a condition passes: cordoned, not ready, draining.
    pub passing_taints: Vec<Taint>,
    /// What it has for Pods.
    pub allocatable: BTreeMap<String, Amount>,
}

impl From<v1::Node> for Node {
    fn from(node: v1::Node) -> Self {
        let v1::NodeSpec { taints, unschedulable, .. } = node.spec.unwrap_or_default();
        let taints = taints.into_iter().flatten().map(taint).filter(Taint::keeps_pods_away);
        let (mut passing_taints, mut lasting_taints): (Vec<_>, Vec<_>) = taints.partition(Taint::is_passing);
        lasting_taints.sort_by_key(ToString::to_string);
        // Its controller adds the taint a moment later, and a Node in a file may never get it.
        let is_cordoned = unschedulable.unwrap_or_default();
        if is_cordoned && passing_taints.iter().all(|taint| taint.key != UNSCHEDULABLE) {
            let effect = NO_SCHEDULE.to_owned();
            passing_taints.push(Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect });
        }
        Self {
            name: node.metadata.name.unwrap_or_default(),
            labels: node.metadata.labels.unwrap_or_default(),
            lasting_taints,
            passing_taints,
            allocatable: amounts(node.status.and_then(|status| status.allocatable).as_ref()),
        }
    }
}

/// A taint as the policy compares it.
pub fn taint(taint: v1::Taint) -> Taint {
    Taint { key: taint.key, value: taint.value.unwrap_or_default(), effect: taint.effect }
}
