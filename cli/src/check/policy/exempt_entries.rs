//! Entries of `placement.namespaces` whose namespaces the policy leaves out, by its namespaceSelector or by a
//! condition.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use node_placement_policy::{
    selector::{Operator, Requirement, Selector},
    settings::reference,
};

use super::samples::{POD_CREATION, Sample, samples};
use crate::{
    SettingsFile,
    check::{
        finding::Finding,
        settings::entries::{Entry, entries},
    },
    input::{match_conditions::Passage, policy_spec::PolicySpec},
    policies::required_rules::Feature,
    requests::delivery::exempts,
};

/// One for each namespace that an entry is for, by its name, and that is left out; or for an entry none of whose
/// namespaces is covered.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let Some(placement) = file.typed.placement.as_ref().filter(|_| !policy.is_about_nodes()) else { return vec![] };
    let covered = covered(policy);
    // That is a mistake of its own.
    if covered.contradiction().is_some() {
        return vec![];
    }
    let sample = pod_creation(file, policy);
    let mut findings = vec![];
    for entry in entries(placement) {
        let mut add = |by: &str, what: &str| {
            findings
                .push(Finding::new(entry.path(), format!("{by} leaves {what} out, so this entry does nothing there")));
        };
        let names = names(&entry, &covered);
        let exempt: Vec<&str> = names.iter().copied().filter(|name| exempts(policy, name)).collect();
        if !exempt.is_empty() {
            add("the policy's namespaceSelector", &exempt.join(", "));
        } else if covers_none(&covered, &entry) {
            add("the policy's namespaceSelector", "all of its namespaces");
        }
        for name in names {
            let passage = sample.as_ref().map(|sample| policy.match_conditions.evaluate(&sample.request(name)));
            if let Some(Passage::KeptAway(condition)) = passage {
                add(&format!("the matchCondition {condition:?}"), name);
            }
        }
    }
    findings
}

/// The namespaces that an entry is for, as far as it names them, or its pattern fits one that the policy names. An
/// entry for the rest is not about those that are left out.
fn names<'n>(entry: &'n Entry<'_>, covered: &'n Selector) -> Vec<&'n str> {
    let is_pattern = entry.written.name.as_ref().is_some_and(|name| name.len() > 1 && name.ends_with('*'));
    let own = entry.selector.on(reference::NAME);
    let listed = own.iter().chain(covered.on(reference::NAME).iter().filter(|_| is_pattern));
    let names: BTreeSet<&str> = listed.flat_map(Requirement::values).map(String::as_str).collect();
    let is_taken = |name: &&str| entry.written.name_fits(name) && own.iter().all(|own| own.accepts(Some(name)));
    names.into_iter().filter(is_taken).collect()
}

/// Whether no namespace is covered that an entry is for.
fn covers_none(covered: &Selector, entry: &Entry<'_>) -> bool {
    let fits_none = |names: &Requirement| {
        names.operator().as_set() == Operator::In && !names.values().iter().any(|name| entry.written.name_fits(name))
    };
    covered.contradiction_with(&entry.selector).is_some() || covered.on(reference::NAME).iter().any(fits_none)
}

/// The policy's namespaceSelector. Kubewarden reads its expressions only.
pub fn covered(policy: &PolicySpec) -> Selector {
    let read = |expression: &LabelSelectorRequirement| {
        let operator = match expression.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        Requirement::new(expression.key.clone(), operator, expression.values.clone().unwrap_or_default()).ok()
    };
    Selector::new(policy.namespace_selector.match_expressions.iter().flatten().filter_map(read).collect())
}

/// The creation of a Pod, if the policy is asked about such, in most namespaces at least.
fn pod_creation(file: &SettingsFile, policy: &PolicySpec) -> Option<Sample> {
    let mut samples = Feature::of(&file.settings).flat_map(|feature| samples(feature, file));
    let sample = samples.find(|sample| sample.title == POD_CREATION).filter(|sample| sample.is_sent(policy))?;
    let is_kept_away = matches!(policy.match_conditions.evaluate(&sample.request("default")), Passage::KeptAway(_));
    (!is_kept_away).then_some(sample)
}
