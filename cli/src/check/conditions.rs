//! `matchConditions` that keep away what a setting is about.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use node_placement_policy::selector::syntax::label_key;
use serde_json::{Value, json};

use super::{
    finding::Findings,
    samples::{POD_CREATION, Sample, samples},
};
use crate::{
    SettingsFile,
    input::{match_conditions::Passage, policy_spec::PolicySpec, settings::entries},
    lists::shortened,
    policies::required_rules::Feature,
};

/// So many kinds of requests are enough.
const SHOWN: usize = 7;

/// Sends a sample of each request that a setting is about.
pub fn find(file: &SettingsFile, policy: &PolicySpec, findings: &mut Findings) {
    let conditions = &policy.match_conditions;
    if conditions.is_empty() {
        return;
    }
    // Those can't be evaluated, and are mistakes of their own.
    let mistaken: Vec<&str> = conditions
        .mistakes()
        .filter_map(|(position, _)| conditions.iter().nth(position))
        .map(|condition| condition.name.as_str())
        .collect();
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
            Passage::Unknown(name, _) if mistaken.contains(&name.as_str()) => {}
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
            let passages = namespaces.iter().map(|name| policy.match_conditions.evaluate(&sample.request(name)));
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
        let passage = policy.match_conditions.evaluate(&sample.request("default"));
        sample.is_sent(policy) && passage == Passage::KeptAway(name.to_owned())
    };
    // The key and the value can be any words of the condition.
    let is_opt_out = |MatchCondition { name, expression }: &&MatchCondition| {
        let is_no_word = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter);
        let words = expression.split(is_no_word).flat_map(|word| word.split('.').chain([word]));
        let words: BTreeSet<&str> = words.filter(|word| label_key(word).is_ok()).collect();
        let marks = |value: &str| words.iter().map(|key| ((*key).to_owned(), value.into())).collect();
        !excludes(name, json!({})) && words.iter().any(|value| excludes(name, Value::Object(marks(value))))
    };
    for MatchCondition { name, .. } in policy.match_conditions.iter().filter(is_opt_out) {
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
