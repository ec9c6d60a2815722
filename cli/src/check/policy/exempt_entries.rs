//! Entries of `placement.namespaces` whose namespaces the policy's namespaceSelector leaves out.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use node_placement_policy::{
    placement::node_affinity::operator_named,
    selector::{Operator, Requirement, Selector},
    settings::reference,
};

use crate::{
    SettingsFile,
    check::{
        finding::Finding,
        settings::entries::{Entry, entries},
    },
    input::policy_spec::PolicySpec,
};

/// One for each entry that names a namespace which is left out, or none of whose namespaces is covered.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let Some(placement) = file.typed.placement.as_ref().filter(|_| !policy.is_about_nodes()) else { return vec![] };
    let covered = covered(policy);
    // That is a mistake of its own.
    if covered.contradiction().is_some() {
        return vec![];
    }
    let find = |entry: &Entry<'_>| {
        let what = left_out(entry, &covered)?;
        let text = format!("the policy's namespaceSelector leaves {what} out, so this entry does nothing there");
        Some(Finding::new(entry.path(), text))
    };
    entries(placement).iter().filter_map(find).collect()
}

/// What is left out of the namespaces that an entry is for, as far as it names them, or its pattern fits one that the
/// policy names. An entry for the rest is not about those that are left out.
fn left_out(entry: &Entry<'_>, covered: &Selector) -> Option<String> {
    let (own, of_policy) = (entry.selector.on(reference::NAME), covered.on(reference::NAME));
    let named = own.iter().chain(of_policy.iter().filter(|_| !entry.is_for_any_name())).flat_map(Requirement::values);
    let is_taken =
        |name: &&String| entry.written.name_fits(name) && own.iter().all(|names| names.accepts(Some(name.as_str())));
    let named: BTreeSet<&String> = named.filter(is_taken).collect();
    let is_covered = |name: &str| of_policy.iter().all(|names| names.accepts(Some(name)));
    let exempt: Vec<&str> = named.into_iter().map(String::as_str).filter(|name| !is_covered(name)).collect();
    let fits_none = |names: &Requirement| {
        names.operator().as_set() == Operator::In && !names.values().iter().any(|name| entry.written.name_fits(name))
    };
    if !exempt.is_empty() {
        return Some(exempt.join(", "));
    }
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
