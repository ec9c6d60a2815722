//! Entries of `placement.namespaces` whose namespaces the policy leaves out, by its namespaceSelector or by a
//! condition.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use node_placement_policy::{
    placement::node_affinity::operator_named,
    selector::{Operator, Requirement, Selector},
    settings::reference,
};
use serde_json::json;

use super::samples::pod_with;
use crate::{
    SettingsFile,
    check::{
        finding::Finding,
        settings::entries::{Entry, entries},
    },
    input::{match_conditions::Passage, policy_spec::PolicySpec},
};

/// One for each entry that names a namespace which is left out, or none of whose namespaces is covered.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let Some(placement) = file.typed.placement.as_ref().filter(|_| !policy.is_about_nodes()) else { return vec![] };
    let covered = covered(policy);
    // That is a mistake of its own.
    if covered.contradiction().is_some() {
        return vec![];
    }
    let creation = pod_with(&json!({}));
    let kept_away = |namespace: &str| match policy.match_conditions.evaluate(&creation.request(namespace)) {
        Passage::KeptAway(condition) if creation.is_sent(policy) => Some(condition),
        _ => None,
    };
    // So is what a condition keeps away everywhere.
    let is_elsewhere = kept_away("default").is_some();
    let mut findings = vec![];
    for entry in entries(placement) {
        let mut add = |by: &str, what: &str| {
            let text = format!("{by} leaves {what} out, so this entry does nothing there");
            findings.push(Finding::new(entry.path(), text));
        };
        let names = names(&entry, &covered);
        if let Some(what) = left_out(&entry, &names, &covered) {
            add("the policy's namespaceSelector", &what);
        }
        for name in names.into_iter().filter(|_| !is_elsewhere) {
            if let Some(condition) = kept_away(name) {
                add(&format!("the matchCondition {condition:?}"), name);
            }
        }
    }
    findings
}

/// The namespaces that an entry is for, as far as it names them, or its pattern fits one that the policy names. An
/// entry for the rest is not about those that are left out.
fn names<'n>(entry: &'n Entry<'_>, covered: &'n Selector) -> BTreeSet<&'n str> {
    let (own, of_policy) = (entry.selector.on(reference::NAME), covered.on(reference::NAME));
    let named = own.iter().chain(of_policy.iter().filter(|_| !entry.is_for_any_name())).flat_map(Requirement::values);
    let is_taken = |name: &&str| entry.written.name_fits(name) && own.iter().all(|own| own.accepts(Some(name)));
    named.map(String::as_str).filter(is_taken).collect()
}

/// Which of its namespaces the policy's namespaceSelector leaves out.
fn left_out(entry: &Entry<'_>, names: &BTreeSet<&str>, covered: &Selector) -> Option<String> {
    let of_policy = covered.on(reference::NAME);
    let is_covered = |name: &str| of_policy.iter().all(|listed| listed.accepts(Some(name)));
    let exempt: Vec<&str> = names.iter().copied().filter(|name| !is_covered(name)).collect();
    if !exempt.is_empty() {
        return Some(exempt.join(", "));
    }
    let fits_none = |listed: &Requirement| {
        listed.operator().as_set() == Operator::In && !listed.values().iter().any(|name| entry.written.name_fits(name))
    };
    let covers_none = covered.contradiction_with(&entry.selector).is_some() || of_policy.iter().any(fits_none);
    covers_none.then(|| "all of its namespaces".to_owned())
}

/// The policy's namespaceSelector. Kubewarden reads its expressions only.
pub fn covered(policy: &PolicySpec) -> Selector {
    let read = |expression: &LabelSelectorRequirement| {
        let operator = operator_named(&expression.operator)?;
        Requirement::new(expression.key.clone(), operator, expression.values.clone().unwrap_or_default()).ok()
    };
    Selector::new(policy.namespace_selector.match_expressions.iter().flatten().filter_map(read).collect())
}
