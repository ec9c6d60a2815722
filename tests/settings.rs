//! `validate_settings`: every mistake is found, at once, and with its path.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, clippy::format_collect, reason = "they read better so")]

mod common;

use common::{TestCluster, request, validate};
use node_placement_policy::validate_settings;
use rstest::rstest;
use serde_json::{Value, json};

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
#[case::one_target_for_each_kind(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "podAnnotation": "x.io/a"}, {"nodeLabel": "b", "podLabel": "x.io/a"}]}}))]
#[case::an_annotation_with_capitals_in_its_prefix(json!({"nodeMetadata": {"propagate": [{"nodeAnnotation": "Example.com/a"}]}}))]
fn valid(#[case] settings: Value) {
    assert_eq!(validate_settings(settings.to_string().as_bytes()), None);
}

#[rstest]
#[case::not_json("{", "the settings are not JSON: ")]
#[case::not_text("\u{0}", "the settings are not JSON: ")]
#[case::null(
    "null",
    "expected at least one of placement, podNodeSelectorPluginConfig, podTolerationRestrictionPluginConfig, nodeMetadata"
)]
#[case::empty(
    "{}",
    "expected at least one of placement, podNodeSelectorPluginConfig, podTolerationRestrictionPluginConfig, nodeMetadata"
)]
#[case::a_list("[]", "expected an object, found a list")]
#[case::a_number("5", "expected an object, found a number")]
#[case::a_string("\"x\"", "expected an object, found a string")]
#[case::unknown_block(
    r#"{"placement":{},"podNodeSelectr":{}}"#,
    r#"unknown field "podNodeSelectr", expected one of placement, podNodeSelectorPluginConfig, podTolerationRestrictionPluginConfig, nodeMetadata"#
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
#[case::unknown_field(json!({"clusterDefault": ""}), r#"placement: unknown field "clusterDefault", expected one of clusterDefaultNodeSelector, clusterDefaultTolerations, namespaceAnnotations, namespaces, onNodeAffinity, onNodeName, onTolerationAnnotations, onExtendedResources, onWorkloads, onDaemonSets, onNamespaces, onBindings, onNodes"#)]
#[case::malformed_selector(json!({"clusterDefaultNodeSelector": "env production"}), r#"placement.clusterDefaultNodeSelector: found "production" at position 5, expected an operator: =, ==, !=, in, notin, > or <"#)]
#[case::selector_of_a_wrong_type(json!({"clusterDefaultNodeSelector": 5}), r#"placement.clusterDefaultNodeSelector: expected a string such as "pool=a", found a number"#)]
#[case::selector_that_contradicts_itself(json!({"clusterDefaultNodeSelector": "a=b,a in (c)"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: nothing that label "a" can be meets "a=b,a in (c)""#)]
#[case::selector_that_contradicts_itself_by_absence(json!({"clusterDefaultNodeSelector": "b,gpu,!gpu"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: nothing that label "gpu" can be meets "gpu,!gpu""#)]
#[case::selector_that_excludes_all_it_lists(json!({"clusterDefaultNodeSelector": "a in (x,y),a notin (x,y)"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: nothing that label "a" can be meets "a in (x,y),a notin (x,y)""#)]
#[case::selector_between_whose_bounds_nothing_is(json!({"clusterDefaultNodeSelector": "n>4,n<5"}), r#"placement.clusterDefaultNodeSelector: contradicts itself: nothing that label "n" can be meets "n>4,n<5""#)]
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
#[case::choice_of_another_setting(json!({"onNodeAffinity": "Reject"}), r#"placement.onNodeAffinity: found "Reject", expected one of Check, Ignore"#)]
#[case::on_workloads(json!({"onWorkloads": "Inject"}), "placement.onWorkloads: found")]
#[case::on_daemon_sets(json!({"onDaemonSets": "Check"}), "placement.onDaemonSets: found")]
#[case::on_namespaces(json!({"onNamespaces": "Verify"}), "placement.onNamespaces: found")]
#[case::on_bindings(json!({"onBindings": true}), "placement.onBindings: found a boolean, expected one of Verify, Ignore")]
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
#[case::default_that_contradicts_required(json!({"name": "a", "requiredNodeSelector": "b=c", "defaultNodeSelector": "b=d"}), r#"placement.namespaces[0].defaultNodeSelector: contradicts requiredNodeSelector: nothing that label "b" can be meets both "b=d" and "b=c""#)]
#[case::default_that_contradicts_required_by_absence(json!({"name": "a", "requiredNodeSelector": "pool=a", "defaultNodeSelector": "!pool"}), r#"placement.namespaces[0].defaultNodeSelector: contradicts requiredNodeSelector: nothing that label "pool" can be meets both "!pool" and "pool=a""#)]
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
#[case::selector_of_a_wrong_type(json!({"namespaceSelector": {"matchLabels": {}}}), r#"placement.namespaces[0].namespaceSelector: expected a string such as "pool=a", found an object"#)]
#[case::selector_that_contradicts_itself(json!({"namespaceSelector": "a=x,a=y"}), "placement.namespaces[0].namespaceSelector: contradicts itself")]
#[case::empty_name_beside_a_selector(json!({"name": "", "namespaceSelector": "a"}), "placement.namespaces[0].name: ")]
#[case::a_selector_of_null_and_no_name(json!({"namespaceSelector": null}), "placement.namespaces[0].namespaceSelector: expected at least one requirement")]
#[case::a_selector_of_null_and_a_name(json!({"name": "a", "namespaceSelector": null}), "placement.namespaces[0].namespaceSelector: expected at least one requirement")]
#[case::required_that_is_empty(json!({"name": "a", "requiredNodeSelector": ""}), "placement.namespaces[0].requiredNodeSelector: expected at least one requirement")]
#[case::required_of_blanks(json!({"name": "a", "requiredNodeSelector": " "}), "placement.namespaces[0].requiredNodeSelector: expected at least one requirement")]
#[case::required_of_null(json!({"name": "a", "requiredNodeSelector": null}), "placement.namespaces[0].requiredNodeSelector: expected at least one requirement")]
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
#[case::on_nodes_with_nothing_to_guard(json!({"onNodes": "Reject"}), "placement.onNodes: there is no label to guard: no node selector of the settings names one; add one, or say Ignore")]
#[case::on_nodes_with_selectors_that_name_nothing(json!({"onNodes": "RejectChanges", "clusterDefaultNodeSelector": "", "namespaces": [{"name": "a", "namespaceSelector": "a", "allowedNodeSelector": ""}]}), "placement.onNodes: there is no label to guard")]
#[case::daemon_sets_that_are_warned_of_beside_a_whitelist(json!({"onDaemonSets": "Warn", "namespaces": [{"name": "a"}, {"name": "b", "allowedNodeSelector": ""}]}), "placement.onDaemonSets: Warn lets DaemonSets past placement.namespaces[1].allowedNodeSelector: the node affinity of their Pods is their controller's; say Inject or Reject, or onNodeAffinity: Ignore")]
#[case::daemon_sets_that_are_ignored_beside_a_whitelist(json!({"onDaemonSets": "Ignore", "onNodeAffinity": "Check", "namespaces": [{"name": "a", "allowedNodeSelector": "b"}]}), "placement.onDaemonSets: Ignore lets DaemonSets past placement.namespaces[0].allowedNodeSelector")]
#[case::a_cluster_default_that_is_not_allowed(json!({"clusterDefaultNodeSelector": "c,a=b", "namespaceAnnotations": [], "namespaces": [{"name": "a", "allowedNodeSelector": "c,a=x"}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a=b", which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; allow it, or say defaultNodeSelector: """#)]
#[case::a_cluster_default_of_a_set_that_is_not_allowed(json!({"clusterDefaultNodeSelector": "a in (b,c)", "namespaceAnnotations": [], "namespaces": [{"name": "a", "defaultNodeSelector": null, "allowedNodeSelector": "a=b"}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a in (b,c)""#)]
#[case::a_cluster_default_of_one_value_that_is_not_allowed_where_node_affinity_is_free(json!({"clusterDefaultNodeSelector": "a in (b)", "namespaceAnnotations": [], "onNodeAffinity": "Ignore", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}), r#"placement.namespaces[0].allowedNodeSelector: does not allow "a in (b)""#)]
#[case::on_nodes_of_a_wrong_type(json!({"onNodes": true}), "placement.onNodes: found a boolean, expected one of Reject, RejectChanges, Ignore")]
fn invalid_choice(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"placement": block}));
    assert!(found.starts_with(message), "{found}");
}

#[rstest]
#[case::empty(json!({"podTolerationRestrictionPluginConfig": {}}))]
#[case::pasted(json!({"podTolerationRestrictionPluginConfig": {"apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration", "default": [{"key": "a", "operator": "Exists"}], "whitelist": []}}))]
#[case::nulls(json!({"podTolerationRestrictionPluginConfig": {"default": null, "whitelist": null}}))]
#[case::beside_the_other_plugin(json!({"podNodeSelectorPluginConfig": {}, "podTolerationRestrictionPluginConfig": {}}))]
fn valid_toleration_plugin(#[case] settings: Value) {
    assert_eq!(validate_settings(settings.to_string().as_bytes()), None);
}

#[rstest]
#[case::beside_placement(json!({"placement": {}, "podTolerationRestrictionPluginConfig": {}}), "placement and podTolerationRestrictionPluginConfig exclude each other")]
#[case::not_an_object(json!({"podTolerationRestrictionPluginConfig": []}), "podTolerationRestrictionPluginConfig: expected an object, found a list")]
#[case::default_of_a_wrong_type(json!({"podTolerationRestrictionPluginConfig": {"default": {}}}), "podTolerationRestrictionPluginConfig.default: expected a list, found an object")]
#[case::default_that_is_refused(json!({"podTolerationRestrictionPluginConfig": {"default": [{"key": "a"}, {"key": "a", "operator": "In"}]}}), "podTolerationRestrictionPluginConfig.default[1].operator: ")]
#[case::whitelist_that_is_refused(json!({"podTolerationRestrictionPluginConfig": {"whitelist": [{"key": "a b"}]}}), "podTolerationRestrictionPluginConfig.whitelist[0].key: ")]
fn invalid_toleration_plugin(#[case] settings: Value, #[case] message: &str) {
    let found = mistakes(&settings);
    assert!(found.starts_with(message), "{found}");
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
#[case::malformed_field(json!({"nodeField": "spec.", "podAnnotation": "a"}), r#"nodeMetadata.propagate[0].nodeField: "spec." is not a field path"#)]
#[case::default_and_required(json!({"nodeLabel": "a", "default": "x", "required": true}), "nodeMetadata.propagate[0].default: a default is never used where required is true")]
#[case::default_of_many_keys(json!({"nodeLabel": "a.io/*", "default": "x"}), "nodeMetadata.propagate[0].default: a default needs a single key")]
#[case::default_of_a_wrong_type(json!({"nodeLabel": "a", "default": 5}), "nodeMetadata.propagate[0].default: expected a string, found a number")]
#[case::required_of_a_wrong_type(json!({"nodeLabel": "a", "required": "yes"}), "nodeMetadata.propagate[0].required: expected true or false, found a string")]
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
#[case::protect(json!({"protect": "yes"}), "nodeMetadata.protect: expected true or false, found a string")]
#[case::on_lookup_failure(json!({"onLookupFailure": "Fail"}), r#"nodeMetadata.onLookupFailure: found "Fail", expected one of Reject, Ignore"#)]
#[case::required_where_a_failed_look_up_is_ignored(json!({"onLookupFailure": "Ignore", "propagate": [{"nodeLabel": "a"}, {"nodeLabel": "b", "required": true}]}), "nodeMetadata.propagate[1].required: Pods are bound without it where onLookupFailure is Ignore")]
#[case::defaults_that_are_too_much_together(json!({"propagate": [{"nodeLabel": "a", "default": "x".repeat(8192)}, {"nodeLabel": "b", "default": "x".repeat(8191)}]}), "nodeMetadata.propagate: the defaults have 16385 bytes with their keys, expected at most 16384")]
#[case::the_same_target_twice(json!({"propagate": [{"nodeLabel": "a", "podAnnotation": "x"}, {"nodeLabel": "x"}]}), r#"nodeMetadata.propagate[1]: "x" is the target of an earlier entry"#)]
#[case::the_same_prefix_twice(json!({"propagate": [{"nodeLabel": "a.io/*"}, {"nodeLabel": "b.io/*", "podAnnotation": "a.io/*"}]}), r#"nodeMetadata.propagate[1]: "a.io/" is the target of an earlier entry"#)]
fn invalid_metadata(#[case] block: Value, #[case] message: &str) {
    let found = mistakes(&json!({"nodeMetadata": block}));
    assert!(found.split("; ").any(|mistake| mistake.starts_with(message)), "{found}");
}

/// Where an entry has no default of its own, the cluster's holds with what it requires.
#[rstest]
#[case::two_values("pool=a", "pool=b", r#"nothing that label "pool" can be meets both "pool=a" and "pool=b""#)]
#[case::there_and_not_there(
    "a=1,pool=a",
    "!pool",
    r#"nothing that label "pool" can be meets both "pool=a" and "!pool""#
)]
#[case::bounds("n>4", "n<5", r#"nothing that label "n" can be meets both "n>4" and "n<5""#)]
fn what_is_required_must_go_with_the_cluster_default(
    #[case] required: &str,
    #[case] cluster_default: &str,
    #[case] reason: &str,
) {
    let entry = json!({"name": "x", "requiredNodeSelector": required});
    let found = mistakes(&json!({"placement": {"clusterDefaultNodeSelector": cluster_default, "namespaces": [entry]}}));
    let message = format!(
        "placement.namespaces[0].requiredNodeSelector: contradicts placement.clusterDefaultNodeSelector: {reason}; if that \
         is not meant to hold here, say defaultNodeSelector: \"\""
    );
    assert_eq!(found, message);
}

/// What `validate` is given despite such a mistake is rejected all the same.
#[rstest]
#[case::by_itself(json!({"clusterDefaultNodeSelector": "a=b,a in (c)"}), "demands a=b,a in (c); ")]
#[case::with_what_is_required(json!({"clusterDefaultNodeSelector": "!a", "namespaces": [{"name": "*", "requiredNodeSelector": "a=b"}]}), "demands a=b, and placement.clusterDefaultNodeSelector demands !a; ")]
fn contradictory_settings_reject_what_is_asked(#[case] block: Value, #[case] demands: &str) {
    let answer = validate(
        &request("pods", "CREATE", json!({})),
        &json!({"placement": block}),
        &TestCluster::with_annotations(json!({})),
    );
    assert_eq!(answer.code(), 403, "{}", answer.message());
    let sentence = r#"the node selectors of namespace "team-a" contradict each other: placement."#;
    assert!(answer.message().starts_with(sentence) && answer.message().contains(demands), "{}", answer.message());
}

/// Ten times as many entries take not a hundred times as long.
#[rstest]
#[case::all_are_reached(|at| format!("a{at:05}*"), false)]
#[case::half_of_them_never_are(|at| if at % 2 == 0 { format!("a{at:05}*") } else { format!("a{:05}-x", at - 1) }, true)]
fn many_entries_are_read_in_proportion(#[case] name: fn(usize) -> String, #[case] half_is_mistaken: bool) {
    let seconds = |count: usize| {
        let entry = |at| json!({"name": name(at), "requiredNodeSelector": "a=b"});
        let entries: Vec<Value> = (0..count).map(entry).collect();
        let settings = json!({"placement": {"clusterDefaultNodeSelector": "c=d", "namespaces": entries}}).to_string();
        let begin = std::time::Instant::now();
        let found = validate_settings(settings.as_bytes()).unwrap_or_default();
        let mistaken = if half_is_mistaken { count / 2 } else { 0 };
        assert_eq!(found.matches("is never reached").count(), mistaken);
        begin.elapsed().as_secs_f64()
    };
    let (few, many) = (seconds(1_000), seconds(10_000));
    println!("{few} s for 1,000 entries, {many} s for 10,000");
    assert!(many < 50.0 * few, "{few} s for 1,000 entries, {many} s for 10,000");
}

#[rstest]
#[case::namespaces(json!({"placement": {"namespaces": [5, {"name": ""}, "x"]}}), &["placement.namespaces[0]: ", "placement.namespaces[1].name: ", "placement.namespaces[2]: "])]
#[case::annotations(json!({"placement": {"namespaceAnnotations": [5, "bad key", ""]}}), &["placement.namespaceAnnotations[0]: ", "placement.namespaceAnnotations[1]: ", "placement.namespaceAnnotations[2]: "])]
#[case::propagate(json!({"nodeMetadata": {"propagate": [5, {"nodeLabel": "a/*b"}, {}]}}), &["nodeMetadata.propagate[0]: ", "nodeMetadata.propagate[1].nodeLabel: ", "nodeMetadata.propagate[2]: "])]
#[case::tolerations(json!({"placement": {"clusterDefaultTolerations": [5, {"key": "-", "operator": "x", "effect": "y", "tolerationSeconds": 1}], "namespaces": [{"name": "a", "allowedTolerations": [{"kee": "a"}, {}]}]}}), &["placement.clusterDefaultTolerations[0]: ", "placement.clusterDefaultTolerations[1].key: ", "placement.clusterDefaultTolerations[1].operator: ", "placement.clusterDefaultTolerations[1].effect: ", "placement.clusterDefaultTolerations[1].tolerationSeconds: ", "placement.namespaces[0].allowedTolerations[0]: ", "placement.namespaces[0].allowedTolerations[1].operator: "])]
#[case::both_plugins(json!({"podNodeSelectorPluginConfig": {"a": "b"}, "podTolerationRestrictionPluginConfig": {"default": [{}], "whitelist": [{"key": "a", "effect": "x"}]}}), &["podNodeSelectorPluginConfig.a: ", "podTolerationRestrictionPluginConfig.default[0].operator: ", "podTolerationRestrictionPluginConfig.whitelist[0].effect: "])]
#[case::variables(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "env": "-"}, {"nodeLabel": "b", "env": 5}]}}), &["nodeMetadata.propagate[0].env: ", "nodeMetadata.propagate[1].env: "])]
#[case::a_repeated_target_beside_another_mistake(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a"}, {"nodeAnnotation": "a", "x": 1}]}}), &["unknown field", "is the target of an earlier entry"])]
fn one_mistake_hides_no_other(#[case] settings: Value, #[case] expected: &[&str]) {
    let found = mistakes(&settings);
    for mistake in expected {
        assert!(found.contains(mistake), "{mistake} is missing in {found}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let settings = json!({
        "x": 1,
        "placement": {"clusterDefaultNodeSelector": "=", "onNodeName": 5, "namespaces": [{"name": "*a"}]},
        "nodeMetadata": {"protect": 0, "propagate": [{}, {"nodeLabel": "a", "podLabel": "b"}]},
    });
    let found = mistakes(&settings);
    let paths = [
        "unknown field \"x\"",
        "placement.clusterDefaultNodeSelector: ",
        "placement.onNodeName: ",
        "placement.namespaces[0].name: ",
        "nodeMetadata.protect: ",
        "nodeMetadata.propagate[0]: ",
        "nodeMetadata.propagate[1].podLabel: ",
    ];
    for path in paths {
        assert!(found.contains(path), "{path} is missing in {found}");
    }
    assert_eq!(found.split("; ").filter(|mistake| !mistake.is_empty()).count(), paths.len() + 1, "{found}");
}

/// A request reads only the part of the settings that it needs.
#[rstest]
#[case::the_other_job(json!({"placement": {}, "nodeMetadata": {"propagate": 5}}), true)]
#[case::another_namespace(json!({"placement": {"namespaces": [5, {"name": "other", "requiredNodeSelector": "(("}, {"name": "team-a"}, {"name": "team-*", "allowedNodeSelector": 7}]}}), true)]
#[case::a_default_that_an_annotation_replaces(json!({"placement": {"clusterDefaultNodeSelector": "(("}}), true)]
#[case::a_choice_for_other_requests(json!({"placement": {"onBindings": "?", "onWorkloads": 3}}), true)]
#[case::tolerations_of_another_namespace(json!({"placement": {"clusterDefaultTolerations": 5, "namespaces": [{"name": "other", "forbiddenTolerations": 5}, {"name": "team-a", "defaultTolerations": []}]}}), true)]
#[case::a_choice_about_nodes(json!({"placement": {"onNodes": "?"}}), true)]
#[case::labels_of_another_name(json!({"placement": {"namespaces": [{"name": "other-*", "namespaceSelector": "(("}]}}), true)]
#[case::what_it_needs(json!({"placement": {"namespaces": [{"name": "team-*", "requiredNodeSelector": "(("}]}}), false)]
fn a_mistake_elsewhere_does_not_matter(#[case] settings: Value, #[case] accepted: bool) {
    let cluster = TestCluster::with_annotations(json!({"scheduler.alpha.kubernetes.io/node-selector": ""}));
    let answer = validate(&request("pods", "CREATE", json!({"spec": {}})), &settings, &cluster);
    assert_eq!(answer.accepted(), accepted, "{answer:?}");
    if !accepted {
        assert_eq!(answer.code(), 500);
        assert!(
            answer
                .message()
                .starts_with("the policy's settings have a mistake: placement.namespaces[0].requiredNodeSelector: ")
        );
    }
}
