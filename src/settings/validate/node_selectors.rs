//! Checks the node selectors of an entry.

use super::Mistakes;
use super::{consistent_with_references, contradiction, demanding, have_references, known};
use crate::message::quote;
use crate::selector::{Selector, Whitelist};
use crate::settings::{EntryAt, NamespaceEntry, OnDefaultConflict, OnNodeAffinity, Placement, reference};
use std::collections::BTreeSet;

/// Checks what the entry demands and allows, by itself and with the cluster's default. Returns whether a label is
/// named.
pub fn check(at: EntryAt<'_>, placement: &Placement, cluster: Option<&Selector>, mistakes: &mut Mistakes) -> bool {
    let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = at.entry;
    let mut check = |field, selector: Option<_>| mistakes.check(&format_args!("{at}.{field}"), selector?);
    let required = check("requiredNodeSelector", required_node_selector.as_deref().map(demanding));
    let default = check("defaultNodeSelector", default_node_selector.as_deref().map(consistent_with_references));
    let allowed = check("allowedNodeSelector", allowed_node_selector.as_deref().map(consistent_with_references));
    if let (Some(required), Some(default)) = (&required, &default)
        && let Some(reason) = contradiction(&known(default), &known(required))
    {
        let problem = format!("contradicts requiredNodeSelector: {reason}");
        mistakes.add(&format_args!("{at}.defaultNodeSelector"), problem);
    }
    // The cluster's holds where the entry has none.
    let cluster_default = cluster.filter(|_| default_node_selector.is_none());
    if let (Some(required), Some(cluster_default)) = (&required, cluster_default)
        && let Some(reason) = contradiction(&known(required), cluster_default)
    {
        let problem = format!(
            "contradicts placement.clusterDefaultNodeSelector: {reason}; to switch it off here, use \
             defaultNodeSelector: \"\""
        );
        mistakes.add(&format_args!("{at}.requiredNodeSelector"), problem);
    }
    // It is sure to be added where neither an annotation nor what a Pod chooses can replace it.
    let is_sure =
        placement.namespace_annotations.0.is_empty() && placement.on_default_conflict == OnDefaultConflict::Reject;
    if let (Some(allowed), Some(cluster_default)) = (&allowed, cluster_default.filter(|_| is_sure)) {
        let own = required.iter().flat_map(Selector::requirements).cloned().collect();
        let whitelist = Whitelist::new(allowed.clone(), own);
        let checked = check_allowed(cluster_default, &whitelist, placement.on_node_affinity);
        mistakes.check(&format_args!("{at}.allowedNodeSelector"), checked);
    }
    [required, default, allowed].iter().flatten().any(|selector| !selector.is_empty())
}

/// Checks that `whitelist` allows the cluster's default: no Pod could be created otherwise.
fn check_allowed(default: &Selector, whitelist: &Whitelist, on_node_affinity: OnNodeAffinity) -> Result<(), String> {
    for requirement in default.requirements() {
        let key = requirement.key();
        let is_allowed = match requirement.only_value() {
            Some(value) => whitelist.allows_value(key, value),
            None => on_node_affinity == OnNodeAffinity::Ignore || whitelist.allows(requirement),
        };
        if !is_allowed && !have_references(whitelist.selector().on(key)) {
            return Err(format!(
                "does not allow {}, which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; \
                 allow it, or use defaultNodeSelector: \"\"",
                quote(&requirement.to_string())
            ));
        }
    }
    Ok(())
}

/// Checks what Pods prefer.
pub fn check_preferred(at: EntryAt<'_>, mistakes: &mut Mistakes) {
    let mut earlier = Vec::new();
    for (position, preferred) in at.entry.preferred_node_selector.iter().enumerate() {
        let path = format!("{at}.preferredNodeSelector[{position}]");
        if !(1..=100).contains(&preferred.weight) {
            mistakes.add(&format_args!("{path}.weight"), format!("expected 1 to 100, found {}", preferred.weight));
        }
        let text = &preferred.selector;
        let checked = mistakes.check(&format_args!("{path}.selector"), demanding(text));
        let Some(selector) = checked else { continue };
        let meaning = (preferred.weight, meaning(text, &selector));
        if earlier.contains(&meaning) {
            mistakes.add(&path, "an earlier element says the same; remove one of them");
        }
        earlier.push(meaning);
    }
}

/// What `selector` says, which was read from `text`: the same for two that differ only in how they are written, as
/// `a=b` and `a in (b)` do.
fn meaning(text: &str, selector: &Selector) -> BTreeSet<String> {
    let mut meaning = BTreeSet::new();
    for requirement in selector.requirements() {
        // References in place of their stand-ins, which are the same for all.
        meaning.insert(reference::name_again(text, &requirement.identity()));
    }
    meaning
}
