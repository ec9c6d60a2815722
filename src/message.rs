//! Words for people: what stands in messages and warnings.

use crate::limits::{LONGEST_QUOTE, LONGEST_REJECTION, LONGEST_WARNING};

/// `text`, cut with `…` so that it has at most `limit` characters.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(limit - 1);
    kept.chain(std::iter::once('…')).collect()
}

/// Somebody else's text as it may stand in a message: at most 100 characters of it.
pub fn shorten(text: &str) -> String {
    cut(text, LONGEST_QUOTE)
}

/// `text` in double quotes, escaped and cut, fit for one line of a message.
pub fn quote(text: &str) -> String {
    serde_json::to_string(&shorten(text)).unwrap_or_default()
}

/// `key=value` in double quotes, escaped and cut.
pub fn quote_pair(key: &str, value: &str) -> String {
    quote(&format!("{key}={value}"))
}

/// `items` as text, with this `between` them.
pub fn joined<T: ToString>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}

/// `text` as a single line of at most 256 characters.
pub fn warning(text: &str) -> String {
    cut(&text.replace(['\n', '\r'], " "), LONGEST_WARNING)
}

/// `text` as a rejection shows it: at most 1,024 characters.
pub fn rejection(text: &str) -> String {
    cut(text, LONGEST_REJECTION)
}

/// An error of the host, without what waPC and the host put before it: the first line, since a stack trace may follow,
/// which is not for people.
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
