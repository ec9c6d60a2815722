//! Environment variables: references come first, in the order of the entries, and everything else of every container
//! comes back as it came, letter for letter, null and empty lists included.

use e2e_tests::NoCluster;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{POLICY, odd_members, unharmed};

const NAMES: [&str; 3] = ["ZONE", "RACK", "OTHER"];

/// What a container has for `env`: nothing at all, null, or some variables.
fn env() -> impl Strategy<Value = String> {
    let variable = (prop::sample::select(&NAMES[..]), odd_members())
        .prop_map(|(name, odd)| format!(r#"{{"value":"$(ZONE)"{odd},"name":"{name}"}}"#));
    let variables = prop::collection::vec(variable, 0..4).prop_map(|list| format!(r#","env":[{}]"#, list.join(",")));
    prop_oneof![1 => Just(String::new()), 1 => Just(r#","env" : null"#.to_owned()), 6 => variables]
}

fn container() -> impl Strategy<Value = String> {
    (odd_members(), env(), odd_members())
        .prop_map(|(before, env, after)| format!(r#"{{"name":"c"{before}{env}{after}}}"#))
}

/// A list of containers, with the comma before it: nothing at all, null, or some.
fn containers(name: &'static str) -> impl Strategy<Value = String> {
    let list =
        prop::collection::vec(container(), 0..3).prop_map(move |list| format!(r#","{name}":[{}]"#, list.join(",")));
    prop_oneof![1 => Just(String::new()), 1 => Just(format!(r#","{name}":null"#)), 6 => list]
}

fn pod() -> impl Strategy<Value = String> {
    (odd_members(), containers("initContainers"), containers("containers"), odd_members()).prop_map(
        |(before, init_containers, containers, after)| {
            let spec = format!(r#"{{"x":1{before}{init_containers}{containers}{after}}}"#);
            format!(r#"{{"kind":"Pod","metadata":{{"name":"p"}},"spec":{spec}}}"#)
        },
    )
}

/// The variables that entries give, in their order.
fn given() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec!["ZONE", "RACK"], 1..=2).prop_shuffle()
}

fn settings(given: &[&str]) -> Value {
    let entry = |name: &&str| json!({"nodeLabel": format!("example.com/{name}"), "env": name});
    json!({"nodeMetadata": {"propagate": given.iter().map(entry).collect::<Vec<_>>()}})
}

/// What the policy answers to the creation of `pod`, as text.
fn answer_text(pod: &str, given: &[&str]) -> String {
    let request = format!(
        r#"{{"resource":{{"group":"","resource":"pods"}},"operation":"CREATE","namespace":"n","object":{pod}}}"#
    );
    let payload = format!(r#"{{"request":{request},"settings":{}}}"#, settings(given));
    String::from_utf8(POLICY.call("validate", payload.as_bytes(), NoCluster).result.unwrap()).unwrap()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The environments of all containers.
fn environments(pod: &Value) -> Vec<Vec<Value>> {
    let lists = ["initContainers", "containers"].map(|kind| pod["spec"][kind].as_array().cloned().unwrap_or_default());
    lists.concat().iter().map(|container| container["env"].as_array().cloned().unwrap_or_default()).collect()
}

/// What becomes of a container's environment.
fn expected(own: &[Value], given: &[&str]) -> Vec<Value> {
    let lacking = given.iter().filter(|name| own.iter().all(|variable| variable["name"] != **name));
    let reference = |name: &&str| {
        let field = json!({"apiVersion": "v1", "fieldPath": format!("metadata.annotations['example.com/{name}']")});
        json!({"name": name, "valueFrom": {"fieldRef": field}})
    };
    lacking.map(reference).chain(own.iter().cloned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn references_come_first_and_nothing_is_lost(pod in pod(), given in given()) {
        let text = answer_text(&pod, &given);
        let (answer, before) = (parse(&text), parse(&pod));
        prop_assert_eq!(&answer["accepted"], true, "{}", text);
        let after = answer.get("mutated_object").unwrap_or(&before);
        let expected: Vec<Vec<Value>> = environments(&before).iter().map(|own| expected(own, &given)).collect();
        prop_assert_eq!(environments(after), expected.clone(), "{}", pod);
        prop_assert_eq!(answer.get("mutated_object").is_some(), expected != environments(&before), "{}", text);
        unharmed::check(&before, after, Some(&["spec"]), |_, _| false);
        if answer.get("mutated_object").is_some() {
            let again = parse(&answer_text(&after.to_string(), &given));
            prop_assert_eq!(again, json!({"accepted": true}));
        }
    }
}
