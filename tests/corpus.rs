//! The inputs that fuzzing kept, and some of chance: none of them breaks anything that must hold of every input.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, reason = "they read better so")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

#[path = "../fuzz/src/lib.rs"]
mod checks;

#[rstest::rstest]
#[case::selector("selector", checks::selector::check)]
#[case::settings("settings", checks::settings::check)]
#[case::payload("payload", checks::payload::check)]
#[case::placement("placement", checks::placement::check)]
#[case::adversary("adversary", checks::adversary::check)]
#[case::tolerations("tolerations", checks::tolerations::check)]
#[case::raw_object("raw_object", checks::raw_object::check)]
fn what_fuzzing_kept_breaks_nothing(#[case] target: &str, #[case] check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        // If the check fails, this is shown with it.
        println!("{}", path.display());
        check(&fs::read(path).unwrap());
        count += 1;
    }
    assert!(count > 10, "only {count} inputs in {}", folder.display());
}

/// What is built from the input takes any bytes; the same ones each time.
#[rstest::rstest]
#[case::selector(checks::selector::check, 10_000)]
#[case::settings(checks::settings::check, 300)]
#[case::payload(checks::payload::check, 800)]
#[case::placement(checks::placement::check, 1_500)]
#[case::adversary(checks::adversary::check, 800)]
#[case::tolerations(checks::tolerations::check, 1_500)]
#[case::raw_object(checks::raw_object::check, 1_500)]
fn what_chance_builds_breaks_nothing(#[case] check: fn(&[u8]), #[case] count: usize) {
    let mut state = 1_u64;
    let mut byte = || {
        // Knuth's MMIX generator, of which only the upper bits are random enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    for _ in 0..count {
        let input: Vec<u8> = (0..160).map(|_| byte()).collect();
        check(&input);
    }
}

/// What the checks take for harm: all but what the policy is there to write.
#[rstest::rstest]
#[case::nothing(json!({"spec": {}}), json!({"spec": {}}), true)]
#[case::a_field_is_lost(json!({"spec": {"a": null}}), json!({"spec": {}}), false)]
#[case::a_field_is_new(json!({"spec": {}}), json!({"spec": {"a": 1}}), false)]
#[case::a_pair_is_added(pairs(json!({})), pairs(json!({"a": "b"})), true)]
#[case::a_pair_is_changed(pairs(json!({"a": "b"})), pairs(json!({"a": "c"})), false)]
#[case::a_pair_is_added_elsewhere(json!({"status": {}}), json!({"status": {"nodeSelector": {"a": "b"}}}), false)]
#[case::a_term_is_narrowed(terms(json!([{"a": 1}])), terms(json!([{"a": 1, "matchExpressions": [1]}])), true)]
#[case::a_term_is_widened(terms(json!([{"matchExpressions": [1]}])), terms(json!([{"matchExpressions": []}])), false)]
#[case::a_term_is_dropped(terms(json!([{"matchFields": [1]}, {}])), terms(json!([{"matchFields": [1]}])), false)]
#[case::a_field_of_a_term_is_changed(terms(json!([{"matchFields": [1]}])), terms(json!([{"matchFields": [2]}])), false)]
#[case::a_toleration_is_added(tolerations(json!([1])), tolerations(json!([1, 2])), true)]
#[case::a_toleration_is_added_in_front(tolerations(json!([1])), tolerations(json!([2, 1])), false)]
#[case::a_variable_is_added(container(json!({"env": [1]})), container(json!({"env": [2, 1]})), true)]
#[case::a_variable_is_the_first(container(json!({"name": "c"})), container(json!({"name": "c", "env": [1]})), true)]
#[case::a_variable_is_changed(container(json!({"env": [1]})), container(json!({"env": [2]})), false)]
#[case::a_variable_is_added_behind(container(json!({"env": [1]})), container(json!({"env": [1, 2]})), false)]
#[case::a_container_is_changed(container(json!({"name": "c"})), container(json!({"name": "d", "env": [1]})), false)]
#[case::a_managed_key(labels(json!({"ours": "a"})), labels(json!({"ours": "b"})), true)]
#[case::another_key(labels(json!({"theirs": "a"})), labels(json!({"theirs": "b"})), false)]
fn harm_is_found(#[case] before: Value, #[case] after: Value, #[case] is_harmless: bool) {
    let harm = checks::unharmed::harm(&before, &after, Some(&["spec"]), |_, key| key == "ours");
    assert_eq!(harm.is_none(), is_harmless, "{harm:?}");
}

fn pairs(pairs: Value) -> Value {
    json!({"spec": {"nodeSelector": pairs}})
}

fn terms(terms: Value) -> Value {
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
    json!({"spec": {"affinity": {"nodeAffinity": required}}})
}

fn tolerations(tolerations: Value) -> Value {
    json!({"spec": {"tolerations": tolerations}})
}

fn container(container: Value) -> Value {
    json!({"spec": {"containers": [container]}})
}

fn labels(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

/// Templates get no environment variables.
#[test]
fn a_variable_in_a_template_is_harm() {
    let template = |env: Value| json!({"spec": {"template": {"spec": {"containers": [{"env": env}]}}}});
    let spec = Some(["spec", "template", "spec"].as_slice());
    assert!(checks::unharmed::harm(&template(json!([])), &template(json!([1])), spec, |_, _| false).is_some());
}
