//! The backstop agrees with the policy: what `policy --backstop` prints lets in the Pods that the policy would leave as
//! they are, and no others.

use std::{cell::Cell, collections::BTreeMap, fs, path::Path};

use crate::fences::{
    Demand::{self, Nothing, Selector, Unresolved},
    Tenant, by_label, by_name, by_reference, creation, namespace, pod,
};
use anyhow::{Result, ensure};
use cli::policies::{backstop::backstop_file, overrides::Overrides, policy_file::policy_file};
use e2e_tests::{Manifests, Policy, admission_policies::AdmissionPolicies};
use node_placement_policy::selector::{Operator, Requirement, parse};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use rstest::rstest;
use serde_json::{Value, json};

fn backstop(settings: &Value) -> Result<AdmissionPolicies> {
    AdmissionPolicies::read(&backstop_file(&settings.to_string(), &Overrides::default())?)
}

/// How somebody changes a Pod that the policy has completed.
#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    TakesPairAway(usize),
    ChangesPair(usize),
    TakesExpressionAway(usize),
    ChangesOperator(usize),
    ReordersValues,
    AddsValue(usize),
    AddsTerm,
    AddsEmptyTerm,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::None),
        (0..4_usize).prop_map(Change::TakesPairAway),
        (0..4_usize).prop_map(Change::ChangesPair),
        (0..9_usize).prop_map(Change::TakesExpressionAway),
        (0..9_usize).prop_map(Change::ChangesOperator),
        Just(Change::ReordersValues),
        (0..9_usize).prop_map(Change::AddsValue),
        Just(Change::AddsTerm),
        Just(Change::AddsEmptyTerm),
    ]
}

const TERMS: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

impl Change {
    fn apply(self, pod: &mut Value) {
        let number = |index: usize, length: usize| index.checked_rem(length);
        if let Some(pairs) = pod.pointer_mut("/spec/nodeSelector").and_then(Value::as_object_mut) {
            let keys: Vec<String> = pairs.keys().cloned().collect();
            match self {
                Self::TakesPairAway(index) => {
                    number(index, keys.len()).map(|index| pairs.remove(&keys[index]));
                }
                Self::ChangesPair(index) => {
                    number(index, keys.len()).map(|index| pairs.insert(keys[index].clone(), "changed".into()));
                }
                _ => {}
            }
        }
        let Some(terms) = pod.pointer_mut(TERMS).and_then(Value::as_array_mut) else { return };
        match self {
            Self::AddsTerm => terms.push(json!({ "matchExpressions": [{ "key": "pool", "operator": "Exists" }] })),
            Self::AddsEmptyTerm => terms.push(json!({})),
            _ => {}
        }
        let lists = terms.iter_mut().filter_map(|term| term["matchExpressions"].as_array_mut());
        for expressions in lists {
            let length = expressions.len();
            match self {
                Self::TakesExpressionAway(index) => {
                    number(index, length).map(|index| expressions.remove(index));
                }
                Self::ChangesOperator(index) => {
                    if let Some(index) = number(index, length) {
                        let opposite = [("In", "NotIn"), ("Exists", "DoesNotExist"), ("Gt", "Lt")];
                        let operator = expressions[index]["operator"].clone();
                        let other = opposite.iter().find_map(|(one, other)| match () {
                            () if operator == *one => Some(*other),
                            () if operator == *other => Some(*one),
                            () => None,
                        });
                        expressions[index]["operator"] = other.expect("an operator").into();
                    }
                }
                Self::ReordersValues => {
                    for values in expressions.iter_mut().filter(|one| is_set(one)).filter_map(values_of) {
                        values.reverse();
                        values.extend(values.first().cloned());
                    }
                }
                Self::AddsValue(index) => {
                    let one = number(index, length).map(|index| &mut expressions[index]);
                    if let Some(values) = one.filter(|one| is_set(one)).and_then(values_of) {
                        values.push("another".into());
                    }
                }
                _ => {}
            }
        }
        // An API server leaves empty lists out.
        for term in terms.iter_mut().filter(|term| term["matchExpressions"] == json!([])) {
            term.as_object_mut().map(|term| term.remove("matchExpressions"));
        }
    }
}

fn is_set(expression: &Value) -> bool {
    expression["operator"] == "In" || expression["operator"] == "NotIn"
}

fn values_of(expression: &mut Value) -> Option<&mut Vec<Value>> {
    expression.get_mut("values")?.as_array_mut()
}

/// Whether a Pod has all that is demanded, and does not name its node: what the backstop is to find out.
fn has_it_all(pod: &Value, demand: &Demand) -> bool {
    let selector = match demand {
        Nothing => return true,
        Unresolved => return false,
        Selector(selector) => parse(selector).expect("a selector"),
    };
    let terms = pod.pointer(TERMS).and_then(Value::as_array);
    pod["spec"]["nodeName"].is_null()
        && selector.requirements().iter().all(|demanded| match demanded.only_value() {
            Some(value) => pod["spec"]["nodeSelector"][demanded.key()] == value,
            None => terms
                .is_some_and(|terms| terms.iter().filter(|term| !is_empty(term)).all(|term| states(term, demanded))),
        })
}

fn is_empty(term: &Value) -> bool {
    ["matchExpressions", "matchFields"].iter().all(|list| term[list].as_array().is_none_or(Vec::is_empty))
}

fn states(term: &Value, demanded: &Requirement) -> bool {
    let operators = BTreeMap::from([
        ("In", Operator::In),
        ("NotIn", Operator::NotIn),
        ("Exists", Operator::Exists),
        ("DoesNotExist", Operator::DoesNotExist),
        ("Gt", Operator::GreaterThan),
        ("Lt", Operator::LessThan),
    ]);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    term["matchExpressions"].as_array().into_iter().flatten().any(|expression| {
        let values = expression["values"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let operator = operators[text(&expression["operator"]).as_str()];
        Requirement::new(text(&expression["key"]), operator, values).is_ok_and(|own| own.same_as(demanded))
    })
}

#[rstest]
#[case::names(by_name())]
#[case::labels(by_label())]
#[case::references(by_reference())]
fn it_lets_in_what_the_policy_leaves_as_it_is(#[case] (settings, tenants): (Value, Vec<Tenant>)) -> Result<()> {
    let policy = Policy::native();
    let answer = policy.validate_settings(&settings)?;
    ensure!(answer.valid, "{:?}", answer.message);
    let backstop = backstop(&settings)?;
    let (admitted, denied) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
    let pods = (0..tenants.len(), pod(), change());
    TestRunner::new(config).run(&pods, |(tenant, asked, change)| {
        let tenant = &tenants[tenant];
        let decide = |pod: &Value| {
            let cluster: Manifests = [tenant.namespace.clone()].into_iter().collect();
            let request = creation(&tenant.namespace, pod);
            let answer = policy.validate(&request, &settings, cluster).expect("an answer").answer;
            (answer, backstop.admit(&request, &tenant.namespace).expect("a decision").denied)
        };
        let (answer, _) = decide(&asked);
        let mut changed = answer.mutated_object.clone().unwrap_or_else(|| asked.clone());
        change.apply(&mut changed);
        for pod in [&asked, &changed] {
            let (answer, refused) = decide(pod);
            let is_unbound = pod["spec"]["nodeName"].is_null();
            let all = has_it_all(pod, &tenant.demand);
            prop_assert_eq!(refused.is_empty(), all, "{}: {:?}", pod, refused);
            if answer.accepted && (is_unbound || matches!(tenant.demand, Nothing)) {
                prop_assert_eq!(answer.mutated_object.is_none(), all, "the policy: {}", pod);
            }
            if let Some(completed) = answer.mutated_object.filter(|_| is_unbound) {
                let (_, refused) = decide(&completed);
                prop_assert!(refused.is_empty(), "{}: {:?}", completed, refused);
            }
            let count = if all { &admitted } else { &denied };
            count.set(count.get() + 1);
        }
        Ok(())
    })?;
    let (admitted, denied) = (admitted.get(), denied.get());
    ensure!(admitted > 150 && denied > 150, "{admitted} are let in, {denied} are not");
    Ok(())
}

/// A Pod that asks for nothing.
fn plain() -> Value {
    json!({ "metadata": { "name": "web" }, "spec": {} })
}

fn denied(settings: &Value, tenant: &Value, pod: &Value) -> Result<Vec<String>> {
    Ok(backstop(settings)?.admit(&creation(tenant, pod), tenant)?.denied)
}

/// Whoever writes the annotation is not a kubelet, and a kubelet also creates other Pods.
#[rstest]
#[case::by_a_kubelet(true, "system:nodes", true)]
#[case::by_a_tenant(true, "tenants", false)]
#[case::without_the_annotation(false, "system:nodes", false)]
fn mirror_pods_are_let_in(#[case] annotated: bool, #[case] group: &str, #[case] admitted: bool) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue" }] } });
    let (tenant, mut pod) = (namespace("team", &json!({})), plain());
    pod["spec"]["nodeName"] = "node-a".into();
    if annotated {
        pod["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "x" });
    }
    let mut request = creation(&tenant, &pod);
    request["userInfo"]["groups"] = json!(["system:authenticated", group]);
    assert_eq!(backstop(&settings)?.admit(&request, &tenant)?.denied.is_empty(), admitted);
    Ok(())
}

/// Other than in the policy, whatever `onNodeName` says: nothing can read the Node here.
#[rstest]
fn a_pod_that_names_its_node_is_refused_in_a_fence(#[values("Ignore", "Verify", "Reject")] choice: &str) -> Result<()> {
    let settings = json!({ "placement": { "onNodeName": choice, "namespaces": [
        { "name": "blue", "requiredNodeSelector": "pool=blue" },
        { "name": "free", "allowedNodeSelector": "" },
    ] } });
    let mut pod = plain();
    pod["spec"] = json!({ "nodeName": "node-a", "nodeSelector": { "pool": "blue" } });
    let refused = denied(&settings, &namespace("blue", &json!({})), &pod)?;
    assert!(refused.len() == 1 && refused[0].contains("remove nodeName"), "{refused:?}");
    assert_eq!(denied(&settings, &namespace("free", &json!({})), &pod)?, Vec::<String>::new());
    Ok(())
}

/// Its namespaces are left out of what follows, too.
#[test]
fn an_entry_that_warns_refuses_nobody() -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [
        { "namespaceSelector": "trying", "requiredNodeSelector": "pool=red", "enforcement": "Warn" },
        { "name": "*", "requiredNodeSelector": "pool=blue" },
    ] } });
    let tenant = namespace("team", &json!({ "trying": "" }));
    let admission = backstop(&settings)?.admit(&creation(&tenant, &plain()), &tenant)?;
    assert_eq!(admission.denied, Vec::<String>::new());
    assert!(admission.warnings.len() == 1 && admission.warnings[0].contains("pool=red"), "{admission:?}");
    let tenant = namespace("team", &json!({}));
    let admission = backstop(&settings)?.admit(&creation(&tenant, &plain()), &tenant)?;
    assert_eq!(admission.warnings, Vec::<String>::new());
    assert!(admission.denied.len() == 1 && admission.denied[0].contains("pool=blue"), "{admission:?}");
    Ok(())
}

#[rstest]
#[case::filled_in(json!({ "tenant": "blue" }), "requires pool=of-blue of nodes, which the Pod does not request")]
#[case::a_label_is_missing(json!({}), "requires pool=of-$(tenant) of nodes, but the namespace lacks a label")]
fn a_refusal_says_what_is_missing(#[case] labels: Value, #[case] told: &str) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [
        { "name": "team", "requiredNodeSelector": "pool=of-$(tenant)" },
    ] } });
    let refused = denied(&settings, &namespace("team", &labels), &plain())?;
    assert!(refused[0].contains(told), "{refused:?}");
    assert!(refused[0].starts_with("placement.namespaces[0].requiredNodeSelector (name \"team\")"), "{refused:?}");
    Ok(())
}

/// Namespaces that the policy does not cover, and Kubewarden's own, which no webhook covers.
#[rstest]
#[case::by_default(None, "kube-system", json!({}), false)]
#[case::kubewarden_by_default(None, "kubewarden", json!({}), false)]
#[case::another(None, "team", json!({}), true)]
#[case::covered(Some("covered"), "team", json!({ "covered": "" }), true)]
#[case::not_covered(Some("covered"), "team", json!({}), false)]
#[case::kubewarden_covered(Some("covered"), "kubewarden", json!({ "covered": "" }), false)]
fn it_covers_the_namespaces_of_the_policy(
    #[case] selector: Option<&str>,
    #[case] name: &str,
    #[case] labels: Value,
    #[case] is_covered: bool,
) -> Result<()> {
    let settings = r#"{ "placement": { "namespaces": [{ "name": "*", "requiredNodeSelector": "pool=blue" }] } }"#;
    let overrides = Overrides { namespaces: selector.map(str::to_owned), ..Overrides::default() };
    let backstop = AdmissionPolicies::read(&backstop_file(settings, &overrides)?)?;
    let tenant = namespace(name, &labels);
    assert_ne!(backstop.admit(&creation(&tenant, &plain()), &tenant)?.denied.is_empty(), is_covered);
    Ok(())
}

/// The first entry that matches the namespace and the labels of the Pod holds.
#[rstest]
#[case::matched(json!({ "app": "agent" }), None)]
#[case::another_value(json!({ "app": "web" }), Some("pool=blue"))]
#[case::no_labels(json!(null), Some("pool=blue"))]
#[case::by_the_second(json!({ "role": "driver", "app": "web" }), Some("pool=red"))]
fn an_entry_is_chosen_by_the_labels_of_the_pod(#[case] labels: Value, #[case] lacking: Option<&str>) -> Result<()> {
    let settings = json!({ "placement": { "namespaces": [
        { "name": "team", "podSelector": "app in (agent,probe)" },
        { "namespaceSelector": "!free", "podSelector": "role=driver,size notin (s)", "requiredNodeSelector": "pool=red" },
        { "name": "*", "requiredNodeSelector": "pool=blue" },
    ] } });
    let mut pod = plain();
    pod["metadata"]["labels"] = labels;
    let refused = denied(&settings, &namespace("team", &json!({})), &pod)?;
    assert_eq!(refused.len(), usize::from(lacking.is_some()), "{refused:?}");
    assert!(lacking.is_none_or(|lacking| refused[0].contains(lacking)), "{refused:?}");
    Ok(())
}

/// Of what `policy` writes for these settings, two policies do not place.
#[test]
fn it_stands_behind_the_policy_that_places() -> Result<()> {
    let settings = "
placement: { onNodes: Reject, namespaces: [{ name: '*', requiredNodeSelector: pool=blue }] }
nodeMetadata: { propagate: [{ nodeLabel: zone }] }
";
    let overrides =
        Overrides { name: Some("fences".to_owned()), namespaces: Some("covered".to_owned()), ..Overrides::default() };
    let policies = policy_file(settings, &overrides)?;
    ensure!(policies.matches("kind: ClusterAdmissionPolicy").count() == 3, "{policies}");
    assert_eq!(backstop_file(&policies, &Overrides::default())?, backstop_file(settings, &overrides)?);
    Ok(())
}

/// The last of a hundred holds; of more, nobody knows whether an API server evaluates them.
#[test]
fn a_hundred_entries_are_enough() -> Result<()> {
    let settings = |count: usize| {
        let entries = (0..count).map(|index| {
            json!({ "name": format!("team-{index}"), "requiredNodeSelector": format!("pool in (p{index},q),!gpu") })
        });
        json!({ "placement": { "namespaces": entries.collect::<Value>() } })
    };
    let refused = denied(&settings(100), &namespace("team-99", &json!({})), &plain())?;
    assert!(refused.len() == 1 && refused[0].contains("pool in (p99,q)"), "{refused:?}");
    assert_eq!(denied(&settings(100), &namespace("team-100", &json!({})), &plain())?, Vec::<String>::new());
    let error = backstop(&settings(101)).expect_err("too many");
    assert!(format!("{error:#}").contains("at most 100 entries; found 101"), "{error:#}");
    Ok(())
}

#[rstest]
#[case::no_entry(json!({ "placement": { "clusterDefaultNodeSelector": "a=b" } }))]
#[case::only_defaults(json!({ "placement": { "namespaces": [{ "name": "a", "defaultNodeSelector": "a=b" }] } }))]
#[case::the_plugin(json!({ "podNodeSelectorPluginConfig": { "team": "a=b" } }))]
#[case::node_metadata(json!({ "nodeMetadata": { "propagate": [{ "nodeLabel": "a" }] } }))]
fn without_a_fence_there_is_no_backstop(#[case] settings: Value) {
    let error = backstop(&settings).expect_err("nothing to write");
    assert!(
        format!("{error:#}").starts_with("no entry of placement.namespaces has a requiredNodeSelector"),
        "{error:#}"
    );
}

/// `examples/backstop.yml` stands behind `examples/tenants.yml`.
#[test]
fn the_example_is_what_the_tool_writes() -> Result<()> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let written = backstop_file(&fs::read_to_string(examples.join("tenants.yml"))?, &Overrides::default())?;
    let example = fs::read_to_string(examples.join("backstop.yml"))?;
    ensure!(
        example.trim_end() == written.trim_end(),
        "run: kubectl node-placement policy examples/tenants.yml --backstop > examples/backstop.yml"
    );
    Ok(())
}

/// Whoever applies it reads above it what else the policy does.
#[test]
fn what_is_left_out_is_told() -> Result<()> {
    let settings = r#"{ "placement": {
        "clusterDefaultNodeSelector": "a=b", "clusterDefaultTolerations": [],
        "onTolerationAnnotations": "Honor", "onExtendedResources": "Tolerate",
        "namespaces": [
            { "name": "a", "requiredNodeSelector": "b=c", "defaultNodeSelector": "", "allowedNodeSelector": "d" },
            { "name": "e", "defaultTolerations": [], "allowedTolerations": [], "forbiddenTolerations": [] },
            { "name": "f", "defaultNodeSelector": "", "forbiddenNodeLabels": ["g"] }
        ]
    } }"#;
    let written = backstop_file(settings, &Overrides::default())?;
    for told in [
        "node selectors in annotations of namespaces",
        "placement.clusterDefaultNodeSelector",
        "defaultNodeSelector of placement.namespaces[0, 2]",
        "allowedNodeSelector of placement.namespaces[0]",
        "placement.clusterDefaultTolerations",
        "defaultTolerations of placement.namespaces[1]",
        "allowedTolerations of placement.namespaces[1]",
        "forbiddenTolerations of placement.namespaces[1]",
        "tolerations in annotations of namespaces",
        "placement.onExtendedResources",
        "Pods of placement.namespaces[1, 2], without a requiredNodeSelector",
        "Pods that no entry matches",
        "forbiddenNodeLabels of placement.namespaces[2]",
    ] {
        ensure!(written.lines().any(|line| line.starts_with(&format!("# - {told}"))), "{told} is not in {written}");
    }
    Ok(())
}
