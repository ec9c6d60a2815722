//! What settings are about, and the policy's matchConditions or its namespaceSelector keep away: requests, and whole
//! namespaces.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::{
    selector::{Operator, Requirement, Selector, syntax::label_key},
    settings::{NamespaceEntry, reference},
};
use serde_json::{Value, json};

use super::{
    finding::{Finding, Findings},
    samples::{POD_CREATION, Sample, samples},
};
use crate::{
    SettingsFile,
    input::{
        match_conditions::{Condition, Passage, evaluate},
        policy_spec::PolicySpec,
        settings::{entries, entries_at, is_for_any_name, namespace_selector},
    },
    lists::shortened,
    policies::required_rules::Feature,
};

/// At most this many kinds of requests are named.
const SHOWN: usize = 7;

/// Sends a sample of each request that a setting is about past the conditions.
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
        let titles = listed(&titles);
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
    find_opt_outs(file, policy, findings);
}

/// The titles of samples, by what becomes of them; of what is kept away, with the first setting that needs it.
fn passages_of_samples(
    file: &SettingsFile,
    policy: &PolicySpec,
) -> BTreeMap<(Passage, &'static str), BTreeSet<String>> {
    // Those that entries are about, and one that nobody has heard of.
    let names = entries(&file.typed).iter().filter_map(|entry| entry.name.as_ref());
    let namespaces: Vec<String> = names.map(|name| name.replace('*', "a")).chain(["default".to_owned()]).collect();
    let (mut found, mut known) = (BTreeMap::<_, BTreeSet<String>>::new(), BTreeSet::new());
    for (setting, feature) in Feature::in_settings(&file.settings) {
        for sample in samples(feature, file).into_iter().filter(|sample| sample.is_sent(policy)) {
            // A condition may leave some namespaces out; and what can't be evaluated may let a request pass.
            let passages = namespaces.iter().map(|name| evaluate(&policy.match_conditions, &sample.request(name)));
            let Some(passage) = passages.min() else { continue };
            if known.insert((passage.clone(), sample.title())) {
                let setting = if matches!(passage, Passage::KeptAway(_)) { setting } else { "" };
                found.entry((passage, setting)).or_default().insert(sample.title());
            }
        }
    }
    found
}

/// Conditions that keep Pods away by a label or an annotation, which whoever creates a Pod chooses.
fn find_opt_outs(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    if !file.places_pods() || policy.only_reports() {
        return;
    }
    let excludes = |name: &str, marks: Value| {
        let sample = Sample::plain_pod(&marks);
        let passage = evaluate(&policy.match_conditions, &sample.request("default"));
        sample.is_sent(policy) && passage == Passage::KeptAway(name.to_owned())
    };
    // The key and the value can be any words of the condition.
    let is_opt_out = |Condition { name, expression, .. }: &&Condition| {
        let is_no_word = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter);
        let words = expression.split(is_no_word).flat_map(|word| word.split('.').chain([word]));
        let words: BTreeSet<&str> = words.filter(|word| label_key(word).is_ok()).collect();
        let marks = |value: &str| words.iter().map(|key| ((*key).to_owned(), value.into())).collect();
        !excludes(name, json!({})) && words.iter().any(|value| excludes(name, Value::Object(marks(value))))
    };
    for Condition { name, .. } in policy.match_conditions.iter().filter(is_opt_out) {
        let text = "excludes Pods by their labels or annotations, which users choose, and so can bypass placement; select \
                    namespaces instead";
        findings.remark(path(policy, name), format!("{name:?} {text}"));
    }
}

/// The titles of samples. Where all creations of Pods are meant, not each kind of Pod is listed.
fn listed(titles: &BTreeSet<String>) -> String {
    let is_listed = |title: &&String| !titles.contains(POD_CREATION) || !title.starts_with("CREATE of pods ");
    let titles: Vec<String> = titles.iter().filter(is_listed).cloned().collect();
    shortened(&titles, SHOWN).unwrap_or_else(|| titles.join(", "))
}

/// The path of the condition of this name.
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
    let creation = Sample::plain_pod(&json!({}));
    let kept_away = |namespace: &str| match evaluate(&policy.match_conditions, &creation.request(namespace)) {
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
