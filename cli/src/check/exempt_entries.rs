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
        if let Some(what) = not_covered(at.entry, &names, &covered) {
            add("the policy's namespaceSelector", &what);
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

/// Which namespaces of an entry, of which it names some, the policy's namespaceSelector leaves out.
fn not_covered(entry: &NamespaceEntry, names: &BTreeSet<String>, covered: &Selector) -> Option<String> {
    let of_policy = covered.on(reference::NAME);
    let is_covered = |name: &str| of_policy.iter().all(|requirement| requirement.accepts(Some(name)));
    let exempt: Vec<&str> = names.iter().map(String::as_str).filter(|name| !is_covered(name)).collect();
    if !exempt.is_empty() {
        return Some(exempt.join(", "));
    }
    let fits_none = |requirement: &Requirement| {
        requirement.operator().as_set() == Operator::In && !requirement.values().iter().any(|it| entry.name_fits(it))
    };
    let covers_none =
        covered.contradiction_with(&namespace_selector(entry)).is_some() || of_policy.iter().any(fits_none);
    covers_none.then(|| "all of its namespaces".to_owned())
}
