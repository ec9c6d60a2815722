//! Bindings, by which whoever may create them gets a Pod past a fence.

use node_placement_policy::settings::Placement;

use super::{
    Guards,
    entry::{Entry, entries},
};
use crate::check::finding::Finding;

/// One, if there is a fence, and no Binding is verified.
pub fn find(placement: &Placement, guards: Guards) -> Option<Finding> {
    let entries = entries(placement);
    let fenced = entries.iter().find(|entry: &&Entry<'_>| entry.fence().is_some()).filter(|_| !guards.bindings)?;
    let text = format!(
        "Ignore, so whoever may create Bindings can bind a Pod to any node, past {}.requiredNodeSelector; set Verify",
        fenced.path()
    );
    Some(Finding::new("placement.onBindings", text))
}
