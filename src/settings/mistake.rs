//! Mistakes in the settings, and where they are.

use std::fmt;

use json::{Mismatch, Within};

use crate::message::quote;

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake(String);

impl Mistake {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    #[cold]
    pub fn new(path: &dyn fmt::Display, problem: &str) -> Self {
        let mut text = path.to_string();
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(problem);
        Self(text)
    }

    /// A field of the object at `path` that is none of those that are `known`.
    #[cold]
    pub fn unknown_field(path: &dyn fmt::Display, key: &str, known: &[&str]) -> Self {
        Self::new(path, &format!("unknown field {}, expected one of {}", quote(key), known.join(", ")))
    }

    /// A value of the wrong type, at `path` or within it.
    #[cold]
    pub fn mismatch(path: &dyn fmt::Display, mismatch: Mismatch) -> Self {
        Self(mismatch.within(&path.to_string()).to_string())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All mistakes that were found.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Keeps the mistake, if `read` is one.
    pub fn unless<T>(&mut self, read: Result<T, Mistake>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.add(mistake);
                None
            }
        }
    }

    pub fn add(&mut self, mistake: Mistake) {
        self.0.push(mistake);
    }

    pub const fn len(&self) -> usize {
        self.0.len()
    }

    pub fn into_vec(self) -> Vec<Mistake> {
        self.0
    }
}
