//! Words for people: what stands in messages, warnings, audit annotations and log lines.

use std::fmt::Write;

use crate::limits::{LONGEST_QUOTE, LONGEST_REJECTION, LONGEST_WARNING};

/// Returns `text` with at most `limit` characters. A longer one ends with `…`.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(limit - 1);
    kept.chain(std::iter::once('…')).collect()
}

/// Returns `text` as it may leave the policy: control characters (C0, DEL, C1), and characters that change the direction
/// of text (embeddings, overrides, isolates), are escaped as in JSON. An API server drops a warning with an ESC, and a
/// name with an override reads as another one.
pub fn escaped(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Cuts a text of somebody else to the 100 characters that a message may quote.
pub fn shorten(text: &str) -> String {
    cut(text, LONGEST_QUOTE)
}

/// Returns `text` in double quotes, escaped and cut, for one line of a message.
pub fn quote(text: &str) -> String {
    serde_json::to_string(&shorten(text)).unwrap_or_default()
}

/// Returns `key=value` in double quotes, escaped and cut.
pub fn quote_pair(key: &str, value: &str) -> String {
    quote(&format!("{key}={value}"))
}

/// Joins the texts of `items`, with `between` between them.
pub fn joined<T: ToString>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}

/// Returns `text` as a warning: one line of at most 256 characters.
pub fn warning(text: &str) -> String {
    cut(&escaped(text), LONGEST_WARNING)
}

/// Returns `text` as a rejection: one line of at most 1,024 characters.
pub fn rejection(text: &str) -> String {
    cut(&escaped(text), LONGEST_REJECTION)
}

/// Returns the first line of an error of the host, without the words that waPC and the host put before it. A stack trace
/// may follow.
pub fn host_error(text: &str) -> &str {
    let text = text.strip_prefix("Host error: ").unwrap_or(text);
    let text = text.strip_prefix("Callback evaluation failure: ").unwrap_or(text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_one_short_line() {
        let long = warning(&"ä\n".repeat(400));
        assert_eq!(long.chars().count(), 256);
        assert!(long.ends_with('…') && !long.contains('\n'));
        assert_eq!(warning("as it is"), "as it is");
    }

    #[test]
    fn what_leaves_has_no_character_that_is_not_shown() {
        let hidden = "\0\n\u{1b}\u{1f}\u{7f}\u{80}\u{9b}\u{9f}\u{202a}\u{202e}\u{2066}\u{2069}";
        let shown = r"\u0000\u000a\u001b\u001f\u007f\u0080\u009b\u009f\u202a\u202e\u2066\u2069";
        assert_eq!(escaped(hidden), shown);
        assert_eq!(warning(hidden), shown);
        assert_eq!(rejection(hidden), shown);
        let neighbours = " ~\u{a0}\u{2029}\u{202f}\u{2065}\u{206a} äß日";
        assert_eq!(escaped(neighbours), neighbours);
    }

    #[test]
    fn a_quote_is_escaped_and_cut() {
        assert_eq!(quote("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(quote(&"x".repeat(200)).chars().count(), 102);
        assert_eq!(quote(&"x".repeat(100)).chars().count(), 102);
    }

    #[test]
    fn only_the_first_line_counts() {
        assert_eq!(host_error("\n  broken\nstack\ntrace"), "broken");
        assert_eq!(host_error("Host error: Callback evaluation failure: broken\nstack"), "broken");
        assert_eq!(host_error(" \n"), "no reason given");
    }
}
