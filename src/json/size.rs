//! How large an object is when the API server has written it: `encoding/json` writes `<`, `>`, `&`, U+2028 and U+2029 as
//! six bytes.

use super::raw_object::{Raw, RawObject};

/// How many bytes a character becomes longer at most: `<` is written as `\u003c`.
const LONGEST_ESCAPE: usize = 5;

/// What has been read of a text that may become longer.
struct Size {
    /// How many bytes there are, what was read escaped.
    bytes: usize,
    /// How many of them were not read yet.
    unread: usize,
    /// How many bytes are no matter.
    limit: usize,
}

impl RawObject<'_> {
    /// How many bytes the object has when the API server writes it; nothing, if it is no larger than `limit`. No more of
    /// it is read than can make a difference.
    pub fn size_above(&self, limit: usize) -> Option<usize> {
        let length = self.length();
        let mut size = Size { bytes: length, unread: length, limit };
        self.add_escapes(&mut size);
        Some(size.bytes).filter(|bytes| *bytes > limit)
    }

    /// How many bytes are written of the object here.
    fn length(&self) -> usize {
        let members = self.members().map(|(key, value)| r#""":,"#.len() + key.len() + value.length());
        // Brackets, but for the last comma.
        members.sum::<usize>().max(1) + 1
    }

    fn add_escapes(&self, size: &mut Size) {
        for (key, value) in self.members() {
            size.read(key);
            value.add_escapes(size);
        }
    }
}

impl Raw<'_> {
    /// How many bytes the value has when the API server writes it.
    pub fn size(&self) -> usize {
        let length = self.length();
        let mut size = Size { bytes: length, unread: length, limit: 0 };
        self.add_escapes(&mut size);
        size.bytes
    }

    fn length(&self) -> usize {
        match self {
            Self::Object(object) => object.length(),
            Self::List(elements) => elements.iter().map(|element| element.length() + 1).sum::<usize>().max(1) + 1,
            Self::Text(_) | Self::Written(_) => self.text().map_or(0, str::len),
        }
    }

    fn add_escapes(&self, size: &mut Size) {
        match self {
            Self::Object(object) => object.add_escapes(size),
            Self::List(elements) => elements.iter().for_each(|element| element.add_escapes(size)),
            Self::Text(_) | Self::Written(_) => size.read(self.text().unwrap_or_default()),
        }
    }
}

impl Size {
    fn read(&mut self, text: &str) {
        let bytes = text.as_bytes();
        for (chunk, piece) in bytes.chunks(1024).enumerate() {
            // All fits in, even if each byte to come had to be escaped.
            if self.bytes + self.unread * LONGEST_ESCAPE <= self.limit {
                return;
            }
            for (position, byte) in piece.iter().enumerate() {
                match byte {
                    b'<' | b'>' | b'&' => self.bytes += LONGEST_ESCAPE,
                    0xE2 if is_separator(bytes, chunk * 1024 + position) => self.bytes += LONGEST_ESCAPE - 2,
                    _ => {}
                }
            }
            self.unread = self.unread.saturating_sub(piece.len());
        }
    }
}

/// Whether U+2028 or U+2029 stands there.
fn is_separator(text: &[u8], position: usize) -> bool {
    matches!(text.get(position..position + 3), Some([0xE2, 0x80, 0xA8 | 0xA9]))
}

#[cfg(test)]
mod tests {
    use crate::json::Raw;
    use crate::json::read::read;
    use crate::limits::LARGEST_OBJECT;

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

    #[rstest::rstest]
    #[case::empty("{}")]
    #[case::one(r#"{"a":1}"#)]
    #[case::several(r#"{"metadata":{"name":"a","labels":{}},"spec":{"template":[{},{"b":2}]},"x":[1,2]}"#)]
    #[case::empty_within(r#"{"metadata":{},"spec":[]}"#)]
    fn what_is_written_has_that_size(#[case] text: &str) {
        let object: Raw<'_> = read(text).unwrap();
        assert_eq!(object.size(), text.len());
        assert_eq!(serde_json::to_string(&object).unwrap(), text);
    }

    fn is_let_in(value: &str) -> bool {
        let text = format!(r#"{{"a":"{value}"}}"#);
        let object = read::<Raw>(&text).unwrap();
        object.object().unwrap().size_above(LARGEST_OBJECT).is_none()
    }
}
