//! Reads the `key=value` lists of the in-tree `PodNodeSelector` plugin.

use std::collections::BTreeMap;

use super::{ParseError, Requirement, Selector, syntax};

/// Parses `text` as a comma-separated list of `key=value`. An empty text selects every node.
///
/// # Errors
/// What was found where, and what was expected.
///
/// Upstream: `labels.ConvertSelectorToLabelsMap`, with its oddities: of equal keys the last wins, spaces around keys
/// and values are trimmed as Unicode has them, and a text of nothing but spaces is malformed.
pub fn parse_pairs(text: &str) -> Result<Selector, ParseError> {
    if text.is_empty() {
        return Ok(Selector::default());
    }
    let mut pairs = BTreeMap::new();
    let mut at: usize = 0;
    for pair in text.split(',') {
        let (key, value) = match pair.split_once('=') {
            Some((key, value)) if !value.contains('=') => (key.trim(), value.trim()),
            _ => return Err(ParseError::unexpected(at, pair, "key=value")),
        };
        syntax::label_key(key).map_err(|expected| ParseError::key(at, key, expected))?;
        syntax::label_value(value).map_err(|expected| ParseError::value(at, value, expected))?;
        pairs.insert(key, value);
        at = at + pair.len() + 1;
    }
    let requirements = pairs.into_iter().map(|(key, value)| Requirement::pair(key, value));
    Ok(Selector::new(requirements.collect()))
}
