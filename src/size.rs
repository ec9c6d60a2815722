//! Objects that nobody could change any more are not let in.

use std::io;

use crate::decision::{CauseKind, Rejection};
use crate::json::RawObject;
use crate::object_meta::ObjectName;

/// The largest object that is let in, in bytes, as the API server writes it: policy-server refuses bodies of more than
/// 2 MB, an update sends the object twice, and what can't be updated can't be deleted either where it has finalizers.
pub const LARGEST_OBJECT: usize = 900 * 1024;

/// What a character becomes at most: `<` is written as `\u003c`.
const LONGEST_ESCAPE: usize = 6;

/// Rejects `object` if it has more than 900 KiB; with an `old_object`, only if it is larger than that. Asked
/// about what came, before any rule works on it, and about what becomes of it.
///
/// # Errors
/// Its size.
pub fn check(object: &RawObject<'_>, old_object: Option<&RawObject<'_>>, name: &ObjectName) -> Result<(), Rejection> {
    let Some(size) = size_if_large(object) else { return Ok(()) };
    if size <= LARGEST_OBJECT || old_object.and_then(size_if_large).is_some_and(|old_size| size <= old_size) {
        return Ok(());
    }
    let explanation = format!(
        "{name} has {} KiB as the API server writes it, and at most {} KiB are allowed: a larger object could \
         not be changed or deleted any more; make it smaller",
        size.div_ceil(1024),
        LARGEST_OBJECT / 1024
    );
    Err(Rejection::forbidden(CauseKind::Limit, explanation))
}

/// How many bytes `object` has when the API server writes it; nothing, if it surely fits in: no more of it is looked at
/// than can make a difference.
fn size_if_large(object: &RawObject<'_>) -> Option<usize> {
    let mut size = StoredSize { read: 0, unread: object.longest_text() };
    // Writing fails where it surely fits in.
    serde_json::to_writer(&mut size, object).ok()?;
    Some(size.read)
}

/// How many bytes there are, as the API server writes them (`encoding/json` with HTML escapes).
struct StoredSize {
    /// Of what was read so far.
    read: usize,
    /// How much is still to come at most, before it is escaped.
    unread: usize,
}

impl io::Write for StoredSize {
    /// Reads a piece of `text`; fails as soon as all fits in, even if each byte to come had to be escaped.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.read + self.unread * LONGEST_ESCAPE <= LARGEST_OBJECT {
            return Err(io::ErrorKind::Other.into());
        }
        let piece = text.get(..1024).unwrap_or(text);
        for (position, byte) in piece.iter().enumerate() {
            match byte {
                b'<' | b'>' | b'&' => self.read += LONGEST_ESCAPE - 1,
                0xE2 if is_separator(text, position) => self.read += LONGEST_ESCAPE - 3,
                _ => {}
            }
        }
        self.read += piece.len();
        self.unread = self.unread.saturating_sub(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether U+2028 or U+2029 stands there.
fn is_separator(text: &[u8], position: usize) -> bool {
    matches!(text.get(position..position + 3), Some([0xE2, 0x80, 0xA8 | 0xA9]))
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
