//! Whitelists that refuse more than what Pods ask for.

use node_placement_policy::{
    selector::{Selector, Whitelist},
    settings::{OnDefaultConflict, Placement, first_not_allowed},
};

use super::entries::{Entry, entries, read};
use crate::check::finding::Finding;

/// One for each entry whose whitelist does so.
pub fn find(placement: &Placement) -> Vec<Finding> {
    let find = |entry: &Entry<'_>| {
        let allowed = read(entry.written.allowed_node_selector.as_deref()?)?;
        let path = format!("{}.allowedNodeSelector", entry.path());
        let text = refused_default(&allowed, entry, placement).or_else(|| empty(&allowed, entry))?;
        Some(Finding::new(path, text))
    };
    entries(placement).iter().filter_map(find).collect()
}

/// Beside a fence it is meant: Pods get the nodes of the fence, and have no choice.
fn empty(allowed: &Selector, entry: &Entry<'_>) -> Option<String> {
    let is_meant = !allowed.is_empty() || entry.fence().is_some();
    (!is_meant).then(|| "empty, so a Pod may ask for no node at all; leave it out to allow everything".to_owned())
}

/// The cluster's default, which the whitelist of an entry without a default of its own does not allow. As in-tree, every Pod
/// that gets it is refused. Where nothing at all can avert that, the policy calls it a mistake.
fn refused_default(allowed: &Selector, entry: &Entry<'_>, placement: &Placement) -> Option<String> {
    if entry.written.default_node_selector.is_some() {
        return None;
    }
    let default = read(placement.cluster_default_node_selector.as_deref()?)?;
    let demanded = entry.fence().map(|fence| fence.requirements().to_vec()).unwrap_or_default();
    let whitelist = Whitelist::new(allowed.clone(), demanded);
    let refused = first_not_allowed(&default, &whitelist, placement.on_node_affinity)?;
    let unless = match (placement.on_default_conflict, placement.namespace_annotations.0.is_empty()) {
        (OnDefaultConflict::Yield, _) => "that does not choose the label itself",
        (_, false) => "unless its namespace has an annotation",
        (_, true) => return None,
    };
    Some(format!(
        "it does not allow {refused}, which placement.clusterDefaultNodeSelector adds to Pods, so every Pod is refused \
         {unless}; give the entry a defaultNodeSelector that it allows"
    ))
}
