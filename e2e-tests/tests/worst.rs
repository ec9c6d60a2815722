//! The most that one evaluation may cost, with requests that an API server passes on and settings that somebody would
//! write: instructions, memory and warnings. Webhooks run before the API server validates anything, so the cheapest
//! element counts: `{}`.
//!
//! `cargo test -p e2e-tests --test all -- worst:: --nocapture` prints what each row takes.

#[path = "../../fuzz/src/cost.rs"]
mod fuzzed;

use std::{collections::BTreeMap, fs, path::Path, sync::LazyLock};

use anyhow::{Result, bail, ensure};
use arbitrary::Unstructured;
use e2e_tests::{
    Answer, Cost, GetResourceRequest, InstructionCounter, NoCluster, Policy, Scripted, admission_request, floor_module,
    payload, policy_module, read_document,
};
use rstest::rstest;
use serde_json::{Value, json};

/// A fifth of a second. policy-server gives an evaluation two.
const MOST_INSTRUCTIONS: u64 = 2_000_000_000;
const MOST_WARNINGS: usize = 20;
/// What Kubewarden gives an evaluation, from 1.38 on.
const MOST_MEMORY: usize = 256 * 1024 * 1024;

/// What is sent has the second in place of the first: `serde_json` sorts the keys of what the tests write.
const FIRST: &str = "0-first";
const LAST: &str = "z-last";

static POLICY: LazyLock<InstructionCounter> =
    LazyLock::new(|| InstructionCounter::load(&policy_module().expect("the module")).expect("the policy"));

/// What the policy that reads nothing has from the start.
static FLOOR: LazyLock<usize> = LazyLock::new(|| {
    let floor = InstructionCounter::load(&floor_module().expect("the floor")).expect("the floor");
    floor.measure("validate", b"{}", NoCluster).1.memory
});

/// A request, with settings, and what there is to be looked up.
struct Worst {
    settings: Value,
    request: Value,
    objects: BTreeMap<&'static str, Value>,
}

impl Worst {
    fn new(settings: Value, request: Value) -> Self {
        Self { settings, request, objects: BTreeMap::new() }
    }

    /// What every look-up of this kind finds.
    fn finding(mut self, kind: &'static str, object: Value) -> Self {
        self.objects.insert(kind, object);
        self
    }

    /// What it took, how much memory it might have taken, and the answer.
    fn measure(&self) -> Result<(Cost, usize, Answer)> {
        let valid = Policy::native().validate_settings(&self.settings)?;
        ensure!(valid.valid, "invalid settings: {:?}", valid.message);
        let answers: BTreeMap<&str, String> =
            self.objects.iter().map(|(kind, object)| (*kind, object.to_string())).collect();
        let sizes: BTreeMap<&str, usize> = answers.iter().map(|(kind, answer)| (*kind, answer.len())).collect();
        let cluster = Scripted(move |lookup: &GetResourceRequest| match answers.get(lookup.kind.as_str()) {
            Some(answer) => Ok(answer.clone()),
            None => Err(format!("Cannot find v1/{} named '{}' inside of namespace 'None'", lookup.kind, lookup.name)),
        });
        let payload = String::from_utf8(payload(&self.request, &self.settings))?.replace(FIRST, LAST).into_bytes();
        let (call, cost) = POLICY.measure("validate", &payload, cluster);
        let read: usize = call.record.lookups.iter().filter_map(|lookup| sizes.get(lookup.kind.as_str())).sum();
        let answer = call.result.map_err(anyhow::Error::msg)?;
        Ok((cost, 2 * *FLOOR + 4 * (payload.len() + read), serde_json::from_slice(&answer)?))
    }
}

fn request(name: &str) -> Value {
    let file = format!("{}/fixtures/requests/{name}.json", env!("CARGO_MANIFEST_DIR"));
    admission_request(&read_document(file.as_ref()).expect("the request")).clone()
}

fn with(mut request: Value, difference: Value) -> Value {
    json_patch::merge(&mut request, &difference);
    request
}

fn pod(spec: Value) -> Value {
    let pod = with(
        request("pod-create"),
        json!({"object": {"metadata": {"annotations": null}, "spec": {"tolerations": null}}}),
    );
    with(pod, json!({"object": {"spec": spec}}))
}

fn deployment(spec: Value) -> Value {
    with(request("deployment-create"), json!({"object": {"spec": {"template": {"spec": spec}}}}))
}

fn daemon_set(spec: Value) -> Value {
    with(request("daemonset-create"), json!({"object": {"spec": {"template": {"spec": spec}}}}))
}

/// The update of a Pod that waits.
fn update(old: Value, new: Value) -> Value {
    let old = pod(old)["object"].clone();
    with(pod(new), json!({"operation": "UPDATE", "oldObject": old}))
}

/// The update of a Pod that runs, which has this metadata then.
fn bound(old: Value, new: Value) -> Value {
    let running = json!({"spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}});
    let pod = with(pod(json!({})), json!({"object": running}));
    let old = with(pod["object"].clone(), json!({"metadata": old}));
    with(pod, json!({"operation": "UPDATE", "oldObject": old, "object": {"metadata": new}}))
}

fn list(count: usize, element: impl Fn(usize) -> Value) -> Value {
    (0..count).map(element).collect()
}

fn empty(count: usize) -> Value {
    list(count, |_| json!({}))
}

/// A map of so many short keys.
fn map(count: usize, prefix: &str, value: &str) -> Value {
    (0..count).map(|at| (format!("{prefix}{at:x}"), json!(value))).collect()
}

fn words(count: usize, separator: &str, word: impl Fn(usize) -> String) -> String {
    (0..count).map(word).collect::<Vec<_>>().join(separator)
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn preferred(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}})
}

fn tolerations(list: Value) -> Value {
    json!({"tolerations": list})
}

fn entry(entry: Value) -> Value {
    let entry = with(json!({"name": "team-a"}), entry);
    json!({"placement": {"namespaceAnnotations": [], "namespaces": [entry]}})
}

fn placement(block: Value) -> Value {
    with(json!({"placement": {"namespaceAnnotations": []}}), json!({"placement": block}))
}

fn propagate(entries: Value) -> Value {
    json!({"nodeMetadata": {"propagate": entries}})
}

fn metadata(kind: &str, metadata: Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})
}

fn namespace(metadata_: Value) -> Value {
    metadata("Namespace", with(json!({"name": "team-a"}), metadata_))
}

fn node(metadata_: Value) -> Value {
    metadata("Node", with(json!({"name": "node-a"}), metadata_))
}

/// Both annotations about tolerations, of 16 KiB each; the last element of the whitelist allows everything.
fn tolerant() -> Value {
    let whitelist = format!(r#"[{},{{"operator":"Exists"}}]"#, words(1_200, ",", |_| r#"{"key":"ab"}"#.into()));
    let defaults = format!("[{}]", words(1_200, ",", |_| r#"{"key":"ac"}"#.into()));
    namespace(json!({"annotations": {
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": whitelist,
        "scheduler.alpha.kubernetes.io/defaultTolerations": defaults,
    }}))
}

fn honor() -> Value {
    placement(json!({"onTolerationAnnotations": "Honor"}))
}

fn honor_and_resolve() -> Value {
    placement(json!({"onTolerationAnnotations": "Honor", "onRuntimeClasses": "Resolve"}))
}

/// Longer ones than others, that begin alike.
fn toleration(at: usize) -> Value {
    json!({"key": format!("dedicated.example.com/{at:04}"), "operator": "Equal", "value": "a", "effect": "NoSchedule"})
}

/// Whitelists and forbidden tolerations of a thousand each, none of which the Pod has but for the last.
fn a_thousand_of_each() -> Value {
    let allowed = list(1_000, |at| match at {
        999 => json!({"operator": "Exists"}),
        _ => json!({"key": format!("dedicated.example.com/x{at}"), "operator": "Exists"}),
    });
    let forbidden = list(1_000, |at| json!({"key": format!("dedicated.example.com/y{at}"), "operator": "Exists"}));
    entry(json!({"allowedTolerations": allowed, "forbiddenTolerations": forbidden}))
}

/// The same, with a thousand defaults.
fn a_thousand_of_all() -> Value {
    let defaults = list(1_000, |at| json!({"key": format!("dedicated.example.com/x{at}"), "operator": "Exists"}));
    let mut settings = a_thousand_of_each();
    settings["placement"]["namespaces"][0]["defaultTolerations"] = defaults;
    settings
}

/// A Node with so many taints, all of which the last toleration of the whitelist allows, and none other.
fn tainted(count: usize) -> Value {
    let taint = |at: usize| json!({"key": format!("dedicated.example.com/z{at}"), "effect": "NoSchedule"});
    json!({"metadata": {"name": "node-a", "labels": {"pool": "a"}}, "spec": {"taints": list(count, taint)}})
}

/// The Pod tolerates all taints, by its last toleration.
fn a_pod_that_names_a_node(node: Value) -> Worst {
    let tolerated =
        tolerations(list(1_000, |at| if at == 999 { json!({"operator": "Exists"}) } else { toleration(at) }));
    let spec = with(tolerated, json!({"nodeName": "node-a", "nodeSelector": {"pool": "a"}}));
    Worst::new(entry(json!({"requiredNodeSelector": "pool=a"})), pod(spec)).finding("Node", node)
}

fn a_user_binds_to(node: Value) -> Worst {
    let settings = with(a_thousand_of_all(), json!({"placement": {"onBindings": "Verify"}}));
    Worst::new(settings, with(request("binding"), json!({"userInfo": {"username": "ada"}}))).finding("Node", node)
}

fn fence() -> Value {
    entry(json!({"requiredNodeSelector": "pool in (a,b)"}))
}

fn exists(at: usize) -> Value {
    json!({"key": format!("k{at}"), "operator": "Exists"})
}

/// A whitelist that speaks of one key in so many requirements.
fn whitelist_of_one_key(requirements: usize) -> Value {
    let selector = words(requirements, ",", |at| format!("k notin (x{at}, y{at})"));
    entry(json!({"allowedNodeSelector": selector}))
}

fn one_expression(values: usize) -> Value {
    let values = list(values, |at| json!(format!("{at:x}")));
    required(json!([{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]))
}

/// A whitelist of a thousand keys.
fn whitelist_of_keys() -> Value {
    entry(json!({"allowedNodeSelector": words(1_000, ",", |at| format!("k{at} in (v,w)"))}))
}

/// Of the settings that the documentation begins with.
fn tenants() -> Value {
    json!({"placement": {"namespaces": [
        {"name": "production", "requiredNodeSelector": "env=production"},
        {
            "namespaceSelector": "capsule.clastix.io/tenant",
            "requiredNodeSelector": "node-restriction.kubernetes.io/tenant=$(capsule.clastix.io/tenant)",
            "defaultTolerations": [{"key": "tenant", "operator": "Equal", "value": "$(capsule.clastix.io/tenant)", "effect": "NoSchedule"}],
            "allowedTolerations": [],
        },
        {"namespaceSelector": "tenant", "defaultNodeSelector": "", "allowedNodeSelector": ""},
    ]}})
}

/// Two texts with twenty references, the last of which becomes too long for a value.
fn twenty_references() -> Value {
    let values = words(19, ",", |at| format!("$(z{at})"));
    let selector = format!("pool in ({values},{}$(z19))", "a".repeat(40));
    entry(json!({"namespaceSelector": "z0", "requiredNodeSelector": selector, "allowedNodeSelector": selector}))
}

/// So many labels, after which come those that the settings name.
fn labelled(count: usize) -> Value {
    let named = json!({"capsule.clastix.io/tenant": "blue", "tenant": "blue"});
    let referred: Value = (0..20).map(|at| (format!("z{at}"), json!(format!("{}{at}", "a".repeat(30))))).collect();
    with(with(map(count, "", ""), named), referred)
}

/// A thousand entries, each of which selects by another label and refers to it.
fn a_thousand_entries() -> Value {
    let entry = |at: usize| json!({"namespaceSelector": format!("tenant-{at} in (a,b), !sandbox"), "requiredNodeSelector": format!("pool=$(tenant-{at})")});
    placement(json!({"namespaces": list(1_000, entry)}))
}

fn relabelled(settings: Value, labels: usize) -> Worst {
    let update = request("namespace-update-label");
    let old = json!({"oldObject": {"metadata": {"labels": labelled(labels)}}});
    let new = json!({"object": {"metadata": {"labels": with(labelled(labels), json!({"new": "one", "z19": "c".repeat(31), "0": null}))}}});
    Worst::new(settings, with(with(update, old), new))
}

fn pod_in_labelled(settings: Value, labels: usize) -> Worst {
    Worst::new(settings, pod(json!({"nodeSelector": {"a": "b"}})))
        .finding("Namespace", namespace(json!({"labels": labelled(labels)})))
}

/// Fifty entries, each of which writes under another prefix what begins like `source`.
fn stars(target: &str, source: &str) -> Value {
    let entry = |at: usize| json!({"nodeLabel": source, target: format!("e{at}.io/*")});
    propagate(list(50, entry))
}

fn binding_to(settings: Value, node_: Value) -> Worst {
    Worst::new(settings, request("binding")).finding("Node", node(node_))
}

/// Fifty fields of a Node.
fn fields(path: impl Fn(usize) -> String) -> Value {
    propagate(list(50, |at| json!({"nodeField": path(at), "podAnnotation": format!("e{at}.io/x")})))
}

fn field_of(path: impl Fn(usize) -> String, node: Value) -> Worst {
    let node = with(json!({"metadata": {"name": "node-a"}}), node);
    Worst::new(fields(path), request("binding")).finding("Node", node)
}

/// A map in another order than an API server's: what comes first in what is sent is greater than all others.
fn unsorted(count: usize, prefix: &str, value: &str) -> Value {
    with(map(count, &format!("{prefix}x"), value), json!({(format!("{prefix}{FIRST}")): value}))
}

/// What kubelets set on their own Node, of which so many keys are guarded.
fn relabelled_node(guarded: usize, old: Value, new: Value) -> Worst {
    let guarded = list(guarded, |at| json!(format!("g{at}.io/*")));
    let entries = list(1_000, |at| json!({"name": format!("team-{at}"), "requiredNodeSelector": format!("k{at}=v")}));
    let settings = placement(json!({"onNodes": "Reject", "guardedNodeLabels": guarded, "namespaces": entries}));
    let labels = json!({"object": {"metadata": {"labels": new}}, "oldObject": {"metadata": {"labels": old}}});
    Worst::new(settings, with(request("node-update-label-by-kubelet"), labels))
}

fn protecting(target: &str, star: bool) -> Value {
    let entry = |at: usize| match star {
        true => json!({"nodeLabel": format!("n{at}.io/*"), target: format!("e{at}.io/*")}),
        false => json!({"nodeLabel": format!("n{at}.io/x"), target: format!("e{at}.io/x")}),
    };
    with(propagate(list(50, entry)), json!({"nodeMetadata": {"protect": true}}))
}

fn variables() -> Value {
    propagate(list(50, |at| json!({"nodeLabel": format!("n{at}.io/x"), "env": format!("VARIABLE_OF_THE_NODE_{at}")})))
}

/// With a Namespace's annotation that says `selector`.
fn annotated(settings: Value, request: Value, selector: String) -> Worst {
    let annotations = json!({"scheduler.alpha.kubernetes.io/node-selector": selector});
    Worst::new(settings, request).finding("Namespace", namespace(json!({"annotations": annotations})))
}

/// As many requirements on one key as 16 KiB hold, all of which can be met.
fn one_key_again() -> String {
    words(1_900, ",", |at| format!("k!=v{at:x}"))
}

/// A key as long as keys can be, which differs from others at its beginning.
fn differing_first(at: usize) -> String {
    format!("x{at:04}{}/{}", ".dedicated-nodes-of-the-tenants-of-the-platform".repeat(5), "a".repeat(63))
}

/// A key as long as keys can be, which differs from others at its end.
fn differing_last(at: usize) -> String {
    format!("{}io/{}{at:04}", "dedicated-nodes-of-the-tenants-of-the-platform.".repeat(5), "a".repeat(59))
}

fn tolerating(key: String, rest: Value) -> Value {
    with(json!({"key": key, "operator": "Equal", "effect": "NoSchedule"}), rest)
}

/// Allowed, forbidden and default tolerations of a thousand keys each.
fn a_thousand_keys(key: fn(usize) -> String) -> Value {
    let of_list = |from: usize| list(1_000, |at| json!({"key": key(from + at), "operator": "Exists"}));
    let lists = json!({"allowedTolerations": of_list(2_000), "forbiddenTolerations": of_list(4_000), "defaultTolerations": of_list(6_000)});
    entry(lists)
}

/// A thousand tolerations of a thousand keys, with a last one that everything covers.
fn a_pod_of_keys(key: fn(usize) -> String) -> Value {
    pod(tolerations(list(990, |at| tolerating(key(if at == 989 { 8_000 } else { 2_000 + at }), json!({"value": "a"})))))
}

/// Tolerations of one long key.
fn of_one_key(count: usize, rest: impl Fn(usize) -> Value) -> Value {
    tolerations(list(count, |at| tolerating(differing_last(0), rest(at))))
}

/// Forbids one toleration, and nothing else about tolerations.
fn forbidding() -> Value {
    entry(json!({"requiredNodeSelector": "!t", "forbiddenTolerations": [{"key": "t", "operator": "Exists"}]}))
}

/// A Node with a thousand taints of these keys, and a Pod that names it and tolerates them but for the last.
fn tainted_with(key: fn(usize) -> String) -> Worst {
    let taints = list(1_000, |at| json!({"key": key(at), "value": "a", "effect": "NoSchedule"}));
    let node = json!({"metadata": {"name": "node-a", "labels": {"pool": "a"}}, "spec": {"taints": taints}});
    let tolerated = tolerations(list(1_000, |at| tolerating(key(at.min(998)), json!({"value": "a"}))));
    let spec = with(tolerated, json!({"nodeName": "node-a", "nodeSelector": {"pool": "a"}}));
    Worst::new(entry(json!({"requiredNodeSelector": "pool=a"})), pod(spec)).finding("Node", node)
}

fn any() -> Value {
    json!({"placement": {}})
}

/// Terms that exclude the values of one key which are short words, and all that are no integers above eight.
fn excluding(terms: usize) -> Value {
    let values = list(8, |at| json!(format!("{at:02}")));
    let term = json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": values}, {"key": "k", "operator": "Gt", "values": ["8"]}]});
    required(list(terms, |_| term.clone()))
}

/// So many values of one key, which are long, and of which only the end tells that they are no integers.
fn long_zeros(values: usize) -> String {
    format!("k in ({})", words(values, ",", |at| format!("{}{at:03}x", "0".repeat(59))))
}

fn long_terms(count: usize, key: fn(usize) -> String) -> Value {
    required(list(count, |at| json!({"matchExpressions": [{"key": key(at), "operator": "Exists"}]})))
}

/// The Binding of a Pod to a node that no entry accepts, where so many entries are for some Pods, and the Namespace has an
/// annotation.
fn beside_entries_for_some_pods(count: usize, rest: Value) -> Worst {
    let entries = list(count, |at| with(json!({"name": "team-a", "podSelector": format!("app-{at}")}), rest.clone()));
    let settings = json!({"placement": {"onBindings": "Verify", "namespaces": entries}});
    annotated(settings, request("binding"), words(1_000, ",", |at| format!("k!=v{at:x}")))
        .finding("Node", node(json!({"labels": {"pool": "b"}})))
}

/// Entries for some Pods, and one for the others, each of which forbids the last of 160 taints.
fn entries_that_forbid(count: usize) -> Value {
    let forbidden = json!([{"key": "dedicated.example.com/z159", "operator": "Exists"}]);
    let all = json!({"name": "team-a", "forbiddenTolerations": forbidden});
    list(count, |at| {
        if at == count - 1 { all.clone() } else { with(all.clone(), json!({"podSelector": format!("app-{at}")})) }
    })
}

fn bound_by_a_user() -> Value {
    with(request("binding"), json!({"userInfo": {"username": "ada"}}))
}

/// A domain that keys of labels and annotations begin with.
const DOMAIN: &str = "node-labels.platform.example.com";

/// So many keys that begin alike.
fn keys_below(prefix: &str, count: usize, value: &str) -> Value {
    map(count, &format!("{prefix}/"), value)
}

/// Fifty entries of keys that begin alike, each of which ends with a star.
fn stars_that_begin_alike(target: &str) -> Value {
    let entry =
        |at: usize| json!({"nodeLabel": format!("{DOMAIN}.e{at:02}/*"), target: format!("{DOMAIN}.e{at:02}/*")});
    with(propagate(list(50, entry)), json!({"nodeMetadata": {"protect": true}}))
}

/// A thousand required, allowed and forbidden labels, whose keys begin alike.
fn labels_that_begin_alike() -> Value {
    let all = words(1_000, ",", differing_last);
    let forbidden = list(1_000, |at| json!(differing_last(at + 1_000)));
    entry(json!({"allowedNodeSelector": all, "requiredNodeSelector": all, "forbiddenNodeLabels": forbidden}))
}

/// A user binds to a Node with a thousand taints, which the last of eight tolerations of each of eighty entries allows.
fn a_user_binds_to_taints_that_begin_like_tolerations() -> Worst {
    let tolerations = |from: usize| list(7, |at| tolerating(differing_last(from + at), json!({"value": "v"})));
    let and = |mut list: Value, last: Value| {
        list.as_array_mut().expect("a list").push(last);
        list
    };
    let last = json!({"key": differing_last(999), "operator": "Exists"});
    let rules = json!({
        "name": "team-a",
        "defaultTolerations": tolerations(5_000),
        "allowedTolerations": and(tolerations(6_000), json!({"operator": "Exists"})),
        "forbiddenTolerations": and(tolerations(7_000), last),
    });
    let entries = list(80, |at| match at {
        79 => rules.clone(),
        _ => with(rules.clone(), json!({"podSelector": format!("app-{at}")})),
    });
    let taints = list(1_000, |at| json!({"key": differing_last(at), "value": "v", "effect": "NoSchedule"}));
    let node = json!({"metadata": {"name": "node-a"}, "spec": {"taints": taints}});
    Worst::new(placement(json!({"onBindings": "Verify", "namespaces": entries})), bound_by_a_user())
        .finding("Node", node)
}

/// Both annotations about tolerations, each of which has the one of every taint as often as 16 KiB hold it.
fn tolerant_again_and_again() -> Value {
    let every = format!("[{}]", words(740, ",", |_| r#"{"operator":"Exists"}"#.into()));
    namespace(json!({"annotations": {
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": every,
        "scheduler.alpha.kubernetes.io/defaultTolerations": every,
    }}))
}

#[rstest]
// Who may annotate one Namespace.
#[case::empty_tolerations_and_two_annotations(|| Worst::new(honor(), pod(tolerations(empty(300_000)))).finding("Namespace", tolerant()))]
#[case::empty_tolerations_and_two_annotations_at_an_update(|| Worst::new(honor(), update(json!({}), tolerations(empty(300_000)))).finding("Namespace", tolerant()))]
#[case::empty_tolerations_and_two_annotations_of_a_bound_pod(|| {
    let update = bound(json!({}), json!({}));
    Worst::new(honor(), with(update, json!({"object": {"spec": tolerations(empty(300_000))}}))).finding("Namespace", tolerant())
})]
#[case::empty_tolerations_and_two_annotations_of_a_deployment(|| Worst::new(honor(), deployment(tolerations(empty(300_000)))).finding("Namespace", tolerant()))]
#[case::empty_tolerations_and_two_annotations_of_a_daemon_set(|| Worst::new(honor(), daemon_set(tolerations(empty(300_000)))).finding("Namespace", tolerant()))]
#[case::empty_tolerations_and_two_annotations_with_a_class(|| {
    let spec = with(tolerations(empty(300_000)), json!({"runtimeClassName": "kata"}));
    Worst::new(honor_and_resolve(), pod(spec)).finding("Namespace", tolerant())
})]
#[case::as_many_tolerations_as_are_read_and_two_annotations(|| Worst::new(honor(), pod(tolerations(list(990, toleration)))).finding("Namespace", tolerant()))]
#[case::as_many_new_tolerations_as_are_read_beside_as_many_old_ones(|| {
    let old = tolerations(list(1_000, |at| toleration(at + 1_000)));
    Worst::new(honor(), update(old, tolerations(list(1_000, toleration)))).finding("Namespace", tolerant())
})]
#[case::as_many_tolerations_as_are_read_and_a_class_with_as_many(|| {
    let class = json!({"scheduling": {"tolerations": list(1_000, |at| toleration(at + 1_000))}});
    let spec = with(tolerations(list(1_000, toleration)), json!({"runtimeClassName": "kata"}));
    let settings = with(a_thousand_of_each(), json!({"placement": {"onRuntimeClasses": "Resolve"}}));
    let settings = with(settings, json!({"placement": {"namespaces": [{"name": "team-a", "allowedTolerations": list(1_000, |at| toleration(at + 2_000))}]}}));
    Worst::new(settings, pod(spec)).finding("RuntimeClass", class)
})]
#[case::a_namespace_with_both_annotations(|| {
    let settings = with(a_thousand_of_each(), json!({"placement": {"onTolerationAnnotations": "Honor"}}));
    Worst::new(settings, with(request("namespace-create"), json!({"object": tolerant()})))
})]
// Who may create Pods, where a thousand tolerations are allowed.
#[case::empty_tolerations_and_a_thousand_allowed(|| Worst::new(a_thousand_of_each(), pod(tolerations(empty(300_000)))))]
#[case::as_many_tolerations_as_are_read_and_a_thousand_allowed(|| Worst::new(a_thousand_of_each(), pod(tolerations(list(1_000, toleration)))))]
#[case::as_many_tolerations_as_are_read_and_a_thousand_of_all(|| Worst::new(a_thousand_of_all(), pod(tolerations(list(1_000, toleration)))))]
#[case::almost_as_many_tolerations_as_are_read_and_a_thousand_of_all(|| {
    Worst::new(a_thousand_of_all(), pod(tolerations(list(990, |at| if at == 989 { json!({"operator": "Exists"}) } else { toleration(at) }))))
})]
#[case::as_many_tolerations_as_are_read_on_a_node_with_many_taints(|| a_pod_that_names_a_node(tainted(30_000)))]
#[case::as_many_tolerations_as_are_read_on_a_node_with_as_many_taints(|| a_pod_that_names_a_node(tainted(1_000)))]
#[case::a_user_binds_to_a_node_with_many_taints(|| a_user_binds_to(tainted(30_000)))]
#[case::a_user_binds_to_a_node_with_as_many_taints_as_are_read(|| a_user_binds_to(tainted(1_000)))]
// Who may create Pods, under any settings.
#[case::empty_terms(|| Worst::new(fence(), pod(required(empty(300_000)))))]
#[case::empty_terms_at_an_update(|| Worst::new(fence(), update(required(empty(300_000)), required(empty(299_999)))))]
#[case::empty_terms_at_an_update_where_the_node_selector_differs(|| {
    let new = with(required(empty(300_000)), json!({"nodeSelector": {"pool": "a"}}));
    Worst::new(fence(), update(required(empty(300_000)), new))
})]
#[case::empty_terms_of_a_pod_that_is_too_large(|| Worst::new(fence(), pod(required(empty(630_000)))))]
#[case::empty_terms_of_a_deployment(|| Worst::new(fence(), deployment(required(empty(300_000)))))]
#[case::empty_terms_that_no_rule_reads(|| Worst::new(a_thousand_of_each(), pod(required(empty(300_000)))))]
#[case::empty_terms_beside_a_default_that_yields(|| {
    Worst::new(placement(json!({"onDefaultConflict": "Yield", "clusterDefaultNodeSelector": "pool in (a,b)"})), pod(required(empty(300_000))))
})]
#[case::empty_expressions(|| Worst::new(fence(), pod(required(json!([{"matchExpressions": empty(300_000)}])))))]
#[case::empty_fields(|| Worst::new(entry(json!({"allowedNodeSelector": ""})), pod(required(json!([{"matchFields": empty(300_000)}])))))]
#[case::empty_preferred_terms(|| {
    let settings = entry(json!({"preferredNodeSelector": list(50, |at| json!({"weight": 1, "selector": format!("k{at}")}))}));
    Worst::new(settings, pod(preferred(empty(300_000))))
})]
#[case::as_many_preferred_terms_as_are_read(|| {
    let selector = words(10, ",", |at| format!("k{at}"));
    let settings = entry(json!({"preferredNodeSelector": list(50, |at| json!({"weight": 1, "selector": format!("{selector},x{at}")}))}));
    let term = json!({"weight": 1, "preference": {"matchExpressions": list(10, exists)}});
    Worst::new(settings, pod(preferred(list(900, |_| term.clone()))))
})]
#[case::as_many_expressions_as_are_read_and_a_long_fence(|| {
    let settings = entry(json!({"requiredNodeSelector": words(500, ",", |at| format!("k{at} in (a,b)"))}));
    Worst::new(settings, pod(required(json!([{"matchExpressions": list(8_000, exists)}]))))
})]
#[case::as_many_terms_as_are_read_and_a_long_fence(|| {
    let settings = entry(json!({"requiredNodeSelector": words(500, ",", |at| format!("k{at} in (a,b)"))}));
    Worst::new(settings, pod(required(list(1_000, |at| json!({"matchExpressions": list(9, |key| exists(key * 50 + at % 50))})))))
})]
#[case::as_many_terms_as_are_read_beside_a_default_that_yields(|| {
    let settings = placement(json!({"onDefaultConflict": "Yield", "clusterDefaultNodeSelector": words(500, ",", |at| format!("k{at}"))}));
    Worst::new(settings, pod(required(list(1_000, |_| json!({"matchExpressions": list(9, |key| exists(key * 50))})))))
})]
#[case::one_key_that_everything_is_about(|| {
    let values = list(4_900, |at| json!(format!("v{at}")));
    let mut expressions = vec![json!({"key": "k", "operator": "In", "values": values})];
    expressions.extend((0..2_500).map(|at| json!({"key": "k", "operator": "NotIn", "values": [format!("x{at}")]})));
    Worst::new(entry(json!({"requiredNodeSelector": one_key_again()})), pod(required(json!([{"matchExpressions": expressions}]))))
})]
#[case::an_annotation_of_one_key_and_terms_about_it(|| {
    let term = json!({"matchExpressions": [{"key": "k", "operator": "In", "values": ["a", "b", "c"]}]});
    annotated(json!({"placement": {}}), pod(required(list(1_000, |_| term.clone()))), one_key_again())
})]
#[case::an_annotation_of_one_key_and_a_whitelist_of_it(|| {
    let settings = with(whitelist_of_one_key(1_000), json!({"placement": {"namespaceAnnotations": null}}));
    annotated(settings, pod(json!({"nodeSelector": {"k": "a"}})), one_key_again())
})]
#[case::a_namespace_with_an_annotation_of_one_key(|| {
    let annotations = json!({"scheduler.alpha.kubernetes.io/node-selector": one_key_again()});
    let settings = with(whitelist_of_one_key(1_000), json!({"placement": {"namespaceAnnotations": null}}));
    Worst::new(settings, with(request("namespace-create"), json!({"object": {"metadata": {"annotations": annotations}}})))
})]
// Who may create Pods, where the node metadata come as variables.
#[case::empty_containers(|| Worst::new(variables(), pod(json!({"containers": empty(300_000)}))))]
#[case::empty_containers_that_may_request_a_resource(|| {
    Worst::new(placement(json!({"onExtendedResources": "Tolerate"})), pod(json!({"containers": empty(300_000)})))
})]
#[case::empty_variables(|| Worst::new(variables(), pod(json!({"containers": [{"name": "c", "env": empty(295_000)}]}))))]
#[case::containers_with_as_many_variables_as_are_read(|| {
    Worst::new(variables(), pod(json!({"containers": list(29, |_| json!({"name": "c", "env": empty(10_000)}))})))
})]
#[case::containers_with_almost_as_many_variables_as_are_read(|| {
    Worst::new(variables(), pod(json!({"containers": list(28, |_| json!({"name": "c", "env": empty(9_900)}))})))
})]
#[case::containers_that_would_become_too_large(|| {
    Worst::new(variables(), pod(json!({"containers": list(990, |_| json!({"name": "c"}))})))
})]
#[case::containers_that_have_all_variables(|| {
    let variables_: Vec<Value> = (0..50).map(|at| json!({"name": format!("VARIABLE_OF_THE_NODE_{at}")})).collect();
    Worst::new(variables(), pod(json!({"containers": list(400, |_| json!({"env": variables_}))})))
})]
#[case::resources(|| {
    let requests = map(45_000, "x.io/", "1");
    Worst::new(placement(json!({"onExtendedResources": "Tolerate"})), pod(json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})))
})]
#[case::as_many_resources_as_are_read_and_a_thousand_forbidden(|| {
    let requests = map(990, "dedicated.example.com/", "1");
    let settings = with(a_thousand_of_each(), json!({"placement": {"onExtendedResources": "Tolerate"}}));
    Worst::new(settings, pod(json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})))
})]
#[case::a_quantity_of_many_digits(|| {
    let requests = json!({"example.com/gpu": format!("{}1", "0".repeat(880_000))});
    Worst::new(placement(json!({"onExtendedResources": "Tolerate"})), pod(json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})))
})]
// Who may label one Namespace.
#[case::a_namespace_with_many_labels_that_one_entry_refers_to(|| relabelled(tenants(), 75_000))]
#[case::a_namespace_with_many_labels_and_twenty_references(|| relabelled(twenty_references(), 75_000))]
#[case::a_namespace_with_many_labels_and_a_thousand_entries(|| relabelled(a_thousand_entries(), 75_000))]
#[case::a_pod_in_a_namespace_with_many_labels(|| pod_in_labelled(tenants(), 150_000))]
#[case::a_pod_in_a_namespace_with_many_labels_and_twenty_references(|| pod_in_labelled(twenty_references(), 150_000))]
#[case::a_pod_in_a_namespace_with_many_labels_and_a_thousand_entries(|| pod_in_labelled(a_thousand_entries(), 150_000))]
#[case::a_pod_in_a_namespace_with_many_annotations(|| {
    Worst::new(honor_and_resolve(), pod(tolerations(json!([{"operator": "Exists"}])))).finding("Namespace", namespace(json!({"annotations": map(150_000, "", "")})))
})]
#[case::a_namespace_that_is_too_large(|| {
    let object = json!({"object": {"metadata": {"labels": labelled(150_000)}}});
    Worst::new(twenty_references(), with(request("namespace-create"), object))
})]
// A kubelet.
#[case::a_node_with_many_labels_under_a_star(|| binding_to(propagate(json!([{"nodeLabel": "e.io/*"}])), json!({"labels": map(100_000, "e.io/", "a")})))]
#[case::a_node_with_many_labels_under_a_star_with_two_targets(|| {
    binding_to(propagate(json!([{"nodeLabel": "e.io/*", "podLabel": "e.io/*", "podAnnotation": "e.io/*"}])), json!({"labels": map(100_000, "e.io/", "a")}))
})]
#[case::a_node_with_many_labels_under_a_star_that_are_none(|| {
    binding_to(propagate(json!([{"nodeLabel": "e.io/*", "podLabel": "e.io/*"}])), json!({"labels": map(100_000, "e.io/-", "a b")}))
})]
#[case::a_node_with_many_labels_under_fifty_stars(|| binding_to(stars("podLabel", "e.io/*"), json!({"labels": map(100_000, "e.io/", "a")})))]
#[case::a_node_with_many_labels_under_fifty_stars_that_are_none(|| binding_to(stars("podLabel", "e.io/*"), json!({"labels": map(100_000, "e.io/-", "a")})))]
#[case::a_node_with_many_annotations_under_a_star(|| binding_to(propagate(json!([{"nodeAnnotation": "e.io/*"}])), json!({"annotations": map(100_000, "e.io/", "a")})))]
#[case::a_node_with_many_annotations_under_fifty_stars_that_no_label_can_have(|| {
    let settings = propagate(list(50, |at| json!({"nodeAnnotation": "e.io/*", "podLabel": format!("e{at}.io/*")})));
    binding_to(settings, json!({"annotations": map(26_000, "e.io/", "(")}))
})]
#[case::a_node_with_many_annotations_under_fifty_stars_and_nearly_valid(|| {
    let settings = propagate(list(50, |at| json!({"nodeAnnotation": "e.io/*", "podLabel": format!("e{at}.io/*")})));
    binding_to(settings, json!({"annotations": map(26_000, "e.io/x", &format!("{}(", "x".repeat(62)))}))
})]
#[case::a_node_with_many_labels_beside_fifty_keys(|| binding_to(protecting("podLabel", false), json!({"labels": map(100_000, "n", "a")})))]
#[case::a_pod_that_names_a_node_with_many_labels(|| {
    Worst::new(stars("podAnnotation", "e.io/*"), pod(json!({"nodeName": "node-a"}))).finding("Node", node(json!({"labels": map(100_000, "e.io/", "a")})))
})]
#[case::a_node_whose_labels_are_all_replaced(|| relabelled_node(50, map(70_000, "y", "a"), map(70_000, "x", "a")))]
#[case::a_node_whose_labels_are_all_replaced_beside_many_guarded_ones(|| {
    relabelled_node(700, map(60_000, "y.io/", "a"), map(60_000, "x.io/", "a"))
})]
#[case::a_node_whose_labels_are_in_no_order(|| {
    relabelled_node(50, unsorted(60_000, "", "a"), unsorted(60_000, "", "b"))
})]
#[case::annotations_of_a_waiting_pod_replaced_in_no_order(|| {
    let annotations = |value| json!({"metadata": {"annotations": unsorted(40_000, "e49.io/", value)}});
    let update = with(update(json!({}), json!({})), json!({"object": annotations("a"), "oldObject": annotations("b")}));
    Worst::new(protecting("podAnnotation", true), update)
})]
#[case::a_node_with_many_addresses_and_fifty_fields(|| {
    let addresses = list(50_000, |at| json!({"type": "Hostname", "address": format!("10.0.{at}")}));
    field_of(|at| format!("status.addresses[type=Type{at}].address"), json!({"status": {"addresses": addresses}}))
})]
#[case::a_node_with_addresses_that_begin_like_those_of_fifty_fields(|| {
    let addresses = list(80_000, |_| json!({"type": "InternalIX", "address": ""}));
    field_of(|at| format!("status.addresses[type=Internal{at:02}].address"), json!({"status": {"addresses": addresses}}))
})]
#[case::a_node_with_empty_addresses_and_fifty_fields(|| {
    field_of(|at| format!("status.addresses[type=Type{at}].address"), json!({"status": {"addresses": empty(500_000)}}))
})]
#[case::a_node_with_many_labels_and_fifty_fields(|| {
    let labels = json!({"metadata": {"labels": map(150_000, "x", "")}});
    field_of(|at| format!("metadata.labels['y{at}']"), labels)
})]
#[case::a_node_with_much_of_everything_and_fifty_fields(|| {
    let node = json!({"metadata": {"annotations": map(100_000, "x", "")}, "status": {"images": empty(300_000)}});
    field_of(|at| format!("status.nodeInfo.name{at}"), node)
})]
#[case::a_node_whose_guarded_labels_are_all_replaced(|| {
    let settings = placement(json!({"onNodes": "Reject", "guardedNodeLabels": ["g.io/*"]}));
    let update = request("node-update-label-by-kubelet");
    let labels = json!({"object": {"metadata": {"labels": map(60_000, "g.io/x", "a")}}, "oldObject": {"metadata": {"labels": map(60_000, "g.io/y", "a")}}});
    Worst::new(settings, with(update, labels))
})]
// Who may update Pods, where marks are protected.
#[case::labels_of_a_bound_pod_replaced(|| {
    let update = bound(json!({"labels": map(75_000, "x", "")}), json!({"labels": map(75_000, "y", "")}));
    Worst::new(protecting("podLabel", false), update).finding("Node", node(json!({"labels": {"a": "b"}})))
})]
#[case::labels_of_a_bound_pod_replaced_beside_stars(|| {
    let update = bound(json!({"labels": map(75_000, "x", "")}), json!({"labels": map(75_000, "y", "")}));
    Worst::new(protecting("podLabel", true), update).finding("Node", node(json!({"labels": {"a": "b"}})))
})]
#[case::labels_of_a_bound_pod_replaced_under_stars(|| {
    let update = bound(json!({"labels": map(50_000, "e49.io/x", "")}), json!({"labels": map(50_000, "e49.io/y", "")}));
    Worst::new(protecting("podLabel", true), update).finding("Node", node(json!({"labels": map(100_000, "n49.io/", "")})))
})]
#[case::labels_of_a_pod_that_is_created_under_stars(|| {
    let labels = json!({"object": {"metadata": {"labels": map(50_000, "e49.io/x", "")}}});
    Worst::new(protecting("podLabel", true), with(pod(json!({})), labels))
})]
#[case::annotations_of_a_bound_pod_replaced_under_stars(|| {
    let update = bound(json!({"annotations": map(50_000, "e49.io/x", "")}), json!({"annotations": map(50_000, "e49.io/y", "")}));
    Worst::new(protecting("podAnnotation", true), update).finding("Node", node(json!({"labels": map(100_000, "n49.io/", "")})))
})]
#[case::annotations_of_a_bound_pod_filled_in(|| {
    let settings = propagate(list(50, |at| json!({"nodeLabel": format!("n{at}.io/x"), "podAnnotation": format!("e{at}.io/x"), "default": "d"})));
    let update = bound(json!({"annotations": map(75_000, "x", "")}), json!({"annotations": map(75_000, "x", "")}));
    Worst::new(settings, update).finding("Node", node(json!({"labels": map(100_000, "n", "a")})))
})]
#[case::annotations_of_a_waiting_pod_that_begin_like_those_of_fifty_entries(|| {
    let key = |at: usize| format!("example.com/of-{at:05}");
    let settings = propagate(list(50, |at| json!({"nodeLabel": "x", "podAnnotation": key(at), "default": "d"})));
    let annotations = |from: usize| (0..32_000).map(|at| (key(from + at), json!(""))).collect::<Value>();
    let metadata = |from| json!({"metadata": {"annotations": annotations(from)}});
    let update = with(update(json!({}), json!({})), json!({"object": metadata(100), "oldObject": metadata(101)}));
    Worst::new(settings, update)
})]
#[case::annotations_that_somebody_wrote_on_a_binding(|| {
    let binding = with(request("binding"), json!({"object": {"metadata": {"annotations": map(150_000, "x", "")}}}));
    Worst::new(protecting("podAnnotation", true), binding).finding("Node", node(json!({"labels": {"a": "b"}})))
})]
// Who may choose nodes within a whitelist.
#[case::many_values_and_requirements_on_their_key(|| Worst::new(whitelist_of_one_key(300), pod(one_expression(110_000))))]
#[case::as_many_values_as_are_read_and_requirements_on_their_key(|| Worst::new(whitelist_of_one_key(300), pod(one_expression(9_990))))]
#[case::as_many_values_as_are_read_and_a_thousand_requirements_on_their_key(|| Worst::new(whitelist_of_one_key(1_000), pod(one_expression(9_990))))]
#[case::as_many_expressions_as_are_read_and_a_whitelist_of_keys(|| {
    let expressions = list(3_000, |at| json!({"key": format!("k{}", 999 - at % 10), "operator": "In", "values": ["v", "w"]}));
    Worst::new(whitelist_of_keys(), pod(required(json!([{"matchExpressions": expressions}]))))
})]
#[case::as_many_pairs_as_are_read_and_a_whitelist_of_keys(|| {
    let pairs: Value = (0..1_000).map(|at| (format!("k{at}"), json!("v"))).collect();
    Worst::new(whitelist_of_keys(), pod(json!({"nodeSelector": pairs})))
})]
#[case::many_pairs(|| Worst::new(whitelist_of_keys(), pod(json!({"nodeSelector": map(75_000, "k", "v")}))))]
#[case::many_pairs_that_a_long_fence_is_added_to(|| {
    let settings = entry(json!({"requiredNodeSelector": words(1_000, ",", |at| format!("f{at}=v"))}));
    Worst::new(settings, pod(json!({"nodeSelector": map(70_000, "k", "v")})))
})]
// Who may create workloads.
#[case::a_workload_that_selects_by_many_labels(|| {
    let selector = json!({"object": {"spec": {"selector": {"matchLabels": map(80_000, "x", "")}}}});
    Worst::new(protecting("podLabel", true), with(deployment(json!({})), selector))
})]
#[case::a_workload_that_selects_by_many_expressions(|| {
    let selector = json!({"object": {"spec": {"selector": {"matchExpressions": empty(290_000)}}}});
    Worst::new(protecting("podLabel", false), with(deployment(json!({})), selector))
})]
#[case::an_annotation_of_the_plugin_before_the_pairs_of_a_pod(|| {
    let settings = json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": ""}});
    let selector = words(16_000, ",", |at| format!("a{at:05}="));
    annotated(settings, pod(json!({"nodeSelector": {"zzzz": "1"}})), selector)
})]
#[case::a_class_whose_label_comes_before_those_of_a_template(|| {
    let terms = json!([{"matchExpressions": list(4_000, |at| json!({"key": format!("b{at}"), "operator": "Exists"}))}]);
    let spec = with(required(terms), json!({"runtimeClassName": "kata", "nodeSelector": map(35_000, "c", "")}));
    let settings = placement(json!({"onRuntimeClasses": "Resolve", "namespaces": [{"name": "*", "requiredNodeSelector": "zz=1"}]}));
    Worst::new(settings, deployment(spec)).finding("RuntimeClass", json!({"scheduling": {"nodeSelector": {"0": "b"}}}))
})]
// The same again and again, or a thousand that begin or end alike.
#[case::an_annotation_that_repeats_a_requirement(|| {
    let exists = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    annotated(any(), pod(required(list(1_000, |_| exists.clone()))), words(8_192, ",", |_| "a".into()))
})]
#[case::an_annotation_that_repeats_a_requirement_in_two_spellings(|| {
    let exists = json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]});
    let selector = words(1_800, ",", |at| if at % 2 == 0 { "k!=v".into() } else { "k notin (v)".into() });
    annotated(any(), pod(required(list(1_000, |_| exists.clone()))), selector)
})]
#[case::three_annotations_that_repeat_a_requirement(|| {
    let keys = ["a.io/1", "a.io/2", "a.io/3"];
    let annotations: Value = keys.into_iter().map(|key| (key, json!(words(8_192, ",", |_| "a".into())))).collect();
    let term = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    Worst::new(json!({"placement": {"namespaceAnnotations": keys}}), pod(required(list(1_000, |_| term.clone()))))
        .finding("Namespace", namespace(json!({"annotations": annotations})))
})]
#[case::an_annotation_that_repeats_a_requirement_for_a_daemon_set(|| {
    let exists = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    annotated(any(), daemon_set(required(list(1_000, |_| exists.clone()))), words(8_192, ",", |_| "a".into()))
})]
#[case::an_annotation_of_as_many_requirements_as_are_read(|| {
    let exists = json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]});
    annotated(any(), pod(required(list(1_000, |_| exists.clone()))), words(1_000, ",", |at| format!("k!=v{at:x}")))
})]
#[case::an_annotation_of_as_many_requirements_as_are_read_which_a_pod_states(|| {
    let stated = list(990, |at| json!({"key": "k", "operator": "NotIn", "values": [format!("v{at:x}")]}));
    let terms = list(5, |_| json!({"matchExpressions": stated.clone()}));
    annotated(any(), pod(required(terms)), words(1_000, ",", |at| format!("k!=v{at:x}")))
})]
#[case::an_annotation_of_many_values(|| annotated(any(), pod(excluding(1_000)), format!("k in ({})", words(5_042, ",", |at| format!("{at:x}")))))]
#[case::an_annotation_of_as_many_values_as_are_read(|| annotated(any(), pod(excluding(1_000)), format!("k in ({})", words(1_000, ",", |at| format!("a{at:x}")))))]
#[case::a_fence_of_many_values_and_terms_that_exclude_them(|| {
    Worst::new(entry(json!({"requiredNodeSelector": format!("k in ({})", words(5_000, ",", |at| format!("a{at:x}")))})), pod(excluding(1_000)))
})]
#[case::a_fence_of_long_values_and_terms_that_exclude_them(|| Worst::new(entry(json!({"requiredNodeSelector": long_zeros(1_000)})), pod(excluding(1_000))))]
#[case::a_fence_of_long_values_that_terms_list(|| {
    let values = list(9, |at| json!(format!("{}{at:03}x", "0".repeat(59))));
    let term = json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": values}]});
    Worst::new(entry(json!({"requiredNodeSelector": long_zeros(1_000)})), pod(required(list(1_000, |_| term.clone()))))
})]
#[case::a_whitelist_of_many_values_on_one_key(|| {
    let values = list(9_990, |at| json!(format!("{}{at:03}x", "0".repeat(50))));
    let selector = words(100, ",", |_| long_zeros(10));
    Worst::new(entry(json!({"allowedNodeSelector": selector})), pod(required(json!([{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]))))
})]
#[case::expressions_of_long_keys_beside_what_the_entry_requires(|| {
    let settings = entry(json!({"allowedNodeSelector": "a", "requiredNodeSelector": words(1_000, ",", differing_last)}));
    Worst::new(settings, pod(long_terms(1_000, |at| differing_last(at + 500))))
})]
#[case::expressions_of_long_keys_beside_a_default_that_yields(|| {
    let settings = placement(json!({"onDefaultConflict": "Yield", "clusterDefaultNodeSelector": words(1_000, ",", differing_last)}));
    Worst::new(settings, pod(long_terms(1_000, differing_last)))
})]
#[case::expressions_of_long_keys_for_a_few_terms(|| {
    let settings = entry(json!({"requiredNodeSelector": words(1_000, ",", differing_last)}));
    Worst::new(settings, pod(long_terms(4, |at| differing_last(at + 1_000))))
})]
#[case::preferences_of_long_keys(|| {
    let preferred_ = list(500, |at| json!({"weight": 1, "selector": differing_last(at)}));
    let own = list(500, |at| json!({"weight": 1, "preference": {"matchExpressions": [{"key": differing_last(at + 500), "operator": "Exists"}]}}));
    Worst::new(entry(json!({"preferredNodeSelector": preferred_})), pod(preferred(own)))
})]
#[case::old_and_new_tolerations_of_one_long_key(|| {
    let value = |from: usize| move |at: usize| json!({"value": format!("{}{:04}", "v".repeat(59), from + at)});
    Worst::new(forbidding(), update(of_one_key(1_000, value(1_000)), of_one_key(1_000, value(0))))
})]
#[case::old_and_new_tolerations_that_differ_in_seconds(|| {
    let seconds = |from: usize| move |at: usize| json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": from + at});
    Worst::new(forbidding(), update(of_one_key(1_000, seconds(1_000)), of_one_key(1_000, seconds(0))))
})]
#[case::tolerations_whose_keys_differ_first(|| Worst::new(a_thousand_keys(differing_first), a_pod_of_keys(differing_first)))]
#[case::tolerations_whose_keys_differ_last(|| Worst::new(a_thousand_keys(differing_last), a_pod_of_keys(differing_last)))]
#[case::tolerations_of_one_key_that_a_thousand_values_are_forbidden_of(|| {
    let forbidden = list(1_000, |at| json!({"key": differing_last(0), "operator": "Equal", "value": format!("{}{at:04}", "v".repeat(59))}));
    let spec = of_one_key(1_000, |at| json!({"operator": "Exists", "effect": format!("NoSchedule{at}")}));
    Worst::new(entry(json!({"forbiddenTolerations": forbidden})), pod(spec))
})]
#[case::tolerations_of_every_key_that_a_thousand_values_are_forbidden_of(|| {
    let forbidden = list(1_000, |at| json!({"key": differing_last(at), "operator": "Equal", "value": format!("{}{at:04}", "v".repeat(59))}));
    let spec = tolerations(list(1_000, |at| json!({"operator": "Equal", "value": format!("{}{at:04}", "v".repeat(58) + "w")})));
    Worst::new(entry(json!({"forbiddenTolerations": forbidden})), pod(spec))
})]
#[case::tolerations_of_every_key_and_value_that_none_forbidden_overlaps(|| {
    let forbidden = list(1_000, |at| json!({"key": differing_last(at), "operator": "Exists", "effect": "NoExecute"}));
    let spec = tolerations(list(1_000, |at| json!({"operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": at})));
    Worst::new(entry(json!({"forbiddenTolerations": forbidden})), pod(spec))
})]
#[case::tolerations_of_every_key_at_an_update(|| {
    let forbidden = list(1_000, |at| json!({"key": differing_last(at), "operator": "Equal", "value": format!("{}{at:04}", "v".repeat(59))}));
    let spec = |letter: &str| tolerations(list(1_000, |at| json!({"operator": "Equal", "value": format!("{}{at:04}", "v".repeat(58) + letter)})));
    Worst::new(entry(json!({"forbiddenTolerations": forbidden})), update(spec("w"), spec("x")))
})]
#[case::tolerations_that_differ_in_seconds_beside_a_thousand_defaults(|| {
    let defaults = list(990, |at| json!({"key": differing_last(at), "operator": "Exists"}));
    let spec = of_one_key(10, |at| json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": at}));
    Worst::new(entry(json!({"defaultTolerations": defaults})), pod(spec))
})]
#[case::taints_whose_keys_differ_first(|| tainted_with(differing_first))]
#[case::taints_whose_keys_differ_last(|| tainted_with(differing_last))]
#[case::a_class_with_a_thousand_long_tolerations(|| {
    let class = json!({"scheduling": {"tolerations": list(1_000, |at| tolerating(differing_last(at), json!({"value": "a"})))}});
    let spec = with(tolerations(list(990, |at| tolerating(differing_last(at), json!({"value": "a"})))), json!({"runtimeClassName": "kata"}));
    let settings = placement(json!({"onRuntimeClasses": "Resolve", "namespaces": [{"name": "team-a", "allowedTolerations": []}]}));
    Worst::new(settings, pod(spec)).finding("RuntimeClass", class)
})]
#[case::an_annotation_of_the_plugin_with_many_pairs(|| {
    let settings = json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": ""}});
    annotated(settings, pod(json!({"nodeSelector": null})), words(43_000, ",", |at| format!("{at:04x}=")))
})]
// Entries for some Pods, and forbidden labels.
#[case::a_pod_with_many_labels_and_a_thousand_entries_for_some_pods(|| {
    let entries = list(1_000, |at| json!({"name": "team-a", "podSelector": format!("app-{at} in (a,b), !sandbox"), "requiredNodeSelector": "pool=a"}));
    let labels = json!({"object": {"metadata": {"labels": map(70_000, "app", "")}}});
    Worst::new(placement(json!({"namespaces": entries})), with(pod(json!({})), labels))
})]
#[case::a_binding_beside_twenty_entries_for_some_pods_and_an_annotation(|| beside_entries_for_some_pods(20, json!({"requiredNodeSelector": "pool=a"})))]
#[case::a_binding_beside_a_thousand_entries_for_some_pods_and_an_annotation(|| {
    beside_entries_for_some_pods(1_000, json!({"requiredNodeSelector": "pool=a"}))
})]
#[case::a_binding_beside_a_thousand_entries_that_refer_to_one_of_many_labels(|| {
    let entries = list(1_000, |at| json!({"name": "team-a", "podSelector": format!("app-{at}"), "requiredNodeSelector": "pool=$(z0)"}));
    let settings = json!({"placement": {"onBindings": "Verify", "namespaces": entries}});
    Worst::new(settings, request("binding"))
        .finding("Namespace", namespace(json!({"labels": labelled(150_000)})))
        .finding("Node", node(json!({"labels": {"pool": "b"}})))
})]
#[case::a_user_binds_beside_a_thousand_entries_for_some_pods_and_two_annotations(|| {
    let settings = json!({"placement": {"onBindings": "Verify", "onTolerationAnnotations": "Honor", "namespaces": entries_that_forbid(1_000)}});
    Worst::new(settings, bound_by_a_user()).finding("Namespace", tolerant()).finding("Node", tainted(1_000))
})]
#[case::a_user_binds_beside_a_hundred_entries_for_some_pods_and_two_annotations(|| {
    let settings = json!({"placement": {"onBindings": "Verify", "onTolerationAnnotations": "Honor", "namespaces": entries_that_forbid(100)}});
    Worst::new(settings, bound_by_a_user()).finding("Namespace", tolerant()).finding("Node", tainted(300))
})]
#[case::a_user_binds_beside_a_thousand_entries_that_forbid_the_last_taint(|| {
    Worst::new(placement(json!({"onBindings": "Verify", "namespaces": entries_that_forbid(1_000)})), bound_by_a_user()).finding("Node", tainted(160))
})]
#[case::expressions_and_a_thousand_forbidden_labels(|| {
    let forbidden = list(1_000, |at| json!(differing_last(at)));
    Worst::new(entry(json!({"forbiddenNodeLabels": forbidden})), pod(long_terms(1_000, |at| differing_last(at + 1_000))))
})]
#[case::expressions_on_a_forbidden_label_beside_many_that_the_entry_requires(|| {
    let value = |at: usize| format!("{}{at:04}", "v".repeat(59));
    let required_ = words(1_000, ",", |at| format!("k notin ({})", value(at)));
    let expressions = list(4_900, |at| json!({"key": "k", "operator": "NotIn", "values": [value(999 - at % 1_000)]}));
    let settings = entry(json!({"requiredNodeSelector": required_, "forbiddenNodeLabels": ["k"]}));
    Worst::new(settings, pod(required(json!([{"matchExpressions": expressions}]))))
})]
#[case::pairs_and_a_thousand_forbidden_labels_that_the_entry_requires(|| {
    let forbidden = list(1_000, |at| json!(format!("k{at}")));
    let required_ = words(1_000, ",", |at| format!("k{at}=v"));
    let pairs: Value = (0..1_000).map(|at| (format!("k{at}"), json!("v"))).collect();
    Worst::new(entry(json!({"requiredNodeSelector": required_, "forbiddenNodeLabels": forbidden})), pod(json!({"nodeSelector": pairs})))
})]
// Keys that begin alike, everywhere.
#[case::expressions_that_begin_like_required_allowed_and_forbidden_labels_and_those_of_a_node(|| {
    let expressions = list(2_600, |at| json!({"key": differing_last(at % 1_000), "operator": "Exists"}));
    let spec = with(required(json!([{"matchExpressions": expressions}])), json!({"nodeName": "node-a"}));
    let labels: Value = (0..3_000).map(|at| (differing_last(at), json!("v"))).collect();
    Worst::new(labels_that_begin_alike(), pod(spec)).finding("Node", node(json!({"labels": labels})))
})]
#[case::values_of_a_key_that_begins_like_allowed_and_forbidden_ones(|| {
    let forbidden = list(1_000, |at| json!(differing_last(at + 1_000)));
    let settings = entry(json!({"allowedNodeSelector": words(1_000, ",", differing_last), "forbiddenNodeLabels": forbidden}));
    let values = list(9_990, |at| json!(format!("{}{at:04}", "v".repeat(58))));
    let term = json!({"matchExpressions": [{"key": differing_last(500), "operator": "In", "values": values}]});
    Worst::new(settings, pod(required(json!([term]))))
})]
#[case::a_user_binds_to_taints_that_begin_like_tolerations(a_user_binds_to_taints_that_begin_like_tolerations)]
#[case::labels_of_a_node_that_begin_like_guarded_and_required_ones(|| {
    let below = |at: usize| format!("{DOMAIN}/{at:x}");
    let guarded = list(1_000, |at| json!(below(at + 60_000)));
    let entries = list(1_000, |at| json!({"name": format!("team-{at}"), "requiredNodeSelector": format!("{}=v", below(at + 80_000))}));
    let settings = placement(json!({"onNodes": "Reject", "guardedNodeLabels": guarded, "namespaces": entries}));
    let labels = |value| json!({"metadata": {"labels": keys_below(DOMAIN, 20_000, value)}});
    Worst::new(settings, with(request("node-update-label-by-kubelet"), json!({"object": labels("a"), "oldObject": labels("b")})))
})]
#[case::annotations_of_a_binding_that_begin_like_fifty_stars(|| {
    let annotations = keys_below(&format!("{DOMAIN}.e49"), 42_000, "");
    let binding = with(request("binding"), json!({"object": {"metadata": {"annotations": annotations}}}));
    Worst::new(stars_that_begin_alike("podAnnotation"), binding).finding("Node", node(json!({"labels": {"a": "b"}})))
})]
#[case::annotations_of_a_pod_that_names_a_node_and_begin_like_fifty_stars(|| {
    let annotations = json!({"object": {"metadata": {"annotations": keys_below(&format!("{DOMAIN}.e49"), 19_000, "")}}});
    Worst::new(stars_that_begin_alike("podAnnotation"), with(pod(json!({"nodeName": "node-a"})), annotations))
        .finding("Node", node(json!({"labels": keys_below(&format!("{DOMAIN}.e49"), 40_000, "b")})))
})]
#[case::labels_of_a_node_under_fifty_long_stars(|| {
    let entry = |at: usize| json!({"nodeLabel": format!("{DOMAIN}/*"), "podAnnotation": format!("{DOMAIN}.e{at:02}/*")});
    binding_to(propagate(list(50, entry)), json!({"labels": keys_below(DOMAIN, 45_000, "")}))
})]
#[case::labels_of_a_node_that_are_as_long_as_those_of_fifty_fields(|| {
    let label = |at: usize| format!("{DOMAIN}/zone-{at:05}");
    let labels: Value = (0..40_000).map(|at| (label(at + 100), json!(""))).collect();
    field_of(|at| format!("metadata.labels['{}']", label(at)), json!({"metadata": {"labels": labels}}))
})]
#[case::tolerations_of_every_key_and_two_annotations_that_repeat_one(|| {
    let own = list(990, |at| json!({"operator": "Exists", "effect": format!("{at:x}")}));
    Worst::new(honor(), pod(tolerations(own))).finding("Namespace", tolerant_again_and_again())
})]
#[case::a_user_binds_beside_a_thousand_entries_for_some_pods_and_two_annotations_that_repeat_one(|| {
    let settings = json!({"placement": {"onBindings": "Verify", "onTolerationAnnotations": "Honor", "namespaces": entries_that_forbid(1_000)}});
    Worst::new(settings, bound_by_a_user()).finding("Namespace", tolerant_again_and_again()).finding("Node", tainted(160))
})]
// Whoever it is.
#[case::less_than_signs(|| {
    Worst::new(fence(), with(pod(json!({})), json!({"object": {"metadata": {"annotations": {"note": "<".repeat(150_000)}}}})))
})]
#[case::empty_objects_that_no_rule_knows(|| Worst::new(fence(), with(pod(json!({})), json!({"object": {"spec": {"volumes": empty(295_000)}}}))))]
#[case::empty_objects_in_the_metadata(|| Worst::new(protecting("podLabel", true), with(pod(json!({})), json!({"object": {"metadata": {"managedFields": empty(295_000)}}}))))]
#[case::empty_owners(|| Worst::new(protecting("podLabel", true), with(pod(json!({})), json!({"object": {"metadata": {"ownerReferences": empty(295_000)}}}))))]
fn within_the_bounds(#[case] worst: fn() -> Worst) -> Result<()> {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    ensure_within(&worst(), name.rsplit("::").next().unwrap_or_default())
}

/// What fuzzing for the most found, which `fuzz/README.md` is about.
#[test]
fn what_fuzzing_kept_is_within_the_bounds() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/cost");
    let mut inputs = fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    inputs.sort();
    ensure!(inputs.len() >= 7, "only {} inputs", inputs.len());
    let mut over = vec![];
    for path in inputs {
        let asked = fuzzed::asked(&mut Unstructured::new(&fs::read(&path)?))?;
        let worst = Worst::new(asked.settings, asked.request)
            .finding("Namespace", asked.namespace)
            .finding("Node", asked.node)
            .finding("RuntimeClass", asked.runtime_class);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        over.extend(ensure_within(&worst, &name).err().map(|error| format!("{name}: {error:#}")));
    }
    ensure!(over.is_empty(), "{}", over.join("\n"));
    Ok(())
}

fn ensure_within(worst: &Worst, name: &str) -> Result<()> {
    let (cost, allowed, answer) = worst.measure()?;
    let warnings = answer.warnings.map_or(0, |warnings| warnings.len());
    let millions = cost.instructions.div_ceil(1_000_000);
    let figures = format!(
        "{millions} m instructions, {} KiB of {} KiB that are allowed, {warnings} warnings, {}",
        cost.memory / 1024,
        allowed / 1024,
        match (&answer.message, answer.accepted) {
            (Some(message), false) => format!("{:?}: {}", answer.code, message.chars().take(100).collect::<String>()),
            _ => "accepted".to_owned(),
        }
    );
    println!("{name}: {figures}");
    let mut over = vec![];
    if cost.instructions > MOST_INSTRUCTIONS {
        over.push("instructions");
    }
    if cost.memory > allowed.min(MOST_MEMORY) {
        over.push("memory");
    }
    if warnings > MOST_WARNINGS {
        over.push("warnings");
    }
    match over.is_empty() {
        true => Ok(()),
        false => bail!("too much of {}: {figures}", over.join(" and ")),
    }
}

/// The figures above mean nothing if the floor has more than its two MiB.
#[test]
fn the_floor_has_two_mebibytes() -> Result<()> {
    ensure!(*FLOOR == 2 * 1024 * 1024, "{}", *FLOOR);
    Ok(())
}
