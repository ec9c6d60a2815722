//! `validate_settings`: what is not of the types of the settings is told first, and alone; of all other mistakes every one is
//! found, at once. Each has its path.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, clippy::format_collect, reason = "they read better so")]

use node_placement_policy::validate_settings;
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{TestCluster, answer, request, validate};

/// Of settings that have some.
fn mistakes(settings: &Value) -> String {
    validate_settings(settings.to_string().as_bytes()).unwrap_or_else(|| panic!("{settings} have no mistake"))
}

fn entry(entry: &Value) -> String {
    mistakes(&json!({"placement": {"namespaces": [entry]}}))
}

fn propagate(entry: &Value) -> String {
    mistakes(&json!({"nodeMetadata": {"propagate": [entry]}}))
}

#[rstest]
#[case::everything(json!({
    "placement": {
        "clusterDefaultNodeSelector": "env=development",
        "namespaceAnnotations": ["scheduler.alpha.kubernetes.io/node-selector"],
        "namespaces": [
            {"name": "production", "requiredNodeSelector": "env=production", "defaultNodeSelector": "disktype=ssd", "allowedNodeSelector": "env=production, disktype in (ssd, hdd)"},
            {"name": "team-*", "allowedNodeSelector": "pool in (shared, batch), disktype"},
            {"name": "*"},
        ],
        "onNodeAffinity": "Check", "onNodeName": "Verify", "onWorkloads": "Reject", "onDaemonSets": "Inject", "onNamespaces": "Reject", "onBindings": "Ignore",
    },
    "nodeMetadata": {
        "propagate": [
            {"nodeLabel": "topology.kubernetes.io/zone", "podAnnotation": "topology.kubernetes.io/zone", "default": "unknown"},
            {"nodeLabel": "node.example.com/*", "podLabel": "node.example.com/*"},
            {"nodeAnnotation": "example.com/rack", "podAnnotation": "example.com/rack", "required": true},
            {"nodeField": "spec.providerID", "podAnnotation": "example.com/provider-id"},
        ],
        "onLookupFailure": "Reject",
        "protect": false,
    },
}))]
#[case::an_empty_placement_block(json!({"placement": {}}))]
#[case::an_empty_plugin_block(json!({"podNodeSelectorPluginConfig": {}}))]
#[case::a_metadata_block_that_is_left_out(json!({"placement": {}, "nodeMetadata": null}))]
#[case::the_plugin_and_metadata(json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "a=b", "ns": ""}, "nodeMetadata": {"propagate": [{"nodeLabel": "a"}]}}))]
#[case::defaults_that_are_just_enough(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "default": "x".repeat(8192)}, {"nodeLabel": "b", "default": "x".repeat(8190)}]}}))]
#[case::nothing_required_where_a_failed_look_up_is_ignored(json!({"nodeMetadata": {"onLookupFailure": "Ignore", "propagate": [{"nodeLabel": "a", "required": false}]}}))]
#[case::the_cluster_default_is_switched_off_where_it_would_contradict(json!({"placement": {"clusterDefaultNodeSelector": "a=b", "namespaces": [{"name": "x", "requiredNodeSelector": "a=c", "defaultNodeSelector": ""}]}}))]
#[case::the_cluster_default_goes_with_what_is_required(json!({"placement": {"clusterDefaultNodeSelector": "a in (b,c)", "namespaces": [{"name": "x", "requiredNodeSelector": "a!=b"}]}}))]
#[case::an_integer_that_can_be_spelled_otherwise(json!({"placement": {"clusterDefaultNodeSelector": "n>4,n<6,n!=5"}}))]
#[case::narrow_names_before_wide_ones(json!({"placement": {"namespaces": [{"name": "team-a-b"}, {"name": "team-a-*"}, {"name": "team-a"}, {"name": "team-*"}, {"name": "te*"}, {"name": "*"}]}}))]
#[case::names_that_only_look_alike(json!({"placement": {"namespaces": [{"name": "team-a"}, {"name": "team-ab"}, {"name": "team-a*"}, {"name": "other-*"}, {"name": "team"}]}}))]
#[case::the_longest_names(json!({"placement": {"namespaces": [{"name": "a".repeat(63)}, {"name": format!("{}*", "b".repeat(63))}, {"name": format!("{}-*", "c".repeat(61))}]}}))]
#[case::empty_selectors(json!({"placement": {"clusterDefaultNodeSelector": "", "namespaces": [{"name": "a", "defaultNodeSelector": "", "allowedNodeSelector": ""}]}}))]
#[case::no_annotations(json!({"placement": {"namespaceAnnotations": []}}))]
#[case::a_required_set_that_is_ignored_by_the_whitelist(json!({"placement": {"onNodeAffinity": "Ignore", "namespaces": [{"name": "a", "requiredNodeSelector": "b in (c,d)", "allowedNodeSelector": "e"}]}}))]
#[case::a_required_part_of_what_is_allowed(json!({"placement": {"namespaces": [{"name": "a", "requiredNodeSelector": "b in (c,d)", "allowedNodeSelector": "b in (c,d,e)"}]}}))]
#[case::a_cluster_default_that_a_whitelist_forbids(json!({"placement": {"clusterDefaultNodeSelector": "a=b", "namespaces": [{"name": "a", "allowedNodeSelector": "c=d"}]}}))]
#[case::a_required_text_of_an_object(json!({"nodeMetadata": {"propagate": [{"nodeField": "status.nodeInfo.architecture", "podAnnotation": "a", "required": true}]}}))]
#[case::an_object_that_is_not_required(json!({"nodeMetadata": {"propagate": [{"nodeField": "status.nodeInfo", "podAnnotation": "a"}]}}))]
#[case::as_many_variables_as_a_container_may_have(json!({"nodeMetadata": {"propagate": (0..10_000).map(|at| json!({"nodeLabel": format!("k{at}"), "env": format!("V{at}")})).collect::<Value>()}}))]
#[case::one_target_for_each_kind(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "podAnnotation": "x.io/a"}, {"nodeLabel": "b", "podLabel": "x.io/a"}]}}))]
#[case::an_annotation_with_capitals_in_its_prefix(json!({"nodeMetadata": {"propagate": [{"nodeAnnotation": "Example.com/a"}]}}))]
fn valid(#[case] settings: Value) {
    assert_eq!(validate_settings(settings.to_string().as_bytes()), None);
}

#[rstest]
#[case::not_json("{", "EOF while parsing an object")]
#[case::not_text("\u{0}", "expected value")]
#[case::null("null", "expected at least one of placement, podNodeSelectorPluginConfig, nodeMetadata")]
#[case::empty("{}", "expected at least one of placement, podNodeSelectorPluginConfig, nodeMetadata")]
#[case::a_list("[]", "expected an object, found a list")]
#[case::a_number("5", "expected an object, found a number")]
#[case::a_string("\"x\"", "expected an object, found a string")]
#[case::unknown_block(
    r#"{"placement":{},"podNodeSelectr":{}}"#,
    r#"unknown field "podNodeSelectr", expected one of placement, podNodeSelectorPluginConfig, nodeMetadata"#
)]
#[case::a_block_that_is_a_list(r#"{"placement":[]}"#, "placement: expected an object, found a list")]
#[case::both_placement_blocks(
    r#"{"placement":{},"podNodeSelectorPluginConfig":{}}"#,
    "placement and podNodeSelectorPluginConfig exclude each other; keep one of them"
)]
fn invalid_as_a_whole(#[case] settings: &str, #[case] message: &str) {
    let found = validate_settings(settings.as_bytes()).unwrap();
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::unknown_field(json!({"clusterDefault": ""}), r#"placement: unknown field "clusterDefault", expected one of clusterDefaultNodeSelector, clusterDefaultTolerations, namespaceAnnotations, namespaces, guardedNodeLabels, exemptUsernames, onDefaultConflict, onRuntimeClasses, onNodeAffinity, onNodeName, onTolerationAnnotations, onExtendedResources, onWorkloads, onDaemonSets, onNamespaces, onBindings, onNodes"#)]
#[case::malformed_selector(json!({"clusterDefaultNodeSelector": "env production"}), r#"placement.clusterDefaultNodeSelector: found "production" at position 5, expected an operator: =, ==, !=, in, notin, > or <"#)]
#[case::selector_of_a_wrong_type(json!({"clusterDefaultNodeSelector": 5}), "placement.clusterDefaultNodeSelector: expected a string, found a number")]
#[case::selector_that_contradicts_itself(json!({"clusterDefaultNodeSelector": "a=b,a in (c)"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: no value of label "a" satisfies "a=b,a in (c)""#)]
#[case::selector_that_contradicts_itself_by_absence(json!({"clusterDefaultNodeSelector": "b,gpu,!gpu"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: no value of label "gpu" satisfies "gpu,!gpu""#)]
#[case::selector_that_excludes_all_it_lists(json!({"clusterDefaultNodeSelector": "a in (x,y),a notin (x,y)"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: no value of label "a" satisfies "a in (x,y),a notin (x,y)""#)]
#[case::selector_between_whose_bounds_nothing_is(json!({"clusterDefaultNodeSelector": "n>4,n<5"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: no value of label "n" satisfies "n>4,n<5""#)]
#[case::annotations_of_a_wrong_type(json!({"namespaceAnnotations": "a"}), "placement.namespaceAnnotations: expected a list, found a string")]
#[case::annotation_of_a_wrong_type(json!({"namespaceAnnotations": ["a", 5]}), "placement.namespaceAnnotations[1]: expected a string, found a number")]
#[case::annotation_that_is_no_key(json!({"namespaceAnnotations": ["a b"]}), r#"placement.namespaceAnnotations[0]: "a b" is not an annotation key"#)]
#[case::namespaces_of_a_wrong_type(json!({"namespaces": {}}), "placement.namespaces: expected a list, found an object")]
#[case::entry_of_a_wrong_type(json!({"namespaces": [{"name": "a"}, 5]}), "placement.namespaces[1]: expected an object, found a number")]
#[case::repeated_name(json!({"namespaces": [{"name": "a"}, {"name": "a"}]}), r#"placement.namespaces[1].name: "a" is never reached: placement.namespaces[0], "a", comes before and wins; swap the two, or remove one"#)]
#[case::name_after_everything(json!({"namespaces": [{"name": "*"}, {"name": "team-a"}]}), r#"placement.namespaces[1].name: "team-a" is never reached: placement.namespaces[0], "*", comes before and wins"#)]
#[case::name_after_its_beginning(json!({"namespaces": [{"name": "team-*"}, {"name": "x"}, {"name": "team-a"}]}), r#"placement.namespaces[2].name: "team-a" is never reached: placement.namespaces[0], "team-*", comes before and wins"#)]
#[case::beginning_after_a_shorter_one(json!({"namespaces": [{"name": "team-*"}, {"name": "team-a-*"}]}), r#"placement.namespaces[1].name: "team-a-*" is never reached: placement.namespaces[0], "team-*", comes before and wins"#)]
#[case::the_same_beginning_again(json!({"namespaces": [{"name": "team-*"}, {"name": "team-*"}]}), r#"placement.namespaces[1].name: "team-*" is never reached: placement.namespaces[0], "team-*", comes before and wins"#)]
#[case::name_that_is_a_beginning_itself(json!({"namespaces": [{"name": "team*"}, {"name": "team"}]}), r#"placement.namespaces[1].name: "team" is never reached: placement.namespaces[0], "team*","#)]
#[case::unknown_choice(json!({"onNodeName": "verify"}), r#"placement.onNodeName: found "verify", expected one of Verify, Reject, Ignore"#)]
#[case::unknown_choice_of_the_last_field(json!({"onNodes": "Ignore", "onWorkloads": "Everything"}), r#"placement.onWorkloads: found "Everything", expected one of Reject, Warn, Ignore"#)]
#[case::choice_of_another_setting(json!({"onNodeAffinity": "Reject"}), r#"placement.onNodeAffinity: found "Reject", expected one of Check, Ignore"#)]
#[case::on_workloads(json!({"onWorkloads": "Inject"}), "placement.onWorkloads: found")]
#[case::on_daemon_sets(json!({"onDaemonSets": "Check"}), "placement.onDaemonSets: found")]
#[case::on_namespaces(json!({"onNamespaces": "Verify"}), "placement.onNamespaces: found")]
#[case::on_bindings(json!({"onBindings": true}), "placement.onBindings: expected a string, found a boolean")]
fn invalid_placement(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"placement": block}));
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::unknown_field(json!({"name": "a", "allowed": ""}), r#"placement.namespaces[0]: unknown field "allowed""#)]
#[case::no_name(json!({}), "placement.namespaces[0].name: expected the name of a namespace")]
#[case::empty_name(json!({"name": ""}), "placement.namespaces[0].name: expected the name of a namespace")]
#[case::name_of_a_wrong_type(json!({"name": 5}), "placement.namespaces[0].name: expected a string, found a number")]
#[case::star_in_the_middle(json!({"name": "a*b"}), r#"placement.namespaces[0].name: "a*b" has a '*' elsewhere than at its end"#)]
#[case::two_stars(json!({"name": "a**"}), r#"placement.namespaces[0].name: "a**" has a '*' elsewhere than at its end"#)]
#[case::capitals(json!({"name": "Team_X"}), r#"placement.namespaces[0].name: no namespace can be called "Team_X", expected at most 63 lowercase letters, digits and '-', beginning and ending with a letter or digit"#)]
#[case::a_name_too_long(json!({"name": "a".repeat(64)}), "placement.namespaces[0].name: no namespace can be called")]
#[case::a_name_that_ends_with_a_dash(json!({"name": "a-"}), "placement.namespaces[0].name: no namespace can be called")]
#[case::a_name_with_a_dot(json!({"name": "a.b"}), "placement.namespaces[0].name: no namespace can be called")]
#[case::a_beginning_with_capitals(json!({"name": "Team-*"}), r#"placement.namespaces[0].name: no namespace's name can begin with "Team-", expected at most 63"#)]
#[case::a_beginning_that_is_a_dash(json!({"name": "-*"}), r#"placement.namespaces[0].name: no namespace's name can begin with "-""#)]
#[case::a_beginning_too_long(json!({"name": format!("{}*", "a".repeat(64))}), "placement.namespaces[0].name: no namespace's name can begin with")]
#[case::a_beginning_with_no_room_after_its_dash(json!({"name": format!("{}-*", "a".repeat(62))}), "placement.namespaces[0].name: no namespace's name can begin with")]
#[case::malformed_required(json!({"name": "a", "requiredNodeSelector": "("}), r#"placement.namespaces[0].requiredNodeSelector: found "(" at position 1, expected a key or '!'"#)]
#[case::malformed_default(json!({"name": "a", "defaultNodeSelector": "("}), "placement.namespaces[0].defaultNodeSelector: found")]
#[case::malformed_allowed(json!({"name": "a", "allowedNodeSelector": "("}), "placement.namespaces[0].allowedNodeSelector: found")]
#[case::allowed_that_contradicts_itself(json!({"name": "a", "allowedNodeSelector": "b=c,b=d"}), "placement.namespaces[0].allowedNodeSelector: contradicts itself")]
#[case::default_that_contradicts_required(json!({"name": "a", "requiredNodeSelector": "b=c", "defaultNodeSelector": "b=d"}), r#"placement.namespaces[0].defaultNodeSelector: contradicts requiredNodeSelector: no value of label "b" satisfies both "b=d" and "b=c""#)]
#[case::default_that_contradicts_required_by_absence(json!({"name": "a", "requiredNodeSelector": "pool=a", "defaultNodeSelector": "!pool"}), r#"placement.namespaces[0].defaultNodeSelector: contradicts requiredNodeSelector: no value of label "pool" satisfies both "!pool" and "pool=a""#)]
fn invalid_entry(#[case] fields: Value, #[case] message: &str) {
    let found = entry(&fields);
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::two_entries_of_one_name(json!({"namespaces": [{"name": "a", "namespaceSelector": "x"}, {"name": "a", "namespaceSelector": "y"}, {"name": "a"}]}))]
#[case::two_entries_of_one_label(json!({"namespaces": [{"name": "a", "namespaceSelector": "x"}, {"name": "b", "namespaceSelector": "x"}, {"namespaceSelector": "x"}]}))]
#[case::required_that_is_not_on_the_whitelist(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "b in (c,d)", "defaultNodeSelector": "e", "allowedNodeSelector": "f"}]}))]
#[case::required_and_a_whitelist_that_is_empty(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "b=c", "allowedNodeSelector": ""}]}))]
#[case::nulls(json!({"clusterDefaultTolerations": null, "onTolerationAnnotations": null, "onExtendedResources": null, "onNodes": null, "namespaces": [{"name": "a", "defaultNodeSelector": null, "allowedNodeSelector": null, "defaultTolerations": null, "allowedTolerations": null, "forbiddenTolerations": null}]}))]
#[case::choices(json!({"clusterDefaultNodeSelector": "a", "onTolerationAnnotations": "Honor", "onExtendedResources": "Tolerate", "onNodes": "RejectChanges"}))]
#[case::other_choices(json!({"onTolerationAnnotations": "Ignore", "onExtendedResources": "Ignore", "onNodes": "Reject", "namespaces": [{"name": "a", "allowedNodeSelector": "a"}]}))]
#[case::on_nodes_guards_what_one_entry_demands(json!({"onNodes": "Reject", "namespaces": [{"name": "a"}, {"name": "b", "requiredNodeSelector": "a"}]}))]
#[case::daemon_sets_that_are_ignored_without_a_whitelist(json!({"onDaemonSets": "Ignore", "namespaces": [{"name": "a", "requiredNodeSelector": "a", "allowedTolerations": []}]}))]
#[case::daemon_sets_that_are_warned_of_where_node_affinity_is_free(json!({"onDaemonSets": "Warn", "onNodeAffinity": "Ignore", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}))]
#[case::daemon_sets_beside_a_whitelist(json!({"onDaemonSets": "Reject", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}))]
#[case::a_forbidden_toleration_of_a_value(json!({"namespaces": [{"name": "a", "forbiddenTolerations": [{"key": "a", "value": "x"}, {"key": "a", "operator": "Equal"}, {"operator": "Exists"}]}]}))]
#[case::a_cluster_default_that_is_not_allowed_where_annotations_can_replace_it(json!({"clusterDefaultNodeSelector": "a=b", "namespaceAnnotations": ["x"], "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}))]
#[case::a_cluster_default_that_is_not_allowed_where_the_entry_has_its_own(json!({"clusterDefaultNodeSelector": "a=b", "namespaceAnnotations": [], "namespaces": [{"name": "a", "defaultNodeSelector": "", "allowedNodeSelector": ""}]}))]
#[case::a_cluster_default_that_is_allowed(json!({"clusterDefaultNodeSelector": "a in (b),c", "namespaceAnnotations": [], "namespaces": [{"name": "a", "allowedNodeSelector": "a in (b,d),c"}]}))]
#[case::a_cluster_default_that_the_entry_requires_itself(json!({"clusterDefaultNodeSelector": "a=b,c in (d,e)", "namespaceAnnotations": [], "namespaces": [{"name": "a", "requiredNodeSelector": "a=b,c in (e,d)", "allowedNodeSelector": ""}]}))]
#[case::a_cluster_default_of_a_set_where_node_affinity_is_free(json!({"clusterDefaultNodeSelector": "a in (b,c)", "namespaceAnnotations": [], "onNodeAffinity": "Ignore", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}))]
#[case::empty_lists(json!({"clusterDefaultTolerations": [], "namespaces": [{"name": "a", "defaultTolerations": [], "allowedTolerations": [], "forbiddenTolerations": []}]}))]
#[case::everything_is_tolerated(json!({"clusterDefaultTolerations": [{"operator": "Exists"}]}))]
#[case::no_operator(json!({"clusterDefaultTolerations": [{"key": "a"}, {"key": "example.com/a", "value": "x_1", "effect": "NoExecute", "tolerationSeconds": -1}]}))]
#[case::a_default_that_is_not_allowed(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "a"}], "allowedTolerations": []}]}))]
#[case::a_default_beside_another_value_that_is_forbidden(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "a", "value": "x"}], "forbiddenTolerations": [{"key": "a", "value": "y"}]}]}))]
#[case::a_cluster_default_that_is_forbidden_where_it_does_not_hold(json!({"clusterDefaultTolerations": [{"key": "a"}], "namespaces": [{"name": "a", "defaultTolerations": [], "forbiddenTolerations": [{"operator": "Exists"}]}]}))]
fn valid_placement(#[case] block: Value) {
    assert_eq!(validate_settings(json!({"placement": block}).to_string().as_bytes()), None);
}

#[rstest]
#[case::selector_that_is_empty(json!({"namespaceSelector": ""}), "placement.namespaces[0].namespaceSelector: ")]
#[case::selector_of_blanks(json!({"name": "a", "namespaceSelector": " "}), "placement.namespaces[0].namespaceSelector: ")]
#[case::selector_that_is_malformed(json!({"namespaceSelector": "a b"}), r#"placement.namespaces[0].namespaceSelector: found "b" at position 3"#)]
#[case::selector_of_a_wrong_type(json!({"namespaceSelector": {"matchLabels": {}}}), "placement.namespaces[0].namespaceSelector: expected a string, found an object")]
#[case::selector_that_contradicts_itself(json!({"namespaceSelector": "a=x,a=y"}), "placement.namespaces[0].namespaceSelector: contradicts itself")]
#[case::empty_name_beside_a_selector(json!({"name": "", "namespaceSelector": "a"}), "placement.namespaces[0].name: ")]
#[case::a_selector_of_null_and_no_name(json!({"namespaceSelector": null}), "placement.namespaces[0].namespaceSelector: expected a string, found null")]
#[case::a_selector_of_null_and_a_name(json!({"name": "a", "namespaceSelector": null}), "placement.namespaces[0].namespaceSelector: expected a string, found null")]
#[case::required_that_is_empty(json!({"name": "a", "requiredNodeSelector": ""}), "placement.namespaces[0].requiredNodeSelector: expected at least one requirement")]
#[case::required_of_blanks(json!({"name": "a", "requiredNodeSelector": " "}), "placement.namespaces[0].requiredNodeSelector: expected at least one requirement")]
#[case::required_of_null(json!({"name": "a", "requiredNodeSelector": null}), "placement.namespaces[0].requiredNodeSelector: expected a string, found null")]
#[case::a_forbidden_toleration_with_a_key_alone(json!({"name": "a", "forbiddenTolerations": [{"operator": "Exists"}, {"key": "a"}]}), "placement.namespaces[0].forbiddenTolerations[1]: a key alone forbids only the empty value")]
#[case::a_forbidden_toleration_with_a_key_an_effect_and_empty_texts(json!({"name": "a", "forbiddenTolerations": [{"key": "a", "operator": "", "value": "", "effect": "NoSchedule"}]}), "placement.namespaces[0].forbiddenTolerations[0]: a key alone forbids only the empty value")]
fn invalid_tenant(#[case] fields: Value, #[case] message: &str) {
    let found = entry(&fields);
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::without_names(json!([{"namespaceSelector": "a"}, {"namespaceSelector": "a"}]))]
#[case::with_names(json!([{"name": "n-*", "namespaceSelector": "a=b"}, {"name": "n-*", "namespaceSelector": "a=b"}]))]
fn the_same_tenant_twice(#[case] entries: Value) {
    let found = mistakes(&json!({"placement": {"namespaces": entries}}));
    assert!(found.starts_with("placement.namespaces[1]"), "{found}");
}

#[rstest]
#[case::not_a_list(json!({"key": "a"}), ": expected a list, found an object")]
#[case::not_an_object(json!([{"key": "a", "value": "x"}, "b"]), "[1]: expected an object, found a string")]
#[case::unknown_field(json!([{"key": "a", "value": "x", "seconds": 5}]), r#"[0]: unknown field "seconds""#)]
#[case::field_in_another_case(json!([{"Key": "a", "operator": "Exists"}]), r#"[0]: unknown field "Key""#)]
#[case::key_of_a_wrong_type(json!([{"key": 5}]), "[0].key: expected a string, found a number")]
#[case::key_that_is_none(json!([{"key": "a b", "operator": "Exists"}]), "[0].key: ")]
#[case::key_with_two_prefixes(json!([{"key": "a/b/c"}]), "[0].key: ")]
#[case::no_key_without_exists(json!([{"operator": "Equal", "value": "x"}]), "[0].operator: ")]
#[case::nothing_at_all(json!([{}]), "[0].operator: ")]
#[case::unknown_operator(json!([{"key": "a", "operator": "In"}]), "[0].operator: ")]
#[case::operator_in_another_case(json!([{"key": "a", "operator": "exists"}]), "[0].operator: ")]
#[case::operator_that_compares(json!([{"key": "a", "operator": "Gt", "value": "5"}]), "[0].operator: ")]
#[case::value_beside_exists(json!([{"key": "a", "operator": "Exists", "value": "x"}]), "[0].value: ")]
#[case::value_that_is_none(json!([{"key": "a", "value": "x y"}]), "[0].value: ")]
#[case::unknown_effect(json!([{"key": "a", "effect": "NoWay"}]), "[0].effect: ")]
#[case::effect_in_another_case(json!([{"key": "a", "effect": "noschedule"}]), "[0].effect: ")]
#[case::seconds_without_no_execute(json!([{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]), "[0].tolerationSeconds: ")]
#[case::seconds_without_an_effect(json!([{"key": "a", "tolerationSeconds": 5}]), "[0].tolerationSeconds: ")]
#[case::seconds_of_a_wrong_type(json!([{"key": "a", "effect": "NoExecute", "tolerationSeconds": "5"}]), "[0].tolerationSeconds: ")]
#[case::seconds_in_part(json!([{"key": "a", "effect": "NoExecute", "tolerationSeconds": 1.5}]), "[0].tolerationSeconds: ")]
fn invalid_tolerations(
    #[values(
        "placement.clusterDefaultTolerations",
        "placement.namespaces[0].defaultTolerations",
        "placement.namespaces[0].allowedTolerations",
        "placement.namespaces[0].forbiddenTolerations"
    )]
    path: &str,
    #[case] list: Value,
    #[case] message: &str,
) {
    let (_, name) = path.rsplit_once('.').unwrap();
    let found = match name {
        "clusterDefaultTolerations" => mistakes(&json!({"placement": {name: list}})),
        _ => entry(&json!({"name": "a", name: list})),
    };
    assert!(found.starts_with(&format!("{path}{message}")), "{found}");
}

#[rstest]
#[case::its_own(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "x", "value": "y"}], "forbiddenTolerations": [{"key": "x", "operator": "Exists"}]}]}), "defaultTolerations")]
#[case::by_its_own_of_everything(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"operator": "Exists"}], "forbiddenTolerations": [{"key": "x", "value": "y", "effect": "NoExecute"}]}]}), "defaultTolerations")]
#[case::the_clusters(json!({"clusterDefaultTolerations": [{"key": "x"}], "namespaces": [{"name": "a", "forbiddenTolerations": [{"key": "x", "operator": "Exists"}]}]}), "clusterDefaultTolerations")]
#[case::the_clusters_where_the_entrys_is_null(json!({"clusterDefaultTolerations": [{"key": "x"}], "namespaces": [{"name": "a", "defaultTolerations": null, "forbiddenTolerations": [{"key": "x"}]}]}), "clusterDefaultTolerations")]
fn a_default_that_is_forbidden(#[case] block: Value, #[case] default: &str) {
    let found = mistakes(&json!({"placement": block}));
    assert!(found.starts_with("placement.namespaces[0]."), "{found}");
    assert!(found.contains("forbiddenTolerations") && found.contains(default), "{found}");
}

#[rstest]
#[case::on_toleration_annotations(json!({"onTolerationAnnotations": "Check"}), r#"placement.onTolerationAnnotations: found "Check", expected one of Honor, Ignore"#)]
#[case::on_extended_resources(json!({"onExtendedResources": "Inject"}), r#"placement.onExtendedResources: found "Inject", expected one of Tolerate, Ignore"#)]
#[case::on_nodes(json!({"onNodes": "Warn"}), r#"placement.onNodes: found "Warn", expected one of Reject, RejectChanges, Ignore"#)]
#[case::on_nodes_with_nothing_to_guard(json!({"onNodes": "Reject"}), "placement.onNodes: there is no label to guard: no node selector of the settings names one; add one, or use Ignore")]
#[case::on_nodes_with_selectors_that_name_nothing(json!({"onNodes": "RejectChanges", "clusterDefaultNodeSelector": "", "namespaces": [{"name": "a", "namespaceSelector": "a", "allowedNodeSelector": ""}]}), "placement.onNodes: there is no label to guard")]
#[case::daemon_sets_that_are_warned_of_beside_a_whitelist(json!({"onDaemonSets": "Warn", "namespaces": [{"name": "a"}, {"name": "b", "allowedNodeSelector": ""}]}), "placement.onDaemonSets: with Warn, DaemonSets get past placement.namespaces[1].allowedNodeSelector, since their controller replaces the node affinity of their Pods; use Inject or Reject, or onNodeAffinity: Ignore")]
#[case::daemon_sets_that_are_ignored_beside_a_whitelist(json!({"onDaemonSets": "Ignore", "onNodeAffinity": "Check", "namespaces": [{"name": "a", "allowedNodeSelector": "b"}]}), "placement.onDaemonSets: with Ignore, DaemonSets get past placement.namespaces[0].allowedNodeSelector")]
#[case::a_cluster_default_that_is_not_allowed(json!({"clusterDefaultNodeSelector": "c,a=b", "namespaceAnnotations": [], "namespaces": [{"name": "a", "allowedNodeSelector": "c,a=x"}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a=b", which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; allow it, or give the entry a defaultNodeSelector that it allows"#)]
#[case::a_cluster_default_of_a_set_that_is_not_allowed(json!({"clusterDefaultNodeSelector": "a in (b,c)", "namespaceAnnotations": [], "namespaces": [{"name": "a", "defaultNodeSelector": null, "allowedNodeSelector": "a=b"}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a in (b,c)""#)]
#[case::a_cluster_default_of_one_value_that_is_not_allowed_where_node_affinity_is_free(json!({"clusterDefaultNodeSelector": "a in (b)", "namespaceAnnotations": [], "onNodeAffinity": "Ignore", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a in (b)""#)]
#[case::on_nodes_of_a_wrong_type(json!({"onNodes": true}), "placement.onNodes: expected a string, found a boolean")]
fn invalid_choice(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"placement": block}));
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::alone(json!({"podTolerationRestrictionPluginConfig": {"default": [], "whitelist": []}}))]
#[case::empty(json!({"podTolerationRestrictionPluginConfig": null}))]
#[case::beside_placement(json!({"placement": {}, "podTolerationRestrictionPluginConfig": {}}))]
fn the_toleration_plugin_is_replaced(#[case] settings: Value) {
    let found = mistakes(&settings);
    assert!(
        found.starts_with(r#"unknown field "podTolerationRestrictionPluginConfig": placement replaces it"#),
        "{found}"
    );
}

#[rstest]
#[case::empty(json!({"nodeLabel": "a", "env": ""}))]
#[case::a_digit_first(json!({"nodeLabel": "a", "env": "1A"}))]
#[case::a_hyphen(json!({"nodeLabel": "a", "env": "A-B"}))]
#[case::a_dot(json!({"nodeLabel": "a", "env": "a.b"}))]
#[case::a_letter_of_another_alphabet(json!({"nodeLabel": "a", "env": "Ä"}))]
#[case::a_line(json!({"nodeLabel": "a", "env": "A\n"}))]
#[case::a_wrong_type(json!({"nodeLabel": "a", "env": ["A"]}))]
#[case::beside_a_star(json!({"nodeLabel": "a.io/*", "env": "A"}))]
fn invalid_env(#[case] fields: Value) {
    let found = propagate(&fields);
    assert!(found.starts_with("nodeMetadata.propagate[0].env: "), "{found}");
}

#[test]
fn an_env_that_is_used_twice() {
    let entries =
        json!([{"nodeLabel": "a", "env": "A"}, {"nodeLabel": "b", "env": "a"}, {"nodeLabel": "c", "env": "A"}]);
    let found = mistakes(&json!({"nodeMetadata": {"propagate": entries}}));
    assert!(found.starts_with("nodeMetadata.propagate[2].env: ") && !found.contains("propagate[1]"), "{found}");
}

#[rstest]
#[case::with_an_annotation(json!({"nodeLabel": "a", "podAnnotation": "b", "env": "_a9"}))]
#[case::with_a_label(json!({"nodeLabel": "a", "podLabel": "example.com/b", "env": "A"}))]
#[case::with_neither(json!({"nodeLabel": "a", "env": "Zone_1"}))]
#[case::of_a_field(json!({"nodeField": "spec.providerID", "podAnnotation": "a", "env": "ID"}))]
#[case::required(json!({"nodeLabel": "a", "env": "A", "required": true}))]
#[case::null(json!({"nodeLabel": "a.io/*", "env": null}))]
fn valid_env(#[case] entry: Value) {
    assert_eq!(validate_settings(json!({"nodeMetadata": {"propagate": [entry]}}).to_string().as_bytes()), None);
}

#[rstest]
#[case::malformed(json!({"production": "env"}), r#"podNodeSelectorPluginConfig.production: found "env" at position 1, expected key=value"#)]
#[case::a_set(json!({"clusterDefaultNodeSelector": "env in (a)"}), r#"podNodeSelectorPluginConfig.clusterDefaultNodeSelector: found "env in (a)" at position 1, expected key=value"#)]
#[case::a_wrong_type(json!({"production": {}}), "podNodeSelectorPluginConfig.production: expected a string, found an object")]
fn invalid_plugin_config(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"podNodeSelectorPluginConfig": block}));
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::unknown_field(json!({"nodeLabel": "a", "podAnotation": "a"}), r#"nodeMetadata.propagate[0]: unknown field "podAnotation""#)]
#[case::no_source(json!({"podAnnotation": "a"}), "nodeMetadata.propagate[0]: expected exactly one of nodeLabel, nodeAnnotation and nodeField, found none")]
#[case::two_sources(json!({"nodeLabel": "a", "nodeField": "b", "podAnnotation": "a"}), "nodeMetadata.propagate[0]: expected exactly one of nodeLabel, nodeAnnotation and nodeField, found nodeLabel and nodeField")]
#[case::field_without_target(json!({"nodeField": "spec.providerID"}), "nodeMetadata.propagate[0]: a nodeField needs a podAnnotation or a podLabel")]
#[case::required_object(json!({"nodeField": "status.nodeInfo", "podAnnotation": "a", "required": true}), "nodeMetadata.propagate[0].nodeField: status.nodeInfo is an object or a list")]
#[case::required_list(json!({"nodeField": "spec.podCIDRs", "podAnnotation": "a", "required": true}), "nodeMetadata.propagate[0].nodeField: spec.podCIDRs is an object or a list")]
#[case::required_labels(json!({"nodeField": "metadata['labels']", "podAnnotation": "a", "required": true}), "nodeMetadata.propagate[0].nodeField: ")]
#[case::required_element(json!({"nodeField": "status.addresses[type=InternalIP]", "podAnnotation": "a", "required": true}), "nodeMetadata.propagate[0].nodeField: ")]
#[case::default_with_a_reference(json!({"nodeLabel": "a", "default": "$(tenant)"}), "nodeMetadata.propagate[0].default: expected a text without $(KEY)")]
#[case::malformed_field(json!({"nodeField": "spec.", "podAnnotation": "a"}), r#"nodeMetadata.propagate[0].nodeField: "spec." is not a field path"#)]
#[case::default_and_required(json!({"nodeLabel": "a", "default": "x", "required": true}), "nodeMetadata.propagate[0].default: a default is never used where required is true")]
#[case::default_of_many_keys(json!({"nodeLabel": "a.io/*", "default": "x"}), "nodeMetadata.propagate[0].default: a default needs a single key")]
#[case::default_of_a_wrong_type(json!({"nodeLabel": "a", "default": 5}), "nodeMetadata.propagate[0].default: expected a string, found a number")]
#[case::required_of_a_wrong_type(json!({"nodeLabel": "a", "required": "yes"}), "nodeMetadata.propagate[0].required: expected a boolean, found a string")]
#[case::star_only_in_the_source(json!({"nodeLabel": "a.io/*", "podLabel": "a.io/x"}), "nodeMetadata.propagate[0].podLabel: source and target must both end with '*', or neither")]
#[case::star_only_in_the_target(json!({"nodeLabel": "a", "podLabel": "a.io/*"}), "nodeMetadata.propagate[0].podLabel: source and target must both end with '*', or neither")]
#[case::star_of_a_field(json!({"nodeField": "spec.a", "podAnnotation": "a.io/*"}), "nodeMetadata.propagate[0].podAnnotation: source and target must both end with '*', or neither")]
#[case::star_alone(json!({"nodeLabel": "*"}), r#"nodeMetadata.propagate[0].nodeLabel: "*" is invalid: a '*' stands directly after a prefix and its slash"#)]
#[case::star_without_slash(json!({"nodeLabel": "a.io*"}), r#"nodeMetadata.propagate[0].nodeLabel: "a.io*" is invalid"#)]
#[case::star_within_the_name(json!({"nodeLabel": "a.io/x*"}), r#"nodeMetadata.propagate[0].nodeLabel: "a.io/x*" is invalid"#)]
#[case::star_without_prefix(json!({"nodeLabel": "/*"}), r#"nodeMetadata.propagate[0].nodeLabel: "/*" is invalid"#)]
#[case::star_within_the_prefix(json!({"nodeLabel": "a*/*"}), r#"nodeMetadata.propagate[0].nodeLabel: "a*/*" is invalid"#)]
#[case::star_after_a_bad_prefix(json!({"nodeLabel": "A_/*"}), r#"nodeMetadata.propagate[0].nodeLabel: "A_/x" is not a label key"#)]
#[case::source_that_is_no_key(json!({"nodeLabel": "a b"}), r#"nodeMetadata.propagate[0].nodeLabel: "a b" is not a label key"#)]
#[case::annotation_that_is_no_key(json!({"nodeAnnotation": "-"}), r#"nodeMetadata.propagate[0].nodeAnnotation: "-" is not an annotation key"#)]
#[case::target_that_is_no_key(json!({"nodeLabel": "a", "podAnnotation": "a//b"}), r#"nodeMetadata.propagate[0].podAnnotation: "a//b" is not an annotation key"#)]
#[case::label_without_prefix(json!({"nodeLabel": "a", "podLabel": "zone"}), r#"nodeMetadata.propagate[0].podLabel: "zone" can't be a target: a label without a prefix"#)]
#[case::label_of_charts(json!({"nodeLabel": "a", "podLabel": "app.kubernetes.io/name"}), r#"nodeMetadata.propagate[0].podLabel: "app.kubernetes.io/name" can't be a target"#)]
#[case::label_of_deployments(json!({"nodeLabel": "a", "podLabel": "apps.kubernetes.io/pod-index"}), "nodeMetadata.propagate[0].podLabel: ")]
#[case::label_of_jobs(json!({"nodeLabel": "a", "podLabel": "batch.kubernetes.io/job-name"}), "nodeMetadata.propagate[0].podLabel: ")]
#[case::label_of_stateful_sets(json!({"nodeLabel": "a", "podLabel": "statefulset.kubernetes.io/pod-name"}), "nodeMetadata.propagate[0].podLabel: ")]
#[case::labels_of_controllers(json!({"nodeLabel": "a.io/*", "podLabel": "controller.kubernetes.io/*"}), "nodeMetadata.propagate[0].podLabel: ")]
#[case::annotation_that_is_validated(json!({"nodeLabel": "a", "podAnnotation": "scheduler.alpha.kubernetes.io/tolerations"}), r#"nodeMetadata.propagate[0].podAnnotation: "scheduler.alpha.kubernetes.io/tolerations" can't be a target"#)]
#[case::annotations_that_are_validated(json!({"nodeLabel": "a/*", "podAnnotation": "seccomp.security.alpha.kubernetes.io/*"}), r#"nodeMetadata.propagate[0].podAnnotation: "seccomp.security.alpha.kubernetes.io/" can't be a target"#)]
#[case::annotation_of_kubelets(json!({"nodeAnnotation": "kubernetes.io/config.mirror"}), r#"nodeMetadata.propagate[0]: "kubernetes.io/config.mirror" can't be a target"#)]
#[case::default_that_is_no_label_value(json!({"nodeLabel": "a", "podLabel": "a.io/a", "default": "a b"}), r#"nodeMetadata.propagate[0].default: "a b" can't be the value of a podLabel"#)]
fn invalid_propagate(#[case] fields: Value, #[case] message: &str) {
    let found = propagate(&fields);
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::nothing(json!({}), "nodeMetadata.propagate: expected at least one entry")]
#[case::no_propagate(json!({"protect": true}), "nodeMetadata.propagate: expected at least one entry")]
#[case::propagate_that_is_null(json!({"propagate": null}), "nodeMetadata.propagate: expected at least one entry")]
#[case::empty_propagate(json!({"propagate": []}), "nodeMetadata.propagate: expected at least one entry")]
#[case::propagate_of_a_wrong_type(json!({"propagate": {}}), "nodeMetadata.propagate: expected a list, found an object")]
#[case::unknown_field(json!({"protekt": true}), r#"nodeMetadata: unknown field "protekt""#)]
#[case::protect(json!({"protect": "yes"}), "nodeMetadata.protect: expected a boolean, found a string")]
#[case::on_lookup_failure(json!({"onLookupFailure": "Fail"}), r#"nodeMetadata.onLookupFailure: found "Fail", expected one of Reject, Ignore"#)]
#[case::more_variables_than_a_container_may_have(json!({"propagate": (0..10_001).map(|at| json!({"nodeLabel": format!("k{at}"), "env": format!("V{at}")})).collect::<Value>()}), "nodeMetadata.propagate: adds 10001 variables to each Pod")]
#[case::required_where_a_failed_look_up_is_ignored(json!({"onLookupFailure": "Ignore", "propagate": [{"nodeLabel": "a"}, {"nodeLabel": "b", "required": true}]}), "nodeMetadata.propagate[1].required: with onLookupFailure: Ignore, Pods are bound without it")]
#[case::defaults_that_are_too_much_together(json!({"propagate": [{"nodeLabel": "a", "default": "x".repeat(8192)}, {"nodeLabel": "b", "default": "x".repeat(8191)}]}), "nodeMetadata.propagate: the defaults have 16385 bytes with their keys, expected at most 16384")]
#[case::the_same_target_twice(json!({"propagate": [{"nodeLabel": "a", "podAnnotation": "x"}, {"nodeLabel": "x"}]}), r#"nodeMetadata.propagate[1]: "x" is the target of an earlier entry"#)]
#[case::the_same_prefix_twice(json!({"propagate": [{"nodeLabel": "a.io/*"}, {"nodeLabel": "b.io/*", "podAnnotation": "a.io/*"}]}), r#"nodeMetadata.propagate[1]: "a.io/" is the target of an earlier entry"#)]
fn invalid_metadata(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"nodeMetadata": block}));
    assert!(found.split("; ").any(|mistake| mistake.starts_with(message)), "{found}");
}

/// Where an entry has no default of its own, the cluster's holds with what it requires.
#[rstest]
#[case::two_values("pool=a", "pool=b", r#"no value of label "pool" satisfies both "pool=a" and "pool=b""#)]
#[case::there_and_not_there("a=1,pool=a", "!pool", r#"no value of label "pool" satisfies both "pool=a" and "!pool""#)]
#[case::bounds("n>4", "n<5", r#"no value of label "n" satisfies both "n>4" and "n<5""#)]
fn what_is_required_must_go_with_the_cluster_default(
    #[case] required: &str,
    #[case] cluster_default: &str,
    #[case] reason: &str,
) {
    let entry = json!({"name": "x", "requiredNodeSelector": required});
    let found = mistakes(&json!({"placement": {"clusterDefaultNodeSelector": cluster_default, "namespaces": [entry]}}));
    let message = format!(
        "placement.namespaces[0].requiredNodeSelector: contradicts placement.clusterDefaultNodeSelector: {reason}; to \
         switch it off here, use defaultNodeSelector: \"\""
    );
    assert_eq!(found, message);
}

/// What `validate` is given despite such a mistake is rejected all the same.
#[rstest]
#[case::by_itself(json!({"clusterDefaultNodeSelector": "a=b,a in (c)"}), "requires a=b,a in (c); ")]
#[case::with_what_is_required(json!({"clusterDefaultNodeSelector": "!a", "namespaces": [{"name": "*", "requiredNodeSelector": "a=b"}]}), "requires a=b, and placement.clusterDefaultNodeSelector requires !a; ")]
fn contradictory_settings_reject_what_is_asked(#[case] block: Value, #[case] required: &str) {
    let answer = validate(
        &request("pods", "CREATE", json!({})),
        &json!({"placement": block}),
        &TestCluster::with_annotations(json!({})),
    );
    assert_eq!(answer.code(), 403, "{}", answer.message());
    let sentence = r#"the node selectors of namespace "team-a" contradict each other: placement."#;
    assert!(answer.message().starts_with(sentence) && answer.message().contains(required), "{}", answer.message());
}

/// Of many entries too.
#[rstest]
#[case::all_are_reached(|at| format!("a{at:05}*"), 0)]
#[case::half_of_them_never_are(|at| if at % 2 == 0 { format!("a{at:05}*") } else { format!("a{:05}-x", at - 1) }, 5_000)]
fn what_is_never_reached_is_found_among_many(#[case] name: fn(usize) -> String, #[case] count: usize) {
    let entries: Vec<Value> = (0..10_000).map(|at| json!({"name": name(at), "requiredNodeSelector": "a=b"})).collect();
    let settings = json!({"placement": {"clusterDefaultNodeSelector": "c=d", "namespaces": entries}});
    let found = validate_settings(settings.to_string().as_bytes()).unwrap_or_default();
    assert_eq!(found.matches("is never reached").count(), count);
}

#[rstest]
#[case::namespaces(json!({"placement": {"namespaces": [{}, {"name": ""}, {"name": "a*b"}]}}), &["placement.namespaces[0].name: ", "placement.namespaces[1].name: ", "placement.namespaces[2].name: "])]
#[case::annotations(json!({"placement": {"namespaceAnnotations": ["-", "bad key", ""]}}), &["placement.namespaceAnnotations[0]: ", "placement.namespaceAnnotations[1]: ", "placement.namespaceAnnotations[2]: "])]
#[case::propagate(json!({"nodeMetadata": {"propagate": [{"podAnnotation": "a"}, {"nodeLabel": "a/*b"}, {}]}}), &["nodeMetadata.propagate[0]: ", "nodeMetadata.propagate[1].nodeLabel: ", "nodeMetadata.propagate[2]: "])]
#[case::tolerations(json!({"placement": {"clusterDefaultTolerations": [{}, {"key": "-", "operator": "x", "effect": "y", "tolerationSeconds": 1}], "namespaces": [{"name": "a", "allowedTolerations": [{"key": "a b"}, {}]}]}}), &["placement.clusterDefaultTolerations[0].operator: ", "placement.clusterDefaultTolerations[1].key: ", "placement.clusterDefaultTolerations[1].operator: ", "placement.clusterDefaultTolerations[1].effect: ", "placement.clusterDefaultTolerations[1].tolerationSeconds: ", "placement.namespaces[0].allowedTolerations[0].key: ", "placement.namespaces[0].allowedTolerations[1].operator: "])]
#[case::the_plugin(json!({"podNodeSelectorPluginConfig": {"a": "b", "c": "="}}), &["podNodeSelectorPluginConfig.c: "])]
#[case::variables(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "env": "-"}, {"nodeLabel": "b", "env": "1"}]}}), &["nodeMetadata.propagate[0].env: ", "nodeMetadata.propagate[1].env: "])]
#[case::a_repeated_target_beside_another_mistake(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a"}, {"nodeAnnotation": "a", "env": "-"}]}}), &["nodeMetadata.propagate[1].env: ", "is the target of an earlier entry"])]
fn one_mistake_hides_no_other(#[case] settings: Value, #[case] expected: &[&str]) {
    let found = mistakes(&settings);
    for mistake in expected {
        assert!(found.contains(mistake), "{mistake} is missing in {found}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let settings = json!({
        "placement": {
            "clusterDefaultNodeSelector": "=",
            "namespaceAnnotations": ["a b"],
            "namespaces": [{"name": "*a", "defaultTolerations": [{"operator": "In"}]}],
        },
        "podNodeSelectorPluginConfig": {"a": "b"},
        "nodeMetadata": {"onLookupFailure": "Ignore", "propagate": [{}, {"nodeLabel": "a", "podLabel": "b", "required": true}]},
    });
    let found = mistakes(&settings);
    let paths = [
        "placement and podNodeSelectorPluginConfig exclude each other",
        "placement.clusterDefaultNodeSelector: ",
        "placement.namespaceAnnotations[0]: ",
        "placement.namespaces[0].name: ",
        "placement.namespaces[0].defaultTolerations[0].operator: ",
        "podNodeSelectorPluginConfig.a: ",
        "nodeMetadata.propagate[0]: ",
        "nodeMetadata.propagate[1].podLabel: ",
        "nodeMetadata.propagate[1].required: ",
    ];
    for path in paths {
        assert!(found.contains(path), "{path} is missing in {found}");
    }
    // Three of them have a semicolon of their own.
    assert_eq!(found.split("; ").count(), paths.len() + 3, "{found}");
}

/// Of what is not of the types of the settings, the first mistake in the text is told, and no other.
#[rstest]
#[case::of_several(
    r#"{"placement":{"namespaces":[5,{"name":""},"x"],"onNodes":1}}"#,
    "placement.namespaces[0]: expected an object, found a number"
)]
#[case::after_what_means_nothing(
    r#"{"placement":{"clusterDefaultNodeSelector":"=","namespaces":[{"name":"*a"},{"name":"b"},"x"]}}"#,
    "placement.namespaces[2]: expected an object, found a string"
)]
#[case::in_the_last_block(r#"{"placement":{"namespaceAnnotations":["a b"]},"nodeMetadata":{"propagate":[{"nodeLabel":"a"},{"nodeLabel":"b","required":"x"}]}}"#, "nodeMetadata.propagate[1].required: expected a boolean, found a string")]
#[case::in_a_list_of_texts(
    r#"{"placement":{"namespaceAnnotations":["a","b",{}]}}"#,
    "placement.namespaceAnnotations[2]: expected a string, found an object"
)]
#[case::a_list_in_a_list(
    r#"{"placement":{"namespaces":[{"name":"a"},[]]}}"#,
    "placement.namespaces[1]: expected an object, found a list"
)]
#[case::a_list_first_in_a_list(
    r#"{"placement":{"namespaces":[[]]}}"#,
    "placement.namespaces[0]: expected an object, found a list"
)]
#[case::a_field_of_a_toleration(r#"{"placement":{"namespaces":[{"name":"a"},{"name":"b","forbiddenTolerations":[{"key":"a"},{"key":"a","value":true}]}]}}"#, "placement.namespaces[1].forbiddenTolerations[1].value: expected a string, found a boolean")]
#[case::a_word_of_an_entry(
    r#"{"placement":{"namespaces":[{"name":"a"},{"name":"b","enforcement":{"Warn":null}}]}}"#,
    "placement.namespaces[1].enforcement: expected a string, found an object"
)]
#[case::an_unknown_word(
    "{\n  \"placement\": {\n    \"onNodeName\": \"verify\",\n    \"onNodes\": \"x\"\n  }\n}",
    r#"placement.onNodeName: found "verify", expected one of Verify, Reject, Ignore"#
)]
#[case::an_unknown_field_that_looks_like_one(
    "{\n  \"placement\": {\n    \"onNodeNames\": \"Verify\",\n    \"onNodes\": \"x\"\n  }\n}",
    r#"placement: unknown field "onNodeNames", did you mean onNodeName?"#
)]
#[case::an_unknown_field_of_an_entry(
    r#"{"placement":{"namespaces":[{"name":"a"},{"nam":"b"}]}}"#,
    r#"placement.namespaces[1]: unknown field "nam", did you mean name?"#
)]
#[case::an_unknown_field_of_a_toleration(
    r#"{"placement":{"clusterDefaultTolerations":[{},{"opertor":"Exists"}]}}"#,
    r#"placement.clusterDefaultTolerations[1]: unknown field "opertor", did you mean operator?"#
)]
#[case::an_unknown_field_with_other_signs(
    r#"{"placement":{"on-nodes":"Reject"}}"#,
    r#"placement: unknown field "on-nodes", did you mean onNodes?"#
)]
#[case::an_unknown_field_that_looks_like_none(
    r#"{"nodeMetadata":{"a.b/c":1,"propagate":5}}"#,
    r#"nodeMetadata: unknown field "a.b/c", expected one of propagate, onLookupFailure, protect"#
)]
fn the_first_mistake_of_shape_is_told_alone(#[case] settings: &str, #[case] message: &str) {
    assert_eq!(validate_settings(settings.as_bytes()).as_deref(), Some(message));
}

/// serde reads a derived struct from the list of its fields, too.
#[rstest]
#[case::all("[]", "expected an object, found a list")]
#[case::all_of_its_fields("[{},null,null,null]", "expected an object, found a list")]
#[case::placement(r#"{"placement":[]}"#, "placement: expected an object, found a list")]
#[case::an_entry(
    r#"{"placement":{"namespaces":[["a",null,"b=c",null,null,null,null,null,null,null]]}}"#,
    "placement.namespaces[0]: expected an object, found a list"
)]
#[case::a_default_toleration(
    r#"{"placement":{"clusterDefaultTolerations":[["a","Exists","","",null]]}}"#,
    "placement.clusterDefaultTolerations[0]: expected an object, found a list"
)]
#[case::a_toleration_of_an_entry(
    r#"{"placement":{"namespaces":[{"name":"a","allowedTolerations":[["a","Exists","","",null]]}]}}"#,
    "placement.namespaces[0].allowedTolerations[0]: expected an object, found a list"
)]
#[case::a_preference(
    r#"{"placement":{"namespaces":[{"name":"a","preferredNodeSelector":[[1,"a"]]}]}}"#,
    "placement.namespaces[0].preferredNodeSelector[0]: expected an object, found a list"
)]
#[case::node_selector_plugin(
    r#"{"podNodeSelectorPluginConfig":[]}"#,
    "podNodeSelectorPluginConfig: expected an object, found a list"
)]
#[case::node_metadata(
    r#"{"nodeMetadata":[[{"nodeLabel":"a"}],"Reject",false]}"#,
    "nodeMetadata: expected an object, found a list"
)]
#[case::what_is_propagated(
    r#"{"nodeMetadata":{"propagate":[["a",null,null,null,null,null,false,null]]}}"#,
    "nodeMetadata.propagate[0]: expected an object, found a list"
)]
fn no_list_is_an_object(#[case] settings: &str, #[case] message: &str) {
    assert_eq!(validate_settings(settings.as_bytes()).as_deref(), Some(message));
}

/// serde reads a derived enum from an object with the word as key, too.
#[rstest]
#[case::on_default_conflict("placement", "onDefaultConflict", "Yield")]
#[case::on_runtime_classes("placement", "onRuntimeClasses", "Resolve")]
#[case::on_node_affinity("placement", "onNodeAffinity", "Ignore")]
#[case::on_node_name("placement", "onNodeName", "Reject")]
#[case::on_toleration_annotations("placement", "onTolerationAnnotations", "Honor")]
#[case::on_extended_resources("placement", "onExtendedResources", "Tolerate")]
#[case::on_workloads("placement", "onWorkloads", "Warn")]
#[case::on_daemon_sets("placement", "onDaemonSets", "Reject")]
#[case::on_namespaces("placement", "onNamespaces", "Warn")]
#[case::on_bindings("placement", "onBindings", "Verify")]
#[case::on_nodes("placement", "onNodes", "Ignore")]
#[case::on_lookup_failure("nodeMetadata", "onLookupFailure", "Ignore")]
fn a_choice_is_a_word(#[case] block: &str, #[case] choice: &str, #[case] word: &str) {
    let with = |value: Value| {
        let mut settings = json!({block: {choice: value}});
        if block == "nodeMetadata" {
            settings[block]["propagate"] = json!([{"nodeLabel": "a"}]);
        }
        validate_settings(settings.to_string().as_bytes())
    };
    assert_eq!(with(json!(word)), None);
    assert_eq!(with(Value::Null), None, "null is the default");
    for (value, kind) in [
        (json!({word: null}), "an object"),
        (json!({}), "an object"),
        (json!([word]), "a list"),
        (json!(0), "a number"),
        (json!(true), "a boolean"),
    ] {
        let found = with(value).unwrap_or_default();
        assert_eq!(found, format!("{block}.{choice}: expected a string, found {kind}"));
    }
    for other in ["", " ", &word.to_lowercase(), &format!("{word} ")] {
        let found = with(json!(other)).unwrap_or_default();
        assert!(found.starts_with(&format!("{block}.{choice}: found {other:?}, expected one of ")), "{found}");
    }
}

/// All settings, with values that are valid together; those that must not be null apart.
fn all_settings() -> Value {
    let tolerations =
        json!([{"key": "a", "operator": "Equal", "value": "x", "effect": "NoExecute", "tolerationSeconds": 5}]);
    json!({
        "placement": {
            "clusterDefaultNodeSelector": "a=b",
            "clusterDefaultTolerations": tolerations,
            "namespaceAnnotations": ["a"],
            "namespaces": [{
                "name": "a",
                "namespaceSelector": "tenant",
                "requiredNodeSelector": "a=b",
                "defaultNodeSelector": "a=b",
                "allowedNodeSelector": "a=b",
                "preferredNodeSelector": [{"weight": 1, "selector": "a"}],
                "enforcement": "Warn",
                "defaultTolerations": tolerations,
                "allowedTolerations": tolerations,
                "forbiddenTolerations": [{"key": "b", "value": "x"}],
            }],
            "guardedNodeLabels": ["b"],
            "exemptUsernames": ["c"],
            "onDefaultConflict": "Yield",
            "onRuntimeClasses": "Resolve",
            "onNodeAffinity": "Check",
            "onNodeName": "Reject",
            "onTolerationAnnotations": "Honor",
            "onExtendedResources": "Tolerate",
            "onWorkloads": "Warn",
            "onDaemonSets": "Reject",
            "onNamespaces": "Warn",
            "onBindings": "Verify",
            "onNodes": "Reject",
        },
        "nodeMetadata": {
            "propagate": [
                {"nodeLabel": "a", "podAnnotation": "a", "podLabel": "a.io/a", "default": "x", "required": false, "env": "A"},
                {"nodeField": "spec.providerID", "podAnnotation": "b", "required": true},
                {"nodeAnnotation": "c", "env": "C"},
            ],
            "onLookupFailure": "Reject",
            "protect": true,
        },
    })
}

/// The pointers of all members and elements of `value`.
fn pointers(value: &Value, own: &str) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (format!("{own}/{key}"), value)).collect(),
        Value::Array(elements) => (0..).zip(elements).map(|(at, value)| (format!("{own}/{at}"), value)).collect(),
        _ => Vec::new(),
    };
    below.into_iter().flat_map(|(pointer, value)| [vec![pointer.clone()], pointers(value, &pointer)].concat()).collect()
}

/// The same without what is at `pointer`.
fn without(mut settings: Value, pointer: &str) -> Value {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match settings.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(last).unwrap()),
        Value::Array(elements) => drop(elements.remove(last.parse().unwrap())),
        _ => panic!("{pointer}"),
    }
    settings
}

/// A setting that is null is absent. Not so what keeps Pods in, elements of lists, and what they must have: what renders to
/// nothing must not take them away.
#[test]
fn null_is_absent_but_where_that_would_be_dangerous() {
    assert_eq!(validate_settings(all_settings().to_string().as_bytes()), None);
    let mut mistaken = Vec::new();
    for pointer in pointers(&all_settings(), "") {
        let mut settings = all_settings();
        *settings.pointer_mut(&pointer).unwrap() = Value::Null;
        let found = validate_settings(settings.to_string().as_bytes());
        let (_, last) = pointer.rsplit_once('/').unwrap();
        let is_element = last.bytes().all(|byte| byte.is_ascii_digit());
        if is_element || ["requiredNodeSelector", "namespaceSelector", "weight", "selector"].contains(&last) {
            let expected = format!("{}: expected {}, found null", path_of(&pointer), expected_at(&pointer));
            assert_eq!(found, Some(expected));
            mistaken.push(pointer);
        } else {
            let absent = without(settings, &pointer).to_string();
            assert_eq!(found, validate_settings(absent.as_bytes()), "{pointer}");
        }
    }
    assert_eq!(mistaken.len(), 16, "{mistaken:?}");
}

/// As messages have it: `placement.namespaces[0].name`.
fn path_of(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| match step.parse::<usize>() {
        Ok(position) => format!("[{position}]"),
        Err(_) => format!(".{step}"),
    });
    steps.collect::<String>().trim_start_matches('.').to_owned()
}

fn expected_at(pointer: &str) -> &'static str {
    match pointer.trim_end_matches(|sign: char| sign.is_ascii_digit()).rsplit('/').find(|step| !step.is_empty()) {
        Some("weight") => "an integer",
        Some("preferredNodeSelector" | "namespaces" | "propagate") => "an object",
        Some(list) if list.ends_with("Tolerations") => "an object",
        _ => "a string",
    }
}

/// serde knows which fields of a struct it has seen.
#[rstest]
#[case::a_block(r#"{"placement":{},"placement":{}}"#, "placement")]
#[case::a_choice(r#"{"placement":{"onNodes":"Ignore","onNodes":"Ignore"}}"#, "placement.onNodes")]
#[case::a_setting_that_is_null(r#"{"placement":{"namespaces":null,"namespaces":[]}}"#, "placement.namespaces")]
#[case::a_fence(
    r#"{"placement":{"namespaces":[{"name":"a","requiredNodeSelector":"a=b","requiredNodeSelector":"a=c"}]}}"#,
    "placement.namespaces[0].requiredNodeSelector"
)]
#[case::a_source(
    r#"{"nodeMetadata":{"propagate":[{"nodeLabel":"a"},{"nodeLabel":"a","nodeLabel":"b"}]}}"#,
    "nodeMetadata.propagate[1].nodeLabel"
)]
fn a_field_that_is_repeated_is_a_mistake(#[case] settings: &str, #[case] path: &str) {
    let found = validate_settings(settings.as_bytes()).unwrap_or_default();
    assert!(found.starts_with(&format!("{path}: duplicate field ")), "{found}");
}

/// Whatever bytes come, there is a message.
#[rstest]
#[case::nothing(b"")]
#[case::a_word(b"placement")]
#[case::yaml(b"placement: {}\n")]
#[case::two_texts(br#"{"placement":{}} {}"#)]
#[case::a_comma_too_many(br#"{"placement":{},}"#)]
#[case::not_text(b"{\"placement\":{\"onNodes\":\"\xff\"}}")]
#[case::a_byte_order_mark(b"\xef\xbb\xbf{\"placement\":{}}")]
#[case::half_a_character(br#"{"placement":{"clusterDefaultNodeSelector":"\ud800"}}"#)]
#[case::a_control_character(b"{\"placement\":{\"clusterDefaultNodeSelector\":\"\n\"}}")]
#[case::too_large_a_number(br#"{"placement":{"namespaces":1e999}}"#)]
fn what_is_not_json_is_a_mistake(#[case] settings: &[u8]) {
    let found = validate_settings(settings).unwrap_or_default();
    assert!(!found.is_empty());
}

/// However deep the settings are nested, they are refused, and so is a request with them.
#[rstest]
#[case::lists("[", "", "]")]
#[case::objects(r#"{"a":"#, "1", "}")]
#[case::where_entries_are(r#"{"placement":{"namespaces":["#, "", "]}}")]
#[case::where_tolerations_are(r#"{"placement":{"clusterDefaultTolerations":[{"a":"#, "1", "}]}}")]
fn no_nesting_is_too_deep_to_be_refused(#[case] open: &str, #[case] inner: &str, #[case] close: &str) {
    for depth in [10, 64, 127, 128, 129, 100_000] {
        let settings = [&open.repeat(depth), inner, &close.repeat(depth)].concat();
        assert!(validate_settings(settings.as_bytes()).is_some_and(|found| !found.is_empty()), "{depth}");
        let request = request("pods", "CREATE", json!({}));
        let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
        let answer = answer(payload.as_bytes(), &TestCluster::default());
        assert_eq!(answer.code(), 500, "{depth}: {}", answer.message());
    }
}

/// A selector of an entry for other namespaces, or one that an annotation replaces, is not parsed for a request.
#[rstest]
#[case::of_another_namespace(json!({"namespaces": [{"name": "other", "requiredNodeSelector": "(("}, {"name": "team-a"}, {"name": "team-*", "allowedNodeSelector": "(("}]}), None)]
#[case::a_default_that_an_annotation_replaces(json!({"clusterDefaultNodeSelector": "(("}), None)]
#[case::labels_of_another_name(json!({"namespaces": [{"name": "other-*", "namespaceSelector": "(("}]}), None)]
#[case::what_it_needs(json!({"namespaces": [{"name": "team-*", "requiredNodeSelector": "(("}]}), Some("placement.namespaces[0].requiredNodeSelector (name \"team-*\"): "))]
fn a_malformed_selector_matters_where_it_is_needed(#[case] block: Value, #[case] mistake: Option<&str>) {
    let cluster = TestCluster::with_annotations(json!({"scheduler.alpha.kubernetes.io/node-selector": ""}));
    let answer = validate(&request("pods", "CREATE", json!({"spec": {}})), &json!({"placement": block}), &cluster);
    assert_eq!(answer.accepted(), mistake.is_none(), "{answer:?}");
    if let Some(mistake) = mistake {
        assert_eq!(answer.code(), 500);
        let message = format!("the policy's settings have a mistake: {mistake}");
        assert!(answer.message().starts_with(&message), "{}", answer.message());
    }
}

/// Settings that are not of their types fail every request, needed or not, unless it can't be read itself.
#[rstest]
#[case::the_other_job(json!({"placement": {}, "nodeMetadata": {"propagate": 5}}), "nodeMetadata.propagate: expected a list, found a number")]
#[case::another_namespace(json!({"placement": {"namespaces": [{"name": "other"}, 5]}}), "placement.namespaces[1]: expected an object, found a number")]
#[case::a_choice_for_other_requests(json!({"placement": {"onBindings": "?", "onWorkloads": 3}}), r#"placement.onBindings: found "?", expected one of Verify, Ignore"#)]
#[case::tolerations_of_another_namespace(json!({"placement": {"namespaces": [{"name": "other", "forbiddenTolerations": 5}]}}), "placement.namespaces[0].forbiddenTolerations: expected a list, found a number")]
#[case::labels_of_another_name(json!({"placement": {"namespaces": [{"name": "other", "namespaceSelector": null}]}}), "placement.namespaces[0].namespaceSelector: expected a string, found null")]
#[case::an_unknown_block(json!({"palcement": {}}), r#"unknown field "palcement", did you mean placement?"#)]
#[case::no_object(json!([]), "expected an object, found a list")]
fn settings_of_other_types_fail_every_request(#[case] settings: Value, #[case] mistake: &str) {
    let message = format!("the policy's settings have a mistake: {mistake}");
    let cluster = TestCluster::default();
    for (resource, operation) in
        [("pods", "CREATE"), ("pods", "DELETE"), ("namespaces", "UPDATE"), ("services", "CREATE")]
    {
        let answer = validate(&request(resource, operation, json!({})), &settings, &cluster);
        assert_eq!((answer.code(), answer.message()), (500, message.as_str()), "{resource} {operation}");
    }
    let unreadable = validate(&json!({"operation": "CREATE", "object": {}}), &settings, &cluster);
    assert_eq!(unreadable.code(), 400, "{}", unreadable.message());
}
