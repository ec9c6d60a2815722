//! Where the scheduler would put a Pod: by its node selector, its required node affinity, and the taints of nodes, as
//! the policy compares them. Resources, and the rest of what a scheduler weighs, are not looked at.

use std::iter;

use node_placement_policy::{
    placement::node_selection::NodeSelection,
    toleration::{self, Taint, Toleration},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::input::json::{list_of as list, text};

/// The nodes that a Pod with this `spec` may run on, as far as labels and names decide. One that no API server stores
/// may run on none.
pub fn matching_nodes<'n>(spec: &Value, nodes: impl Iterator<Item = &'n Value>) -> Vec<&'n Value> {
    let affinity = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let affinity = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": affinity } });
    let spec = json!({ "nodeSelector": spec["nodeSelector"], "affinity": affinity }).to_string();
    let Ok(selection) = NodeSelection::parse(&spec) else { return vec![] };
    let matches = |node: &&Value| {
        let metadata = &node["metadata"];
        selection.matches_node(text(&metadata["name"]), |key| metadata["labels"][key].as_str())
    };
    nodes.filter(matches).collect()
}

/// Whether a Pod with this `spec` may run on `node`.
pub fn matches_node(spec: &Value, node: &Value) -> bool {
    !matching_nodes(spec, iter::once(node)).is_empty()
}

/// The first taint that keeps a Pod with this `spec` away from `node` for as long as it is there.
pub fn keeps_away<'n>(spec: &Value, node: &'n Value) -> Option<&'n Value> {
    list(&node["spec"]["taints"]).iter().find(|taint| lasts(taint) && !tolerates(&spec["tolerations"], taint))
}

/// The first taint of a node that keeps new Pods away, and that none of the tolerations tolerates.
///
/// Upstream: `FindMatchingUntoleratedTaint` of `k8s.io/component-helpers/scheduling/corev1`.
pub fn untolerated<'n>(tolerations: &Value, taints: &'n Value) -> Option<&'n Value> {
    list(taints).iter().find(|taint| !tolerates(tolerations, taint))
}

fn tolerates(tolerations: &Value, taint: &Value) -> bool {
    let tolerations: Vec<Toleration> = list(tolerations).iter().filter_map(read).collect();
    toleration::untolerated(&tolerations, &read(taint)).is_none()
}

/// Whether a taint keeps Pods away for as long as it is there, and does not tell a passing condition.
pub fn lasts(taint: &Value) -> bool {
    read(taint).is_some_and(|taint: Taint| taint.is_lasting())
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
