//! What fuzzing holds of any input, for some of chance; the same ones each time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use rstest::rstest;

#[path = "../../fuzz/src/json.rs"]
mod checks;

#[rstest]
#[case::short(8_000, 24)]
#[case::middling(4_000, 100)]
#[case::long(1_000, 400)]
fn what_is_read_after_a_write_is_what_was_written_and_all_else_is_as_it_came(
    #[case] count: usize,
    #[case] length: usize,
) {
    let mut state = 1_u64;
    let mut byte = || {
        // Knuth's MMIX generator, of which only the upper bits are random enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    for _ in 0..count {
        let input: Vec<u8> = (0..length).map(|_| byte()).collect();
        checks::check(&input);
    }
}
