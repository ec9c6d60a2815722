//! A Node, as far as the scheduler looks at it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use node_placement_policy::toleration::{NO_SCHEDULE, Taint};

use super::requests::{Amounts, amounts};

/// The taint of a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// A Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The taints that keep Pods away until somebody removes them, sorted by their text.
    pub lasting_taints: Vec<Taint>,
    /// The taints that keep Pods away until a condition passes: cordoned, not ready, draining.
    pub passing_taints: Vec<Taint>,
    /// What it has for Pods; empty if that is not known.
    pub allocatable: Amounts,
}

impl Node {
    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

impl From<&v1::Node> for Node {
    fn from(node: &v1::Node) -> Self {
        let spec = node.spec.clone().unwrap_or_default();
        let taints = spec.taints.iter().flatten().map(taint).filter(Taint::keeps_pods_away);
        let (mut passing_taints, mut lasting_taints): (Vec<_>, Vec<_>) = taints.partition(Taint::is_passing);
        lasting_taints.sort_by_key(ToString::to_string);
        // Its controller adds the taint a moment later, and a Node in a file may never get it.
        let cordon = Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect: NO_SCHEDULE.to_owned() };
        if spec.unschedulable == Some(true) && !passing_taints.contains(&cordon) {
            passing_taints.push(cordon);
        }
        let status = node.status.as_ref();
        let allocatable = amounts(status.and_then(|status| status.allocatable.as_ref()));
        let capacity = || amounts(status.and_then(|status| status.capacity.as_ref()));
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            lasting_taints,
            passing_taints,
            allocatable: if allocatable.is_empty() { capacity() } else { allocatable },
        }
    }
}

/// Reads a taint as the policy compares it.
pub fn taint(taint: &v1::Taint) -> Taint {
    Taint { key: taint.key.clone(), value: taint.value.clone().unwrap_or_default(), effect: taint.effect.clone() }
}
