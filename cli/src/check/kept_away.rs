//! What settings are about, and the policy's matchConditions or its namespaceSelector keep away: requests, and whole
//! namespaces.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::{
    selector::{Operator, Requirement, Selector},
    settings::{NamespaceEntry, reference},
};

use super::{
    finding::{Finding, Findings},
    samples::{self, Sample},
};
use crate::{
    SettingsFile,
    input::settings::{entries, entries_at, is_for_any_name, namespace_selector},
    policies::required_rules::Feature,
    webhook::{
        conditions::{Passage, evaluate},
        fields::PART_OF_USERNAME,
        policy_spec::PolicySpec,
    },
};

/// Sends the samples that the settings are about past the conditions.
pub fn find_in_conditions(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    let conditions = &policy.match_conditions;
    if conditions.is_empty() {
        return;
    }
    // Those are mistakes of their own.
    let is_mistaken = |name: &str| conditions.iter().any(|it| it.name == name && it.mistake().is_some());
    let then = match policy.failure_policy.as_deref() {
        Some("Ignore") => "which the policy is then not asked about, by failurePolicy: Ignore",
        _ => "which the API server then refuses, by failurePolicy: Fail, even with mode: monitor",
    };
    for ((passage, setting), titles) in passages_of_samples(file, policy) {
        let titles = titles.join(", ");
        match passage {
            Passage::Passes => {}
            Passage::KeptAway(name) => {
                let text = format!("excludes {titles}, which {setting} needs; remove the condition");
                findings.mistake(path(policy, &name), format!("{name:?} {text}"));
            }
            Passage::Fails(name, reason) => {
                let text =
                    format!("raises an error ({reason}) for {titles}, {then}; ask first whether the field is there");
                findings.mistake(path(policy, &name), format!("{name:?} {text}, with has(…)"));
            }
            Passage::Unknown(name, _) if is_mistaken(&name) => {}
            Passage::Unknown(name, reason) => {
                let text = format!("can't be evaluated here, so nobody knows what it excludes: {reason}");
                findings.remark(path(policy, &name), format!("{name:?} {text}"));
            }
        }
    }
    find_other_exclusions(file, policy, findings);
    find_opt_outs(file, policy, findings);
}

/// Finds conditions that exclude what no sample is: changes of Pods that wait for a node, and DaemonSets.
fn find_other_exclusions(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    let passage = |request| evaluate(&policy.match_conditions, &request);
    // What excludes every creation is a mistake of its own.
    if !file.places_pods() || policy.only_reports() || passage(Sample::Deployment.request("default")) != Passage::Passes
    {
        return;
    }
    for (rule, request, text) in samples::others("default") {
        if let (true, Passage::KeptAway(name)) = (policy.sends(rule), passage(request)) {
            findings.remark(path(policy, &name), format!("{name:?} {text}"));
        }
    }
}

/// Returns the titles of samples, by what becomes of them; of what is kept away, with the first setting that needs it.
fn passages_of_samples(file: &SettingsFile, policy: &PolicySpec) -> BTreeMap<(Passage, &'static str), Vec<String>> {
    // Those that entries are about, and one that nobody has heard of.
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    let namespaces: Vec<String> = names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect();
    let mut found = BTreeMap::<_, Vec<String>>::new();
    for sample in Sample::ALL.into_iter().filter(|sample| policy.sends(sample.rule())) {
        let mut features = Feature::in_settings(&file.settings);
        let about_it = features.find(|(_, feature)| feature.requests().any(|request| request == sample.rule()));
        let Some((setting, _)) = about_it else { continue };
        // A condition may leave some namespaces out; and what can't be evaluated may let a request pass.
        let passages = namespaces.iter().map(|name| evaluate(&policy.match_conditions, &sample.request(name)));
        let Some(passage) = passages.min() else { continue };
        let setting = if matches!(passage, Passage::KeptAway(_)) { setting } else { "" };
        found.entry((passage, setting)).or_default().push(sample.title());
    }
    found
}

/// Finds conditions that depend on what whoever creates an object chooses.
fn find_opt_outs(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    if !file.places_pods() || policy.only_reports() {
        return;
    }
    for condition in &policy.match_conditions {
        let choices = condition.choices_of_users();
        let Some(first) = choices.first() else { continue };
        let text = match first.trim_start_matches("object.").trim_start_matches("oldObject.") {
            PART_OF_USERNAME => format!(
                "depends on a part of {PART_OF_USERNAME}, and users choose the names of their ServiceAccounts, so they can \
                 bypass placement; compare whole names"
            ),
            field => format!(
                "depends on {field}, which users choose, so they can bypass placement; select namespaces instead, or \
                 compare object with oldObject"
            ),
        };
        findings.remark(path(policy, &condition.name), format!("{:?} {text}", condition.name));
    }
}

/// Returns the path of the condition of this name.
fn path(policy: &PolicySpec, name: &str) -> String {
    let position = policy.match_conditions.iter().position(|condition| condition.name == name);
    position.map_or_else(|| "spec.matchConditions".to_owned(), |at| format!("spec.matchConditions[{at}]"))
}

/// Entries of `placement.namespaces` that name a namespace which the policy leaves out, or none of whose namespaces it
/// covers.
pub fn exempt_entries(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    let Some(placement) = file.typed.placement.as_ref().filter(|_| !policy.is_about_nodes()) else { return vec![] };
    let covered = policy.covered_namespaces();
    // That is a mistake of its own.
    if covered.contradiction().is_some() {
        return vec![];
    }
    let is_sent = policy.sends(Sample::Pod.rule());
    let kept_away = |namespace: &str| match evaluate(&policy.match_conditions, &Sample::Pod.request(namespace)) {
        Passage::KeptAway(condition) if is_sent => Some(condition),
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
        let is_exempt = |name: &&str| covered.on(reference::NAME).iter().any(|own| !own.accepts(Some(name)));
        let exempt: Vec<&str> = names.iter().map(String::as_str).filter(is_exempt).collect();
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

/// Returns the namespaces that an entry is for, as far as it names them, or its pattern fits one that the policy names.
/// An entry for the rest is not about those that are left out.
fn names(entry: &NamespaceEntry, covered: &Selector) -> BTreeSet<String> {
    let selector = namespace_selector(entry);
    let own = selector.on(reference::NAME);
    let of_policy = covered.on(reference::NAME).iter().filter(|_| !is_for_any_name(entry));
    let names = own.iter().chain(of_policy).flat_map(Requirement::values);
    let is_own = |name: &&String| entry.name_fits(name) && own.iter().all(|own| own.accepts(Some(name)));
    names.filter(is_own).cloned().collect()
}

/// Returns whether the policy covers no namespace of an entry, as far as labels tell, and the names that the policy
/// lists.
fn covers_none(covered: &Selector, entry: &NamespaceEntry) -> bool {
    let fits_none = |listed: &Requirement| {
        listed.operator().as_set() == Operator::In && !listed.values().iter().any(|name| entry.name_fits(name))
    };
    covered.contradiction_with(&namespace_selector(entry)).is_some()
        || covered.on(reference::NAME).iter().any(fits_none)
}
