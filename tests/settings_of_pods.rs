//! `validate_settings`: what `podSelector` and `forbiddenNodeLabels` of an entry may say.
#![allow(clippy::panic, reason = "these are tests")]
#![allow(clippy::needless_pass_by_value, reason = "they read better so")]

use node_placement_policy::validate_settings;
use rstest::rstest;
use serde_json::{Value, json};

fn mistakes(settings: &Value) -> Option<String> {
    validate_settings(settings.to_string().as_bytes())
}

fn entries(entries: Value) -> Value {
    json!({"placement": {"namespaces": entries}})
}

#[rstest]
#[case::agents_beside_others(json!([
    {"name": "team-a", "podSelector": "app=agent"},
    {"name": "team-a", "podSelector": "app="},
    {"name": "team-a", "requiredNodeSelector": "pool=a"},
]))]
#[case::two_kinds_of_pods(json!([
    {"name": "team-*", "podSelector": "spark-role=driver", "requiredNodeSelector": "pool=a"},
    {"name": "team-*", "podSelector": "spark-role in (executor), app", "requiredNodeSelector": "pool=b"},
    {"name": "team-*", "namespaceSelector": "tenant", "podSelector": "spark-role in (executor), app"},
]))]
#[case::after_an_entry_for_some_pods_of_all(json!([
    {"name": "*", "podSelector": "app=agent"},
    {"name": "team-a"},
    {"namespaceSelector": "tenant"},
]))]
#[case::forbidden_keys_and_prefixes(json!([
    {"name": "team-a", "forbiddenNodeLabels": ["kubernetes.io/hostname", "example.com/*", "pool"], "allowedNodeSelector": "pool"},
    {"name": "team-b", "forbiddenNodeLabels": []},
    {"name": "team-c", "forbiddenNodeLabels": null},
]))]
fn valid(#[case] list: Value) {
    assert_eq!(mistakes(&entries(list)), None);
}

#[rstest]
#[case::null(json!({"podSelector": null}), "placement.namespaces[0].podSelector: ", "expected a string")]
#[case::empty(json!({"podSelector": ""}), "placement.namespaces[0].podSelector: ", "at least one requirement")]
#[case::no_selector(json!({"podSelector": "app=a=b"}), "placement.namespaces[0].podSelector: ", "found")]
#[case::contradicting(json!({"podSelector": "app=a,app=b"}), "placement.namespaces[0].podSelector: ", "contradicts itself")]
#[case::a_reference(json!({"podSelector": "app=$(tenant)"}), "placement.namespaces[0].podSelector: ", "is not a valid value")]
#[case::a_control_character(json!({"podSelector": "app=a\u{0},x=y"}), "placement.namespaces[0].podSelector: ", "control character")]
#[case::of_replica_sets(json!({"podSelector": "pod-template-hash"}), "placement.namespaces[0].podSelector: ", "controllers add it")]
#[case::of_stateful_sets(json!({"podSelector": "a,apps.kubernetes.io/pod-index=0"}), "placement.namespaces[0].podSelector: ", "controllers add it")]
#[case::of_jobs(json!({"podSelector": "!batch.kubernetes.io/job-name"}), "placement.namespaces[0].podSelector: ", "controllers add it")]
#[case::a_key_that_is_none(json!({"forbiddenNodeLabels": ["a", "a b"]}), "placement.namespaces[0].forbiddenNodeLabels[1]: ", "is not a label key")]
#[case::an_empty_key(json!({"forbiddenNodeLabels": [""]}), "placement.namespaces[0].forbiddenNodeLabels[0]: ", "is not a label key")]
#[case::a_star_without_a_prefix(json!({"forbiddenNodeLabels": ["*"]}), "placement.namespaces[0].forbiddenNodeLabels[0]: ", "directly after a prefix")]
#[case::a_star_within_a_name(json!({"forbiddenNodeLabels": ["example.com/a*"]}), "placement.namespaces[0].forbiddenNodeLabels[0]: ", "directly after a prefix")]
#[case::twice(json!({"forbiddenNodeLabels": ["example.com/*", "a", "example.com/*"]}), "placement.namespaces[0].forbiddenNodeLabels[2]: ", "listed twice")]
fn invalid(#[case] fields: Value, #[case] path: &str, #[case] words: &str) {
    let mut entry = json!({"name": "team-a"});
    extend(&mut entry, fields);
    let found = mistakes(&entries(json!([entry])));
    let found = found.unwrap_or_else(|| panic!("{entry} has no mistake"));
    assert!(found.contains(path) && found.contains(words), "{found}");
}

fn extend(entry: &mut Value, fields: Value) {
    if let (Value::Object(entry), Value::Object(fields)) = (entry, fields) {
        entry.extend(fields);
    }
}

#[rstest]
#[case::no_namespace(json!([{"podSelector": "app"}]), "placement.namespaces[0].name: expected the name of a namespace")]
#[case::the_same_twice(
    json!([{"name": "a", "podSelector": "app"}, {"name": "b", "podSelector": "app"}, {"name": "a", "podSelector": " app"}]),
    "placement.namespaces[2].podSelector: an earlier entry has the same name, namespaceSelector and podSelector"
)]
#[case::never_reached(
    json!([{"name": "team-*"}, {"name": "team-a", "podSelector": "app"}]),
    "placement.namespaces[1].name: \"team-a\" is never reached"
)]
fn mistakes_of_several_entries(#[case] list: Value, #[case] expected: &str) {
    let found = mistakes(&entries(list.clone())).unwrap_or_else(|| panic!("{list} has no mistake"));
    assert!(found.contains(expected), "{found}");
}

/// The labels of a Pod are not what they were when it is bound.
#[rstest]
#[case::its_key("example.com/rack", true)]
#[case::another_key("example.com/row", false)]
#[case::its_prefix("example.net/rack", true)]
fn labels_that_the_policy_writes(#[case] key: &str, #[case] is_mistake: bool) {
    let settings = json!({
        "placement": {"namespaces": [{"name": "a", "podSelector": key}]},
        "nodeMetadata": {"propagate": [
            {"nodeLabel": "a", "podLabel": "example.com/rack"},
            {"nodeLabel": "example.net/*", "podLabel": "example.net/*"},
        ]},
    });
    let found = mistakes(&settings).unwrap_or_default();
    assert_eq!(found.contains("placement.namespaces[0].podSelector: selects Pods by the label"), is_mistake, "{found}");
}

#[rstest]
#[case::warn("Warn", json!({}), true)]
#[case::ignore("Ignore", json!({}), true)]
#[case::reject("Reject", json!({}), false)]
#[case::free_affinity("Ignore", json!({"onNodeAffinity": "Ignore"}), false)]
fn daemon_sets_beside_forbidden_labels(#[case] word: &str, #[case] more: Value, #[case] is_mistake: bool) {
    let mut placement = json!({"onDaemonSets": word, "namespaces": [{"name": "a", "forbiddenNodeLabels": ["pool"]}]});
    extend(&mut placement, more);
    let found = mistakes(&json!({"placement": placement})).unwrap_or_default();
    let expected = "placement.onDaemonSets: ";
    assert_eq!(found.contains(expected) && found.contains("namespaces[0].forbiddenNodeLabels"), is_mistake, "{found}");
}

/// No Pod of the entry could be created.
#[rstest]
#[case::the_label(json!({}), json!({}), true)]
#[case::a_prefix(json!({"forbiddenNodeLabels": ["e.io/*"]}), json!({"clusterDefaultNodeSelector": "e.io/a=b"}), true)]
#[case::another_label(json!({"forbiddenNodeLabels": ["disk"]}), json!({}), false)]
#[case::a_default_of_its_own(json!({"defaultNodeSelector": ""}), json!({}), false)]
#[case::required_by_the_entry(json!({"requiredNodeSelector": "pool in (a)"}), json!({}), false)]
#[case::perhaps_required_by_the_entry(json!({"requiredNodeSelector": "pool=$(tenant)"}), json!({}), false)]
#[case::annotations_replace_it(json!({}), json!({"namespaceAnnotations": ["example.com/nodes"]}), false)]
#[case::pods_choose(json!({}), json!({"onDefaultConflict": "Yield"}), false)]
#[case::an_expression(json!({}), json!({"clusterDefaultNodeSelector": "pool"}), true)]
#[case::an_expression_that_is_free(json!({}), json!({"clusterDefaultNodeSelector": "pool", "onNodeAffinity": "Ignore"}), false)]
fn a_cluster_default_that_is_forbidden(#[case] fields: Value, #[case] block: Value, #[case] is_mistake: bool) {
    let mut entry = json!({"name": "a", "forbiddenNodeLabels": ["pool"]});
    extend(&mut entry, fields);
    let mut placement =
        json!({"clusterDefaultNodeSelector": "pool=a", "namespaceAnnotations": [], "namespaces": [entry]});
    extend(&mut placement, block);
    let found = mistakes(&json!({"placement": placement})).unwrap_or_default();
    assert_eq!(found.contains("placement.namespaces[0].forbiddenNodeLabels: forbids "), is_mistake, "{found}");
}
