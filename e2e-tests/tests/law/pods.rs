//! Entries for some Pods, and forbidden labels: an entry decides about the Pods that it selects as the same entry for all
//! Pods does, and about the others as if it were not there; what is accepted selects by no forbidden label, but for what
//! the entry requires itself; and a second run changes and refuses nothing.

use e2e_tests::Manifests;
use node_placement_policy::{
    placement::node_affinity::NodeSelection,
    selector::{Requirement, parse},
    settings::key::ForbiddenLabels,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    answer_to_creation,
    by_label::{annotations, entry, forbidden_labels, placement, pod},
    requirement, selector,
};

fn with_namespaces(placement: &Map<String, Value>, entries: Value) -> Value {
    let mut placement = placement.clone();
    placement.insert("namespaces".to_owned(), entries);
    json!({ "placement": placement })
}

fn named(entry: &Map<String, Value>, pods: Option<&str>) -> Value {
    let mut entry = entry.clone();
    entry.insert("name".to_owned(), json!("team-a"));
    if let Some(selector) = pods {
        entry.insert("podSelector".to_owned(), json!(selector));
    }
    Value::from(entry)
}

fn are_valid(settings: &Value) -> bool {
    node_placement_policy::validate_settings(settings.to_string().as_bytes()).is_none()
}

fn cluster(annotations: &Map<String, Value>) -> Manifests {
    let node = json!({"name": "node-a", "labels": {"a": "x", "b": "5"}});
    [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "annotations": annotations}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": node}),
    ]
    .into_iter()
    .collect()
}

fn labelled(mut pod: Value, has_label: bool) -> Value {
    pod["metadata"]["labels"] = if has_label { json!({"app": "agent"}) } else { json!({"application": "agent"}) };
    pod
}

/// Whether what the Pod selects by is forbidden, and is not what the entry requires itself.
fn selects_by_forbidden(pod: &Value, forbidden: &[String], own: &[Requirement]) -> bool {
    let (spec, forbidden) = (pod["spec"].to_string(), ForbiddenLabels::new(forbidden));
    let NodeSelection { node_selector, terms } = NodeSelection::parse(&spec).unwrap();
    let is_own_pair =
        |key: &str, value: &str| own.iter().any(|own| own.key() == key && own.only_value() == Some(value));
    let mut pairs = node_selector.iter().filter(|(key, _)| forbidden.names(key));
    let mut expressions =
        terms.iter().flatten().flat_map(|term| &term.expressions).filter(|own| forbidden.names(&own.key));
    let mut fields = terms.iter().flatten().flat_map(|term| &term.fields);
    pairs.any(|(key, value)| !is_own_pair(key, value))
        || expressions.any(|one| !one.requirement.as_ref().is_some_and(|one| own.iter().any(|own| own.same_as(one))))
        || forbidden.names("kubernetes.io/hostname") && fields.next().is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_for_some_pods_decides_as_one_for_all_does(
        some in entry(),
        others in entry(),
        placement in placement(),
        annotations in annotations(),
        pod in pod(),
        has_label in any::<bool>(),
    ) {
        let both = with_namespaces(&placement, json!([named(&some, Some("app")), named(&others, None)]));
        let holding = if has_label { json!([named(&some, None)]) } else { json!([{"name": "other"}, named(&others, None)]) };
        let same = with_namespaces(&placement, holding);
        prop_assume!(are_valid(&both) && are_valid(&same));
        let pod = labelled(pod, has_label);
        let answer = answer_to_creation(&pod, &both, cluster(&annotations)).to_string();
        // The entry is named with its podSelector.
        let answer = answer.replace(r#"(name \"team-a\", podSelector \"app\")"#, r#"(name \"team-a\")"#);
        prop_assert_eq!(answer, answer_to_creation(&pod, &same, cluster(&annotations)).to_string());
    }

    #[test]
    fn what_is_accepted_selects_by_no_forbidden_label(
        required in requirement(),
        default in selector(),
        forbidden in forbidden_labels(),
        annotations in annotations(),
        pod in super::pod(),
        has_label in any::<bool>(),
    ) {
        let fenced = json!({
            "name": "team-a", "podSelector": "app", "requiredNodeSelector": required, "defaultNodeSelector": default,
            "forbiddenNodeLabels": forbidden,
        });
        let settings = json!({"placement": {"namespaces": [fenced, {"name": "team-a", "forbiddenNodeLabels": forbidden}]}});
        prop_assume!(are_valid(&settings));
        let pod = labelled(pod, has_label);
        let forbidden: Vec<String> = serde_json::from_value(forbidden).unwrap();
        let mut own = vec![];
        if has_label {
            own.extend_from_slice(parse(&required).unwrap().requirements());
            own.extend_from_slice(parse(&default).unwrap().requirements());
        }
        let answer = answer_to_creation(&pod, &settings, cluster(&annotations));
        if answer["accepted"] == true {
            let result = answer.get("mutated_object").unwrap_or(&pod);
            prop_assert!(!selects_by_forbidden(result, &forbidden, &own), "{}", result);
            let again = answer_to_creation(result, &settings, cluster(&annotations));
            prop_assert_eq!(again, json!({"accepted": true}));
        } else if answer["message"].as_str().unwrap_or_default().contains("forbids to select") && annotations.is_empty() {
            prop_assert!(selects_by_forbidden(&pod, &forbidden, &own), "{}", answer);
        }
    }
}
