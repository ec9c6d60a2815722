//! Defaults that yield: the result demands the default's requirements on the labels that neither the nodeSelector nor
//! every term that can match chooses, and nothing else.

use e2e_tests::NoCluster;
use node_placement_policy::selector::parse;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    KEYS, expression, key, labels, pod,
    requests::{Kind, are_valid, evaluate},
    scheduler::{Labels, expression_matches, expressions, node_selector_matches, required_terms, term_matches},
    term, unharmed, value,
};

/// Requirements as expressions of node affinity, which say the same as the text of a selector.
type Selector = Vec<Value>;

fn requirement() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(&["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"][..]);
    (key(), operator, prop::collection::vec(value(), 1..3), 4..8_i32).prop_map(|(key, operator, values, bound)| {
        let values = match operator {
            "Exists" | "DoesNotExist" => Vec::new(),
            "Gt" | "Lt" => vec![bound.to_string()],
            _ => values,
        };
        json!({"key": key, "operator": operator, "values": values})
    })
}

/// One with several terms, most of which can match.
fn pod_with_terms() -> impl Strategy<Value = Value> {
    let expressions = prop::collection::vec(expression(), 1..3);
    let term =
        prop_oneof![4 => expressions.prop_map(|expressions| json!({"matchExpressions": expressions})), 1 => term()];
    (prop::option::weighted(0.3, labels()), prop::collection::vec(term, 1..4)).prop_map(|(node_selector, terms)| {
        let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let spec = json!({"nodeSelector": node_selector, "affinity": {"nodeAffinity": affinity}});
        json!({"metadata": {"name": "p"}, "spec": spec})
    })
}

fn text(selector: &Selector) -> String {
    let requirement = |requirement: &Value| {
        let key = requirement["key"].as_str().unwrap_or_default();
        let values: Vec<&str> =
            requirement["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let values = values.join(",");
        match requirement["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            "Gt" => format!("{key}>{values}"),
            "Lt" => format!("{key}<{values}"),
            _ => key.to_owned(),
        }
    };
    selector.iter().map(requirement).collect::<Vec<_>>().join(", ")
}

fn is_on(requirement: &Value, key: &str) -> bool {
    requirement["key"] == key
}

/// Whether a term can match some node, beside this nodeSelector.
fn can_match(term: &Value, node_selector: &Value) -> bool {
    let is_empty = expressions(term).is_empty() && term["matchFields"].as_array().is_none_or(Vec::is_empty);
    let pairs = node_selector.as_object().into_iter().flatten();
    let pairs = pairs.map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}));
    let all: Selector = expressions(term).iter().cloned().chain(pairs).collect();
    !is_empty && parse(&text(&all)).is_ok_and(|selector| selector.contradiction().is_none())
}

/// What the result must say of a node.
fn expected(
    spec: &Value,
    default: &Selector,
    required: &Selector,
    affinity_chooses: bool,
    node: (&str, &Labels),
) -> bool {
    let (name, labels) = node;
    let terms = required_terms(spec);
    let mut choosing: Vec<&Value> = terms.iter().flat_map(|terms| terms.iter()).collect();
    choosing.retain(|term| affinity_chooses && can_match(term, &spec["nodeSelector"]));
    let chooses = |key: &str| {
        let is_about = |term: &&Value| expressions(term).iter().any(|expression| is_on(expression, key));
        spec["nodeSelector"].get(key).is_some() || (!choosing.is_empty() && choosing.iter().all(is_about))
    };
    let holds = default
        .iter()
        .all(|demanded| chooses(demanded["key"].as_str().unwrap_or_default()) || expression_matches(demanded, labels));
    let affinity_matches = match &terms {
        None => holds,
        Some(terms) => holds && terms.iter().any(|term| term_matches(term, name, labels)),
    };
    let is_fenced_in = required.iter().all(|demanded| expression_matches(demanded, labels));
    affinity_matches && is_fenced_in && node_selector_matches(spec, labels)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_default_holds_for_what_nobody_chose_and_for_nothing_else(
        pod in prop_oneof![pod(), pod_with_terms()],
        default in prop::collection::vec(requirement(), 0..4),
        required in prop::collection::vec(requirement(), 0..2),
        is_the_clusters in any::<bool>(),
        on_node_affinity in prop::sample::select(&["Check", "Ignore"][..]),
        kind in prop::sample::select(&[Kind::Pod, Kind::DaemonSet][..]),
        nodes in prop::collection::vec((prop::sample::select(&["node-a", "node-b"][..]), labels()), 1..16),
    ) {
        let mut entry = json!({"name": "team-a"});
        if !required.is_empty() {
            entry["requiredNodeSelector"] = text(&required).into();
        }
        let mut placement = json!({"namespaceAnnotations": [], "onDefaultConflict": "Yield", "onNodeAffinity": on_node_affinity});
        if is_the_clusters {
            placement["clusterDefaultNodeSelector"] = text(&default).into();
        } else {
            entry["defaultNodeSelector"] = text(&default).into();
        }
        placement["namespaces"] = json!([entry]);
        let settings = json!({"placement": placement});
        // What contradicts is no settings.
        prop_assume!(are_valid(&settings));

        // The controller of DaemonSets replaces the affinity of their Pods.
        let affinity_chooses = on_node_affinity == "Check" && matches!(kind, Kind::Pod);
        let request = kind.request(&pod, &Value::Null);
        let answer = evaluate(&request, &settings, NoCluster).answer;
        let spec_of = |object: &Value| kind.spec_path().iter().fold(object.clone(), |value, step| value[step].clone());
        let result = answer.mutated_object.clone().unwrap_or_else(|| request["object"].clone());
        for (name, labels) in &nodes {
            let expected = expected(&pod["spec"], &default, &required, affinity_chooses, (name, labels));
            if answer.accepted {
                let matches = super::scheduler::matches(&spec_of(&result), name, labels);
                prop_assert_eq!(matches, expected, "{} on {:?} by {}", result, labels, settings);
            } else {
                prop_assert!(!expected, "{:?} for {}, and yet {} with {:?} is right", answer.message, pod, name, labels);
            }
        }
        if !answer.accepted {
            prop_assert_eq!(answer.code, Some(403));
        }
        unharmed::check(&request["object"], &result, Some(kind.spec_path()), |_, _| false);

        if let Some(mutated) = answer.mutated_object {
            let mut request = request;
            request["object"] = mutated;
            let again = evaluate(&request, &settings, NoCluster).answer;
            prop_assert!(again.accepted, "{:?}", again.message);
            prop_assert!(again.mutated_object.is_none(), "{} became {:?}", request["object"], again.mutated_object);
        }
    }

    /// A Pod that chooses every label of the default stays as it is, whatever it chooses.
    #[test]
    fn a_pod_that_chose_everything_stays_as_it_is(
        mut pod in pod(),
        default in prop::collection::vec(requirement(), 1..4),
        choice in value(),
    ) {
        pod["spec"]["nodeSelector"] = KEYS.iter().map(|key| ((*key).to_owned(), Value::from(choice.clone()))).collect();
        let placement = json!({
            "namespaceAnnotations": [],
            "onDefaultConflict": "Yield",
            "clusterDefaultNodeSelector": text(&default),
        });
        let settings = json!({"placement": placement});
        prop_assume!(are_valid(&settings));
        for kind in [Kind::Pod, Kind::Deployment, Kind::DaemonSet, Kind::PodUpdate] {
            let answer = evaluate(&kind.request(&pod, &Value::Null), &settings, NoCluster).answer;
            prop_assert!(answer.accepted && answer.mutated_object.is_none(), "{:?}: {:?}", kind, answer);
        }
    }
}
