//! What must hold of the module for every Pod, selector and node: the law of injection, idempotence, and that nothing
//! is lost. The judge of what a node matches is the matcher that is held to the scheduler's own answers. The laws about
//! tolerations, environment variables and entries by label stand in `law/`.

use std::{collections::BTreeMap, sync::LazyLock};

use e2e_tests::{Cluster, NoCluster, Policy, Scripted, policy_under_test};
use node_placement_policy::{placement::node_affinity::NodeSelection, selector::parse};
use proptest::prelude::*;
use serde_json::{Value, json};

mod by_label;
mod enforcement;
mod env;
mod pods;
mod references;
mod requests;
mod scheduler;
mod tolerations;
/// Which paths may change stands there.
#[path = "../../fuzz/src/unharmed.rs"]
mod unharmed;
mod yield_;

static POLICY: LazyLock<Policy> = LazyLock::new(|| policy_under_test().expect("the policy"));

const KEYS: [&str; 4] = ["a", "b", "example.com/c", "n"];
const VALUES: [&str; 5] = ["x", "y", "", "5", "7"];

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&KEYS[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(&VALUES[..]).prop_map(str::to_owned)
}

fn requirement_on(key: String) -> impl Strategy<Value = String> {
    let values = || prop::collection::vec(value(), 1..3).prop_map(|values| values.join(","));
    let rest = prop_oneof![
        value().prop_map(|value| format!("={value}")),
        value().prop_map(|value| format!("!={value}")),
        values().prop_map(|values| format!(" in ({values})")),
        values().prop_map(|values| format!(" notin ({values})")),
        Just(String::new()),
        Just("!".to_owned()),
        (4..8).prop_map(|bound| format!(">{bound}")),
        (4..8).prop_map(|bound| format!("<{bound}")),
    ];
    rest.prop_map(move |rest| if rest == "!" { format!("!{key}") } else { format!("{key}{rest}") })
}

fn requirement() -> impl Strategy<Value = String> {
    key().prop_flat_map(requirement_on)
}

/// One that some node meets: it says of no key two things.
fn selector_to_be_met() -> impl Strategy<Value = String> {
    let keys = prop::sample::subsequence(KEYS.to_vec(), 0..=KEYS.len());
    let requirements = |keys: Vec<&str>| keys.into_iter().map(|key| requirement_on(key.to_owned())).collect::<Vec<_>>();
    keys.prop_flat_map(requirements).prop_map(|requirements| requirements.join(","))
}

fn selector() -> impl Strategy<Value = String> {
    prop::collection::vec(requirement(), 0..4).prop_map(|requirements| requirements.join(","))
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(key(), value(), 0..4)
}

fn expression() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"][..]);
    (key(), operator, prop::collection::vec(value(), 0..3)).prop_map(|(key, operator, values)| match operator {
        "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
        "Gt" | "Lt" => json!({"key": key, "operator": operator, "values": [values.first().map_or("6", |v| v)]}),
        _ => json!({"key": key, "operator": operator, "values": if values.is_empty() { vec!["x".to_owned()] } else { values }}),
    })
}

fn term() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(&["node-a", "node-b"][..])
        .prop_map(|name| json!({"key": "metadata.name", "operator": "In", "values": [name]}));
    (prop::option::of(prop::collection::vec(expression(), 0..3)), prop::option::of(prop::collection::vec(field, 0..2)))
        .prop_map(|(expressions, fields)| json!({"matchExpressions": expressions, "matchFields": fields}))
}

fn pod() -> impl Strategy<Value = Value> {
    let terms = prop::option::of(prop::collection::vec(term(), 0..3));
    let affinity = prop::option::of(terms).prop_map(|terms| match terms {
        None => Value::Null,
        Some(None) => json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": null}}),
        Some(Some(terms)) => {
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
        }
    });
    (prop::option::of(labels()), affinity).prop_map(|(node_selector, affinity)| {
        json!({
            "metadata": {"name": "p"},
            "spec": {"nodeSelector": node_selector, "affinity": affinity},
        })
    })
}

/// Whether the Pod may run on the node, as the scheduler sees it.
fn matches(pod: &Value, node: &str, labels: &BTreeMap<String, String>) -> bool {
    let spec = pod["spec"].to_string();
    NodeSelection::parse(&spec).unwrap().matches_node(node, |key| labels.get(key).map(String::as_str))
}

/// What the policy answers to a Pod in a namespace whose selector comes in two parts, one of them from its annotation.
fn judge(pod: &Value, required: &str, annotation: &str) -> Value {
    let settings = json!({"placement": {"namespaces": [{"name": "team-a", "requiredNodeSelector": required}]}});
    let annotations = json!({"scheduler.alpha.kubernetes.io/node-selector": annotation});
    let namespace = json!({"metadata": {"name": "team-a", "annotations": annotations}}).to_string();
    answer_to_creation(pod, &settings, Scripted(move |_: &_| Ok(namespace.clone())))
}

/// What the policy answers where somebody creates `pod` in namespace team-a.
fn answer_to_creation(pod: &Value, settings: &Value, cluster: impl Cluster + Send + Sync + 'static) -> Value {
    let request = json!({
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "team-a",
        "userInfo": {"username": "somebody"},
        "object": pod,
    });
    let call = POLICY.call("validate", &e2e_tests::payload(&request, settings), cluster);
    serde_json::from_slice(call.result.as_ref().expect("an answer")).expect("JSON")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    /// `match(inject(pod, selector), node) = match(pod, node) AND matches(selector, node.labels)`; a Pod that is rejected
    /// matches no node that the selector selects.
    #[test]
    fn injection_narrows_to_the_selector_and_to_nothing_less(
        pod in pod(),
        required in selector(),
        annotation in selector(),
        nodes in prop::collection::vec((prop::sample::select(&["node-a", "node-b"][..]), labels()), 1..8),
    ) {
        let answer = judge(&pod, &required, &annotation);
        let selectors = [parse(&required).unwrap(), parse(&annotation).unwrap()];
        for (node, labels) in &nodes {
            let selected = selectors.iter().all(|selector| selector.matches(|key| labels.get(key).map(String::as_str)));
            let expected = matches(&pod, node, labels) && selected;
            if answer["accepted"] == true {
                let result = answer.get("mutated_object").unwrap_or(&pod);
                prop_assert_eq!(matches(result, node, labels), expected, "{} on {:?}", result, labels);
            } else {
                prop_assert_eq!(&answer["code"], 403);
                prop_assert!(!expected, "rejected, and yet {node} with {labels:?} is right: {answer}");
            }
        }
    }

    /// A second run over the policy's own result changes and rejects nothing.
    #[test]
    fn its_own_result_satisfies_it(pod in pod(), required in selector(), annotation in selector()) {
        if let Some(result) = judge(&pod, &required, &annotation).get("mutated_object") {
            prop_assert_eq!(judge(result, &required, &annotation), json!({"accepted": true}));
        }
    }

    /// Whatever a selector adds to a Pod, everything else stays, as the host compares it: as parsed JSON.
    #[test]
    fn nothing_is_lost(
        before in odd_members(),
        within in odd_members(),
        affinity in odd_members(),
        selector in selector_to_be_met(),
    ) {
        let affinity = format!(r#"{{"nodeAffinity":{{"preferred":null{affinity}}}{affinity}}}"#);
        let spec = format!(r#"{{"affinity":{affinity},"containers":[]{within}}}"#);
        let pod = format!(r#"{{"kind":"Pod"{before},"metadata":{{"name":"p"{within}}},"spec":{spec}}}"#);
        let settings = json!({"placement": {"namespaceAnnotations": [], "clusterDefaultNodeSelector": selector}});
        let resource = r#"{"group":"","resource":"pods"}"#;
        let request = format!(r#"{{"resource":{resource},"operation":"CREATE","namespace":"n","object":{pod}}}"#);
        let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
        let call = POLICY.call("validate", payload.as_bytes(), NoCluster);
        let text = String::from_utf8(call.result.unwrap()).unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&answer["accepted"], true, "{}", text);
        prop_assert_eq!(answer["mutated_object"].is_object(), !selector.is_empty(), "{}", text);
        if let Some(mutated) = answer.get("mutated_object") {
            let pod_before: Value = serde_json::from_str(&pod).unwrap();
            unharmed::check(&pod_before, mutated, Some(&["spec"]), |_, _| false);
        }
    }
}

/// Members that no struct knows, each with a comma before it.
fn odd_members() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(
        &[
            r#""f":1.0e+02"#,
            r#""big":123456789012345678901234567890"#,
            r#""zero":-0.0"#,
            r#""none":null"#,
            r#""empty":[]"#,
            r#""hollow":{}"#,
            r#""spaced":[ 1 , {"a" : null} ]"#,
            r#""escaped\u00e9\"":"\ud83d\ude00\/""#,
            r#""nested":[[[[{"a":{"b":[]}}]]]]"#,
            r#""text":"}],{\"spec\":1""#,
        ][..],
    );
    prop::collection::vec(odd, 0..4).prop_map(|odd| odd.iter().map(|member| format!(",{member}")).collect())
}
