//! Computes the size of an object as the API server writes it: `encoding/json` writes `<`, `>`, `&`, U+2028 and U+2029 as
//! six bytes.

use super::raw_object::{Raw, RawObject};

/// The most bytes that a character grows by: `<` is written as `\u003c`.
const LONGEST_ESCAPE: usize = 5;

/// The bytes that are counted between two checks of the limit.
const CHUNK: usize = 1024;

impl RawObject<'_> {
    /// Returns the size in bytes, if it is above `limit`. Reads no more of the object than can make a difference.
    pub fn size_above(&self, limit: usize) -> Option<usize> {
        let mut size = 0;
        self.for_each_text(&mut |text, around| size += text.len() + around);
        let mut unread = size;
        // Most objects are small enough, even if every byte must be escaped.
        if size + unread * LONGEST_ESCAPE <= limit {
            return None;
        }
        self.for_each_text(&mut |text, _| {
            for (position, chunk) in text.as_bytes().chunks(CHUNK).enumerate() {
                // Otherwise the object is small enough, even if each remaining byte must be escaped.
                if size + unread * LONGEST_ESCAPE > limit {
                    size += escapes(chunk, text.as_bytes().get(position * CHUNK..).unwrap_or_default());
                    unread -= chunk.len();
                }
            }
        });
        Some(size).filter(|size| *size > limit)
    }

    /// Passes on the texts that the object consists of, each with the number of quotes, colons, commas and brackets that
    /// are written with it.
    fn for_each_text(&self, take: &mut dyn FnMut(&str, usize)) {
        take("", if self.members().next().is_some() { "{".len() } else { "{}".len() });
        for (key, value) in self.members() {
            take(key, r#""":,"#.len());
            value.for_each_text(take);
        }
    }
}

impl Raw<'_> {
    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.for_each_text(&mut |text, around| size += text.len() + around + escapes(text.as_bytes(), text.as_bytes()));
        size
    }

    fn for_each_text(&self, take: &mut dyn FnMut(&str, usize)) {
        match self {
            Self::Object(object) => object.for_each_text(take),
            Self::List(elements) => {
                take("", if elements.is_empty() { "[]".len() } else { "[".len() });
                for element in elements {
                    element.for_each_text(take);
                    take("", ",".len());
                }
            }
            Self::Text(_) | Self::Written(_) => take(self.text().unwrap_or_default(), 0),
        }
    }
}

/// Returns the number of bytes that `chunk` grows by. It is the beginning of `text`.
fn escapes(chunk: &[u8], text: &[u8]) -> usize {
    let mut longer = 0;
    for (position, byte) in chunk.iter().enumerate() {
        match byte {
            b'<' | b'>' | b'&' => longer += LONGEST_ESCAPE,
            0xE2 if is_separator(text, position) => longer += LONGEST_ESCAPE - 2,
            _ => {}
        }
    }
    longer
}

/// Returns whether there is U+2028 or U+2029 at `position`.
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
        assert_eq!(fits_in(&piece.repeat(count)), fits);
    }

    #[test]
    fn what_comes_last_counts_too() {
        let specials = (LARGEST_OBJECT - AROUND - 500_000) / 5;
        for (specials, fits) in [(specials, true), (specials + 1, false)] {
            assert_eq!(fits_in(&format!("{}{}", "x".repeat(500_000 - specials), "<".repeat(specials))), fits);
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

    fn fits_in(value: &str) -> bool {
        let text = format!(r#"{{"a":"{value}"}}"#);
        let object = read::<Raw>(&text).unwrap();
        object.object().unwrap().size_above(LARGEST_OBJECT).is_none()
    }
}
