//! Tolerations: what is added is a suffix, a second run changes nothing, and a Pod is accepted exactly if none of the
//! tolerations that are judged is forbidden, or beyond what is allowed. Forbidden means that some taint is tolerated by
//! both; what tolerates a taint is held to Kubernetes' own answers.

use e2e_tests::NoCluster;
use node_placement_policy::toleration::{Taint, Toleration};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{answer_to_creation, unharmed};

const KEYS: [&str; 5] =
    ["a", "b", "example.com/gpu", "node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure"];
const VALUES: [&str; 4] = ["", "x", "y", "5"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Either a word or nothing at all.
fn maybe(words: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(words))
}

fn seconds() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(prop::sample::select(&[-1_i64, 5, 300][..]))
}

/// A toleration with what there is of its fields.
fn written(
    (key, operator, value, effect): (Option<&str>, Option<&str>, Option<&str>, Option<&str>),
    seconds: Option<i64>,
) -> Value {
    let fields =
        json!({"key": key, "operator": operator, "value": value, "effect": effect, "tolerationSeconds": seconds});
    let written = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    written.map(|(field, value)| (field.clone(), value.clone())).collect()
}

/// What anybody may write into a Pod, valid or not.
fn toleration() -> impl Strategy<Value = Value> {
    let operator = maybe(&["Equal", "Exists", "Exists", "Gt", "In"]);
    ((maybe(&KEYS), operator, maybe(&VALUES), maybe(&EFFECTS)), seconds())
        .prop_map(|(texts, seconds)| written(texts, seconds))
}

/// What settings may hold, written as Kubernetes writes it: without what is empty.
fn valid_toleration() -> impl Strategy<Value = Value> {
    (maybe(&KEYS), maybe(&VALUES), maybe(&EFFECTS), seconds()).prop_map(|(key, value, effect, seconds)| {
        let operator = if key.is_some() && value.is_some() { "Equal" } else { "Exists" };
        let value = value.filter(|value| operator == "Equal" && !value.is_empty());
        written((key, Some(operator), value, effect), seconds.filter(|_| effect == Some("NoExecute")))
    })
}

pub(super) fn some_valid(most: usize) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(valid_toleration(), 0..=most)
}

/// What `placement` says of tolerations.
#[derive(Clone, Debug)]
struct Rules {
    default: Vec<Value>,
    allowed: Option<Vec<Value>>,
    forbidden: Vec<Value>,
}

fn rules() -> impl Strategy<Value = Rules> {
    (some_valid(2), prop::option::weighted(0.3, some_valid(3)), some_valid(2)).prop_map(
        |(default, allowed, forbidden)| {
            let rules = Rules { default, allowed, forbidden };
            let mistakes = node_placement_policy::validate_settings(rules.settings().to_string().as_bytes());
            // What is added must not be forbidden.
            if mistakes.is_some() { Rules { default: Vec::new(), ..rules } } else { rules }
        },
    )
}

impl Rules {
    fn settings(&self) -> Value {
        let entry = json!({
            "name": "team-a",
            "defaultTolerations": self.default,
            "allowedTolerations": self.allowed,
            "forbiddenTolerations": self.forbidden,
        });
        json!({"placement": {"namespaceAnnotations": [], "onExtendedResources": "Tolerate", "namespaces": [entry]}})
    }

    /// The toleration of the extended resource, where the Pod asks for it and nothing forbids it.
    fn of_extended_resource(&self, pod: &Value) -> Option<Value> {
        let toleration = json!({"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"});
        let asks = pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"].is_string();
        (asks && !self.forbid(&toleration)).then_some(toleration)
    }

    /// What is added unless it is covered.
    fn wanted(&self, pod: &Value) -> Vec<Value> {
        self.default.iter().cloned().chain(self.of_extended_resource(pod)).collect()
    }

    fn judge(&self, pod: &Value, toleration: &Value) -> bool {
        let same = |other: &Value| read(toleration).same_as(&read(other));
        !self.wanted(pod).iter().any(same) && !is_the_clusters_own(toleration)
    }

    /// Whether there is a taint that both tolerate.
    fn forbid(&self, toleration: &Value) -> bool {
        let toleration = as_if_it_existed(toleration);
        taints().iter().any(|taint| {
            toleration.tolerates(taint) && self.forbidden.iter().any(|forbidden| read(forbidden).tolerates(taint))
        })
    }

    fn allow(&self, toleration: &Value) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|entry| read(entry).covers(&read(toleration))))
    }
}

fn read(toleration: &Value) -> Toleration {
    let text = toleration.to_string();
    serde_json::from_str(&text).unwrap()
}

/// An operator that compares otherwise than by `Equal` counts as `Exists` where something is forbidden.
fn as_if_it_existed(toleration: &Value) -> Toleration {
    let mut toleration = toleration.clone();
    if !matches!(toleration["operator"].as_str(), None | Some("Equal")) {
        toleration["operator"] = json!("Exists");
    }
    read(&toleration)
}

/// What `DefaultTolerationSeconds` and `PodTolerationRestriction` add, as far as it is generated here.
fn is_the_clusters_own(toleration: &Value) -> bool {
    toleration["key"] == "node.kubernetes.io/not-ready"
        && toleration["operator"] == "Exists"
        && toleration["effect"] == "NoExecute"
}

/// Every taint that the generated tolerations can tell apart, and some that they can't.
fn taints() -> Vec<Taint> {
    let mut taints = Vec::new();
    for key in KEYS.iter().chain(&["other"]) {
        for value in VALUES.iter().chain(&["other"]) {
            for effect in EFFECTS {
                let taint = json!({"key": key, "value": value, "effect": effect}).to_string();
                taints.push(serde_json::from_str(&taint).unwrap());
            }
        }
    }
    taints
}

fn pod() -> impl Strategy<Value = Value> {
    let tolerations = prop::option::of(prop::collection::vec(toleration(), 0..4));
    (tolerations, any::<bool>(), any::<bool>()).prop_map(|(tolerations, is_written, asks)| {
        let requests = if asks { json!({"example.com/gpu": "1"}) } else { json!({}) };
        let mut spec = json!({"containers": [{"name": "c", "resources": {"requests": requests}}], "x": [null]});
        // Null and absent are two things.
        if is_written || tolerations.is_some() {
            spec["tolerations"] = json!(tolerations);
        }
        json!({"metadata": {"name": "p"}, "spec": spec})
    })
}

fn judged(pod: &Value, rules: &Rules) -> Value {
    answer_to_creation(pod, &rules.settings(), NoCluster)
}

fn tolerations(pod: &Value) -> &[Value] {
    pod["spec"]["tolerations"].as_array().map_or(&[], Vec::as_slice)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, rng_seed: prop::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    /// A Pod that is accepted tolerates no taint that a forbidden toleration tolerates, by any toleration that is
    /// judged; and whoever is rejected does, or tolerates more than is allowed.
    #[test]
    fn a_pod_is_accepted_if_all_that_is_judged_is_allowed_and_not_forbidden(pod in pod(), rules in rules()) {
        let answer = judged(&pod, &rules);
        let offending = tolerations(&pod).iter().find(|toleration| {
            rules.judge(&pod, toleration) && (rules.forbid(toleration) || !rules.allow(toleration))
        });
        prop_assert_eq!(answer["accepted"] == true, offending.is_none(), "{:?} in {} gets {}", offending, pod, answer);
        if offending.is_some() {
            prop_assert_eq!(&answer["code"], 403);
        }
    }

    /// What is added stands behind the Pod's own: all of it that nothing covers by then, and nothing else changes.
    #[test]
    fn what_is_added_is_a_suffix(pod in pod(), rules in rules()) {
        let answer = judged(&pod, &rules);
        prop_assume!(answer["accepted"] == true);
        let result = answer.get("mutated_object").unwrap_or(&pod);
        let added = tolerations(result).strip_prefix(tolerations(&pod));
        prop_assert!(added.is_some(), "{} was {}", result, pod);
        let mut expected: Vec<Value> = Vec::new();
        for wanted in rules.wanted(&pod) {
            let is_covered = tolerations(&pod).iter().chain(&expected).any(|have| read(have).covers(&read(&wanted)));
            if !is_covered {
                expected.push(wanted);
            }
        }
        prop_assert_eq!(added.unwrap_or_default(), &expected, "{}", pod);
        prop_assert_eq!(answer.get("mutated_object").is_some(), !expected.is_empty(), "{}", answer);
        unharmed::check(&pod, result, Some(&["spec"]), |_, _| false);
    }

    /// A second run over the policy's own result changes and rejects nothing.
    #[test]
    fn a_second_run_adds_nothing(pod in pod(), rules in rules()) {
        if let Some(result) = judged(&pod, &rules).get("mutated_object") {
            prop_assert_eq!(judged(result, &rules), json!({"accepted": true}));
        }
    }
}
