//! What can be wrong with a selector's text, worded for the person who wrote it.

use std::fmt;

use crate::message::quote;

/// Why a text is not a node selector, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

/// The trouble starts at byte `at`; people count from 1.
impl ParseError {
    /// Something stands where something else must.
    pub(super) fn unexpected(at: usize, found: &str, expected: &str) -> Self {
        let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
        Self(format!("found {found} at position {}, expected {expected}", at + 1))
    }

    /// This is no label key.
    pub(super) fn key(at: usize, key: &str, expected: &str) -> Self {
        Self(format!("{} at position {} is not a label key, expected {expected}", quote(key), at + 1))
    }

    /// This is no value that a label can have, or that the operator takes.
    pub(super) fn value(at: usize, value: &str, expected: &str) -> Self {
        Self(format!("{} at position {} is not a valid value, expected {expected}", quote(value), at + 1))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}
