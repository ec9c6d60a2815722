//! Reads the `key=value` lists of the in-tree `PodNodeSelector` plugin.

use std::borrow::Cow;

use json::StringMap;

use super::{NodeSelector, ParseError, Requirement, syntax};

/// Parses `text` as a comma-separated list of `key=value`. An empty text selects every node.
///
/// # Errors
/// What was found where, and what was expected.
///
/// Upstream: `labels.ConvertSelectorToLabelsMap`, with its oddities: of equal keys the last wins, spaces around keys
/// and values are trimmed as Unicode has them, and a text of nothing but spaces is malformed.
pub fn parse_pairs(text: &str) -> Result<NodeSelector, ParseError> {
    if text.is_empty() {
        return Ok(NodeSelector::default());
    }
    let mut pairs = Vec::new();
    let mut at: usize = 0;
    for pair in text.split(',') {
        let (key, value) = match pair.split_once('=') {
            Some((key, value)) if !value.contains('=') => (key.trim(), value.trim()),
            _ => return Err(ParseError::unexpected(at, pair, "key=value")),
        };
        syntax::label_key(key).map_err(|expected| ParseError::key(at, key, expected))?;
        syntax::label_value(value).map_err(|expected| ParseError::value(at, value.to_owned(), expected))?;
        pairs.push((Cow::Borrowed(key), Cow::Borrowed(value)));
        at = at.saturating_add(pair.len()).saturating_add(1);
    }
    let pairs: StringMap<'_> = pairs.into_iter().collect();
    let requirements = pairs.iter().map(|(key, value)| Requirement::pair(key, value));
    Ok(NodeSelector::new(requirements.collect()))
}
