//! Entries of `placement.namespaces` whose namespaces the policy leaves out, by its namespaceSelector or by a
//! condition.

use std::collections::BTreeSet;

use node_placement_policy::{
    selector::{Operator, Requirement, Selector},
    settings::{NamespaceEntry, reference},
};
use serde_json::json;

use super::{finding::Finding, samples::Sample};
use crate::{
    SettingsFile,
    input::{
        match_conditions::Passage,
        policy_spec::PolicySpec,
        settings::{entries_at, is_for_any_name, namespace_selector},
    },
};

/// One for each entry that names a namespace which is left out, or none of whose namespaces is covered.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let Some(placement) = file.typed.placement.as_ref().filter(|_| !policy.is_about_nodes()) else { return vec![] };
    let covered = policy.covered_namespaces();
    // That is a mistake of its own.
    if covered.contradiction().is_some() {
        return vec![];
    }
    let creation = Sample::plain_pod(&json!({}));
    let kept_away = |namespace: &str| match policy.match_conditions.evaluate(&creation.request(namespace)) {
        Passage::KeptAway(condition) if creation.is_sent(policy) => Some(condition),
        _ => None,
    };
    // So is what a condition keeps away everywhere.
    let is_kept_away_everywhere = kept_away("default").is_some();
    let mut findings = vec![];
    for at in entries_at(placement) {
        let mut add = |by: &str, what: &str| {
            let text = format!("{by} leaves {what} out, so this entry does nothing there");
            findings.push(Finding::new(at.to_string(), text));
        };
        let names = names(at.entry, &covered);
        let of_policy = covered.on(reference::NAME);
        let is_covered = |name: &&str| of_policy.iter().all(|requirement| requirement.accepts(Some(name)));
        let exempt: Vec<&str> = names.iter().map(String::as_str).filter(|name| !is_covered(name)).collect();
        if !exempt.is_empty() {
            add("the policy's namespaceSelector", &exempt.join(", "));
        } else if covers_none(&covered, at.entry) {
            add("the policy's namespaceSelector", "all of its namespaces");
        }
        for name in names.iter().filter(|_| !is_kept_away_everywhere) {
            if let Some(condition) = kept_away(name) {
                add(&format!("the matchCondition {condition:?}"), name);
            }
        }
    }
    findings
}

/// The namespaces that an entry is for, as far as it names them, or its pattern fits one that the policy names. An
/// entry for the rest is not about those that are left out.
fn names(entry: &NamespaceEntry, covered: &Selector) -> BTreeSet<String> {
    let selector = namespace_selector(entry);
    let own = selector.on(reference::NAME);
    let of_policy = covered.on(reference::NAME).iter().filter(|_| !is_for_any_name(entry));
    let names = own.iter().chain(of_policy).flat_map(Requirement::values);
    let is_own = |name: &&String| entry.name_fits(name) && own.iter().all(|own| own.accepts(Some(name)));
    names.filter(is_own).cloned().collect()
}

/// Whether the policy covers no namespace of an entry, as far as labels tell, and the names that the policy lists.
fn covers_none(covered: &Selector, entry: &NamespaceEntry) -> bool {
    let fits_none = |listed: &Requirement| {
        listed.operator().as_set() == Operator::In && !listed.values().iter().any(|name| entry.name_fits(name))
    };
    covered.contradiction_with(&namespace_selector(entry)).is_some()
        || covered.on(reference::NAME).iter().any(fits_none)
}
