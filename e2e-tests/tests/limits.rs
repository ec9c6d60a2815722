//! How much of a Pod is read: each bound, at which a Pod is let in, and one above, where it is refused.
//!
//! Webhooks run before the API server validates anything, so the lists are longer than a real Pod's ever are.

use std::{fs, sync::LazyLock};

use anyhow::{Context, Result, ensure};
use e2e_tests::{Answer, Manifests, Policy, admission_request, policy_module, policy_under_test, read_document};
use rstest::rstest;
use serde_json::{Value, json};

static POLICY: LazyLock<Policy> = LazyLock::new(|| policy_under_test().expect("the policy"));

/// More than any list may have where it is read.
const TOO_MANY: usize = 1_500;

fn request(name: &str) -> Value {
    let file = format!("{}/fixtures/requests/{name}.json", env!("CARGO_MANIFEST_DIR"));
    admission_request(&read_document(file.as_ref()).expect("the request")).clone()
}

fn with(mut request: Value, difference: Value) -> Value {
    json_patch::merge(&mut request, &difference);
    request
}

/// A Pod with this spec, beside what every Pod has but tolerations.
fn pod(spec: Value) -> Value {
    let pod = with(request("pod-create"), json!({"object": {"spec": {"tolerations": null}}}));
    with(pod, json!({"object": {"spec": spec}}))
}

/// The update of a Pod that waits, from one spec to another.
fn update(old: Value, new: Value) -> Value {
    let old = pod(old)["object"].clone();
    with(pod(new), json!({"operation": "UPDATE", "oldObject": old}))
}

fn bound(update: Value) -> Value {
    with(update, json!({"object": {"spec": {"nodeName": "node-a"}}, "oldObject": {"spec": {"nodeName": "node-a"}}}))
}

/// A workload with a Pod template of this spec.
fn template(fixture: &str, spec: Value) -> Value {
    with(request(fixture), json!({"object": {"spec": {"template": {"spec": spec}}}}))
}

/// As many elements, each made of its number.
fn list(count: usize, element: impl Fn(usize) -> Value) -> Value {
    (0..count).map(element).collect()
}

fn map(count: usize, prefix: &str, value: &str) -> Value {
    (0..count).map(|at| (format!("{prefix}{at}"), json!(value))).collect()
}

fn tolerations(count: usize) -> Value {
    json!({"tolerations": list(count, |at| json!({"key": format!("k-{at}"), "operator": "Exists"}))})
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn exists(_: usize) -> Value {
    json!({"key": "k", "operator": "Exists"})
}

fn terms(count: usize) -> Value {
    required(list(count, |at| json!({"matchExpressions": [exists(at)]})))
}

fn empty_terms(count: usize) -> Value {
    required(list(count, |_| json!({})))
}

fn expressions(count: usize) -> Value {
    required(json!([{"matchExpressions": list(count, exists)}]))
}

/// In terms of twenty, the last of which may have fewer.
fn expressions_in_terms(count: usize) -> Value {
    let term = |at: usize| json!({"matchExpressions": list((count - at * 20).min(20), exists)});
    required(list(count.div_ceil(20), term))
}

/// One expression, which counts as well.
fn values(count: usize) -> Value {
    let values = list(count - 1, |at| json!(format!("v-{at}")));
    required(json!([{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]))
}

fn preferred(count: usize) -> Value {
    let term = |at: usize| json!({"weight": 1, "preference": {"matchExpressions": [exists(at)]}});
    json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(count, term)}}})
}

fn pairs(count: usize) -> Value {
    json!({"nodeSelector": map(count, "k-", "v")})
}

fn containers(count: usize) -> Value {
    json!({"containers": list(count, |at| json!({"name": format!("c-{at}")}))})
}

/// A container with so many variables.
fn variables(count: usize) -> Value {
    json!({"containers": [{"name": "c", "env": list(count, |at| json!({"name": format!("V{at}")}))}]})
}

/// A container that has the variable of [`env`] among so many.
fn complete_variables(count: usize) -> Value {
    let field = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['zone']"}});
    let mut spec = variables(count);
    spec["containers"][0]["env"][0] = json!({"name": "ZONE", "valueFrom": field});
    spec
}

/// So many containers in all, half of them init containers.
fn init_containers(count: usize) -> Value {
    let half = containers(count / 2)["containers"].clone();
    json!({"initContainers": half, "containers": containers(count - count / 2)["containers"]})
}

fn resources(count: usize) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": map(count, "example.com/r-", "1")}}]})
}

fn entry(entry: Value) -> Value {
    let entry = with(json!({"name": "team-a"}), entry);
    json!({"placement": {"namespaceAnnotations": [], "namespaces": [entry]}})
}

fn placement(block: Value) -> Value {
    with(json!({"placement": {"namespaceAnnotations": []}}), json!({"placement": block}))
}

/// Allows every pair of [`pairs`].
fn whitelist() -> Value {
    let keys: Vec<String> = (0..TOO_MANY).map(|at| format!("k-{at}")).collect();
    entry(json!({"allowedNodeSelector": keys.join(",")}))
}

fn fence() -> Value {
    entry(json!({"requiredNodeSelector": "pool=a"}))
}

/// What is demanded goes into each term.
fn wide_fence() -> Value {
    entry(json!({"requiredNodeSelector": "pool in (a,b)"}))
}

fn allowed() -> Value {
    entry(json!({"allowedTolerations": [{"operator": "Exists"}]}))
}

fn tolerate() -> Value {
    placement(json!({"onExtendedResources": "Tolerate"}))
}

fn env() -> Value {
    json!({"nodeMetadata": {"propagate": [{"nodeLabel": "zone", "env": "ZONE"}]}})
}

fn exempt(settings: Value) -> Value {
    with(settings, json!({"placement": {"exemptUsernames": ["kueue"]}}))
}

fn warn(settings: Value) -> Value {
    let mut settings = settings;
    settings["placement"]["namespaces"][0]["enforcement"] = json!("Warn");
    settings
}

/// A Namespace whose annotations allow everything, and a Node with a taint and more labels than anybody asks for.
fn cluster() -> Manifests {
    let annotations = json!({"scheduler.alpha.kubernetes.io/tolerationsWhitelist": r#"[{"operator":"Exists"}]"#});
    let labels = with(map(5_000, "l-", "v"), json!({"pool": "a", "k": "v"}));
    let namespace = json!({"name": "team-a", "labels": map(5_000, "l-", "v"), "annotations": annotations});
    let taints = json!([{"key": "k-0", "effect": "NoSchedule"}]);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a", "labels": labels}, "spec": {"taints": taints}});
    [json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}), node].into_iter().collect()
}

fn answer(settings: &Value, request: &Value) -> Result<Answer> {
    let valid = POLICY.validate_settings(settings)?;
    ensure!(valid.valid, "{:?}", valid.message);
    Ok(POLICY.validate(request, settings, cluster())?.answer)
}

/// What was made of it, if anything, is let in and left alone when it comes again.
fn ensure_let_in(settings: &Value, request: &Value) -> Result<Option<Value>> {
    let first = answer(settings, request)?;
    ensure!(first.accepted, "refused: {:?}", first.message);
    if let Some(mutated) = &first.mutated_object {
        let mut again = request.clone();
        again["object"] = mutated.clone();
        let second = answer(settings, &again)?;
        ensure!(second.accepted, "refused the second time: {:?}", second.message);
        ensure!(second.mutated_object.is_none(), "changed the second time");
    }
    Ok(first.mutated_object)
}

/// The count and the field, however thousands are written.
fn ensure_refused(settings: &Value, request: &Value, bound: usize, field: &str) -> Result<()> {
    let answer = answer(settings, request)?;
    let message = answer.message.unwrap_or_default();
    ensure!(!answer.accepted && answer.code == Some(403), "{:?}: {message}", answer.code);
    ensure!(answer.mutated_object.is_none(), "it is changed");
    let says = message.replace([',', ' '], "");
    ensure!(says.contains(&bound.to_string()), "expected {bound}, got {message:?}");
    ensure!(message.contains(field), "expected {field:?}, got {message:?}");
    Ok(())
}

/// `most` of what came are let in, and one more is refused.
#[rstest]
#[case::tolerations_that_are_allowed(allowed(), |n| pod(tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_that_are_forbidden(entry(json!({"forbiddenTolerations": [{"key": "x", "operator": "Exists"}]})), |n| pod(tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_that_cover_a_default(entry(json!({"defaultTolerations": [{"key": "k-1", "operator": "Exists"}]})), |n| pod(tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_that_cover_the_cluster_s_default(placement(json!({"clusterDefaultTolerations": [{"key": "k-999", "operator": "Exists"}]})), |n| pod(tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_that_an_annotation_allows(placement(json!({"onTolerationAnnotations": "Honor"})), |n| pod(tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_that_cover_an_extended_resource(tolerate(), |n| {
    let requests = json!({"containers": [{"name": "c", "resources": {"requests": {"k-0": "1", "example.com/gpu": "1"}}}]});
    let tolerated = json!({"key": "example.com/gpu", "operator": "Exists"});
    let mut spec = with(tolerations(n), requests);
    spec["tolerations"][0] = tolerated;
    pod(spec)
}, 1_000, "spec.tolerations")]
#[case::tolerations_of_a_pod_that_names_a_tainted_node(fence(), |n| pod(with(tolerations(n), json!({"nodeName": "node-a", "nodeSelector": {"pool": "a"}}))), 1_000, "spec.tolerations")]
#[case::tolerations_of_a_template(allowed(), |n| template("deployment-create", tolerations(n)), 1_000, "spec.template.spec.tolerations")]
#[case::tolerations_of_a_daemon_set(allowed(), |n| template("daemonset-create", tolerations(n)), 1_000, "spec.template.spec.tolerations")]
#[case::tolerations_of_an_update(allowed(), |n| update(json!({}), tolerations(n)), 1_000, "spec.tolerations")]
#[case::tolerations_of_an_update_of_a_bound_pod(allowed(), |n| bound(update(json!({}), tolerations(n))), 1_000, "spec.tolerations")]
#[case::terms_beside_a_fence(fence(), |n| pod(terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::terms_that_a_fence_goes_into(wide_fence(), |n| pod(terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::empty_terms(fence(), |n| pod(empty_terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::terms_that_are_allowed(entry(json!({"allowedNodeSelector": "k"})), |n| pod(terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::terms_that_choose(with(fence(), json!({"placement": {"clusterDefaultNodeSelector": "k=v", "onDefaultConflict": "Yield"}})), |n| pod(terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::terms_of_a_pod_that_names_its_node(fence(), |n| pod(with(terms(n), json!({"nodeName": "node-a", "nodeSelector": {"pool": "a"}, "tolerations": [{"operator": "Exists"}]}))), 1_000, "spec.affinity.nodeAffinity")]
#[case::terms_of_a_template(fence(), |n| template("deployment-create", terms(n)), 1_000, "spec.template.spec.affinity.nodeAffinity")]
#[case::terms_of_an_update(fence(), |n| update(json!({}), terms(n)), 1_000, "spec.affinity.nodeAffinity")]
#[case::expressions(fence(), |n| pod(expressions(n)), 10_000, "spec.affinity.nodeAffinity")]
#[case::expressions_of_many_terms(fence(), |n| pod(expressions_in_terms(n)), 10_000, "spec.affinity.nodeAffinity")]
#[case::values(fence(), |n| pod(values(n)), 10_000, "spec.affinity.nodeAffinity")]
#[case::values_that_are_allowed(entry(json!({"allowedNodeSelector": "k"})), |n| pod(values(n)), 10_000, "spec.affinity.nodeAffinity")]
#[case::preferred_terms_that_have_ours(entry(json!({"preferredNodeSelector": [{"weight": 1, "selector": "k"}]})), |n| pod(preferred(n)), 1_000, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution")]
#[case::pairs(whitelist(), |n| pod(pairs(n)), 1_000, "spec.nodeSelector")]
#[case::pairs_of_a_template(whitelist(), |n| template("deployment-create", pairs(n)), 1_000, "spec.template.spec.nodeSelector")]
#[case::pairs_of_an_update(whitelist(), |n| update(json!({}), pairs(n)), 1_000, "spec.nodeSelector")]
#[case::containers_that_get_a_variable(env(), |n| pod(containers(n)), 1_000, "spec.containers")]
#[case::variables_of_a_container_that_is_complete(env(), |n| pod(complete_variables(n)), 10_000, "env")]
#[case::containers_that_may_request_a_resource(tolerate(), |n| pod(containers(n)), 1_000, "ontainers")]
#[case::containers_and_init_containers_that_may_request_a_resource(tolerate(), |n| pod(init_containers(n)), 1_000, "ontainers")]
#[case::containers_of_a_template_that_may_request_a_resource(tolerate(), |n| template("daemonset-create", containers(n)), 1_000, "spec.template.spec.containers")]
fn bounds_of_what_came(
    #[case] settings: Value,
    #[case] request: fn(usize) -> Value,
    #[case] most: usize,
    #[case] field: &str,
) -> Result<()> {
    ensure_let_in(&settings, &request(most)).context("at the bound")?;
    ensure_refused(&settings, &request(most + 1), most, field).context("above the bound")
}

/// With what is added to `most` of what came the bound is reached, and one more would pass it.
#[rstest]
#[case::a_default_toleration(entry(json!({"defaultTolerations": [{"key": "x", "operator": "Exists"}]})), |n| pod(tolerations(n)), 999, 1_000, "tolerations")]
#[case::two_default_tolerations(entry(json!({"defaultTolerations": [{"key": "x", "operator": "Exists"}, {"key": "y", "operator": "Exists"}]})), |n| pod(tolerations(n)), 998, 1_000, "tolerations")]
#[case::a_default_toleration_of_a_daemon_set(entry(json!({"defaultTolerations": [{"key": "x", "operator": "Exists"}]})), |n| template("daemonset-create", tolerations(n)), 999, 1_000, "tolerations")]
#[case::a_toleration_for_an_extended_resource(tolerate(), |n| pod(with(tolerations(n), resources(1))), 999, 1_000, "tolerations")]
#[case::an_expression_with_two_values(wide_fence(), |n| pod(expressions(n)), 9_997, 10_000, "nodeAffinity")]
#[case::a_preferred_term(entry(json!({"preferredNodeSelector": [{"weight": 2, "selector": "x"}]})), |n| pod(preferred(n)), 999, 1_000, "nodeAffinity")]
#[case::a_pair(with(whitelist(), json!({"placement": {"clusterDefaultNodeSelector": "k-1400=v"}})), |n| pod(pairs(n)), 999, 1_000, "nodeSelector")]
#[case::a_variable(env(), |n| pod(variables(n)), 9_999, 10_000, "env")]
fn bounds_of_what_results(
    #[case] settings: Value,
    #[case] request: fn(usize) -> Value,
    #[case] most: usize,
    #[case] bound: usize,
    #[case] field: &str,
) -> Result<()> {
    ensure!(ensure_let_in(&settings, &request(most))?.is_some(), "nothing is added at the bound");
    ensure_refused(&settings, &request(most + 1), bound, field).context("above the bound")
}

/// A thousand terms with one expression each may get another, with eight values. One with nine is too much.
#[test]
fn what_is_added_to_every_term_counts_in_every_term() -> Result<()> {
    let fence = |values: usize| {
        let values: Vec<String> = (0..values).map(|at| format!("v{at}")).collect();
        entry(json!({"requiredNodeSelector": format!("pool in ({})", values.join(","))}))
    };
    ensure!(ensure_let_in(&fence(8), &pod(terms(1_000)))?.is_some(), "ten thousand in all");
    ensure_refused(&fence(9), &pod(terms(1_000)), 10_000, "nodeAffinity")
}

/// A Node may have a thousand taints where they are compared. With one more, nobody knows whether they are tolerated.
#[rstest]
#[case::of_a_pod_that_names_the_node(fence(), pod(json!({"nodeName": "node-a", "nodeSelector": {"pool": "a"}, "tolerations": [{"operator": "Exists"}]})), "name another node")]
#[case::of_a_user_who_binds(with(allowed(), json!({"placement": {"onBindings": "Verify"}})), with(request("binding"), json!({"userInfo": {"username": "ada"}})), "bind it to another node")]
fn taints_of_a_node(#[case] settings: Value, #[case] request: Value, #[case] remedy: &str) -> Result<()> {
    let answer = |count: usize| {
        let taints = list(count, |at| json!({"key": format!("k-{at}"), "effect": "NoSchedule"}));
        let metadata = json!({"name": "node-a", "labels": {"pool": "a"}});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}});
        let cluster: Manifests = [namespace, node].into_iter().collect();
        Ok::<_, anyhow::Error>(POLICY.validate(&request, &settings, cluster)?.answer)
    };
    ensure!(answer(1_000)?.accepted, "at the bound");
    let refused = answer(1_001)?;
    let message = refused.message.unwrap_or_default();
    ensure!(refused.code == Some(403), "{:?}: {message}", refused.code);
    ensure!(message.contains("has more than 1000 taints") && message.contains(remedy), "{message}");
    Ok(())
}

/// Those that would be too large in any case are not built. The message tells the size all the same.
#[test]
fn variables_that_make_a_pod_too_large() -> Result<()> {
    let entry = |at: usize| json!({"nodeLabel": format!("n-{at}"), "env": format!("VARIABLE_OF_THE_NODE_{at:02}")});
    let settings = json!({"nodeMetadata": {"propagate": list(50, entry)}});
    let variable = |at: usize| {
        let field = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": format!("metadata.annotations['n-{at}']")}});
        json!({"name": format!("VARIABLE_OF_THE_NODE_{at:02}"), "valueFrom": field})
    };
    for count in [200, 990] {
        let request = pod(containers(count));
        let mut full = request["object"].clone();
        for container in full["spec"]["containers"].as_array_mut().context("containers")? {
            container["env"] = list(50, variable);
        }
        let size = full.to_string().len().div_ceil(1024);
        let refused = answer(&settings, &request)?;
        let message = refused.message.unwrap_or_default();
        ensure!(message.contains(&format!("has {size} KiB as the API server writes it")), "{size}: {message}");
    }
    Ok(())
}

#[test]
fn extended_resources() -> Result<()> {
    ensure!(ensure_let_in(&tolerate(), &pod(resources(990)))?.is_some(), "each gets a toleration");
    ensure_refused(&tolerate(), &pod(resources(1_001)), 1_000, "")
}

/// No rule reads them, or nothing of them has changed: what is there stays, and more is added where something is.
#[rstest]
#[case::tolerations_that_no_rule_reads(fence(), pod(with(tolerations(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::tolerations_of_an_exempt_user(exempt(allowed()), with(pod(tolerations(TOO_MANY)), json!({"userInfo": {"username": "kueue"}})))]
#[case::tolerations_in_the_in_tree_dialect(json!({"podNodeSelectorPluginConfig": {"team-a": "pool=a"}}), pod(with(tolerations(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::tolerations_of_an_update_that_are_the_same(allowed(), with(update(tolerations(TOO_MANY), tolerations(TOO_MANY)), json!({"object": {"metadata": {"labels": {"new": "one"}}}})))]
#[case::tolerations_of_an_update_of_a_bound_pod_that_are_the_same(entry(json!({"forbiddenTolerations": [{"operator": "Exists"}]})), bound(update(tolerations(TOO_MANY), tolerations(TOO_MANY))))]
#[case::tolerations_of_an_update_that_are_the_same_beside_another_selector(with(allowed(), fence()), update(tolerations(TOO_MANY), with(tolerations(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::tolerations_that_are_taken_away(entry(json!({"allowedTolerations": []})), update(tolerations(TOO_MANY), json!({})))]
#[case::tolerations_of_a_template_that_stays(allowed(), {
    let deployment = template("deployment-create", tolerations(TOO_MANY));
    let old = deployment["object"].clone();
    with(deployment, json!({"operation": "UPDATE", "oldObject": old, "object": {"spec": {"replicas": 7}}}))
})]
#[case::tolerations_of_a_template_that_another_controller_owns(allowed(), with(template("replicaset-create", tolerations(TOO_MANY)), json!({"object": {"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": true}]}}})))]
#[case::tolerations_of_a_template_where_workloads_are_ignored(with(allowed(), json!({"placement": {"onWorkloads": "Ignore"}})), template("deployment-create", tolerations(TOO_MANY)))]
#[case::everything_of_a_mirror_pod(with(with(allowed(), fence()), env()), with(request("pod-create-mirror-by-kubelet"), json!({"object": {"spec": with(with(tolerations(TOO_MANY), terms(TOO_MANY)), containers(TOO_MANY))}})))]
#[case::terms_that_no_rule_reads(allowed(), pod(terms(TOO_MANY)))]
#[case::terms_that_no_whitelist_reads(with(entry(json!({"allowedNodeSelector": "x"})), json!({"placement": {"onNodeAffinity": "Ignore"}})), pod(terms(TOO_MANY)))]
#[case::terms_in_the_in_tree_dialect(json!({"podNodeSelectorPluginConfig": {"team-a": "pool=a"}}), pod(with(terms(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::terms_of_an_update_that_are_the_same(fence(), with(update(terms(TOO_MANY), terms(TOO_MANY)), json!({"object": {"metadata": {"labels": {"new": "one"}}}})))]
#[case::terms_of_an_update_of_a_bound_pod(fence(), bound(update(json!({}), terms(TOO_MANY))))]
#[case::preferred_terms_that_nothing_is_added_to(fence(), pod(with(preferred(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::preferred_terms_of_an_update(entry(json!({"preferredNodeSelector": [{"weight": 1, "selector": "x"}]})), update(json!({}), preferred(TOO_MANY)))]
#[case::pairs_that_no_whitelist_judges(fence(), pod(with(pairs(TOO_MANY), json!({"nodeSelector": {"pool": "a"}}))))]
#[case::pairs_of_an_exempt_user(exempt(entry(json!({"allowedNodeSelector": ""}))), with(pod(pairs(TOO_MANY)), json!({"userInfo": {"username": "kueue"}})))]
#[case::pairs_of_an_update_that_are_the_same(entry(json!({"allowedNodeSelector": ""})), update(pairs(TOO_MANY), pairs(TOO_MANY)))]
#[case::containers_that_get_nothing(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "zone"}]}}), pod(containers(TOO_MANY)))]
#[case::containers_of_an_update(env(), update(containers(TOO_MANY), with(containers(TOO_MANY), json!({"hostname": "x"}))))]
#[case::variables_that_nothing_is_added_to(json!({"nodeMetadata": {"propagate": [{"nodeLabel": "zone"}]}}), pod(variables(15_000)))]
#[case::containers_of_a_deployment_which_gets_nothing(env(), template("deployment-create", containers(TOO_MANY)))]
fn what_is_not_read_has_no_bound(#[case] settings: Value, #[case] request: Value) -> Result<()> {
    ensure!(ensure_let_in(&settings, &request)?.is_none(), "it is changed");
    Ok(())
}

#[test]
fn a_fence_is_added_to_more_pairs_than_a_whitelist_would_judge() -> Result<()> {
    let mutated = ensure_let_in(&fence(), &pod(pairs(TOO_MANY)))?.context("it is changed")?;
    let pairs = mutated["spec"]["nodeSelector"].as_object().map_or(0, serde_json::Map::len);
    ensure!(pairs == TOO_MANY + 1, "{pairs}");
    Ok(())
}

/// The tool's interpreter makes jumps of calls, as far as LLVM lets it. What it does not overflows the stack.
#[test]
fn the_interpreter_gets_through_a_large_pod() -> Result<()> {
    let interpreter = Policy::interpreted(&fs::read(policy_module()?)?)?;
    let answer = interpreter.validate(&pod(pairs(30_000)), &fence(), cluster())?.answer;
    ensure!(answer.accepted && answer.mutated_object.is_some(), "{:?}", answer.message);
    Ok(())
}

/// Terms that are the same text are read where the nodeSelector differs: what they can match depends on it.
#[test]
fn terms_of_an_update_that_stay_beside_another_node_selector() -> Result<()> {
    let request = update(terms(1_001), with(terms(1_001), json!({"nodeSelector": {"zone": "x"}})));
    ensure_refused(&fence(), &request, 1_000, "spec.affinity.nodeAffinity")
}

#[test]
fn a_template_that_differs_is_read_as_a_whole() -> Result<()> {
    let deployment = template("deployment-create", tolerations(1_001));
    let old = deployment["object"].clone();
    let changed = json!({"operation": "UPDATE", "oldObject": old, "object": {"spec": {"template": {"metadata": {"labels": {"new": "one"}}}}}});
    ensure_refused(&allowed(), &with(deployment, changed), 1_000, "spec.template.spec.tolerations")
}

/// A thousand that the old Pod had before the bound are not judged; one that it had beyond is.
#[test]
fn tolerations_of_the_old_pod_beyond_the_bound() -> Result<()> {
    let settings = entry(json!({"allowedTolerations": []}));
    let old = tolerations(TOO_MANY);
    let kept =
        |from: usize| json!({"tolerations": old["tolerations"].as_array().map(|all| all[from..from + 500].to_vec())});
    ensure!(ensure_let_in(&settings, &update(old.clone(), kept(500)))?.is_none(), "it is changed");
    let answer = answer(&settings, &update(old.clone(), kept(501)))?;
    let message = answer.message.unwrap_or_default();
    ensure!(answer.code == Some(403) && message.contains("k-1000"), "{message:?}");
    Ok(())
}

/// The bounds of placement are its decisions: a warning, and nothing is added.
#[rstest]
#[case::tolerations(warn(with(allowed(), json!({"placement": {"clusterDefaultNodeSelector": "pool=a"}}))), pod(tolerations(1_001)), "1000")]
#[case::terms(warn(fence()), pod(terms(1_001)), "1000")]
#[case::expressions(warn(wide_fence()), pod(expressions(10_001)), "10000")]
#[case::pairs(warn(whitelist()), pod(pairs(1_001)), "1000")]
#[case::tolerations_of_a_template(warn(allowed()), template("deployment-create", tolerations(1_001)), "1000")]
#[case::tolerations_that_would_result(warn(entry(json!({"defaultTolerations": [{"key": "x", "operator": "Exists"}]}))), pod(tolerations(1_000)), "1000")]
#[case::tolerations_of_an_update(warn(allowed()), update(json!({}), tolerations(1_001)), "1000")]
fn where_nobody_is_refused_yet(#[case] settings: Value, #[case] request: Value, #[case] bound: &str) -> Result<()> {
    let answer = answer(&settings, &request)?;
    ensure!(answer.accepted && answer.mutated_object.is_none(), "{:?}", answer.message);
    let warnings = answer.warnings.unwrap_or_default();
    ensure!(warnings.len() == 1 && warnings[0].starts_with("would be rejected: "), "{warnings:?}");
    ensure!(warnings[0].replace([',', ' '], "").contains(bound), "{warnings:?}");
    let audit = answer.audit_annotations.unwrap_or_default();
    ensure!(audit.contains_key("would-reject") && !audit.contains_key("would-add"), "{audit:?}");
    Ok(())
}

/// Node metadata does its work in any namespace.
#[test]
fn where_nobody_is_refused_yet_for_what_placement_decides() -> Result<()> {
    let settings = with(warn(fence()), env());
    ensure_refused(
        &settings,
        &pod(with(containers(1_001), json!({"nodeSelector": {"pool": "a"}}))),
        1_000,
        "spec.containers",
    )?;
    ensure_refused(&settings, &pod(with(variables(10_000), json!({"nodeSelector": {"pool": "a"}}))), 10_000, "env")
}

#[test]
fn workloads_that_are_only_warned_of() -> Result<()> {
    let settings = with(allowed(), json!({"placement": {"onWorkloads": "Warn"}}));
    let answer = answer(&settings, &template("deployment-create", tolerations(1_001)))?;
    let warnings = answer.warnings.unwrap_or_default();
    ensure!(answer.accepted && warnings.len() == 1, "{:?} {warnings:?}", answer.message);
    ensure!(warnings[0].replace([',', ' '], "").contains("1000"), "{warnings:?}");
    Ok(())
}

/// What is too large is refused for that, before anything in it is counted.
#[test]
fn the_size_comes_first() -> Result<()> {
    let spec = with(tolerations(1_001), json!({"hostname": "x".repeat(930_000)}));
    for request in [pod(spec.clone()), template("deployment-create", spec)] {
        let answer = answer(&with(allowed(), fence()), &request)?;
        let message = answer.message.unwrap_or_default();
        ensure!(answer.code == Some(403) && message.contains("at most 900 KiB are allowed"), "{message:?}");
    }
    Ok(())
}

/// The last one counts those that are left out.
#[test]
fn an_answer_has_twenty_warnings() -> Result<()> {
    let entry = |at: usize| json!({"nodeLabel": format!("l-{at}"), "podAnnotation": format!("a-{at}")});
    let settings = json!({"nodeMetadata": {"protect": true, "propagate": (0..30).map(entry).collect::<Vec<_>>()}});
    let star = |at: usize| json!({"nodeLabel": format!("x{at}.io/*"), "podLabel": format!("y{at}.io/*")});
    let stars = json!({"nodeMetadata": {"propagate": (0..30).map(star).collect::<Vec<_>>()}});
    let labels: Value = (0..30).map(|at| (format!("x{at}.io/-"), json!("v"))).collect();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a", "labels": labels}});
    let cluster: Manifests = [node].into_iter().collect();
    let evaluation = POLICY.validate(&request("binding"), &stars, cluster)?;
    let warnings = evaluation.answer.warnings.unwrap_or_default();
    ensure!(evaluation.answer.accepted && warnings.len() == 20, "{} warnings", warnings.len());
    ensure!(warnings[19].contains("11"), "{:?}", warnings[19]);
    let annotations = map(30, "a-", "forged");
    let forged = with(pod(json!({})), json!({"object": {"metadata": {"annotations": annotations}}}));
    let warnings = answer(&settings, &forged)?.warnings.unwrap_or_default();
    ensure!(warnings.len() <= 20 && !warnings.is_empty(), "{} warnings", warnings.len());
    Ok(())
}
