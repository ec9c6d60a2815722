//! The inputs that fuzzing kept, and some of chance: none of them breaks anything that must hold of every input.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "these are tests"
)]

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
mod checks;

#[rstest::rstest]
#[case::selector("selector", checks::selector::check)]
#[case::settings("settings", checks::settings::check)]
#[case::payload("payload", checks::payload::check)]
#[case::placement("placement", checks::placement::check)]
#[case::json("json", checks::json::check)]
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
#[case::settings(checks::settings::check, 300)]
#[case::payload(checks::payload::check, 800)]
#[case::placement(checks::placement::check, 1_500)]
#[case::adversary(checks::adversary::check, 800)]
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
