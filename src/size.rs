//! Objects that nobody could change any more are not let in.

use json::Object;

use crate::decision::Rejection;
use crate::object_meta::Named;

/// The largest object that is let in, in bytes, as the API server writes it: policy-server refuses bodies of more than
/// 2 MB, an update sends the object twice, and what can't be updated can't be deleted either where it has finalizers.
pub const LARGEST: usize = 900 * 1024;

/// What a character becomes at most: `<` is written as `\u003c`.
const LONGEST_ESCAPE: usize = 6;

/// Which bytes begin a character that may become longer. A table is read faster than four comparisons are made.
#[expect(clippy::indexing_slicing, reason = "it is made when this is compiled")]
static MAY_BE_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    // U+2028 and U+2029 begin with it.
    table[0xE2] = true;
    table
};

/// Rejects `object` if it has more than 900 KiB; with an `old_object`, only if it is larger than that. Asked twice: about
/// what came, before any rule works on it, and about what becomes of it.
///
/// # Errors
/// Its size.
pub fn check(object: &Object, old_object: Option<&Object>, named: &Named) -> Result<(), Rejection> {
    if object.text_len() * LONGEST_ESCAPE <= LARGEST {
        return Ok(());
    }
    let text = object.text();
    if surely_fits(text.as_bytes()) {
        return Ok(());
    }
    let length = stored_length(&text);
    if length <= LARGEST || old_object.is_some_and(|old_object| length <= stored_length(&old_object.text())) {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{named} has {} KiB as the API server writes it, and at most {} KiB are let in: what is larger could never be \
         changed again, nor its deletion end; make it smaller",
        length.div_ceil(1024),
        LARGEST / 1024
    )))
}

/// Whether `text` is small enough when the API server writes it, where that can be told by looking only at as much of it as
/// can make a difference.
fn surely_fits(text: &[u8]) -> bool {
    let Some(mut spare) = LARGEST.checked_sub(text.len()) else { return false };
    let mut rest = text;
    while rest.len() * (LONGEST_ESCAPE - 1) > spare {
        let (piece, after) = rest.split_at_checked(1024).unwrap_or((rest, &[]));
        let escaped = piece.iter().filter(|byte| may_be_escaped(**byte)).count();
        let Some(left) = spare.checked_sub(escaped * (LONGEST_ESCAPE - 1)) else { return false };
        (rest, spare) = (after, left);
    }
    true
}

/// Whether a character that begins with this byte may become longer.
fn may_be_escaped(byte: u8) -> bool {
    MAY_BE_ESCAPED.get(usize::from(byte)).copied().unwrap_or_default()
}

/// How many bytes `text` has when the API server writes it.
fn stored_length(text: &str) -> usize {
    text.len() + text.chars().map(growth).sum::<usize>()
}

/// How many bytes longer the API server writes a character than it is (`encoding/json` with HTML escapes).
const fn growth(character: char) -> usize {
    match character {
        '<' | '>' | '&' => LONGEST_ESCAPE - 1,
        '\u{2028}' | '\u{2029}' => LONGEST_ESCAPE - 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("x", LARGEST, true)]
    #[case::plain_too_long("x", LARGEST + 1, false)]
    #[case::escaped("<", LARGEST / 6, true)]
    #[case::escaped_too_long("&", LARGEST / 6 + 1, false)]
    #[case::line_separators("\u{2028}", LARGEST / 6, true)]
    #[case::line_separators_too_many("\u{2029}", LARGEST / 6 + 1, false)]
    #[case::what_is_already_escaped("\\u003c", LARGEST / 6, true)]
    #[case::wide("日", LARGEST / 3, true)]
    #[case::wide_too_long("日", LARGEST / 3 + 1, false)]
    #[case::nothing("", 1, true)]
    fn what_fits(#[case] piece: &str, #[case] count: usize, #[case] fits: bool) {
        let text = piece.repeat(count);
        assert_eq!(stored_length(&text) <= LARGEST, fits);
        assert!(fits || !surely_fits(text.as_bytes()));
    }

    #[test]
    fn what_comes_last_counts_too() {
        let specials = (LARGEST - 500_000) / 5;
        for (specials, fits) in [(specials, true), (specials + 1, false)] {
            let text = format!("{}{}", "x".repeat(500_000 - specials), "<".repeat(specials));
            assert_eq!(surely_fits(text.as_bytes()), fits);
        }
    }
}
