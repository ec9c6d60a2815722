//! The twin agrees with the policy: the policy makes the same of a Pod, whether what `policy --in-process` prints has
//! completed it before or not. And what it completes passes the backstop.

use std::{cell::Cell, fs, path::Path};

use crate::fences::{Tenant, by_label, by_name, by_reference, creation, namespace, pod};
use anyhow::{Result, ensure};
use cli::{
    input::documents::yaml_documents,
    policies::{overrides::Overrides, twin::twin_file},
};
use e2e_tests::{
    Manifests, Policy,
    admission_policies::{AdmissionPolicies, as_stored},
};
use node_placement_policy::placement::node_affinity::{NodeSelection, Term};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use rstest::rstest;
use serde_json::{Value, json};

fn twin(settings: &Value) -> Result<AdmissionPolicies> {
    AdmissionPolicies::read(&printed(settings)?)
}

fn printed(settings: &Value) -> Result<String> {
    twin_file(&settings.to_string(), &Overrides::default())
}

/// Returns what becomes of a Pod in a namespace.
fn mutated(settings: &Value, tenant: &Value, pod: &Value) -> Result<Value> {
    twin(settings)?.mutate(&creation(tenant, pod), tenant)
}

fn example(name: &str) -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name))?)
}

fn namespaces(labels: &[(&str, Value)]) -> Vec<Value> {
    labels.iter().map(|(name, labels)| namespace(name, labels)).collect()
}

fn with_namespaces((settings, tenants): (Value, Vec<Tenant>)) -> (Value, Vec<Value>) {
    (settings, tenants.into_iter().map(|tenant| tenant.namespace).collect())
}

fn tenants_of_the_example() -> (Value, Vec<Value>) {
    let policy = yaml_documents(&example("tenants.yml").expect("a file")).expect("YAML").remove(0);
    let tenants = [("oil", json!({ "capsule.clastix.io/tenant": "oil" })), ("other", json!({}))];
    (policy["spec"]["settings"].clone(), namespaces(&tenants))
}

/// Tolerations of every form, with references, in one list with what covers them, and annotations in their place.
fn tolerations() -> (Value, Vec<Value>) {
    let defaults = json!([
        { "key": "team", "value": "$(team)", "effect": "NoSchedule" },
        { "key": "team", "operator": "Equal", "value": "$(other)" },
        { "key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30 },
        { "key": "gpu", "operator": "Exists" },
        { "key": "gpu", "value": "a", "effect": "PreferNoSchedule" },
    ]);
    let settings = json!({ "placement": {
        "onTolerationAnnotations": "Honor", "onNodeName": "Ignore", "clusterDefaultTolerations": [{ "key": "rest", "operator": "Exists" }],
        "namespaces": [
            { "namespaceSelector": "team", "requiredNodeSelector": "pool=blue,!gpu", "defaultTolerations": defaults,
              "allowedTolerations": [{ "key": "gpu", "operator": "Exists" }] },
            { "name": "all", "requiredNodeSelector": "pool=blue", "defaultTolerations": [{ "operator": "Exists" }] },
            { "name": "free", "defaultTolerations": [{ "key": "gpu", "operator": "Exists", "effect": "NoExecute" }],
              "forbiddenTolerations": [{ "key": "team", "operator": "Exists" }] },
            { "name": "rest", "requiredNodeSelector": "pool=red" },
        ],
    } });
    let mut tenants = namespaces(&[
        ("a", json!({ "team": "a", "other": "b" })),
        ("b", json!({ "team": "b", "other": "b" })),
        ("c", json!({ "team": "b" })),
        ("all", json!({})),
        ("free", json!({})),
        ("rest", json!({})),
        ("d", json!({ "team": "a", "other": "b" })),
    ]);
    let annotation = json!([{ "key": "annotated", "operator": "Exists" }]).to_string();
    tenants[6]["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/defaultTolerations": annotation });
    (settings, tenants)
}

/// Defaults, annotations and whitelists beside what is required; nothing that yields.
fn defaults() -> (Value, Vec<Value>) {
    let settings = json!({ "placement": {
        "clusterDefaultNodeSelector": "disk=a", "onNodeName": "Ignore", "namespaces": [
            { "name": "a", "requiredNodeSelector": "pool in (blue,red)", "defaultNodeSelector": "pool=blue,zone notin (b)" },
            { "name": "b", "requiredNodeSelector": "pool=blue,zone in (a,b)", "allowedNodeSelector": "disk,gpu" },
            { "name": "c", "requiredNodeSelector": "!gpu,n>4", "allowedNodeSelector": "" },
            { "name": "d", "requiredNodeSelector": "pool=blue", "enforcement": "Warn" },
        ],
    } });
    let mut tenants =
        namespaces(&[("a", json!({})), ("b", json!({})), ("c", json!({})), ("d", json!({})), ("a", json!({}))]);
    tenants[4]["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/node-selector": "pool!=blue" });
    (settings, tenants)
}

/// Defaults that yield to what Pods choose. Some of them are on labels that are required, too; some are replaced.
fn yielding() -> (Value, Vec<Value>) {
    let settings = json!({ "placement": {
        "clusterDefaultNodeSelector": "disk=a", "onDefaultConflict": "Yield", "onNodeName": "Ignore", "namespaces": [
            { "name": "a", "requiredNodeSelector": "pool in (blue,red)", "defaultNodeSelector": "pool=blue" },
            { "name": "b", "requiredNodeSelector": "pool in (blue,red),!gpu", "defaultNodeSelector": "zone=a,n>4" },
            { "name": "c", "requiredNodeSelector": "disk!=b", "allowedNodeSelector": "pool,zone,n" },
            { "name": "d", "requiredNodeSelector": "pool=blue", "forbiddenNodeLabels": ["m"] },
            { "name": "e", "requiredNodeSelector": "pool=blue", "defaultNodeSelector": "" },
            { "name": "f", "requiredNodeSelector": "zone notin (b)", "defaultNodeSelector": "zone=$(zone),pool in (blue,red)" },
            { "name": "g", "defaultNodeSelector": "zone=a", "enforcement": "Warn" },
        ],
    } });
    let mut tenants = namespaces(&[
        ("a", json!({})),
        ("b", json!({})),
        ("c", json!({})),
        ("d", json!({})),
        ("e", json!({})),
        ("f", json!({ "zone": "a" })),
        ("f", json!({})),
        ("g", json!({})),
        ("h", json!({})),
        ("b", json!({})),
    ]);
    tenants[9]["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/node-selector": "disk!=a" });
    (settings, tenants)
}

/// No default at all, where it would yield.
fn yielding_nothing() -> (Value, Vec<Value>) {
    let settings = json!({ "placement": { "onDefaultConflict": "Yield", "onNodeName": "Ignore", "namespaces": [
        { "name": "*", "requiredNodeSelector": "pool=blue" },
    ] } });
    let mut tenants = namespaces(&[("a", json!({})), ("b", json!({}))]);
    tenants[1]["metadata"]["annotations"] = json!({ "scheduler.alpha.kubernetes.io/node-selector": "zone!=a" });
    (settings, tenants)
}

/// What terms say chooses nothing.
fn yielding_to_node_selectors() -> (Value, Vec<Value>) {
    let (mut settings, tenants) = yielding();
    settings["placement"]["onNodeAffinity"] = "Ignore".into();
    (settings, tenants)
}

/// Required together: what is one value only sometimes, what becomes the same, what contradicts itself.
fn colliding_references() -> (Value, Vec<Value>) {
    let settings = json!({ "placement": { "namespaceAnnotations": [], "onNodeName": "Ignore", "namespaces": [
        { "name": "*", "requiredNodeSelector": "pool in (b,$(x),a),zone!=$(x),zone notin ($(y)),disk=$(x),disk=$(y),n<$(z)" },
    ] } });
    let tenants = [
        ("a", json!({ "x": "a", "y": "a", "z": "9" })),
        ("b", json!({ "x": "a", "y": "b", "z": "9" })),
        ("c", json!({ "x": "c", "y": "c", "z": "09" })),
        ("d", json!({ "x": "c", "y": "c", "z": "x" })),
    ];
    (settings, namespaces(&tenants))
}

/// Entries for Pods with some labels, before and between those for all.
fn pod_labels() -> (Value, Vec<Value>) {
    let settings = json!({ "placement": { "namespaceAnnotations": [], "onNodeName": "Ignore", "namespaces": [
        { "name": "a", "podSelector": "app=agent" },
        { "namespaceSelector": "tenant", "podSelector": "role in (driver),app!=web", "requiredNodeSelector": "pool=$(tenant)",
          "defaultTolerations": [{ "key": "team", "value": "a" }] },
        { "name": "*", "podSelector": "app", "requiredNodeSelector": "pool=red", "enforcement": "Warn" },
        { "name": "*", "requiredNodeSelector": "pool in (blue,red)", "forbiddenNodeLabels": ["disk"] },
    ] } });
    (settings, namespaces(&[("a", json!({})), ("b", json!({ "tenant": "blue" })), ("c", json!({ "tenant": "" }))]))
}

/// A toleration that an API server takes.
fn toleration() -> impl Strategy<Value = Value> {
    let parts = (
        prop::sample::select(&["team", "gpu", "rest", ""][..]),
        prop::sample::select(&["", "Equal", "Exists"][..]),
        prop::sample::select(&["a", "b", ""][..]),
        prop::sample::select(&["", "NoSchedule", "PreferNoSchedule", "NoExecute"][..]),
        prop::option::of(prop::sample::select(&[0, 30, 300][..])),
    );
    parts.prop_map(|(key, operator, value, effect, seconds)| {
        let operator = if key.is_empty() { "Exists" } else { operator };
        let value = if operator == "Exists" { "" } else { value };
        let texts = [("key", key), ("operator", operator), ("value", value), ("effect", effect)];
        let mut toleration: Value =
            texts.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (*name, json!(text))).collect();
        if effect == "NoExecute"
            && let Some(seconds) = seconds
        {
            toleration["tolerationSeconds"] = seconds.into();
        }
        toleration
    })
}

/// Any Pod, with tolerations, and with affinity that is there in part.
fn any_pod() -> impl Strategy<Value = Value> {
    let affinities = [json!(null), json!({}), json!({ "podAffinity": {} }), json!({ "nodeAffinity": {} })];
    let preferred = json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [] } });
    let affinity = prop::sample::select([&affinities[..], &[preferred]].concat());
    let tolerations = prop::option::of(prop::collection::vec(toleration(), 0..3));
    let empties = (prop::bool::weighted(0.1), prop::bool::weighted(0.05));
    let label = (prop::sample::select(&["app", "role"][..]), prop::sample::select(&["agent", "web", "driver"][..]));
    let labels = prop::option::of(prop::collection::btree_map(label.0, label.1, 0..3));
    let all = (pod(), affinity, tolerations, empties, labels);
    all.prop_map(|(mut pod, affinity, tolerations, (selector, terms), labels)| {
        if let Some(labels) = labels {
            pod["metadata"]["labels"] = json!(labels);
        }
        let spec = &mut pod["spec"];
        if spec["affinity"].is_null() && !affinity.is_null() {
            spec["affinity"] = affinity;
        }
        if let Some(tolerations) = tolerations {
            spec["tolerations"] = tolerations.into();
        }
        if selector && spec["nodeSelector"].is_null() {
            spec["nodeSelector"] = json!({});
        }
        if terms {
            spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!({ "nodeSelectorTerms": [{}] });
        }
        pod
    })
}

/// Returns whether there can be a node for the Pod, as far as its own terms and its nodeSelector say.
fn can_match(pod: &Value) -> bool {
    let spec = pod["spec"].to_string();
    let selection = NodeSelection::parse(&spec).expect("a PodSpec");
    let can_match = |term: &Term| term.can_match(&selection.node_selector);
    selection.terms.as_ref().is_none_or(|terms| terms.iter().any(can_match))
}

#[rstest]
#[case::names(with_namespaces(by_name()))]
#[case::labels(with_namespaces(by_label()))]
#[case::references(with_namespaces(by_reference()))]
#[case::colliding_references(colliding_references())]
#[case::tenants(tenants_of_the_example())]
#[case::tolerations(tolerations())]
#[case::defaults(defaults())]
#[case::pod_labels(pod_labels())]
#[case::yielding(yielding())]
#[case::yielding_nothing(yielding_nothing())]
#[case::yielding_to_node_selectors(yielding_to_node_selectors())]
fn the_policy_makes_the_same_of_a_pod(#[case] (settings, tenants): (Value, Vec<Value>)) -> Result<()> {
    let policy = Policy::native();
    let answer = policy.validate_settings(&settings)?;
    ensure!(answer.valid, "{:?}", answer.message);
    let twin = twin(&settings)?;
    let (completed, refused) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&(0..tenants.len(), any_pod()), |(tenant, asked)| {
        let tenant = &tenants[tenant];
        let decide = |pod: &Value| {
            let cluster: Manifests = [tenant.clone()].into_iter().collect();
            let answer = policy.validate(&creation(tenant, pod), &settings, cluster).expect("an answer").answer;
            let object = answer.mutated_object.clone().unwrap_or_else(|| pod.clone());
            (answer, as_stored(&object))
        };
        let mutated = twin.mutate(&creation(tenant, &asked), tenant).expect("an object");
        let (alone, of_policy) = decide(&asked);
        let (with_twin, of_both) = decide(&mutated);
        prop_assert_eq!(with_twin.accepted, alone.accepted, "{}: {:?} {:?}", mutated, alone.message, with_twin.message);
        if !alone.accepted {
            refused.set(refused.get() + 1);
            return Ok(());
        }
        prop_assert_eq!(of_both, of_policy, "of {}", mutated);
        let again = twin.mutate(&creation(tenant, &mutated), tenant).expect("an object");
        prop_assert_eq!(&again, &mutated, "the second time");
        if mutated != as_stored(&asked) {
            completed.set(completed.get() + 1);
        }
        let is_complete = twin.admit(&creation(tenant, &mutated), tenant).expect("a decision").denied.is_empty();
        if asked["spec"]["nodeName"].is_null() && can_match(&asked) {
            prop_assert!(is_complete, "the backstop refuses {}", mutated);
        }
        Ok(())
    })?;
    let (completed, refused) = (completed.get(), refused.get());
    ensure!(completed > 100 && refused > 20, "{completed} are completed, {refused} are refused");
    Ok(())
}

fn plain() -> Value {
    json!({ "metadata": { "generateName": "web-" }, "spec": { "containers": [{ "name": "app" }] } })
}

/// What the page on outages promises for the recommended settings.
#[rstest]
#[case::of_a_tenant("oil", json!({ "nodeSelector": { "node-restriction.kubernetes.io/tenant": "oil" },
    "tolerations": [{ "key": "tenant", "operator": "Equal", "value": "oil", "effect": "NoSchedule" }] }))]
#[case::of_all_others("other", json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{ "matchExpressions": [
        { "key": "node-restriction.kubernetes.io/tenant", "operator": "DoesNotExist" },
    ] }] } } } }))]
fn a_pod_that_requests_nothing_gets_what_is_required(#[case] name: &str, #[case] added: Value) -> Result<()> {
    let (settings, tenants) = tenants_of_the_example();
    let tenant = tenants.iter().find(|tenant| tenant["metadata"]["name"] == name).expect("a namespace");
    let mut expected = plain();
    expected["spec"].as_object_mut().expect("a spec").extend(added.as_object().expect("members").clone());
    let mutated = mutated(&settings, tenant, &plain())?;
    assert_eq!(mutated, expected);
    assert_eq!(twin(&settings)?.admit(&creation(tenant, &mutated), tenant)?.denied, Vec::<String>::new());
    Ok(())
}

/// A later webhook changed the Pod, and the API server asks again.
#[test]
fn what_a_webhook_removed_is_put_back() -> Result<()> {
    let settings =
        json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue,!gpu" }] } });
    let tenant = namespace("team", &json!({}));
    let completed = mutated(&settings, &tenant, &plain())?;
    let mut changed = completed.clone();
    changed["spec"].as_object_mut().expect("a spec").remove("nodeSelector");
    assert_eq!(mutated(&settings, &tenant, &changed)?, completed);
    Ok(())
}

/// It has terms with labels of every kind: each is narrowed but the empty one.
#[test]
fn every_term_that_can_match_is_narrowed() -> Result<()> {
    let settings =
        json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool in (a,b),!gpu" }] } });
    let fields = json!([{ "key": "metadata.name", "operator": "In", "values": ["node-a"] }]);
    let (pools, gpu) = (
        json!({ "key": "pool", "operator": "In", "values": ["a", "b"] }),
        json!({ "key": "gpu", "operator": "DoesNotExist" }),
    );
    let disk = json!({ "key": "disk", "operator": "Exists" });
    let reordered = json!({ "key": "pool", "operator": "In", "values": ["b", "a"] });
    let with = |terms: Value| {
        let mut pod = plain();
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
            terms;
        pod
    };
    let pod = with(json!([
        { "matchExpressions": [disk] }, {}, { "matchFields": fields }, { "matchExpressions": [gpu, reordered] },
    ]));
    let expected = with(json!([
        { "matchExpressions": [disk, gpu, pools] }, {}, { "matchFields": fields, "matchExpressions": [gpu, pools] },
        { "matchExpressions": [gpu, reordered] },
    ]));
    assert_eq!(mutated(&settings, &namespace("team", &json!({})), &pod)?, expected);
    Ok(())
}

/// Where defaults yield, a Pod gets what is required, and what the policy would find chosen then. Each Pod passes the
/// backstop.
#[rstest]
#[case::a_term_is_lost(
    json!({ "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue" }] }),
    json!([{ "key": "pool", "operator": "In", "values": ["red"] }, { "key": "zone", "operator": "In", "values": ["a"] }]),
    json!({ "pool": "blue" }),
)]
#[case::a_default_on_the_label(
    json!({ "namespaces": [{ "name": "*", "requiredNodeSelector": "pool!=red", "defaultNodeSelector": "pool=blue" }] }),
    json!(null),
    json!({ "pool": "blue" }),
)]
#[case::a_default_of_the_cluster(
    json!({ "namespaces": [{ "name": "*", "requiredNodeSelector": "pool!=red" }], "clusterDefaultNodeSelector": "pool=blue" }),
    json!([{ "key": "zone", "operator": "In", "values": ["a"] }]),
    json!({ "pool": "blue" }),
)]
#[case::the_pod_has_chosen(
    json!({ "namespaces": [{ "name": "*", "requiredNodeSelector": "pool!=red", "defaultNodeSelector": "pool=blue" }] }),
    json!([{ "key": "pool", "operator": "In", "values": ["green"] }]),
    json!(null),
)]
#[case::one_term_has_chosen(
    json!({ "namespaces": [{ "name": "*", "requiredNodeSelector": "zone=a", "defaultNodeSelector": "pool=blue" }] }),
    json!([{ "key": "pool", "operator": "Exists" }, { "key": "zone", "operator": "In", "values": ["b"] }]),
    json!({ "pool": "blue", "zone": "a" }),
)]
fn a_default_that_yields_keeps_no_pod_out(
    #[case] mut placement: Value,
    #[case] expressions: Value,
    #[case] node_selector: Value,
) -> Result<()> {
    placement["onDefaultConflict"] = "Yield".into();
    let (settings, tenant) = (json!({ "placement": placement }), namespace("team", &json!({})));
    let mut pod = plain();
    if let Some(expressions) = expressions.as_array() {
        let terms = expressions.iter().map(|expression| json!({ "matchExpressions": [expression] }));
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
            terms.collect();
    }
    let mutated = mutated(&settings, &tenant, &pod)?;
    assert_eq!(mutated["spec"]["nodeSelector"], node_selector);
    assert_eq!(twin(&settings)?.admit(&creation(&tenant, &mutated), &tenant)?.denied, Vec::<String>::new());
    Ok(())
}

/// The policy rejects it, and the backstop, too.
#[rstest]
#[case::by_its_node_selector(json!({ "nodeSelector": { "pool": "c" } }))]
#[case::by_its_only_term(json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "pool", "operator": "NotIn", "values": ["a", "b"] }] }, {}] } } } }))]
fn nothing_is_added_to_a_pod_that_requests_other_nodes(#[case] spec: Value) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool in (a,b)" }] } });
    let (tenant, mut pod) = (namespace("team", &json!({})), plain());
    pod["spec"] = spec;
    assert_eq!(mutated(&settings, &tenant, &pod)?, pod);
    assert_eq!(twin(&settings)?.admit(&creation(&tenant, &pod), &tenant)?.denied.len(), 1);
    Ok(())
}

/// Its namespaces get nothing of later entries.
#[test]
fn an_entry_that_warns_takes_its_place() -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [
        { "namespaceSelector": "trying", "requiredNodeSelector": "pool=red", "enforcement": "Warn",
          "defaultTolerations": [{ "key": "a", "operator": "Exists" }] },
        { "name": "*", "requiredNodeSelector": "pool=blue" },
    ] } });
    assert_eq!(mutated(&settings, &namespace("team", &json!({ "trying": "" })), &plain())?, plain());
    let mutated = mutated(&settings, &namespace("team", &json!({})), &plain())?;
    assert_eq!(mutated["spec"]["nodeSelector"], json!({ "pool": "blue" }));
    Ok(())
}

/// Neither what is required nor tolerations, if one of the labels is missing.
#[rstest]
#[case::of_the_selector(json!({ "team": "a" }))]
#[case::of_a_toleration(json!({ "pool": "a" }))]
fn an_unresolved_reference_adds_nothing(#[case] labels: Value) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=$(pool)",
        "defaultTolerations": [{ "key": "team", "value": "$(team)" }, { "key": "gpu", "operator": "Exists" }] }] } });
    let mutated = mutated(&settings, &namespace("team", &labels), &plain())?;
    assert_eq!(mutated["spec"]["tolerations"], Value::Null);
    assert_eq!(mutated["spec"]["nodeSelector"].is_null(), labels["pool"].is_null());
    Ok(())
}

/// Whoever writes the annotation is not a kubelet, and a kubelet also creates other Pods.
#[rstest]
#[case::by_a_kubelet(true, "system:nodes", true)]
#[case::by_a_tenant(true, "tenants", false)]
#[case::without_the_annotation(false, "system:nodes", false)]
fn mirror_pods_are_left_alone(#[case] annotated: bool, #[case] group: &str, #[case] unchanged: bool) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue" }] } });
    let (tenant, mut pod) = (namespace("team", &json!({})), plain());
    if annotated {
        pod["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "x" });
    }
    let mut request = creation(&tenant, &pod);
    request["userInfo"]["groups"] = json!(["system:authenticated", group]);
    assert_eq!(twin(&settings)?.mutate(&request, &tenant)? == pod, unchanged);
    Ok(())
}

#[test]
fn an_exempt_namespace_is_left_alone() -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue" }] } });
    assert_eq!(mutated(&settings, &namespace("kubewarden", &json!({})), &plain())?, plain());
    Ok(())
}

/// With the most that is allowed, an expression for the last entry is found, and no conditional within another one.
#[test]
fn a_hundred_entries_are_enough() -> Result<()> {
    let entries = (0..100).map(|index| {
        json!({ "name": format!("team-{index}"), "requiredNodeSelector": format!("pool in (p{index},$(x)),!gpu"),
                "defaultTolerations": [{ "key": "pool", "value": "$(x)" }] })
    });
    let settings = json!({ "placement": { "namespaces": entries.collect::<Value>() } });
    let mutated = mutated(&settings, &namespace("team-99", &json!({ "x": "y" })), &plain())?;
    let terms = &mutated["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!(terms["nodeSelectorTerms"][0]["matchExpressions"][1]["values"], json!(["p99", "y"]));
    for document in yaml_documents(&printed(&settings)?)? {
        for variable in document["spec"]["variables"].as_array().into_iter().flatten() {
            let expression = variable["expression"].as_str().expect("a text");
            assert!(!expression.contains(": []\n        :") && expression.len() < 100_000, "{expression}");
        }
    }
    Ok(())
}

#[rstest]
#[case::no_fence(json!({ "placement": { "clusterDefaultNodeSelector": "a=b" } }), "no entry of placement.namespaces has a")]
#[case::only_warnings(
    json!({ "placement": { "namespaces": [{ "name": "a", "requiredNodeSelector": "a=b", "enforcement": "Warn" }] } }),
    "every entry with a requiredNodeSelector has enforcement: Warn"
)]
fn with_nothing_to_add_there_is_no_twin(#[case] settings: Value, #[case] told: &str) {
    let error = printed(&settings).expect_err("nothing to add");
    assert!(format!("{error:#}").starts_with(told), "{error:#}");
}

/// `examples/in-process.yml` is for `examples/tenants.yml`, and begins with `examples/backstop.yml`: if the twin can't be
/// applied, the fence holds.
#[test]
fn the_example_is_what_the_tool_writes() -> Result<()> {
    let written = twin_file(&example("tenants.yml")?, &Overrides::default())?;
    ensure!(
        example("in-process.yml")?.trim_end() == written.trim_end(),
        "run: kubectl node-placement policy examples/tenants.yml --in-process > examples/in-process.yml"
    );
    ensure!(written.starts_with(&example("backstop.yml")?), "{written}");
    Ok(())
}

/// An API server makes a text of a larger number, and refuses that.
#[rstest]
#[case::the_largest(9_007_199_254_740_991, true)]
#[case::too_large(9_007_199_254_740_992, false)]
#[case::too_small(i64::MIN, false)]
fn tolerations_have_numbers_of_json(#[case] seconds: i64, #[case] is_added: bool) -> Result<()> {
    let tolerations = json!([
        { "key": "gpu", "operator": "Exists" },
        { "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds },
    ]);
    let entry = json!({ "name": "*", "requiredNodeSelector": "pool=blue", "defaultTolerations": tolerations });
    let settings = json!({ "placement": { "namespaces": [entry] } });
    let mutated = mutated(&settings, &namespace("team", &json!({})), &plain())?;
    assert_eq!(mutated["spec"]["tolerations"], if is_added { tolerations } else { Value::Null });
    assert_eq!(mutated["spec"]["nodeSelector"], json!({ "pool": "blue" }));
    Ok(())
}

/// Whoever applies it reads above it what else the policy adds.
#[test]
fn what_is_left_out_is_told() -> Result<()> {
    let settings = json!({
        "placement": {
            "clusterDefaultNodeSelector": "a=b", "clusterDefaultTolerations": [], "onDefaultConflict": "Yield",
            "onTolerationAnnotations": "Honor", "onExtendedResources": "Tolerate",
            "namespaces": [
                { "name": "a", "requiredNodeSelector": "b=c", "defaultNodeSelector": "" },
                { "name": "d", "requiredNodeSelector": "a in (b,c)", "preferredNodeSelector": [{ "weight": 1, "selector": "e" }] },
                { "name": "f", "requiredNodeSelector": "b=c", "enforcement": "Warn", "defaultNodeSelector": "d=e" },
                { "name": "g", "defaultNodeSelector": "d=e", "defaultTolerations": [
                    { "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9007199254740992_i64 },
                ] },
            ],
        },
        "nodeMetadata": { "propagate": [{ "nodeLabel": "zone" }] },
    });
    let written = printed(&settings)?;
    let (_, twin) = written.split_once("# A twin").expect("a twin");
    for told in [
        "node selectors in annotations of namespaces",
        "placement.clusterDefaultNodeSelector, where no requiredNodeSelector is added",
        "defaultNodeSelector of placement.namespaces[2, 3]",
        "preferredNodeSelector of placement.namespaces[1]",
        "placement.clusterDefaultTolerations",
        "tolerations in annotations of namespaces",
        "placement.onExtendedResources",
        "what nodeMetadata adds",
        "anything of placement.namespaces[2], with enforcement: Warn",
        "defaultTolerations of placement.namespaces[3]: a patch can't have tolerationSeconds of more than 9007199254740991",
    ] {
        ensure!(twin.lines().any(|line| line.starts_with(&format!("# - {told}"))), "{told} is not in {twin}");
    }
    Ok(())
}
