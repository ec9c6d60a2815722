//! `validate_settings`: what `placement` may say of references, preferences, guarded labels, users and enforcement.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, reason = "they read better so")]

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

/// Fails unless one of the mistakes is at `path`, and all the words are told.
#[track_caller]
fn expect_mistake(settings: &Value, path: &str, words: &[&str]) {
    let found = mistakes(settings);
    assert!(found.contains(path), "{path} is missing in {found}");
    for word in words {
        assert!(found.contains(word), "{word} is missing in {found}");
    }
}

fn placement(block: &Value) -> Value {
    json!({"placement": block})
}

#[rstest]
#[case::all_that_the_reference_shows(json!({
    "placement": {
        "clusterDefaultNodeSelector": "env=development",
        "clusterDefaultTolerations": [],
        "namespaceAnnotations": ["scheduler.alpha.kubernetes.io/node-selector"],
        "namespaces": [
            {
                "name": "production",
                "requiredNodeSelector": "env=production",
                "defaultNodeSelector": "disktype=ssd",
                "allowedNodeSelector": "disktype in (ssd, hdd)",
                "defaultTolerations": [{"key": "dedicated", "operator": "Equal", "value": "production", "effect": "NoSchedule"}],
                "allowedTolerations": [{"key": "dedicated", "operator": "Equal", "value": "production"}],
            },
            {
                "namespaceSelector": "capsule.clastix.io/tenant",
                "requiredNodeSelector": "node-restriction.kubernetes.io/tenant=$(capsule.clastix.io/tenant)",
                "defaultTolerations": [{"key": "tenant", "operator": "Equal", "value": "$(capsule.clastix.io/tenant)", "effect": "NoSchedule"}],
                "allowedTolerations": [],
                "enforcement": "Warn",
            },
            {"name": "team-*", "namespaceSelector": "tenant=blue, !sandbox", "defaultNodeSelector": "", "allowedNodeSelector": "pool in (shared, batch), disktype"},
            {
                "namespaceSelector": "tenant",
                "defaultNodeSelector": "",
                "allowedNodeSelector": "",
                "forbiddenTolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
                "preferredNodeSelector": [{"weight": 80, "selector": "karpenter.sh/capacity-type=spot"}],
            },
        ],
        "guardedNodeLabels": [],
        "exemptUsernames": [],
        "onDefaultConflict": "Reject",
        "onRuntimeClasses": "Ignore",
        "onNodeAffinity": "Check",
        "onNodeName": "Verify",
        "onTolerationAnnotations": "Ignore",
        "onExtendedResources": "Ignore",
        "onWorkloads": "Reject",
        "onDaemonSets": "Inject",
        "onNamespaces": "Reject",
        "onBindings": "Ignore",
        "onNodes": "Ignore",
    },
    "nodeMetadata": {
        "propagate": [
            {"nodeLabel": "topology.kubernetes.io/zone", "podAnnotation": "topology.kubernetes.io/zone", "default": "unknown", "env": "ZONE"},
            {"nodeLabel": "node.example.com/*", "podLabel": "node.example.com/*"},
            {"nodeAnnotation": "example.com/rack", "podAnnotation": "example.com/rack", "required": true},
            {"nodeField": "spec.providerID", "podAnnotation": "example.com/provider-id"},
        ],
        "onLookupFailure": "Reject",
        "protect": false,
    },
}))]
#[case::nulls_are_absent(json!({
    "placement": {
        "clusterDefaultNodeSelector": null,
        "clusterDefaultTolerations": null,
        "namespaceAnnotations": null,
        "namespaces": [{
            "name": "a",
            "defaultNodeSelector": null,
            "allowedNodeSelector": null,
            "preferredNodeSelector": null,
            "defaultTolerations": null,
            "allowedTolerations": null,
            "forbiddenTolerations": null,
            "enforcement": null,
        }],
        "guardedNodeLabels": null,
        "exemptUsernames": null,
        "onDefaultConflict": null,
        "onRuntimeClasses": null,
        "onNodeAffinity": null,
        "onNodeName": null,
        "onTolerationAnnotations": null,
        "onExtendedResources": null,
        "onWorkloads": null,
        "onDaemonSets": null,
        "onNamespaces": null,
        "onBindings": null,
        "onNodes": null,
    },
    "podNodeSelectorPluginConfig": null,
    "nodeMetadata": null,
}))]
#[case::no_entries(json!({"placement": {"namespaces": null}}))]
#[case::an_entry_by_label_with_a_name_of_null(json!({"placement": {"namespaces": [{"name": null, "namespaceSelector": "a"}]}}))]
fn valid_settings_of_today(#[case] settings: Value) {
    assert_eq!(validate_settings(settings.to_string().as_bytes()), None);
}

#[rstest]
#[case::wherever_they_may_stand(json!({"namespaces": [{
    "name": "team-*",
    "requiredNodeSelector": "pool=$(tenant)",
    "defaultNodeSelector": "zone in (a, $(example.com/zone))",
    "allowedNodeSelector": "disktype notin ($(tier)), pool!=$(tenant)",
    "preferredNodeSelector": [{"weight": 1, "selector": "env==$(kubernetes.io/metadata.name)"}],
    "defaultTolerations": [{"key": "a", "value": "t-$(tenant)"}],
    "allowedTolerations": [{"key": "a", "operator": "Equal", "value": "$(tenant)", "effect": "NoSchedule"}],
    "forbiddenTolerations": [{"key": "b", "operator": "Equal", "value": "$(tenant)"}],
}]}))]
#[case::in_an_entry_by_label(json!({"namespaces": [{"namespaceSelector": "tenant", "requiredNodeSelector": "pool=$(tenant)"}]}))]
#[case::several_in_a_value(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "pool=a-$(b)$(c)_$(b).d"}]}))]
#[case::a_bound(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "cores>$(cores)"}]}))]
#[case::the_same_in_both(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=$(a)", "defaultNodeSelector": "tier=$(a)"}]}))]
#[case::different_ones_in_both(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=$(a)", "defaultNodeSelector": "tier=$(b)"}]}))]
#[case::one_and_a_value(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=$(a)", "defaultNodeSelector": "tier=gold"}]}))]
#[case::a_value_and_one(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=gold", "defaultNodeSelector": "tier=$(a)"}]}))]
#[case::one_and_the_label_absent(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=gold,tier!=$(a)"}]}))]
#[case::two_in_one_selector(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "tier=$(a),tier=$(b)"}]}))]
#[case::one_and_the_clusters_default(json!({"clusterDefaultNodeSelector": "tier=gold", "namespaces": [{"name": "a", "requiredNodeSelector": "tier=$(a)"}]}))]
#[case::in_a_default_toleration_beside_a_forbidden_value(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "k", "value": "$(a)"}], "forbiddenTolerations": [{"key": "k", "operator": "Equal", "value": "gold"}]}]}))]
#[case::in_a_default_toleration_beside_another_forbidden_one(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "k", "value": "$(a)"}], "forbiddenTolerations": [{"key": "k", "operator": "Equal", "value": "$(b)"}]}]}))]
#[case::in_a_whitelist_of_the_cluster_defaults_label(json!({"namespaceAnnotations": [], "clusterDefaultNodeSelector": "pool=a", "namespaces": [{"name": "a", "allowedNodeSelector": "pool=$(tenant)"}]}))]
fn valid_references(#[case] block: Value) {
    assert_eq!(validate_settings(placement(&block).to_string().as_bytes()), None);
}

#[rstest]
#[case::the_clusters_default(json!({"clusterDefaultNodeSelector": "pool=$(t)"}), "placement.clusterDefaultNodeSelector")]
#[case::a_default_toleration_of_the_cluster(json!({"clusterDefaultTolerations": [{"key": "a", "value": "$(t)"}]}), "placement.clusterDefaultTolerations[0].value")]
#[case::an_annotations_key(json!({"namespaceAnnotations": ["$(t)"]}), "placement.namespaceAnnotations[0]")]
#[case::a_name(json!({"namespaces": [{"name": "team-$(t)"}]}), "placement.namespaces[0].name")]
#[case::a_namespace_selector(json!({"namespaces": [{"namespaceSelector": "tenant=$(t)"}]}), "placement.namespaces[0].namespaceSelector")]
#[case::a_namespace_selector_beside_a_name(json!({"namespaces": [{"name": "a", "namespaceSelector": "tenant in (a,$(t))"}]}), "placement.namespaces[0].namespaceSelector")]
#[case::the_key_of_a_default_toleration(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "$(t)", "value": "x"}]}]}), "placement.namespaces[0].defaultTolerations[0].key")]
#[case::the_key_of_an_allowed_toleration(json!({"namespaces": [{"name": "a", "allowedTolerations": [{"key": "k-$(t)", "value": "x"}]}]}), "placement.namespaces[0].allowedTolerations[0].key")]
#[case::the_key_of_a_forbidden_toleration(json!({"namespaces": [{"name": "a", "forbiddenTolerations": [{"key": "$(t)/k", "operator": "Exists"}]}]}), "placement.namespaces[0].forbiddenTolerations[0].key")]
#[case::the_operator_of_a_toleration(json!({"namespaces": [{"name": "a", "allowedTolerations": [{"key": "k", "operator": "$(t)"}]}]}), "placement.namespaces[0].allowedTolerations[0].operator")]
#[case::the_effect_of_a_toleration(json!({"namespaces": [{"name": "a", "allowedTolerations": [{"key": "k", "effect": "$(t)"}]}]}), "placement.namespaces[0].allowedTolerations[0].effect")]
#[case::a_guarded_label(json!({"onNodes": "Reject", "guardedNodeLabels": ["$(t)"]}), "placement.guardedNodeLabels[0]")]
#[case::a_choice(json!({"onNodeName": "$(t)"}), "placement.onNodeName")]
#[case::a_user(json!({"exemptUsernames": ["system:serviceaccount:$(t):builder"]}), "placement.exemptUsernames[0]: expected a text without $(KEY)")]
fn a_reference_where_there_is_none(#[case] block: Value, #[case] path: &str) {
    expect_mistake(&placement(&block), path, &[]);
}

#[rstest]
#[case::of_the_node_selector_plugin(json!({"podNodeSelectorPluginConfig": {"production": "env=$(t)"}}), "podNodeSelectorPluginConfig.production")]
#[case::of_the_node_selector_plugin_for_the_cluster(json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "env=$(t)"}}), "podNodeSelectorPluginConfig.clusterDefaultNodeSelector")]
fn a_reference_in_a_plugins_configuration(#[case] settings: Value, #[case] path: &str) {
    expect_mistake(&settings, path, &[]);
}

#[rstest]
#[case::in_place_of_the_key("$(t)=x")]
#[case::alone("$(t)")]
#[case::absent("!$(t)")]
#[case::before_a_set("$(t) in (x)")]
#[case::before_a_bound("$(t)>5")]
#[case::as_the_prefix_of_the_key("$(t)/pool=x")]
#[case::as_the_name_of_the_key("example.com/$(t)=x")]
#[case::behind_the_key("pool$(t)=x")]
#[case::in_place_of_an_operator("pool $(t) x")]
#[case::in_place_of_a_set("pool in $(t)")]
#[case::behind_others("zone=a,$(t)=x")]
#[case::to_no_key("pool=$()")]
#[case::to_a_key_with_a_blank("pool=$(a b)")]
#[case::to_a_key_with_blanks_around("pool=$( a )")]
#[case::to_a_key_that_begins_with_a_dash("pool=$(-a)")]
#[case::to_a_key_with_two_prefixes("pool=$(a/b/c)")]
#[case::to_a_key_with_capitals_in_its_prefix("pool=$(Example.com/a)")]
#[case::to_a_reference("pool=$($(a))")]
#[case::that_does_not_end("pool=$(a")]
#[case::with_other_brackets("pool=${a}")]
#[case::without_brackets("pool=$a")]
#[case::after_what_no_value_begins_with("pool=-$(a)")]
#[case::before_what_no_value_ends_with("pool=$(a)-")]
#[case::beside_what_no_value_holds("pool=$(a)/b")]
#[case::beside_another_word("pool=$(a) b")]
fn a_reference_that_is_none(
    #[values("requiredNodeSelector", "defaultNodeSelector", "allowedNodeSelector", "preferredNodeSelector")] name: &str,
    #[case] selector: &str,
) {
    let fields = match name {
        "preferredNodeSelector" => json!({"name": "a", name: [{"weight": 1, "selector": selector}]}),
        _ => json!({"name": "a", name: selector}),
    };
    let found = entry(&fields);
    assert!(found.starts_with(&format!("placement.namespaces[0].{name}")), "{found}");
}

#[rstest]
#[case::to_no_key("$()")]
#[case::to_a_key_that_is_none("$(a b)")]
#[case::that_does_not_end("$(a")]
#[case::after_what_no_value_begins_with("-$(a)")]
#[case::beside_what_no_value_holds("$(a) b")]
fn a_reference_in_a_toleration_that_is_none(
    #[values("defaultTolerations", "allowedTolerations", "forbiddenTolerations")] name: &str,
    #[case] value: &str,
) {
    let found = entry(&json!({"name": "a", name: [{"key": "k", "operator": "Equal", "value": value}]}));
    assert!(found.starts_with(&format!("placement.namespaces[0].{name}[0].value: ")), "{found}");
}

/// Contradictions on labels without references are found as ever.
#[rstest]
#[case::of_a_selector(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "pool=$(t),zone=a,zone=b"}]}), "placement.namespaces[0].requiredNodeSelector", &["zone"])]
#[case::of_a_whitelist(json!({"namespaces": [{"name": "a", "allowedNodeSelector": "pool=$(t),zone,!zone"}]}), "placement.namespaces[0].allowedNodeSelector", &["zone"])]
#[case::of_what_is_required_and_the_default(json!({"namespaces": [{"name": "a", "requiredNodeSelector": "zone=a,pool=$(t)", "defaultNodeSelector": "pool=$(t),zone=b"}]}), "placement.namespaces[0].defaultNodeSelector", &["zone=a", "zone=b"])]
#[case::of_what_is_required_and_the_clusters_default(json!({"clusterDefaultNodeSelector": "zone=b", "namespaces": [{"name": "a", "requiredNodeSelector": "zone=a,pool=$(t)"}]}), "placement.namespaces[0].requiredNodeSelector", &["clusterDefaultNodeSelector", "zone=a", "zone=b"])]
#[case::beside_exists(json!({"namespaces": [{"name": "a", "allowedTolerations": [{"key": "k", "operator": "Exists", "value": "$(t)"}]}]}), "placement.namespaces[0].allowedTolerations[0].value", &["$(t)"])]
#[case::of_a_default_toleration_and_every_value_forbidden(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "k", "value": "$(t)"}], "forbiddenTolerations": [{"key": "k", "operator": "Exists"}]}]}), "placement.namespaces[0].", &["defaultTolerations", "forbiddenTolerations"])]
#[case::of_a_default_toleration_and_the_same_forbidden(json!({"namespaces": [{"name": "a", "defaultTolerations": [{"key": "k", "value": "$(t)"}], "forbiddenTolerations": [{"key": "k", "operator": "Equal", "value": "$(t)"}]}]}), "placement.namespaces[0].", &["defaultTolerations", "forbiddenTolerations"])]
fn contradictions_beside_references(#[case] block: Value, #[case] path: &str, #[case] words: &[&str]) {
    expect_mistake(&placement(&block), path, words);
}

/// A template that renders to nothing must not take a fence away.
#[rstest]
#[case::required_null(json!({"name": "a", "requiredNodeSelector": null}), "placement.namespaces[0].requiredNodeSelector")]
#[case::required_empty(json!({"name": "a", "requiredNodeSelector": ""}), "placement.namespaces[0].requiredNodeSelector")]
#[case::required_of_blanks(json!({"name": "a", "requiredNodeSelector": " \t"}), "placement.namespaces[0].requiredNodeSelector")]
#[case::namespaces_null(json!({"name": "a", "namespaceSelector": null}), "placement.namespaces[0].namespaceSelector")]
#[case::namespaces_empty(json!({"name": "a", "namespaceSelector": ""}), "placement.namespaces[0].namespaceSelector")]
#[case::namespaces_of_blanks(json!({"name": "a", "namespaceSelector": " "}), "placement.namespaces[0].namespaceSelector")]
fn selectors_that_demand_nothing(#[case] fields: Value, #[case] path: &str) {
    let found = entry(&fields);
    assert!(found.starts_with(path), "{found}");
}

#[rstest]
#[case::the_least_weight(json!([{"weight": 1, "selector": "a"}]))]
#[case::the_most_weight(json!([{"weight": 100, "selector": "a"}]))]
#[case::several(json!([{"weight": 5, "selector": "a=b"}, {"weight": 5, "selector": "a=c"}, {"weight": 6, "selector": "!d, e>5"}]))]
#[case::references_that_differ(json!([{"weight": 5, "selector": "a=$(b)"}, {"weight": 5, "selector": "a=$(c)"}]))]
#[case::one_with_another_weight(json!([{"weight": 5, "selector": "a=1"}, {"weight": 6, "selector": "a in (1)"}]))]
#[case::none(json!([]))]
#[case::what_is_required_otherwise(json!([{"weight": 5, "selector": "required=no"}]))]
fn valid_preferences(#[case] list: Value) {
    let entry = json!({"name": "a", "requiredNodeSelector": "required=yes", "preferredNodeSelector": list});
    assert_eq!(validate_settings(placement(&json!({"namespaces": [entry]})).to_string().as_bytes()), None);
}

#[rstest]
#[case::no_weight_at_all(json!([{"weight": 0, "selector": "a"}]), "[0].weight", &["1", "100"])]
#[case::too_much_weight(json!([{"weight": 101, "selector": "a"}]), "[0].weight", &["1", "100"])]
#[case::a_negative_weight(json!([{"weight": -1, "selector": "a"}]), "[0].weight", &["1", "100"])]
#[case::a_weight_beyond_all_integers(json!([{"weight": 18_446_744_073_709_551_615_u64, "selector": "a"}]), "[0].weight", &[])]
#[case::a_weight_with_a_fraction(json!([{"weight": 1.5, "selector": "a"}]), "[0].weight", &[])]
#[case::a_weight_that_is_a_text(json!([{"weight": "5", "selector": "a"}]), "[0].weight", &[])]
#[case::a_weight_of_null(json!([{"weight": null, "selector": "a"}]), "[0]", &["weight"])]
#[case::no_weight(json!([{"selector": "a"}]), "[0]", &["weight"])]
#[case::an_empty_selector(json!([{"weight": 5, "selector": ""}]), "[0].selector", &[])]
#[case::a_selector_of_blanks(json!([{"weight": 5, "selector": " "}]), "[0].selector", &[])]
#[case::a_selector_of_null(json!([{"weight": 5, "selector": null}]), "[0]", &["selector"])]
#[case::no_selector(json!([{"weight": 5}]), "[0]", &["selector"])]
#[case::a_malformed_selector(json!([{"weight": 5, "selector": "a b"}]), "[0].selector", &[])]
#[case::a_selector_that_contradicts_itself(json!([{"weight": 5, "selector": "a,!a"}]), "[0].selector", &["a"])]
#[case::a_selector_of_a_wrong_type(json!([{"weight": 5, "selector": {"a": "b"}}]), "[0].selector", &[])]
#[case::one_twice(json!([{"weight": 5, "selector": "a=b"}, {"weight": 6, "selector": "a=b,c"}, {"weight": 5, "selector": "a=b"}]), "[2]", &[])]
#[case::one_twice_that_is_written_otherwise(json!([{"weight": 5, "selector": "a=1,!c"}, {"weight": 5, "selector": "!c,a in (1)"}]), "[1]", &[])]
#[case::one_twice_with_a_reference(json!([{"weight": 5, "selector": "a==$(b)"}, {"weight": 5, "selector": "a in ($(b))"}]), "[1]", &[])]
#[case::an_unknown_field(json!([{"weight": 5, "selector": "a", "preference": {}}]), "[0]", &["preference"])]
#[case::a_misspelt_field(json!([{"wieght": 5, "selector": "a"}]), "[0]", &["wieght", "weight"])]
#[case::a_text(json!(["a=b"]), "[0]", &[])]
#[case::a_list(json!([[5, "a"]]), "[0]", &[])]
#[case::a_null(json!([{"weight": 5, "selector": "a"}, null]), "[1]", &[])]
#[case::no_list(json!({"weight": 5, "selector": "a"}), "", &[])]
fn invalid_preferences(#[case] list: Value, #[case] path: &str, #[case] words: &[&str]) {
    let settings = placement(&json!({"namespaces": [{"name": "a", "preferredNodeSelector": list}]}));
    expect_mistake(&settings, &format!("placement.namespaces[0].preferredNodeSelector{path}"), words);
}

#[rstest]
#[case::keys_and_prefixes(json!({"onNodes": "Reject", "guardedNodeLabels": ["agentpool", "eks.amazonaws.com/nodegroup", "example.com/*"]}))]
#[case::for_changes(json!({"onNodes": "RejectChanges", "guardedNodeLabels": ["agentpool"]}))]
#[case::beside_selectors(json!({"onNodes": "Reject", "guardedNodeLabels": ["agentpool"], "clusterDefaultNodeSelector": "a=b"}))]
#[case::none_beside_selectors(json!({"onNodes": "Reject", "guardedNodeLabels": [], "clusterDefaultNodeSelector": "a=b"}))]
#[case::only_a_whitelist(json!({"onNodes": "Reject", "namespaces": [{"name": "a", "allowedNodeSelector": "b"}]}))]
#[case::only_a_selector_with_a_reference(json!({"onNodes": "Reject", "namespaces": [{"name": "a", "requiredNodeSelector": "b=$(t)"}]}))]
#[case::none_and_ignored(json!({"onNodes": "Ignore", "guardedNodeLabels": []}))]
#[case::null_and_ignored(json!({"guardedNodeLabels": null}))]
fn valid_guarded_labels(#[case] block: Value) {
    assert_eq!(validate_settings(placement(&block).to_string().as_bytes()), None);
}

#[rstest]
#[case::ignored(json!({"onNodes": "Ignore", "guardedNodeLabels": ["agentpool"]}), "placement.", &["guardedNodeLabels", "onNodes"])]
#[case::ignored_as_is_the_default(json!({"guardedNodeLabels": ["agentpool"]}), "placement.", &["guardedNodeLabels", "onNodes"])]
#[case::nothing_to_guard(json!({"onNodes": "Reject"}), "placement.onNodes", &[])]
#[case::nothing_to_guard_from_changes(json!({"onNodes": "RejectChanges", "guardedNodeLabels": []}), "placement.onNodes", &[])]
#[case::only_preferences(json!({"onNodes": "Reject", "namespaces": [{"name": "a", "preferredNodeSelector": [{"weight": 1, "selector": "b"}]}]}), "placement.onNodes", &[])]
#[case::only_labels_of_namespaces(json!({"onNodes": "Reject", "namespaces": [{"namespaceSelector": "a"}]}), "placement.onNodes", &[])]
#[case::only_whitelists_of_nothing(json!({"onNodes": "Reject", "namespaces": [{"name": "a", "allowedNodeSelector": ""}]}), "placement.onNodes", &[])]
#[case::a_star(json!({"onNodes": "Reject", "guardedNodeLabels": ["*"]}), "placement.guardedNodeLabels[0]", &["*"])]
#[case::a_star_without_a_slash(json!({"onNodes": "Reject", "guardedNodeLabels": ["a", "example.com*"]}), "placement.guardedNodeLabels[1]", &["example.com*"])]
#[case::a_star_behind_a_name(json!({"onNodes": "Reject", "guardedNodeLabels": ["example.com/a*"]}), "placement.guardedNodeLabels[0]", &["example.com/a*"])]
#[case::a_star_within_a_prefix(json!({"onNodes": "Reject", "guardedNodeLabels": ["*.example.com/*"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_slash_without_a_star(json!({"onNodes": "Reject", "guardedNodeLabels": ["example.com/"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_star_without_a_prefix(json!({"onNodes": "Reject", "guardedNodeLabels": ["/*"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_prefix_that_is_none(json!({"onNodes": "Reject", "guardedNodeLabels": ["Example_/*"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_key_that_is_none(json!({"onNodes": "Reject", "guardedNodeLabels": ["a b"]}), "placement.guardedNodeLabels[0]", &["a b"])]
#[case::a_key_with_two_prefixes(json!({"onNodes": "Reject", "guardedNodeLabels": ["a/b/c"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_selector(json!({"onNodes": "Reject", "guardedNodeLabels": ["a=b"]}), "placement.guardedNodeLabels[0]", &[])]
#[case::an_empty_text(json!({"onNodes": "Reject", "guardedNodeLabels": [""]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_number(json!({"onNodes": "Reject", "guardedNodeLabels": [5]}), "placement.guardedNodeLabels[0]", &[])]
#[case::a_null(json!({"onNodes": "Reject", "guardedNodeLabels": ["a", null]}), "placement.guardedNodeLabels[1]", &[])]
#[case::no_list(json!({"onNodes": "Reject", "guardedNodeLabels": "agentpool"}), "placement.guardedNodeLabels", &[])]
fn invalid_guarded_labels(#[case] block: Value, #[case] path: &str, #[case] words: &[&str]) {
    expect_mistake(&placement(&block), path, words);
}

#[rstest]
#[case::none(json!([]))]
#[case::service_accounts_and_users(json!(["system:serviceaccount:kueue-system:kueue-controller-manager", "alice@example.com", "system:serviceaccount:kube-system:cluster-autoscaler"]))]
#[case::a_second_scheduler(json!(["system:serviceaccount:kube-system:my-scheduler"]))]
#[case::a_controller_of_another_namespace(json!(["system:serviceaccount:team-a:job-controller"]))]
#[case::a_name_in_another_case(json!(["alice", "Alice"]))]
fn valid_exempt_users(#[case] list: Value) {
    assert_eq!(validate_settings(placement(&json!({"exemptUsernames": list})).to_string().as_bytes()), None);
}

#[rstest]
#[case::empty(json!([""]), "[0]", &[])]
#[case::empty_behind_another(json!(["alice", ""]), "[1]", &[])]
#[case::repeated(json!(["alice", "bob", "alice"]), "[2]", &["alice"])]
#[case::everybody_who_is_not_known(json!(["system:anonymous"]), "[0]", &["one user", "system:anonymous"])]
#[case::a_pattern(json!(["alice", "system:serviceaccount:kueue-system:*"]), "[1]", &["one user"])]
#[case::a_number(json!([5]), "[0]", &[])]
#[case::a_null(json!(["alice", null]), "[1]", &[])]
#[case::an_object(json!([{"name": "alice"}]), "[0]", &[])]
#[case::no_list(json!("alice"), "", &[])]
#[case::all_controllers_in_one(json!(["system:kube-controller-manager"]), "[0]", &["system:kube-controller-manager"])]
#[case::the_replica_set_controller(json!(["system:serviceaccount:kube-system:replicaset-controller"]), "[0]", &["replicaset-controller"])]
#[case::the_deployment_controller(json!(["system:serviceaccount:kube-system:deployment-controller"]), "[0]", &["deployment-controller"])]
#[case::the_stateful_set_controller(json!(["system:serviceaccount:kube-system:statefulset-controller"]), "[0]", &["statefulset-controller"])]
#[case::the_daemon_set_controller(json!(["alice", "system:serviceaccount:kube-system:daemon-set-controller"]), "[1]", &["daemon-set-controller"])]
#[case::the_job_controller(json!(["system:serviceaccount:kube-system:job-controller"]), "[0]", &["job-controller"])]
#[case::the_cron_job_controller(json!(["system:serviceaccount:kube-system:cronjob-controller"]), "[0]", &["cronjob-controller"])]
#[case::the_replication_controller(json!(["system:serviceaccount:kube-system:replication-controller"]), "[0]", &["replication-controller"])]
fn invalid_exempt_users(#[case] list: Value, #[case] path: &str, #[case] words: &[&str]) {
    expect_mistake(&placement(&json!({"exemptUsernames": list})), &format!("placement.exemptUsernames{path}"), words);
}

/// Told with the known ones.
#[rstest]
#[case::on_default_conflict(json!({"onDefaultConflict": "yield"}), "placement.onDefaultConflict", &["yield", "Reject", "Yield"])]
#[case::on_default_conflict_of_another_setting(json!({"onDefaultConflict": "Ignore"}), "placement.onDefaultConflict", &["Reject", "Yield"])]
#[case::on_runtime_classes(json!({"onRuntimeClasses": "Merge"}), "placement.onRuntimeClasses", &["Merge", "Resolve", "Ignore"])]
#[case::enforcement(json!({"namespaces": [{"name": "a", "enforcement": "Audit"}]}), "placement.namespaces[0].enforcement", &["Audit", "Enforce", "Warn"])]
#[case::enforcement_in_another_case(json!({"namespaces": [{"name": "a", "enforcement": "warn"}]}), "placement.namespaces[0].enforcement", &["Enforce", "Warn"])]
#[case::an_empty_word(json!({"onDefaultConflict": ""}), "placement.onDefaultConflict", &["Reject", "Yield"])]
#[case::a_word_with_a_blank(json!({"onRuntimeClasses": "Resolve "}), "placement.onRuntimeClasses", &["Resolve", "Ignore"])]
#[case::a_boolean(json!({"onDefaultConflict": true}), "placement.onDefaultConflict", &["string"])]
#[case::a_number(json!({"onRuntimeClasses": 1}), "placement.onRuntimeClasses", &["string"])]
#[case::an_object_that_holds_the_word(json!({"onNodeName": {"Reject": null}}), "placement.onNodeName", &["string"])]
#[case::an_object_that_holds_a_new_word(json!({"onDefaultConflict": {"Yield": null}}), "placement.onDefaultConflict", &["string"])]
#[case::an_object_that_holds_a_word_of_an_entry(json!({"namespaces": [{"name": "a", "enforcement": {"Warn": null}}]}), "placement.namespaces[0].enforcement", &["string"])]
#[case::a_list_that_holds_the_word(json!({"onNodeName": ["Reject"]}), "placement.onNodeName", &["string"])]
#[case::enforcement_of_the_whole(json!({"enforcement": "Warn"}), "placement", &["enforcement"])]
#[case::a_choice_of_the_whole_in_an_entry(json!({"namespaces": [{"name": "a", "onDefaultConflict": "Yield"}]}), "placement.namespaces[0]", &["onDefaultConflict"])]
fn unknown_words(#[case] block: Value, #[case] path: &str, #[case] words: &[&str]) {
    expect_mistake(&placement(&block), path, words);
}

/// An unknown field is told with the known one that looks most like it.
#[rstest]
#[case::of_the_whole(json!({"nodeMetaData": {"propagate": [{"nodeLabel": "a"}]}}), "nodeMetaData", "nodeMetadata")]
#[case::of_the_whole_by_a_letter(json!({"placements": {}}), "placements", "placement")]
#[case::of_placement_by_a_letter_too_many(json!({"placement": {"onNodeNames": "Verify"}}), "onNodeNames", "onNodeName")]
#[case::of_placement_by_letters_exchanged(json!({"placement": {"onDeamonSets": "Inject"}}), "onDeamonSets", "onDaemonSets")]
#[case::of_placement_by_a_case(json!({"placement": {"onRuntimeclasses": "Resolve"}}), "onRuntimeclasses", "onRuntimeClasses")]
#[case::of_placement_by_a_word(json!({"placement": {"exemptUsers": []}}), "exemptUsers", "exemptUsernames")]
#[case::of_placement_by_a_singular(json!({"placement": {"guardedNodeLabel": []}}), "guardedNodeLabel", "guardedNodeLabels")]
#[case::of_an_entry(json!({"placement": {"namespaces": [{"name": "a", "requireNodeSelector": "a"}]}}), "requireNodeSelector", "requiredNodeSelector")]
#[case::of_an_entry_by_a_plural(json!({"placement": {"namespaces": [{"name": "a", "preferredNodeSelectors": []}]}}), "preferredNodeSelectors", "preferredNodeSelector")]
#[case::of_an_entry_by_letters_exchanged(json!({"placement": {"namespaces": [{"name": "a", "enforcemnet": "Warn"}]}}), "enforcemnet", "enforcement")]
#[case::of_a_toleration(json!({"placement": {"clusterDefaultTolerations": [{"key": "a", "efect": "NoSchedule"}]}}), "efect", "effect")]
#[case::of_a_preference(json!({"placement": {"namespaces": [{"name": "a", "preferredNodeSelector": [{"weight": 1, "select": "a"}]}]}}), "select", "selector")]
#[case::of_node_metadata(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a"}], "protected": true}}), "protected", "protect")]
#[case::of_what_is_propagated(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a", "podAnotation": "b"}]}}), "podAnotation", "podAnnotation")]
fn a_misspelt_field_is_told_with_the_known_one(#[case] settings: Value, #[case] field: &str, #[case] known: &str) {
    let found = mistakes(&settings);
    assert!(found.contains(field), "{field} is missing in {found}");
    assert!(found.contains(&format!("did you mean {known}?")), "{known} is missing in {found}");
}

/// Where none looks like it, the field is named all the same.
#[rstest]
#[case::of_placement(json!({"placement": {"xyzzy": 5}}), "placement")]
#[case::of_an_entry(json!({"placement": {"namespaces": [{"name": "a", "xyzzy": 5}]}}), "placement.namespaces[0]")]
#[case::of_a_toleration(json!({"placement": {"namespaces": [{"name": "a", "allowedTolerations": [{"key": "a", "xyzzy": 5}]}]}}), "placement.namespaces[0].allowedTolerations[0]")]
fn a_field_like_no_other(#[case] settings: Value, #[case] path: &str) {
    expect_mistake(&settings, path, &["xyzzy"]);
}

/// A block that a derived struct would take from a list, and names that a JSON library keeps for itself.
#[rstest]
#[case::a_list_for_placement(json!({"placement": []}), "placement", &["list"])]
#[case::a_list_of_a_block(json!({"placement": [{}]}), "placement", &["list"])]
#[case::a_text_for_placement(json!({"placement": "x"}), "placement", &[])]
#[case::a_boolean_for_placement(json!({"placement": true}), "placement", &[])]
#[case::a_list_for_the_node_selector_plugin(json!({"podNodeSelectorPluginConfig": []}), "podNodeSelectorPluginConfig", &["list"])]
#[case::a_list_for_node_metadata(json!({"nodeMetadata": []}), "nodeMetadata", &["list"])]
#[case::a_list_for_an_entry(json!({"placement": {"namespaces": [["a"]]}}), "placement.namespaces[0]", &["list"])]
#[case::a_list_for_a_toleration(json!({"placement": {"clusterDefaultTolerations": [["a", "Exists"]]}}), "placement.clusterDefaultTolerations[0]", &["list"])]
#[case::a_list_for_what_is_propagated(json!({"nodeMetadata": {"propagate": [["a"]]}}), "nodeMetadata.propagate[0]", &["list"])]
#[case::a_null_among_the_entries(json!({"placement": {"namespaces": [{"name": "a"}, null]}}), "placement.namespaces[1]", &[])]
#[case::a_null_among_the_annotations(json!({"placement": {"namespaceAnnotations": [null]}}), "placement.namespaceAnnotations[0]", &[])]
#[case::a_null_among_the_clusters_tolerations(json!({"placement": {"clusterDefaultTolerations": [null]}}), "placement.clusterDefaultTolerations[0]", &[])]
#[case::a_null_among_an_entrys_tolerations(json!({"placement": {"namespaces": [{"name": "a", "forbiddenTolerations": [null]}]}}), "placement.namespaces[0].forbiddenTolerations[0]", &[])]
#[case::a_null_among_what_is_propagated(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "a"}, null]}}), "nodeMetadata.propagate[1]", &[])]
#[case::a_name_of_the_library(json!({"$serde_json::private::RawValue": "{}"}), "", &["$serde_json::private::RawValue"])]
#[case::a_name_of_the_library_in_placement(json!({"placement": {"$serde_json::private::RawValue": "{}"}}), "placement", &["$serde_json::private::RawValue"])]
#[case::a_name_of_the_library_for_numbers(json!({"placement": {"$serde_json::private::Number": "1"}}), "placement", &["$serde_json::private::Number"])]
fn blocks_of_wrong_types(#[case] settings: Value, #[case] path: &str, #[case] words: &[&str]) {
    expect_mistake(&settings, path, words);
}

/// The cluster's default where no Pod of the entry could be created.
#[rstest]
#[case::another_label("env=development", "pool", true)]
#[case::another_value("env=development", "env=production", true)]
#[case::nothing_is_allowed("env=development", "", true)]
#[case::by_node_affinity("env in (a,b)", "env in (a)", true)]
#[case::one_label_of_two("env=development,zone=a", "env", true)]
#[case::one_label_of_two_with_a_reference_on_the_other("env=development,zone=a", "zone=$(zone)", true)]
#[case::allowed("env=development", "env in (development,production)", false)]
#[case::allowed_whatever_the_value("env=development", "env", false)]
#[case::a_reference("env=development", "env=$(env)", false)]
fn a_cluster_default_that_a_whitelist_does_not_allow(
    #[case] cluster_default: &str,
    #[case] allowed: &str,
    #[case] is_mistaken: bool,
) {
    let settings = |more: &Value, entry_more: &Value| {
        let mut entry = json!({"name": "a", "allowedNodeSelector": allowed});
        let mut block = json!({"namespaceAnnotations": [], "clusterDefaultNodeSelector": cluster_default});
        entry.as_object_mut().unwrap().extend(entry_more.as_object().unwrap().clone());
        block["namespaces"] = json!([entry]);
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        placement(&block)
    };
    let none = json!({});
    let found = validate_settings(settings(&none, &none).to_string().as_bytes());
    assert_eq!(found.is_some(), is_mistaken, "{found:?}");
    if let Some(found) = found {
        assert!(found.contains("allowedNodeSelector") && found.contains("clusterDefaultNodeSelector"), "{found}");
    }
    // What may lead to another selector than the cluster's default is no mistake.
    for (more, entry_more) in [
        (json!({"namespaceAnnotations": null}), json!({})),
        (json!({"onDefaultConflict": "Yield"}), json!({})),
        (json!({}), json!({"defaultNodeSelector": ""})),
    ] {
        assert_eq!(validate_settings(settings(&more, &entry_more).to_string().as_bytes()), None);
    }
}

#[rstest]
#[case::what_is_required_as_well(json!({"namespaceAnnotations": [], "clusterDefaultNodeSelector": "env=a", "namespaces": [{"name": "a", "requiredNodeSelector": "env in (a)", "allowedNodeSelector": "pool"}]}))]
#[case::node_affinity_that_nobody_checks(json!({"namespaceAnnotations": [], "onNodeAffinity": "Ignore", "clusterDefaultNodeSelector": "env in (a,b)", "namespaces": [{"name": "a", "allowedNodeSelector": "pool"}]}))]
fn a_cluster_default_that_need_not_be_allowed(#[case] block: Value) {
    assert_eq!(validate_settings(placement(&block).to_string().as_bytes()), None);
}

/// Trying out is what `enforcement: Warn` is for, and it does not make a hole.
#[rstest]
fn daemon_sets_are_judged_beside_a_whitelist(
    #[values("Warn", "Ignore")] on_daemon_sets: &str,
    #[values("Enforce", "Warn")] enforcement: &str,
) {
    let entry = json!({"name": "a", "enforcement": enforcement, "allowedNodeSelector": "pool"});
    let mut block = json!({"onDaemonSets": on_daemon_sets, "namespaces": [entry]});
    expect_mistake(&placement(&block), "placement.onDaemonSets", &["allowedNodeSelector"]);
    block["onNodeAffinity"] = json!("Ignore");
    assert_eq!(validate_settings(placement(&block).to_string().as_bytes()), None);
}

#[rstest]
#[case::everything_before_an_entry_by_label(json!([{"name": "*"}, {"namespaceSelector": "a"}]))]
#[case::a_beginning_before_a_name_and_labels(json!([{"name": "team-*"}, {"name": "team-a", "namespaceSelector": "a"}]))]
fn an_entry_that_is_never_reached(#[case] entries: Value) {
    expect_mistake(
        &placement(&json!({"namespaces": entries})),
        "placement.namespaces[1]",
        &["placement.namespaces[0]"],
    );
}

#[test]
fn all_new_mistakes_are_told_at_once() {
    let settings = json!({"placement": {
        "clusterDefaultNodeSelector": "a=$(t)",
        "guardedNodeLabels": ["*"],
        "exemptUsernames": [""],
        "namespaces": [{"name": "a", "requiredNodeSelector": "a=$()", "preferredNodeSelector": [{"weight": 0, "selector": ""}]}],
    }});
    let found = mistakes(&settings);
    for path in [
        "placement.clusterDefaultNodeSelector: ",
        "placement.guardedNodeLabels[0]: ",
        "placement.exemptUsernames[0]: ",
        "placement.namespaces[0].requiredNodeSelector: ",
        "placement.namespaces[0].preferredNodeSelector[0].weight: ",
        "placement.namespaces[0].preferredNodeSelector[0].selector: ",
    ] {
        assert!(found.contains(path), "{path} is missing in {found}");
    }
}

fn list(count: usize, element: impl Fn(usize) -> Value) -> Value {
    (0..count).map(element).collect()
}

fn words(count: usize, word: impl Fn(usize) -> String) -> String {
    (0..count).map(word).collect::<Vec<_>>().join(",")
}

fn set(count: usize) -> String {
    format!("k in ({})", words(count, |at| format!("v{at}")))
}

fn tolerations(count: usize) -> Value {
    list(count, |at| json!({"key": format!("k{at}"), "operator": "Exists"}))
}

fn preferred(count: usize) -> Value {
    list(count, |at| json!({"weight": 1, "selector": format!("k{at}")}))
}

/// What would be added to every Pod is one more than a Pod may have.
#[rstest]
#[case::values(json!({"namespaces": [{"name": "a", "requiredNodeSelector": set(10_000)}]}), "placement.namespaces[0].requiredNodeSelector", "10001 expressions and values")]
#[case::values_of_a_default(json!({"namespaces": [{"name": "a", "defaultNodeSelector": set(10_000)}]}), "placement.namespaces[0].defaultNodeSelector", "10001 expressions and values")]
#[case::values_of_the_clusters_default(json!({"clusterDefaultNodeSelector": set(10_000)}), "placement.clusterDefaultNodeSelector", "10001 expressions and values")]
#[case::values_with_a_reference(json!({"namespaces": [{"name": "a", "requiredNodeSelector": format!("k in ($(t),{})", words(9_999, |at| format!("v{at}")))}]}), "placement.namespaces[0].requiredNodeSelector", "10001")]
#[case::expressions(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(10_001, |at| format!("k{at}"))}]}), "placement.namespaces[0].requiredNodeSelector", "10001")]
#[case::values_of_both(json!({"namespaces": [{"name": "a", "requiredNodeSelector": set(5_000), "defaultNodeSelector": format!("b,c,{}", set(4_999))}]}), "placement.namespaces[0].defaultNodeSelector", "10003")]
#[case::values_of_an_entry_and_the_cluster(json!({"clusterDefaultNodeSelector": "b,c", "namespaces": [{"name": "a", "requiredNodeSelector": set(9_998)}]}), "placement.clusterDefaultNodeSelector", "10001")]
#[case::pairs_beside_a_whitelist(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(1_001, |at| format!("k{at}=v")), "allowedNodeSelector": ""}]}), "placement.namespaces[0].requiredNodeSelector", "1001 pairs")]
#[case::pairs_of_both_beside_a_whitelist(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(1_000, |at| format!("k{at}=v")), "defaultNodeSelector": "k in (v)", "allowedNodeSelector": "k"}]}), "placement.namespaces[0].defaultNodeSelector", "1001 pairs")]
#[case::tolerations(json!({"namespaces": [{"name": "a", "defaultTolerations": tolerations(1_001)}]}), "placement.namespaces[0].defaultTolerations", "1001 tolerations")]
#[case::tolerations_of_the_cluster(json!({"clusterDefaultTolerations": tolerations(1_001)}), "placement.clusterDefaultTolerations", "1001 tolerations")]
#[case::preferred_terms(json!({"namespaces": [{"name": "a", "preferredNodeSelector": preferred(1_001)}]}), "placement.namespaces[0].preferredNodeSelector", "1001 preferred terms")]
#[case::preferred_values(json!({"namespaces": [{"name": "a", "preferredNodeSelector": [{"weight": 1, "selector": set(10_000)}]}]}), "placement.namespaces[0].preferredNodeSelector", "10001 expressions and values")]
fn more_than_a_pod_may_have(#[case] block: Value, #[case] path: &str, #[case] amount: &str) {
    expect_mistake(&placement(&block), path, &[amount, "no Pod could be created"]);
}

#[rstest]
#[case::values(json!({"clusterDefaultNodeSelector": set(9_999), "namespaces": [{"name": "a", "requiredNodeSelector": set(9_999)}]}))]
#[case::values_of_several(json!({"namespaces": [{"name": "a", "requiredNodeSelector": set(4_999), "defaultNodeSelector": format!("b,c,{}", set(4_997))}]}))]
#[case::a_default_that_switches_the_clusters_off(json!({"clusterDefaultNodeSelector": "b,c", "namespaces": [{"name": "a", "requiredNodeSelector": set(9_999), "defaultNodeSelector": ""}]}))]
#[case::requirements_that_are_repeated(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(10_001, |_| "k".to_owned())}]}))]
#[case::pairs_beside_a_whitelist(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(1_000, |at| format!("k{at}=v")), "allowedNodeSelector": ""}]}))]
#[case::pairs_without_a_whitelist(json!({"namespaces": [{"name": "a", "requiredNodeSelector": words(1_001, |at| format!("k{at}=v"))}]}))]
#[case::tolerations(json!({"clusterDefaultTolerations": tolerations(1_000), "namespaces": [{"name": "a", "defaultTolerations": tolerations(1_000), "allowedTolerations": tolerations(1_001)}]}))]
#[case::tolerations_that_one_covers(json!({"clusterDefaultTolerations": list(1_001, |at| if at == 0 { json!({"operator": "Exists"}) } else { json!({"key": format!("k{at}")}) })}))]
#[case::preferred_terms(json!({"namespaces": [{"name": "a", "preferredNodeSelector": preferred(1_000)}]}))]
#[case::a_whitelist_of_many_values(json!({"namespaces": [{"name": "a", "allowedNodeSelector": set(10_000)}]}))]
fn as_much_as_a_pod_may_have(#[case] block: Value) {
    assert_eq!(validate_settings(placement(&block).to_string().as_bytes()), None);
}

#[rstest]
#[case::another_name("a", "kubernetes.io/metadata.name=b")]
#[case::all_but_the_name("a", "kubernetes.io/metadata.name!=a")]
#[case::other_names("a", "tenant,kubernetes.io/metadata.name in (b,c)")]
#[case::no_name("a", "!kubernetes.io/metadata.name")]
#[case::a_bound("a", "kubernetes.io/metadata.name>5")]
#[case::other_names_than_those_that_begin_so("team-*", "kubernetes.io/metadata.name in (tea,team,other-team-a)")]
#[case::all_but_the_listed_names_that_begin_so(
    "team-*",
    "kubernetes.io/metadata.name in (team-a,b),kubernetes.io/metadata.name!=team-a"
)]
#[case::a_bound_of_names_that_begin_with_letters("team-*", "kubernetes.io/metadata.name>5")]
#[case::a_name_that_no_namespace_has("*", "kubernetes.io/metadata.name=Team_A")]
#[case::no_name_of_any("*", "!kubernetes.io/metadata.name")]
fn a_name_that_the_selector_excludes(#[case] name: &str, #[case] selector: &str) {
    let settings = placement(&json!({"namespaces": [{"name": name, "namespaceSelector": selector}]}));
    let words = ["no namespace", "kubernetes.io/metadata.name"];
    expect_mistake(&settings, "placement.namespaces[0].namespaceSelector: ", &words);
}

#[rstest]
#[case::the_name("a", "kubernetes.io/metadata.name=a")]
#[case::one_of_the_names("a", "kubernetes.io/metadata.name in (a,b)")]
#[case::another_one("a", "kubernetes.io/metadata.name!=b")]
#[case::any("a", "kubernetes.io/metadata.name")]
#[case::a_name_that_begins_so("team-*", "kubernetes.io/metadata.name in (a,team-a)")]
#[case::the_beginning_itself("team*", "kubernetes.io/metadata.name=team")]
#[case::all_but_one("team-*", "kubernetes.io/metadata.name!=team-a")]
#[case::a_bound("7*", "kubernetes.io/metadata.name>5")]
#[case::a_bound_of_all("*", "kubernetes.io/metadata.name>5")]
#[case::another_label("a", "metadata.name=b")]
fn a_name_that_the_selector_does_not_exclude(#[case] name: &str, #[case] selector: &str) {
    let settings = placement(&json!({"namespaces": [{"name": name, "namespaceSelector": selector}]}));
    assert_eq!(validate_settings(settings.to_string().as_bytes()), None);
}
