//! Tolerations, against what Kubernetes v1.36.2 answers: `isSuperset`, `ToleratesTaint`, and the admission plugin
//! `ExtendedResourceToleration`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1;
use node_placement_policy::json::read::read;
use node_placement_policy::placement::tolerations::is_added_by_cluster;
use node_placement_policy::toleration::{
    Resources, Taint, Toleration, from_annotation, is_extended, missing, tolerations_of_extended, untolerated,
};
use rstest::rstest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::common::vectors;

/// The lines of a file in `e2e-tests/fixtures/vectors`, of which there are so many; each with its number.
fn lines<T: DeserializeOwned>(name: &str, count: usize) -> impl Iterator<Item = (usize, T)> {
    let lines = vectors(name);
    assert_eq!(lines.len(), count, "{name}");
    (1..).zip(lines)
}

/// A list of tolerations; absent is empty.
type List = Option<Vec<v1::Toleration>>;

fn one(text: &str) -> Toleration {
    read::<v1::Toleration>(text).unwrap().into()
}

/// As the policy has them.
fn tolerations(list: List) -> Vec<Toleration> {
    list.into_iter().flatten().map(Into::into).collect()
}

/// A line of `tolerations.jsonl`.
#[derive(Debug, Deserialize)]
struct Whitelisting {
    first: List,
    second: List,
    whitelisted: bool,
}

/// Upstream forgets that an omitted operator of what is covered is `Equal`; there the answers may differ.
#[test]
fn tolerations_are_covered_as_upstream() {
    let mut compared = 0;
    for (line, vector) in lines::<Whitelisting>("tolerations.jsonl", 1500) {
        let place = format!("line {line}: {vector:?}");
        let (first, second) = (tolerations(vector.first), tolerations(vector.second));
        if first.iter().any(|toleration| toleration.operator.is_empty()) {
            continue;
        }
        let is_covered = |toleration: &Toleration| second.iter().any(|covering| covering.covers(toleration));
        assert_eq!(second.is_empty() || first.iter().all(is_covered), vector.whitelisted, "{place}");
        compared += 1;
    }
    assert!(compared > 500, "only {compared} lines");
}

/// A line of `taints.jsonl`.
#[derive(Debug, Deserialize)]
struct Tolerating {
    tolerations: List,
    taints: Vec<Taint>,
    untolerated: Option<Taint>,
}

#[test]
fn taints_are_tolerated_as_upstream() {
    for (line, vector) in lines::<Tolerating>("taints.jsonl", 1500) {
        let found = untolerated(&tolerations(vector.tolerations.clone()), &vector.taints);
        assert_eq!(found, vector.untolerated.as_ref(), "line {line}: {vector:?}");
    }
}

/// A line of `extendedresourcetoleration.jsonl`.
#[derive(Debug, Deserialize)]
struct Extending {
    pod: Pod,
    tolerations: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Pod {
    spec: PodSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
    tolerations: List,
}

#[derive(Debug, Deserialize)]
struct Container {
    resources: Option<Box<RawValue>>,
}

impl PodSpec {
    /// The resources of containers and init containers.
    fn resources<T: DeserializeOwned>(&self) -> Vec<T> {
        let containers = self.containers.iter().chain(&self.init_containers).flatten();
        let resources = containers.filter_map(|container| container.resources.as_ref());
        resources.map(|resources| read(resources.get()).unwrap()).collect()
    }

    /// The resources that are requested, but never more than zero of them. All that is recorded are whole numbers.
    fn requested_zero_of(&self) -> BTreeSet<String> {
        #[derive(Deserialize)]
        struct Requests {
            requests: Option<BTreeMap<String, String>>,
        }
        let (mut zero, mut more) = (BTreeSet::new(), BTreeSet::new());
        for (name, quantity) in self.resources::<Requests>().into_iter().filter_map(|each| each.requests).flatten() {
            let names = if quantity == "0" { &mut zero } else { &mut more };
            names.insert(name);
        }
        zero.difference(&more).cloned().collect()
    }
}

#[test]
fn extended_resources_are_tolerated_as_by_the_in_tree_plugin() {
    let (mut added_alone, mut for_zero) = (0, 0);
    for (line, vector) in lines::<Extending>("extendedresourcetoleration.jsonl", 1000) {
        let spec = &vector.pod.spec;
        let resources = spec.resources::<Resources>().into_iter().filter_map(|resources| resources.requests);
        let added = tolerations_of_extended(&resources.flat_map(|above_zero| above_zero.extended).collect());
        let upstream = vector.tolerations.as_ref().map_or("null", |list| list.get());
        let mut expected = tolerations(read(upstream).unwrap());
        let own = tolerations(spec.tolerations.clone());
        // Upstream counts requests of zero. What it adds for them is the only difference.
        let of_zero = spec.requested_zero_of();
        let count = expected.len();
        expected.retain(|toleration| own.contains(toleration) || !of_zero.contains(&toleration.key));
        for_zero += count - expected.len();
        if own.is_empty() {
            assert_eq!(added, expected, "line {line}: {vector:?}");
            if expected.len() == count && count > 0 {
                assert_eq!(upstream, serde_json::to_string(&added).unwrap(), "line {line}");
            }
            added_alone += 1;
        }
        // To a Pod's own upstream appends the same, less what it updates in place.
        let appended: Vec<_> = expected.iter().skip(own.len()).collect();
        assert!(appended.iter().all(|toleration| added.contains(toleration)), "line {line}: {vector:?}");
        assert!(added.iter().all(|toleration| expected.contains(toleration)), "line {line}: {vector:?}");
    }
    assert!(added_alone > 300, "only {added_alone} Pods tolerate nothing yet");
    assert!(for_zero > 100, "only {for_zero} tolerations are for zero");
}

#[rstest]
#[case::itself(r#"{"key":"a"}"#, r#"{"key":"a"}"#, true)]
#[case::omitted_operator_of_the_covered(r#"{"key":"a","operator":"Equal"}"#, r#"{"key":"a"}"#, true)]
#[case::omitted_operator_of_the_covering(r#"{"key":"a"}"#, r#"{"key":"a","operator":"Equal"}"#, true)]
#[case::omitted_operators_of_both(r#"{"key":"a"}"#, r#"{"key":"a","effect":"NoSchedule"}"#, true)]
#[case::another_key(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"b","operator":"Exists"}"#, false)]
#[case::another_value(r#"{"key":"a","value":"x"}"#, r#"{"key":"a","value":"y"}"#, false)]
#[case::any_value(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"a","value":"y"}"#, true)]
#[case::one_value_not_any(r#"{"key":"a","value":"y"}"#, r#"{"key":"a","operator":"Exists"}"#, false)]
#[case::any_key(r#"{"operator":"Exists"}"#, r#"{"key":"a","value":"y","effect":"NoSchedule"}"#, true)]
#[case::one_key_not_any(r#"{"key":"a","operator":"Exists"}"#, r#"{"operator":"Exists"}"#, false)]
#[case::no_key_without_exists(r#"{"value":"x"}"#, r#"{"key":"a","value":"x"}"#, false)]
#[case::any_effect(r#"{"key":"a"}"#, r#"{"key":"a","effect":"NoExecute"}"#, true)]
#[case::one_effect_not_any(r#"{"key":"a","effect":"NoExecute"}"#, r#"{"key":"a"}"#, false)]
#[case::fewer_seconds(&no_execute("10"), &no_execute("5"), true)]
#[case::more_seconds(&no_execute("5"), &no_execute("10"), false)]
#[case::for_ever_not_seconds(&no_execute("5"), &no_execute("null"), false)]
#[case::seconds_of_no_account(
    r#"{"key":"a","effect":"NoSchedule","tolerationSeconds":5}"#,
    r#"{"key":"a","effect":"NoSchedule"}"#,
    true
)]
#[case::unknown_operator_itself(r#"{"key":"a","operator":"Lt"}"#, r#"{"key":"a","operator":"Lt"}"#, true)]
#[case::unknown_operator(
    r#"{"key":"a","operator":"Lt"}"#,
    r#"{"key":"a","operator":"Lt","effect":"NoSchedule"}"#,
    false
)]
#[case::unknown_operator_of_the_covered(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"a","operator":"Lt"}"#, true)]
fn covers_what_it_tolerates_as_well(#[case] covering: &str, #[case] covered: &str, #[case] expected: bool) {
    assert_eq!(one(covering).covers(&one(covered)), expected);
}

fn no_execute(seconds: &str) -> String {
    format!(r#"{{"key":"a","effect":"NoExecute","tolerationSeconds":{seconds}}}"#)
}

#[rstest]
#[case::one_value(r#"{"key":"a","value":"x"}"#, r#"{"key":"a","operator":"Equal","value":"x"}"#, true)]
#[case::two_values(r#"{"key":"a","value":"x"}"#, r#"{"key":"a","value":"y"}"#, false)]
#[case::two_keys(r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"b","operator":"Exists"}"#, false)]
#[case::every_key(r#"{"operator":"Exists"}"#, r#"{"key":"b","value":"x","effect":"NoSchedule"}"#, true)]
#[case::every_key_with_a_value(r#"{"value":"x"}"#, r#"{"key":"b","value":"x"}"#, true)]
#[case::every_key_with_another_value(r#"{"value":"y"}"#, r#"{"key":"b","value":"x"}"#, false)]
#[case::two_effects(r#"{"key":"a","effect":"NoSchedule"}"#, r#"{"key":"a","effect":"NoExecute"}"#, false)]
#[case::every_effect(r#"{"key":"a"}"#, r#"{"key":"a","effect":"PreferNoSchedule"}"#, true)]
#[case::other_seconds(&no_execute("5"), &no_execute("null"), true)]
#[case::unknown_operator(r#"{"key":"a","operator":"Gt","value":"5"}"#, r#"{"key":"a","value":"x"}"#, true)]
#[case::value_beside_exists(r#"{"key":"a","operator":"Exists","value":"x"}"#, r#"{"key":"a","value":"y"}"#, true)]
fn tolerations_overlap_on_a_common_taint(#[case] left: &str, #[case] right: &str, #[case] expected: bool) {
    assert_eq!((one(left).overlaps(&one(right)), one(right).overlaps(&one(left))), (expected, expected));
}

/// What the name of a key must be, and a label's value.
const NAME: &str = "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";

#[rstest]
#[case::equal(r#"{"key":"a","value":"x","effect":"NoExecute","tolerationSeconds":5}"#, "")]
#[case::exists_for_every_key(r#"{"operator":"Exists"}"#, "")]
#[case::no_key(r#"{"value":"x"}"#, "operator: expected Exists where there is no key, found nothing")]
#[case::no_key_with_equal(
    r#"{"operator":"Equal"}"#,
    r#"operator: expected Exists where there is no key, found "Equal""#
)]
#[case::no_key_with_unknown(r#"{"operator":"In"}"#, r#"operator: expected Exists where there is no key, found "In""#)]
#[case::unknown_operator(r#"{"key":"a","operator":"exists"}"#, r#"operator: expected Equal or Exists, found "exists""#)]
#[case::comparison(r#"{"key":"a","operator":"Lt","value":"5"}"#, r#"operator: expected Equal or Exists, found "Lt""#)]
#[case::key_of_two_slashes(r#"{"key":"a/b/c"}"#, r#"key: expected a key with at most one '/', found "a/b/c""#)]
#[case::key_that_is_none(r#"{"key":"a b"}"#, &format!(r#"key: expected {NAME}, found "a b""#))]
#[case::value_that_is_none(r#"{"key":"a","value":"-"}"#, &format!(r#"value: expected {NAME}, found "-""#))]
#[case::value_beside_exists(
    r#"{"key":"a","operator":"Exists","value":"x"}"#,
    r#"value: expected nothing beside operator Exists, found "x""#
)]
#[case::unknown_effect(
    r#"{"key":"a","effect":"noSchedule"}"#,
    r#"effect: expected NoSchedule, PreferNoSchedule or NoExecute, found "noSchedule""#
)]
#[case::seconds_without_effect(
    r#"{"key":"a","tolerationSeconds":0}"#,
    "tolerationSeconds: expected nothing unless the effect is NoExecute, found 0"
)]
#[case::several(
    r#"{"key":"a","operator":"In","tolerationSeconds":5}"#,
    concat!(
        r#"operator: expected Equal or Exists, found "In"; "#,
        "tolerationSeconds: expected nothing unless the effect is NoExecute, found 5"
    )
)]
fn what_the_api_server_would_refuse_is_named(#[case] toleration: &str, #[case] expected: &str) {
    let found: Vec<String> = one(toleration).check().iter().map(ToString::to_string).collect();
    assert_eq!(found.join("; "), expected);
}

#[rstest]
#[case::empty("", "[]")]
#[case::null(" null ", "[]")]
#[case::empty_list("[]", "[]")]
#[case::one(r#"[{"key":"a","operator":"Exists"}]"#, r#"[{"key":"a","operator":"Exists"}]"#)]
#[case::null_is_absent(
    r#"[{"key":"a","value":null,"effect":"NoExecute","tolerationSeconds":null}]"#,
    r#"[{"key":"a","effect":"NoExecute"}]"#
)]
fn annotations_are_lists_of_tolerations(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(serde_json::to_string(&from_annotation(text).unwrap()).unwrap(), expected);
}

#[rstest]
#[case::only_space(" ", "EOF while parsing a value")]
#[case::no_list(r#"{"key":"a"}"#, "expected a list, found an object")]
#[case::list_in_it(r#"[{"operator":"Exists"},[]]"#, "[1]: expected an object, found a list")]
#[case::null_in_it("[null]", "[0]: expected an object, found null")]
#[case::nothing_in_it("[{}]", "[0].operator: expected Exists where there is no key, found nothing")]
#[case::number_as_key(r#"[{"key":"a"},{"key":5}]"#, "[1].key: expected a string, found a number")]
#[case::another_case(r#"[{"Key":"a"}]"#, r#"[0]: unknown field "Key", did you mean key?"#)]
#[case::fraction(r#"[{"tolerationSeconds":5.0}]"#, "[0].tolerationSeconds: expected an integer, found a number")]
#[case::text_as_seconds(r#"[{"tolerationSeconds":"5"}]"#, "[0].tolerationSeconds: expected an integer, found a string")]
fn what_annotations_can_not_say_is_told_with_its_place(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(from_annotation(text).unwrap_err().to_string(), expected);
}

#[test]
fn in_pods_and_configurations_case_matters() {
    assert_eq!(one(r#"{"Key":"a","operator":"Exists","TolerationSeconds":"x"}"#), one(r#"{"operator":"Exists"}"#));
}

#[rstest]
#[case::all(r#"{"key":"dedicated","value":"blue","effect":"NoSchedule"}"#, "dedicated=blue:NoSchedule")]
#[case::no_value(r#"{"key":"gpu","operator":"Exists","effect":"NoExecute"}"#, "gpu:NoExecute")]
#[case::no_effect(r#"{"key":"gpu","operator":"Exists"}"#, "gpu")]
#[case::every_key(r#"{"operator":"Exists","effect":"NoSchedule"}"#, "*:NoSchedule")]
#[case::everything(r#"{"operator":"Exists"}"#, "*")]
fn a_toleration_is_printed_like_the_taint(#[case] toleration: &str, #[case] expected: &str) {
    assert_eq!(one(toleration).to_string(), expected);
}

#[rstest]
#[case::not_ready("not-ready", "Exists", "NoExecute", true, true)]
#[case::unreachable("unreachable", "Exists", "NoExecute", true, true)]
#[case::memory_pressure("memory-pressure", "Exists", "NoSchedule", true, true)]
#[case::disk_pressure("disk-pressure", "Exists", "NoSchedule", false, true)]
#[case::pid_pressure("pid-pressure", "Exists", "NoSchedule", false, true)]
#[case::unschedulable("unschedulable", "Exists", "NoSchedule", false, true)]
#[case::network_unavailable("network-unavailable", "Exists", "NoSchedule", false, true)]
#[case::another_effect("not-ready", "Exists", "NoSchedule", false, false)]
#[case::every_effect("memory-pressure", "Exists", "", false, false)]
#[case::another_operator("not-ready", "Equal", "NoExecute", false, false)]
#[case::another_key("out-of-service", "Exists", "NoExecute", false, false)]
fn what_the_cluster_adds_is_known(
    #[case] key: &str,
    #[case] operator: &str,
    #[case] effect: &str,
    #[case] to_any: bool,
    #[case] to_daemon_sets: bool,
) {
    let toleration = Toleration {
        key: format!("node.kubernetes.io/{key}"),
        operator: operator.to_owned(),
        effect: effect.to_owned(),
        toleration_seconds: Some(300),
        ..Toleration::default()
    };
    assert_eq!(is_added_by_cluster(&toleration, false), to_any);
    assert_eq!(is_added_by_cluster(&toleration, true), to_daemon_sets);
}

#[rstest]
#[case::nothing_of_its_own("[]", r#"[{"key":"a"},{"key":"b"}]"#, r#"[{"key":"a"},{"key":"b"}]"#)]
#[case::covered_by_its_own(r#"[{"operator":"Exists"}]"#, r#"[{"key":"a"}]"#, "[]")]
#[case::there_with_an_operator(r#"[{"key":"a","operator":"Equal"}]"#, r#"[{"key":"a"}]"#, "[]")]
#[case::covered_by_one_before("[]", r#"[{"key":"a"},{"key":"a","effect":"NoExecute"}]"#, r#"[{"key":"a"}]"#)]
#[case::covered_by_one_behind(
    "[]",
    r#"[{"key":"a","effect":"NoExecute"},{"key":"a"}]"#,
    r#"[{"key":"a","effect":"NoExecute"},{"key":"a"}]"#
)]
fn what_nothing_covers_is_missing(#[case] own: &str, #[case] wanted: &str, #[case] expected: &str) {
    let [own, wanted, expected] = [own, wanted, expected].map(|text| read::<Vec<Toleration>>(text).unwrap());
    assert_eq!(missing(&own, wanted), expected);
}

#[rstest]
#[case::gpu("nvidia.com/gpu", true)]
#[case::capitals("example.com/Dev", true)]
#[case::native("cpu", false)]
#[case::native_by_prefix("kubernetes.io/batch", false)]
#[case::native_within("my.kubernetes.io/x", false)]
#[case::quota("requests.example.com/x", false)]
#[case::no_name("example.com/", false)]
#[case::too_long_for_a_quota(&format!("{}.com/x", ["a"; 122].join(".")), false)]
#[case::just_short_enough(&format!("{}.com/x", ["a"; 120].join(".")), true)]
fn extended_resources_are_known_by_their_names(#[case] name: &str, #[case] expected: bool) {
    assert_eq!(is_extended(name), expected);
}
