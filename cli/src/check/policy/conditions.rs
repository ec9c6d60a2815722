//! `matchConditions` that keep away what a setting is about.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use node_placement_policy::selector::syntax::label_key;
use serde_json::{Value, json};

use super::samples::{POD_CREATION, namespaces, pod_with, samples};
use crate::{
    SettingsFile,
    check::finding::{Finding, Findings},
    input::{match_conditions::Passage, policy_spec::PolicySpec},
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
    // Of those, all is said elsewhere.
    let mistaken: Vec<&str> =
        conditions.mistakes().filter_map(|(place, _)| Some(conditions.written().nth(place)?.name.as_str())).collect();
    let then = match policy.failure_policy.as_deref() {
        Some("Ignore") => "which the policy is then not asked about, by failurePolicy: Ignore",
        _ => "which the API server then refuses, by failurePolicy: Fail, even with mode: monitor",
    };
    for ((passage, setting), titles) in what_becomes_of_samples(file, policy) {
        let titles = listed(&titles);
        let (list, name, text) = match passage {
            Passage::Passes => continue,
            Passage::KeptAway(name) => {
                let text = format!("excludes {titles}, which {setting} needs; remove the condition");
                (&mut findings.mistakes, name, text)
            }
            Passage::Fails(name, reason) => {
                let way_out = "ask first whether the field is there, with has(…)";
                (&mut findings.mistakes, name, format!("raises an error ({reason}) for {titles}, {then}; {way_out}"))
            }
            Passage::Unknown(name, _) if mistaken.contains(&name.as_str()) => continue,
            Passage::Unknown(name, reason) => {
                let text = format!("can't be evaluated here, so nobody knows what it excludes: {reason}");
                (&mut findings.remarks, name, text)
            }
        };
        list.push(Finding::new(path(policy, &name), format!("{name:?} {text}")));
    }
    findings.remarks.extend(opt_outs(file, policy));
    findings
}

/// The titles of samples, by what becomes of them; of what is kept away, with the first setting that needs it.
fn what_becomes_of_samples(
    file: &SettingsFile,
    policy: &PolicySpec,
) -> BTreeMap<(Passage, &'static str), BTreeSet<String>> {
    let namespaces = namespaces(file);
    let (mut found, mut told) = (BTreeMap::<_, BTreeSet<String>>::new(), BTreeSet::new());
    for feature in Feature::of(&file.settings) {
        for sample in samples(feature, file).into_iter().filter(|sample| sample.is_sent(policy)) {
            // A condition may leave some namespaces out; and what can't be evaluated may let a request pass.
            let passages = namespaces.iter().map(|name| policy.match_conditions.evaluate(&sample.request(name)));
            let Some(passage) = passages.min() else { continue };
            if told.insert((passage.clone(), sample.title.clone())) {
                let is_kept_away = matches!(passage, Passage::KeptAway(_));
                let setting = if is_kept_away { feature.named(&file.settings) } else { "" };
                found.entry((passage, setting)).or_default().insert(sample.title);
            }
        }
    }
    found
}

/// Conditions that keep Pods away by a label or an annotation, which whoever creates a Pod chooses.
fn opt_outs(file: &SettingsFile, policy: &PolicySpec) -> Vec<Finding> {
    if !file.places() || policy.only_reports() {
        return vec![];
    }
    let excludes = |name: &str, marks: Value| {
        let sample = pod_with(&marks);
        let passage = policy.match_conditions.evaluate(&sample.request("default"));
        sample.is_sent(policy) && passage == Passage::KeptAway(name.to_owned())
    };
    // Which key and which value, nobody knows: all words of the condition are tried.
    let is_opt_out = |MatchCondition { name, expression }: &&MatchCondition| {
        let is_no_word = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter);
        let words = expression.split(is_no_word).flat_map(|word| word.split('.').chain([word]));
        let words: BTreeSet<&str> = words.filter(|word| label_key(word).is_ok()).collect();
        let marks = |value: &str| words.iter().map(|key| ((*key).to_owned(), value.into())).collect();
        !excludes(name, json!({})) && words.iter().any(|value| excludes(name, Value::Object(marks(value))))
    };
    let text = "excludes Pods by their labels or annotations, which users choose, and so can bypass placement; select \
                namespaces instead";
    let found = policy.match_conditions.written().filter(is_opt_out);
    found.map(|MatchCondition { name, .. }| Finding::new(path(policy, name), format!("{name:?} {text}"))).collect()
}

/// The titles of samples. Where all creations of Pods are meant, not each kind of Pod is told.
fn listed(titles: &BTreeSet<String>) -> String {
    let is_told = |title: &&String| !titles.contains(POD_CREATION) || !title.starts_with("CREATE of pods ");
    let told: Vec<String> = titles.iter().filter(is_told).cloned().collect();
    shortened(&told, SHOWN).unwrap_or_else(|| told.join(", "))
}

/// The condition of this name.
fn path(policy: &PolicySpec, name: &str) -> String {
    let place = policy.match_conditions.written().position(|condition| condition.name == name);
    place.map_or_else(|| "spec.matchConditions".to_owned(), |place| format!("spec.matchConditions[{place}]"))
}
