//! Namespaces that are only warned: no request is answered otherwise than without placement, but for warnings, audit
//! annotations and failed look-ups; and what is warned of is what would be done.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use e2e_tests::{Answer, Cluster, Evaluation, GetResourceRequest, LogLevel, Manifests};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    by_label::{annotations, entry, list, maybe, object, placement, pod},
    labels,
    requests::{Kind, are_valid, cluster, evaluate, namespace},
    selector_to_be_met,
};

const REJECTED: &str = "would be rejected: ";
const ADDED: &str = "would get ";

/// The sentences that rejections begin with, as far as they are the same for all.
const SENTENCES: [&str; 4] = [
    "pod node label selector conflicts with its namespace node label selector",
    "pod node label selector labels conflict with its namespace whitelist",
    "annotations' node label selectors conflict",
    "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
];

/// A cluster that can't be asked about node-broken.
#[derive(Clone)]
struct Troubled(Manifests);

impl Cluster for Troubled {
    fn get_resource(&self, request: &GetResourceRequest) -> Result<String> {
        if request.name == "node-broken" {
            bail!("the API server is away");
        }
        self.0.get_resource(request)
    }

    fn log(&self, _: LogLevel, _: &str) {}
}

fn preferences() -> impl Strategy<Value = Value> {
    let selector = selector_to_be_met().prop_filter("an empty one is a mistake", |selector| !selector.is_empty());
    selector.prop_map(|selector| json!([{"weight": 10, "selector": selector}]))
}

fn choices() -> impl Strategy<Value = Map<String, Value>> {
    object(vec![
        maybe("onDefaultConflict", Just(json!("Yield"))),
        maybe("onNodeAffinity", Just(json!("Ignore"))),
        maybe("onDaemonSets", Just(json!("Reject"))),
        maybe("onNodeName", prop::sample::select(vec![json!("Reject"), json!("Ignore")])),
    ])
}

/// A Pod that sometimes names a node that is none, can't be one, or can't be read.
fn pod_somewhere() -> impl Strategy<Value = Value> {
    let node = prop::sample::select(&["node-a", "node-gone", "node?x", "node-broken"][..]);
    (pod(), prop::option::weighted(0.3, node)).prop_map(|(mut pod, node)| {
        pod["spec"]["nodeName"] = node.map_or(pod["spec"]["nodeName"].clone(), Value::from);
        pod
    })
}

/// What an answer comes to for whoever sent the request.
fn decision(answer: &Answer) -> Value {
    json!([answer.accepted, answer.code, answer.message, answer.mutated_object])
}

fn warnings(answer: &Answer, is_would_be: bool) -> Vec<&str> {
    let all = answer.warnings.iter().flatten().map(String::as_str);
    all.filter(|warning| (warning.starts_with(REJECTED) || warning.starts_with(ADDED)) == is_would_be).collect()
}

fn audit(answer: &Answer, key: &str) -> Option<String> {
    answer.audit_annotations.as_ref().and_then(|annotations| annotations.get(key).cloned())
}

fn other_audit(answer: &Answer) -> BTreeMap<String, String> {
    let mut annotations = answer.audit_annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| !key.starts_with("would-"));
    annotations
}

fn logs_at<'e>(evaluation: &'e Evaluation, level: &str) -> impl Iterator<Item = &'e Value> {
    evaluation.record.logs.iter().filter(move |entry| entry["level"] == level)
}

/// What would have become of the request.
enum WouldBe {
    Rejected(String),
    Changed,
    TheSame,
}

impl WouldBe {
    /// `without` is what it comes to without placement.
    fn of(enforced: &Answer, without: &Answer, object: &Value) -> Self {
        let result = |answer: &Answer| answer.mutated_object.clone().unwrap_or_else(|| object.clone());
        match &enforced.message {
            Some(message) if !enforced.accepted => Self::Rejected(message.clone()),
            _ if result(enforced) != result(without) => Self::Changed,
            _ => Self::TheSame,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_warned_of_is_what_would_be_done_and_nothing_is(
        mut entry in entry(),
        preferences in prop::option::weighted(0.3, preferences()),
        placement in placement(),
        choices in choices(),
        annotations in annotations(),
        pod in pod_somewhere(),
        node_labels in labels(),
        tolerations in list(),
        kind in prop::sample::select(&Kind::ALL[..]),
    ) {
        entry.insert("name".to_owned(), "*".into());
        entry.extend(preferences.map(|preferences| ("preferredNodeSelector".to_owned(), preferences)));
        let node_metadata = json!({"propagate": [{"nodeLabel": "a", "podAnnotation": "example.com/a", "default": "none", "env": "A"}]});
        let with = |enforcement: &str| {
            let mut entry = entry.clone();
            entry.insert("enforcement".to_owned(), enforcement.into());
            let mut placement: Map<String, Value> = placement.clone().into_iter().chain(choices.clone()).collect();
            placement.insert("onBindings".to_owned(), "Verify".into());
            placement.insert("namespaces".to_owned(), json!([entry]));
            json!({"placement": placement, "nodeMetadata": node_metadata})
        };
        prop_assume!(are_valid(&with("Enforce")));
        prop_assert!(are_valid(&with("Warn")));

        let namespace = namespace(&json!({}), &annotations.into());
        let cluster = Troubled(cluster(&namespace, &json!(node_labels), &tolerations));
        let request = kind.request(&pod, &namespace);
        let enforced = evaluate(&request, &with("Enforce"), cluster.clone());
        let warned = evaluate(&request, &with("Warn"), cluster.clone());
        let without = evaluate(&request, &json!({"nodeMetadata": node_metadata}), cluster);
        let (answer, enforced, without) = (&warned.answer, &enforced.answer, &without.answer);

        if enforced.code.is_some_and(|code| code != 403) {
            // What can't be read, and a look-up that fails.
            prop_assert_eq!(decision(answer), decision(enforced));
            return Ok(());
        }
        prop_assert_eq!(decision(answer), decision(without), "{:?} {}", kind, request["object"]);
        prop_assert_eq!(other_audit(answer), other_audit(without));
        prop_assert_eq!(warnings(answer, false), warnings(without, false));
        for warning in warnings(answer, true) {
            prop_assert!(warning.chars().count() <= 256 && !warning.contains('\n'), "{}", warning);
            prop_assert!(!SENTENCES.iter().any(|sentence| warning.contains(sentence)), "{}", warning);
        }
        for key in ["would-reject", "would-add"] {
            prop_assert!(audit(answer, key).unwrap_or_default().chars().count() <= 1024);
        }
        // The other job, or the name of a node, decides for itself.
        if !without.accepted {
            return Ok(());
        }

        let would_be = WouldBe::of(enforced, without, &request["object"]);
        let told = warnings(answer, true);
        match &would_be {
            WouldBe::Rejected(message) => {
                prop_assert!(told.len() == 1 && told[0].starts_with(REJECTED), "{:?} instead of {}", told, message);
                prop_assert_eq!(audit(answer, "would-reject"), Some(message.clone()));
                prop_assert_eq!(audit(answer, "would-add"), None);
                prop_assert!(logs_at(&warned, "warning").next().is_some(), "{:?}", warned.record.logs);
            }
            WouldBe::Changed => {
                prop_assert!(told.len() == 1 && told[0].starts_with(ADDED), "{:?} instead of {:?}", told, enforced);
                let added = audit(answer, "would-add").unwrap_or_default();
                for text in ["node-selector", "tolerations"].into_iter().filter_map(|key| audit(enforced, key)) {
                    prop_assert!(added.contains(&text), "{} without {}", added, text);
                }
                prop_assert_eq!(audit(answer, "would-reject"), None);
                prop_assert!(logs_at(&warned, "debug").next().is_some(), "{:?}", warned.record.logs);
            }
            WouldBe::TheSame => {
                prop_assert!(told.is_empty(), "{:?}", told);
                prop_assert!(audit(answer, "would-reject").is_none() && audit(answer, "would-add").is_none());
            }
        }
        // An accepted request logs nothing above debug, but for what would be rejected.
        let is_quiet = warned.record.logs.iter().all(|entry| entry["level"] == "debug" || entry["level"] == "trace");
        prop_assert!(is_quiet || matches!(would_be, WouldBe::Rejected(_)), "{:?}", warned.record.logs);
    }
}
