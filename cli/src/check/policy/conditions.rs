//! `matchConditions` that keep away what a setting is about.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::selector::syntax::label_key;

use super::samples::{POD_CREATION, namespaces, pod_with, samples};
use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::{
        match_conditions::Passage,
        policy_spec::PolicySpec,
        settings::{PLACEMENT, has},
    },
    lists::shortened,
    policies::required_rules::Feature,
};

/// So many kinds of requests are enough.
const SHOWN: usize = 7;

/// Sends a sample of each request that a setting is about.
pub fn find(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let conditions = &policy.match_conditions;
    let mut findings = Findings::default();
    if conditions.is_empty() {
        return findings;
    }
    let namespaces = namespaces(file);
    // What each keeps away is told once, of the first setting that needs it.
    let mut told = BTreeSet::new();
    let mut kept_away = BTreeMap::<_, BTreeSet<String>>::new();
    let (mut unknown, mut failing) = (BTreeSet::new(), BTreeMap::<_, BTreeSet<String>>::new());
    for feature in Feature::of(&file.settings) {
        for sample in samples(feature, file).into_iter().filter(|sample| sample.is_sent(policy)) {
            let passages = namespaces.iter().map(|name| conditions.evaluate(&sample.request(name)));
            match most_that_passes(passages) {
                Some(Passage::Unknown(name, reason)) => drop(unknown.insert((name, reason))),
                Some(Passage::Fails(name, reason)) => {
                    failing.entry((name, reason)).or_default().insert(sample.title);
                }
                Some(Passage::KeptAway(name)) if told.insert((name.clone(), sample.title.clone())) => {
                    kept_away.entry((name, feature.named(&file.settings))).or_default().insert(sample.title);
                }
                _ => {}
            }
        }
    }
    for ((name, setting), titles) in kept_away {
        let text = format!("{name:?} excludes {}, which {setting} needs; remove the condition", listed(&titles));
        findings.mistakes.push(Finding::new(path(policy, &name), text));
    }
    let then = match policy.failure_policy.as_deref() {
        Some("Ignore") => "which the policy is then not asked about, by failurePolicy: Ignore",
        _ => "which the API server then refuses, by failurePolicy: Fail, even with mode: monitor",
    };
    for ((name, reason), titles) in failing {
        let text = format!(
            "{name:?} raises an error ({reason}) for {}, {then}; ask first whether the field is there, with has(…)",
            listed(&titles)
        );
        findings.mistakes.push(Finding::new(path(policy, &name), text));
    }
    findings.remarks.extend(opt_outs(file, policy));
    // Of those, all is said elsewhere.
    let mistaken: Vec<usize> = conditions.mistakes().map(|(position, _)| position).collect();
    let is_mistaken =
        |name: &str| conditions.written().enumerate().any(|(place, own)| own.name == name && mistaken.contains(&place));
    unknown.retain(|(name, _)| !is_mistaken(name));
    for (name, reason) in unknown {
        let text = format!("{name:?} can't be evaluated here, so nobody knows what it excludes: {reason}");
        findings.remarks.push(Finding::new(path(policy, &name), text));
    }
    findings
}

/// Conditions that keep Pods away by a label or an annotation, which whoever creates a Pod chooses.
fn opt_outs(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    if !has(&file.settings, PLACEMENT) || policy.is_about_nodes() || policy.only_reports() {
        return vec![];
    }
    // Which key and which value, nobody knows: all words of the condition are tried.
    let mut names = BTreeSet::new();
    for condition in policy.match_conditions.written() {
        let is_no_word = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter);
        let expression = condition.expression.as_str();
        let words = expression.split(is_no_word).flat_map(|word| word.split('.').chain([word]));
        let words: BTreeSet<&str> = words.filter(|word| label_key(word).is_ok()).collect();
        let marked = |value: &str| {
            let marks = words.iter().map(|key| ((*key).to_owned(), value.into())).collect();
            pod_with(&serde_json::Value::Object(marks))
        };
        let excludes = |sample: &super::samples::Sample| {
            sample.is_sent(policy)
                && policy.match_conditions.evaluate(&sample.request("default"))
                    == Passage::KeptAway(condition.name.clone())
        };
        if !excludes(&pod_with(&serde_json::json!({}))) && words.iter().any(|value| excludes(&marked(value))) {
            names.insert(&condition.name);
        }
    }
    let remark = |name: &String| {
        let text = format!(
            "{name:?} excludes Pods by their labels or annotations, which users choose, and so can bypass placement; \
             select namespaces instead"
        );
        Finding::new(path(policy, name), text)
    };
    names.into_iter().map(remark).collect()
}

/// The titles of samples. Where all creations of Pods are meant, not each kind of Pod is told.
fn listed(titles: &BTreeSet<String>) -> String {
    let is_told = |title: &&String| !titles.contains(POD_CREATION) || !title.starts_with("CREATE of pods ");
    let told: Vec<String> = titles.iter().filter(is_told).cloned().collect();
    shortened(&told, SHOWN).unwrap_or_else(|| told.join(", "))
}

/// A condition may leave some namespaces out; and what can't be evaluated may let a request pass.
fn most_that_passes(passages: impl Iterator<Item = Passage>) -> Option<Passage> {
    let rank = |passage: &Passage| match passage {
        Passage::Passes => 0,
        Passage::Fails(..) | Passage::Unknown(..) => 1,
        Passage::KeptAway(_) => 2,
    };
    passages.min_by_key(rank)
}

/// The condition of this name.
fn path(policy: &PolicySpec, name: &str) -> String {
    let place = policy.match_conditions.written().position(|condition| condition.name == name);
    place.map_or_else(|| "spec.matchConditions".to_owned(), |place| format!("spec.matchConditions[{place}]"))
}
