//! References to labels of the Namespace: an entry with them decides as the same entry with the values written out. And
//! what can't be filled in widens nothing: whatever is accepted nevertheless would be with every value.

use e2e_tests::Evaluation;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    by_label::{annotations, list, maybe, object, placement, pod},
    key, labels,
    requests::{Kind, are_valid, cluster, evaluate, namespace},
    requirement, tolerations,
};

/// Values of labels.
const VALUES: [&str; 4] = ["x", "y", "5", "blue"];

/// What is no value of a label, or not there at all.
const UNUSABLE: [Option<&str>; 7] =
    [None, Some(""), Some("x,!a"), Some("x),b in (y"), Some("x y"), Some("$(u)"), Some("x=y")];

/// Where references stand in a value.
const TEXTS: [&str; 6] = ["$(t)", "$(t)", "$(u)", "p-$(t)", "$(t)_$(u)", "$(kubernetes.io/metadata.name)"];

fn referring_value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&TEXTS[..])
}

fn referring_requirement() -> impl Strategy<Value = String> {
    let forms = prop::sample::select(&["K=V", "K==V", "K!=V", "K in (V)", "K in (x,V)", "K notin (V, y)"][..]);
    (key(), forms, referring_value()).prop_map(|(key, form, value)| form.replace('K', &key).replace('V', value))
}

fn referring_selector(least: usize) -> impl Strategy<Value = Value> {
    let requirement = prop_oneof![2 => referring_requirement(), 1 => requirement()];
    prop::collection::vec(requirement, least..3).prop_map(|requirements| requirements.join(", ").into())
}

fn referring_tolerations() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(&["a", "b", "example.com/gpu"][..]);
    let effect = prop::sample::select(&["NoSchedule", "NoExecute"][..]);
    let referring = (key, referring_value(), prop::option::of(effect)).prop_map(|(key, value, effect)| {
        let mut toleration = json!({"key": key, "operator": "Equal", "value": value});
        if let Some(effect) = effect {
            toleration["effect"] = effect.into();
        }
        toleration
    });
    (prop::collection::vec(referring, 0..2), tolerations::some_valid(1))
        .prop_map(|(referring, plain)| Value::from([referring, plain].concat()))
}

fn preferences() -> impl Strategy<Value = Value> {
    prop::collection::vec(referring_selector(1), 0..3).prop_map(|selectors| {
        let weighted =
            selectors.into_iter().zip(1..).map(|(selector, weight)| json!({"weight": weight, "selector": selector}));
        weighted.collect()
    })
}

/// What an entry says, but for preferences.
fn entry() -> impl Strategy<Value = Map<String, Value>> {
    object(vec![
        maybe("requiredNodeSelector", referring_selector(1)),
        maybe("defaultNodeSelector", referring_selector(0)),
        maybe("allowedNodeSelector", referring_selector(0)),
        maybe("defaultTolerations", referring_tolerations()),
        maybe("allowedTolerations", referring_tolerations()),
        maybe("forbiddenTolerations", referring_tolerations()),
    ])
}

fn choices() -> impl Strategy<Value = Map<String, Value>> {
    object(vec![
        maybe("onDefaultConflict", Just(json!("Yield"))),
        maybe("onNodeAffinity", Just(json!("Ignore"))),
        maybe("onDaemonSets", Just(json!("Reject"))),
    ])
}

fn settings(placement: &Map<String, Value>, choices: &Map<String, Value>, entry: &Map<String, Value>) -> Value {
    let mut placement: Map<String, Value> = placement.clone().into_iter().chain(choices.clone()).collect();
    let mut entry = entry.clone();
    entry.insert("name".to_owned(), "team-a".into());
    placement.insert("onBindings".to_owned(), "Verify".into());
    placement.insert("namespaces".to_owned(), json!([entry]));
    json!({"placement": placement})
}

/// The same with the values in place of the references, as somebody would write it who knows the Namespace.
fn written_out(settings: &Value, t: &str, u: &str) -> Value {
    let text = settings.to_string();
    let text = text.replace("$(t)", t).replace("$(u)", u).replace("$(kubernetes.io/metadata.name)", "team-a");
    serde_json::from_str(&text).expect("JSON")
}

/// What is decided. The words may tell where a value comes from.
fn outcome(evaluation: &Evaluation) -> Value {
    let answer = &evaluation.answer;
    json!({
        "accepted": answer.accepted,
        "code": answer.code,
        "mutated_object": answer.mutated_object,
        "audit_annotations": answer.audit_annotations,
        "warnings": answer.warnings.iter().flatten().count(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_with_references_decides_as_with_the_values_written_out(
        mut entry in entry(),
        preferences in preferences(),
        placement in placement(),
        choices in choices(),
        annotations in annotations(),
        pod in pod(),
        node_labels in labels(),
        tolerations in list(),
        (t, u) in (prop::sample::select(&VALUES[..]), prop::sample::select(&VALUES[..])),
    ) {
        entry.insert("preferredNodeSelector".to_owned(), preferences);
        let settings = settings(&placement, &choices, &entry);
        let written_out = written_out(&settings, t, u);
        // What contradicts is no settings, once it is written out. What does not, does not with references.
        prop_assume!(are_valid(&written_out));
        prop_assert!(are_valid(&settings), "{} is not valid", settings);

        let namespace = namespace(&json!({"t": t, "u": u}), &annotations.into());
        let cluster = cluster(&namespace, &json!(node_labels), &tolerations);
        for kind in Kind::ALL {
            let request = kind.request(&pod, &namespace);
            let expected = evaluate(&request, &written_out, cluster.clone());
            let found = evaluate(&request, &settings, cluster.clone());
            prop_assert_eq!(outcome(&found), outcome(&expected), "{:?} by {}", kind, settings);
        }
    }

    #[test]
    fn what_cannot_be_filled_in_widens_nothing(
        entry in entry(),
        placement in placement(),
        choices in choices(),
        annotations in annotations(),
        pod in pod(),
        node_labels in labels(),
        tolerations in list(),
        (t, u) in (prop::sample::select(&UNUSABLE[..]), prop::sample::select(&VALUES[..])),
    ) {
        let settings = settings(&placement, &choices, &entry);
        prop_assume!(are_valid(&settings));
        let namespace_with = |labels: Value| namespace(&labels, &annotations.clone().into());
        let cluster_with = |namespace: &Value| cluster(namespace, &json!(node_labels), &tolerations);
        let unresolved = namespace_with(t.map_or_else(|| json!({"u": u}), |t| json!({"t": t, "u": u})));
        // A Namespace may come before its labels; the others must not get by.
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Namespace) {
            let request = kind.request(&pod, &unresolved);
            let found = evaluate(&request, &settings, cluster_with(&unresolved));
            if !found.answer.accepted {
                prop_assert_eq!(found.answer.code, Some(403), "{:?}", found.answer.message);
                continue;
            }
            let decides = kind != Kind::PodUpdate && refers(&entry, "requiredNodeSelector");
            prop_assert!(!decides, "{:?} is accepted without what is required by {}", kind, settings);
            for value in VALUES {
                let written_out = written_out(&settings, value, u);
                if are_valid(&written_out) {
                    let resolved = namespace_with(json!({"t": value, "u": u}));
                    let expected = evaluate(&request, &written_out, cluster_with(&resolved));
                    prop_assert_eq!(outcome(&found), outcome(&expected), "{:?} by {} with {}", kind, settings, value);
                }
            }
        }
    }
}

/// Whether what the entry says under this name refers to the label that can't be used.
fn refers(entry: &Map<String, Value>, name: &str) -> bool {
    entry.get(name).is_some_and(|setting| setting.to_string().contains("$(t)"))
}
