//! Tolerations, against what Kubernetes v1.36.2 answers: the two admission plugins, `isSuperset`, `ToleratesTaint`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use json::{Mismatch, Object, Outline, StringMap, Value, Within};
use node_placement_policy::placement::toleration_plugin;
use node_placement_policy::toleration::{
    AddedTo, DEFAULTS_ANNOTATION, Effect, Merged, Operation, PluginConfig, PodTolerations, Refusal, Taint, Toleration,
    WHITELIST_ANNOTATION, admit, from_annotation, is_allowed, merge, missing, requested, tolerations,
    tolerations_of_extended, untolerated,
};
use rstest::rstest;

/// The lines of a file in `e2e-tests/fixtures/vectors`, each of which is an object.
fn vectors(name: &str, count: usize) -> impl Iterator<Item = (usize, Object)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e-tests/fixtures/vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines: Vec<Object> = text.lines().map(|line| Object::parse(line, &Outline::FLAT).unwrap()).collect();
    assert_eq!(lines.len(), count, "{name}");
    (1..).zip(lines)
}

/// The tolerations under `key`; absent is empty.
fn list(object: &Object, key: &str) -> Vec<Toleration> {
    object.get(key).map(|value| tolerations(value).unwrap()).unwrap_or_default()
}

fn one(text: &str) -> Toleration {
    Toleration::read(&Value::parse(text, &Outline::FLAT).unwrap()).unwrap()
}

fn result(own: &[Toleration], merged: &Merged) -> Vec<Toleration> {
    merged.all(own).cloned().collect()
}

#[test]
fn tolerations_are_merged_and_allowed_as_upstream() {
    for (line, vector) in vectors("tolerations.jsonl", 1500) {
        let (first, second) = (list(&vector, "first"), list(&vector, "second"));
        let merged = merge(&first, second.clone());
        assert_eq!(result(&first, &merged), list(&vector, "merged"), "line {line}: {vector}");
        let is_whitelisted = first.iter().all(|toleration| is_allowed(toleration, &second));
        assert_eq!(is_whitelisted, vector.boolean("whitelisted").unwrap(), "line {line}: {vector}");
    }
}

#[test]
fn taints_are_tolerated_as_upstream() {
    for (line, vector) in vectors("taints.jsonl", 1500) {
        let taints = vector.list("taints").unwrap().unwrap().iter();
        let taints: Vec<Taint> = taints.map(|taint| Taint::read(taint).unwrap()).collect();
        let expected = vector.get("untolerated").map(|taint| Taint::read(taint).unwrap());
        assert_eq!(untolerated(&list(&vector, "tolerations"), &taints), expected.as_ref(), "line {line}: {vector}");
    }
}

/// The resources of a Pod's containers and init containers.
fn resources_of_containers(spec: &Object) -> Result<Vec<&Object>, Mismatch> {
    let mut resources = Vec::new();
    for kind in ["containers", "initContainers"] {
        for container in spec.objects(kind)? {
            resources.extend(container.object("resources").within(kind)?);
        }
    }
    Ok(resources)
}

fn pod_tolerations(vector: &Object) -> PodTolerations {
    let operation = match &*vector.string("operation").unwrap() {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        other => panic!("{other}"),
    };
    toleration_plugin::tolerations_of(vector.required_object("pod").unwrap(), operation).unwrap()
}

#[test]
fn pods_are_admitted_as_by_the_in_tree_plugin() {
    let mut malformed = 0;
    for (line, vector) in vectors("podtolerationrestriction.jsonl", 1500) {
        let pod = pod_tolerations(&vector);
        assert_eq!(pod.is_best_effort, vector.string("qos").unwrap() == "BestEffort", "line {line}: {vector}");
        let annotations = vector.required_object("namespace").unwrap().string_map("annotations").unwrap();
        let config = PluginConfig::read(vector.required_object("config").unwrap()).unwrap();
        let expected = vector.required_object("admit").unwrap();
        match admit(&pod, &annotations, &config) {
            Ok(merged) => {
                assert_eq!(expected.string("error").unwrap(), "", "line {line}: {vector}");
                assert_eq!(result(&pod.own, &merged), list(expected, "tolerations"), "line {line}: {vector}");
            }
            Err(refusal @ Refusal::Conflict { .. }) => {
                assert_eq!(refusal.to_string(), expected.string("error").unwrap(), "line {line}: {vector}");
            }
            // Upstream's sentence is Go's own, about what it came upon in the text.
            Err(Refusal::Malformed { annotation, .. }) => {
                malformed += 1;
                let error = expected.string("error").unwrap();
                assert!(!error.is_empty() && !error.starts_with("pod"), "line {line}: {error}");
                assert!(annotations.contains_key(annotation), "line {line}: {annotation}");
            }
        }
    }
    assert_eq!(malformed, 124);
}

#[test]
fn extended_resources_are_tolerated_as_by_the_in_tree_plugin() {
    let (mut added_alone, mut for_zero) = (0, 0);
    for (line, vector) in vectors("extendedresourcetoleration.jsonl", 1000) {
        let spec = vector.object_at(&["pod", "spec"]).unwrap().unwrap();
        let resources = resources_of_containers(spec).unwrap();
        let added = tolerations_of_extended(resources.into_iter().flat_map(|each| requested(each).unwrap()));
        let mut expected = list(&vector, "tolerations");
        let own = list(spec, "tolerations");
        // Upstream counts requests of zero. What it adds for them is the only difference.
        let of_zero = of_zero_only(spec);
        let upstream = expected.len();
        expected.retain(|toleration| own.contains(toleration) || !of_zero.contains(&toleration.key));
        for_zero += upstream - expected.len();
        if own.is_empty() {
            assert_eq!(added, expected, "line {line}: {vector}");
            if expected.len() == upstream {
                let added: Vec<String> = added.iter().map(|toleration| Object::from(toleration).to_string()).collect();
                assert_eq!(vector.get("tolerations").unwrap().text(), format!("[{}]", added.join(",")), "line {line}");
            }
            added_alone += 1;
        }
        // To a Pod's own upstream appends the same, less what it updates in place.
        let appended: Vec<_> = expected.iter().skip(own.len()).collect();
        assert!(appended.iter().all(|toleration| added.contains(toleration)), "line {line}: {vector}");
        assert!(added.iter().all(|toleration| expected.contains(toleration)), "line {line}: {vector}");
    }
    assert!(added_alone > 300, "only {added_alone} Pods tolerate nothing yet");
    assert!(for_zero > 100, "only {for_zero} tolerations are for zero");
}

/// The resources that are requested, but never more than zero of them. All that is recorded are whole numbers.
fn of_zero_only(spec: &Object) -> BTreeSet<String> {
    let (mut zero, mut more) = (BTreeSet::new(), BTreeSet::new());
    for list in ["containers", "initContainers"] {
        for container in spec.objects(list).unwrap() {
            let Some(requests) = container.object_at(&["resources", "requests"]).unwrap() else { continue };
            for (name, quantity) in requests.members() {
                let names = if quantity.string().unwrap() == "0" { &mut zero } else { &mut more };
                names.insert(name.into_owned());
            }
        }
    }
    zero.difference(&more).cloned().collect()
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
#[case::null_in_it("[null,{}]", "[{},{}]")]
#[case::any_case(r#"[{"KEY":"a","toLerationseconds":5}]"#, r#"[{"key":"a","tolerationSeconds":5}]"#)]
#[case::letters_that_fold_to_ascii(
    "[{\"\u{212A}ey\":\"a\",\"toleration\u{17F}econds\":5}]",
    r#"[{"key":"a","tolerationSeconds":5}]"#
)]
#[case::last_of_repeated(r#"[{"key":"a","Key":"b","key":"c"}]"#, r#"[{"key":"c"}]"#)]
#[case::null_leaves_a_text(r#"[{"key":"a","key":null}]"#, r#"[{"key":"a"}]"#)]
#[case::null_clears_seconds(r#"[{"tolerationSeconds":5,"tolerationSeconds":null}]"#, "[{}]")]
#[case::unknown_fields(r#"[{"key":"a","keys":[{}],"":1e999}]"#, r#"[{"key":"a"}]"#)]
#[case::unknown_words(r#"[{"operator":"In","effect":"No"}]"#, r#"[{"operator":"In","effect":"No"}]"#)]
#[case::minus_nothing(r#"[{"tolerationSeconds":-0}]"#, r#"[{"tolerationSeconds":0}]"#)]
fn annotations_are_read_as_by_encoding_json(#[case] text: &str, #[case] expected: &str) {
    let tolerations: Vec<String> =
        from_annotation(text).unwrap().iter().map(|read| Object::from(read).to_string()).collect();
    assert_eq!(format!("[{}]", tolerations.join(",")), expected);
}

#[rstest]
#[case::only_space(" ", "EOF while parsing a value at line 1 column 1")]
#[case::no_list(r#"{"key":"a"}"#, "expected a list, found an object")]
#[case::list_in_it("[{},[]]", "[1]: expected an object, found a list")]
#[case::number_as_key(r#"[{"key":"a"},{"Key":5}]"#, "[1].key: expected a string, found a number")]
#[case::first_of_repeated(r#"[{"key":5,"key":"a"}]"#, "[0].key: expected a string, found a number")]
#[case::fraction(
    r#"[{"tolerationSeconds":5.0}]"#,
    "[0].tolerationSeconds: expected a whole number of 64 bits, found another number"
)]
#[case::text_as_seconds(r#"[{"tolerationSeconds":"5"}]"#, "[0].tolerationSeconds: expected a number, found a string")]
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
        operator: operator.into(),
        effect: effect.into(),
        seconds: Some(300),
        ..Toleration::default()
    };
    assert_eq!(AddedTo::AnyPod.has(&toleration), to_any);
    assert_eq!(AddedTo::DaemonSetPod.has(&toleration), to_daemon_sets);
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
    let [own, wanted, expected] = [own, wanted, expected].map(|text| from_annotation(text).unwrap());
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
    assert_eq!(!tolerations_of_extended([name]).is_empty(), expected);
}

/// As many tolerations of `key`, each with a value of its own.
fn many(key: &str, count: usize) -> Vec<Toleration> {
    let each = |value: usize| Toleration {
        value: value.to_string(),
        ..Toleration { operator: "Equal".into(), ..Toleration::exists(key, Effect::NoSchedule) }
    };
    (0..count).map(each).collect()
}

/// How long it takes to merge that many tolerations, none of which covers another.
fn time_to_merge(count: usize) -> Duration {
    let (own, wanted) = (many("a", count), many("b", 100));
    let time = || {
        let started = Instant::now();
        let merged = merge(&own, wanted.clone());
        assert_eq!((merged.kept.len(), merged.added.len()), (count, 100));
        started.elapsed()
    };
    (0..5).map(|_| time()).min().unwrap()
}

#[test]
fn ten_times_as_many_tolerations_take_not_a_hundred_times_as_long() {
    let (few, many) = (time_to_merge(1_000), time_to_merge(10_000));
    assert!(many < few * 40, "{few:?} for 1,000, {many:?} for 10,000");
}

#[rstest]
#[case::defaults_at_create(Operation::Create, DEFAULTS_ANNOTATION, true)]
#[case::defaults_at_update(Operation::Update, DEFAULTS_ANNOTATION, false)]
#[case::whitelist_for_nothing(Operation::Update, WHITELIST_ANNOTATION, false)]
fn the_plugin_reads_what_it_needs(#[case] operation: Operation, #[case] annotation: &str, #[case] is_read: bool) {
    let mut annotations = StringMap::new();
    annotations.insert(annotation, "[{]");
    let pod = PodTolerations { operation, own: Vec::new(), is_best_effort: true };
    let admitted = admit(&pod, &annotations, &PluginConfig::default());
    assert_eq!(admitted.is_err(), is_read);
    if let Err(refusal) = admitted {
        let words = "annotation scheduler.alpha.kubernetes.io/defaultTolerations is not a list of tolerations: ";
        assert!(refusal.to_string().starts_with(words), "{refusal}");
    }
}
