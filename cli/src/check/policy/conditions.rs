//! `matchConditions` that keep away what a setting is about.

use std::collections::{BTreeMap, BTreeSet};

use super::samples::{namespaces, samples};
use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::{match_conditions::Passage, policy_spec::PolicySpec},
    policies::required_rules::Feature,
};

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
    let mut unknown = BTreeSet::new();
    for feature in Feature::of(&file.settings) {
        for sample in samples(feature, file).into_iter().filter(|sample| sample.is_sent(policy)) {
            let passages = namespaces.iter().map(|name| conditions.evaluate(&sample.request(name)));
            match most_that_passes(passages) {
                Some(Passage::Unknown(name, reason)) => drop(unknown.insert((name, reason))),
                Some(Passage::KeptAway(name)) if told.insert((name.clone(), sample.title.clone())) => {
                    kept_away.entry((name, feature.named(&file.settings))).or_default().insert(sample.title);
                }
                _ => {}
            }
        }
    }
    for ((name, setting), titles) in kept_away {
        let titles = titles.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("{name:?} excludes {titles}, which {setting} needs; remove the condition");
        findings.mistakes.push(Finding::new(path(policy, &name), text));
    }
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

/// A condition may leave some namespaces out; and what can't be evaluated may let a request pass.
fn most_that_passes(passages: impl Iterator<Item = Passage>) -> Option<Passage> {
    let rank = |passage: &Passage| match passage {
        Passage::Passes => 0,
        Passage::Unknown(..) => 1,
        Passage::KeptAway(_) => 2,
    };
    passages.min_by_key(rank)
}

/// The condition of this name.
fn path(policy: &PolicySpec, name: &str) -> String {
    let place = policy.match_conditions.written().position(|condition| condition.name == name);
    place.map_or_else(|| "spec.matchConditions".to_owned(), |place| format!("spec.matchConditions[{place}]"))
}
