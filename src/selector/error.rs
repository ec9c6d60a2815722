//! What can be wrong with a selector's text, worded for the person who wrote it.

use std::fmt;

use crate::message::quote;

/// Why a text is not a node selector, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The byte at which the trouble starts.
    pub(super) at: usize,
    pub(super) problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Something stands where something else must.
    Unexpected { found: String, expected: &'static str },
    /// This is no label key.
    Key { key: String, expected: &'static str },
    /// This is no value that a label can have, or that the operator takes.
    Value { value: String, expected: &'static str },
}

impl ParseError {
    pub(super) fn unexpected(at: usize, found: &str, expected: &'static str) -> Self {
        let found = found.to_owned();
        Self { at, problem: Problem::Unexpected { found, expected } }
    }

    pub(super) fn key(at: usize, key: &str, expected: &'static str) -> Self {
        let key = key.to_owned();
        Self { at, problem: Problem::Key { key, expected } }
    }

    pub(super) fn value(at: usize, value: String, expected: &'static str) -> Self {
        Self { at, problem: Problem::Value { value, expected } }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // People count from 1.
        let position = self.at + 1;
        match &self.problem {
            Problem::Unexpected { found, expected } if found.is_empty() => {
                write!(f, "found nothing at position {position}, expected {expected}")
            }
            Problem::Unexpected { found, expected } => {
                write!(f, "found {} at position {position}, expected {expected}", quote(found))
            }
            Problem::Key { key, expected } => {
                write!(f, "{} at position {position} is not a label key, expected {expected}", quote(key))
            }
            Problem::Value { value, expected } => {
                write!(f, "{} at position {position} is not a valid value, expected {expected}", quote(value))
            }
        }
    }
}

impl std::error::Error for ParseError {}
