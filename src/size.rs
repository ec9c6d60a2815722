//! Objects that nobody could change any more are not let in.

use std::io;

use crate::decision::Rejection;
use crate::json::RawObject;
use crate::object_meta::ObjectName;

/// The largest object that is let in, in bytes, as the API server writes it: policy-server refuses bodies of more than
/// 2 MB, an update sends the object twice, and what can't be updated can't be deleted either where it has finalizers.
pub const LARGEST_OBJECT: usize = 900 * 1024;

/// What a character becomes at most: `<` is written as `\u003c`.
const LONGEST_ESCAPE: usize = 6;

/// Rejects `object` if it has more than 900 KiB; with an `old_object`, only if it is larger than that. Asked twice:
/// about what came, before any rule works on it, and about what becomes of it.
///
/// # Errors
/// Its size.
pub fn check(object: &RawObject<'_>, old_object: Option<&RawObject<'_>>, name: &ObjectName) -> Result<(), Rejection> {
    if surely_fits(object) {
        return Ok(());
    }
    let size = stored_size(object);
    if size <= LARGEST_OBJECT || old_object.is_some_and(|old_object| size <= stored_size(old_object)) {
        return Ok(());
    }
    Err(Rejection::forbidden(format!(
        "{name} has {} KiB as the API server writes it, and at most {} KiB are allowed: a larger object could \
         not be changed or deleted any more; make it smaller",
        size.div_ceil(1024),
        LARGEST_OBJECT / 1024
    )))
}

/// Whether `object` fits in, as far as that can be told by looking at no more of it than can make a difference.
fn surely_fits(object: &RawObject<'_>) -> bool {
    let length = object.longest_text();
    let Some(spare) = LARGEST_OBJECT.checked_sub(length) else { return false };
    let mut spare = Spare { bytes: spare, unread: length };
    spare.is_enough() || (serde_json::to_writer(&mut spare, object).is_ok() && spare.is_enough())
}

/// How many bytes `object` has when the API server writes it.
fn stored_size(object: &RawObject<'_>) -> usize {
    let mut size = StoredSize(0);
    match serde_json::to_writer(&mut size, object) {
        Ok(()) => size.0,
        // What can't be written can't be stored.
        Err(_) => usize::MAX,
    }
}

/// How much room an object leaves while it is read.
struct Spare {
    bytes: usize,
    /// How much is still to come. Each byte of it may have to be escaped.
    unread: usize,
}

impl Spare {
    const fn is_enough(&self) -> bool {
        self.unread * (LONGEST_ESCAPE - 1) <= self.bytes
    }
}

impl io::Write for Spare {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for piece in text.chunks(1024) {
            if self.is_enough() {
                break;
            }
            let escaped = piece.iter().filter(|byte| matches!(**byte, b'<' | b'>' | b'&' | LINE_SEPARATOR)).count();
            self.bytes = self.bytes.saturating_sub(escaped * (LONGEST_ESCAPE - 1));
            self.unread = self.unread.saturating_sub(piece.len());
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first byte of U+2028 and U+2029, and of all signs from U+2000 to U+2FFF.
const LINE_SEPARATOR: u8 = 0xE2;

/// How many bytes were written so far, as the API server writes them (`encoding/json` with HTML escapes).
struct StoredSize(usize);

impl io::Write for StoredSize {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 += text.len();
        for (position, byte) in text.iter().enumerate() {
            self.0 += match (byte, text.get(position + 1..position + 3)) {
                (b'<' | b'>' | b'&', _) => LONGEST_ESCAPE - 1,
                (&LINE_SEPARATOR, Some([0x80, 0xA8 | 0xA9])) => LONGEST_ESCAPE - 3,
                _ => 0,
            };
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read::read;

    /// Around the text: `{"a":"` and `"}`
    const AROUND: usize = 8;

    #[rstest::rstest]
    #[case::plain("x", LARGEST_OBJECT - AROUND, true)]
    #[case::plain_too_long("x", LARGEST_OBJECT - AROUND + 1, false)]
    #[case::escaped("<", LARGEST_OBJECT / 6 - 2, true)]
    #[case::escaped_too_long("&", LARGEST_OBJECT / 6, false)]
    #[case::line_separators("\u{2028}", LARGEST_OBJECT / 6 - 2, true)]
    #[case::line_separators_too_many("\u{2029}", LARGEST_OBJECT / 6, false)]
    #[case::what_is_already_escaped("\\u003c", LARGEST_OBJECT / 6 - 2, true)]
    #[case::wide("日", LARGEST_OBJECT / 3 - 3, true)]
    #[case::wide_too_long("日", LARGEST_OBJECT / 3, false)]
    #[case::nothing("", 1, true)]
    fn what_fits(#[case] piece: &str, #[case] count: usize, #[case] fits: bool) {
        assert_eq!(is_let_in(&piece.repeat(count)), fits);
    }

    #[test]
    fn what_comes_last_counts_too() {
        let specials = (LARGEST_OBJECT - AROUND - 500_000) / 5;
        for (specials, fits) in [(specials, true), (specials + 1, false)] {
            assert_eq!(is_let_in(&format!("{}{}", "x".repeat(500_000 - specials), "<".repeat(specials))), fits);
        }
    }

    fn is_let_in(value: &str) -> bool {
        let text = format!(r#"{{"a":"{value}"}}"#);
        let object = read::<crate::json::Raw>(&text).unwrap();
        check(object.object().unwrap(), None, &ObjectName::EveryPod).is_ok()
    }
}
