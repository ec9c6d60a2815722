//! Entries by label: where the labels match, one decides as the same entry by name does, and where they don't, as if it
//! were not there. Labels are asked for only where they can matter; this holds that to what can.

use e2e_tests::Manifests;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{answer_to_creation, requirement, selector, tolerations::some_valid};

/// Some of the members, each present or not.
pub(super) fn maybe(
    name: &'static str,
    value: impl Strategy<Value = Value> + 'static,
) -> BoxedStrategy<Option<(String, Value)>> {
    prop::option::weighted(0.3, value.prop_map(move |value| (name.to_owned(), value))).boxed()
}

pub(super) fn object(
    members: Vec<BoxedStrategy<Option<(String, Value)>>>,
) -> impl Strategy<Value = Map<String, Value>> {
    members.prop_map(|members| members.into_iter().flatten().collect())
}

pub(super) fn text(strategy: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = Value> {
    strategy.prop_map(Value::from)
}

pub(super) fn list() -> impl Strategy<Value = Value> {
    some_valid(2).prop_map(Value::from)
}

/// An entry that does not say yet which namespaces it is about.
pub(super) fn entry() -> impl Strategy<Value = Map<String, Value>> {
    object(vec![
        maybe("requiredNodeSelector", text(requirement())),
        maybe("defaultNodeSelector", text(selector())),
        maybe("allowedNodeSelector", text(selector())),
        maybe("forbiddenNodeLabels", forbidden_labels()),
        maybe("defaultTolerations", list()),
        maybe("allowedTolerations", list()),
        maybe("forbiddenTolerations", list()),
    ])
}

/// Keys and prefixes, each once.
pub(super) fn forbidden_labels() -> impl Strategy<Value = Value> {
    let labels = vec!["a", "b", "example.com/*", "kubernetes.io/hostname"];
    prop::sample::subsequence(labels, 0..3).prop_map(Value::from)
}

/// The settings beside the entries.
pub(super) fn placement() -> impl Strategy<Value = Map<String, Value>> {
    object(vec![
        maybe("namespaceAnnotations", Just(json!([]))),
        maybe("clusterDefaultNodeSelector", text(selector())),
        maybe("onTolerationAnnotations", Just(json!("Honor"))),
        maybe("onExtendedResources", Just(json!("Tolerate"))),
    ])
}

pub(super) fn annotations() -> impl Strategy<Value = Map<String, Value>> {
    let as_text = || list().prop_map(|list| Value::from(list.to_string()));
    object(vec![
        maybe("scheduler.alpha.kubernetes.io/node-selector", text(selector())),
        maybe("scheduler.alpha.kubernetes.io/defaultTolerations", as_text()),
        maybe("scheduler.alpha.kubernetes.io/tolerationsWhitelist", as_text()),
    ])
}

/// One that mostly asks for little.
pub(super) fn pod() -> impl Strategy<Value = Value> {
    let spec = object(vec![
        maybe("nodeName", Just(json!("node-a"))),
        maybe("nodeSelector", super::labels().prop_map(|labels| json!(labels))),
        maybe("tolerations", list()),
        maybe("containers", Just(json!([{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]))),
    ]);
    spec.prop_map(|spec| json!({"metadata": {"name": "p"}, "spec": spec}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_by_label_decides_as_one_by_name_does(
        entry in entry(),
        placement in placement(),
        annotations in annotations(),
        pod in pod(),
        has_label in any::<bool>(),
    ) {
        let with = |entries: Value| {
            let mut placement = placement.clone();
            placement.insert("namespaces".to_owned(), entries);
            json!({"placement": placement})
        };
        let and = |name: &str, value: &str| {
            let mut entry = entry.clone();
            entry.insert(name.to_owned(), Value::from(value));
            Value::from(vec![Value::from(entry)])
        };
        let by_label = with(and("namespaceSelector", "tenant"));
        let same = with(if has_label { and("name", "team-a") } else { json!([]) });
        // What contradicts is no settings.
        prop_assume!([&by_label, &same].iter().all(|settings| {
            node_placement_policy::validate_settings(settings.to_string().as_bytes()).is_none()
        }));

        let labels = if has_label { json!({"tenant": "blue"}) } else { json!({}) };
        let metadata = json!({"name": "team-a", "labels": labels, "annotations": annotations});
        let node = json!({"name": "node-a", "labels": {"a": "x", "b": "5"}});
        // It gives what is asked for, and not a field more.
        let cluster: Manifests = [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}),
            json!({"apiVersion": "v1", "kind": "Node", "metadata": node}),
        ]
        .into_iter()
        .collect();
        let expected = answer_to_creation(&pod, &same, cluster.clone());
        // The entries are named by what they are about.
        let answer = answer_to_creation(&pod, &by_label, cluster).to_string();
        let answer = answer.replace(r#"(namespaceSelector \"tenant\")"#, r#"(name \"team-a\")"#);
        prop_assert_eq!(answer, expected.to_string());
    }
}
