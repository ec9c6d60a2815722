//! A mistake in the settings, and where it is.

use std::fmt;
use std::rc::Rc;

use json::{Json, Mismatch, Object};

use crate::text::quote;

/// What is wrong with one setting: its path, as in `podNodeSelector.namespaces[1].allowedNodeSelector`, and the problem.
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

    /// A value of the wrong type, at `path` or within it.
    #[cold]
    pub fn of(path: &dyn fmt::Display, mismatch: Mismatch) -> Self {
        Self(mismatch.within(&path.to_string()).to_string())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an element of a list in a block stands: `podNodeSelector.namespaces[1]`. Written out only if it has a mistake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub block: &'static str,
    pub list: &'static str,
    pub at: usize,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}[{}]", self.block, self.list, self.at)
    }
}

/// The member `key` of `object`, which stands at `path`, as `read` reads it; a value of the wrong type is a mistake.
pub(super) fn field<'a, T>(
    object: &Object<'a>,
    path: &dyn fmt::Display,
    key: &str,
    read: impl FnOnce(Json<'a>) -> Result<T, Mismatch>,
    mistakes: &mut Vec<Mistake>,
) -> Option<T> {
    let value = object.get(key)?;
    match read(value) {
        Ok(value) => Some(value),
        Err(mismatch) => {
            mistakes.push(Mistake::of(&format_args!("{path}.{key}"), mismatch));
            None
        }
    }
}

/// The elements of `list` in `object`, which is `block`, as `read` reads them, each with its place; what is of the wrong
/// type is a mistake.
pub(super) fn elements<'a, T>(
    object: &Object<'a>,
    block: &'static str,
    list: &'static str,
    read: impl Fn(&json::Element<'a>) -> Result<T, Mismatch>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<(Element, T)> {
    let mut elements = Vec::new();
    let found = object.list(list).unwrap_or_else(|mismatch| {
        mistakes.push(Mistake::of(&block, mismatch));
        Rc::default()
    });
    for (at, element) in found.iter().enumerate() {
        let place = Element { block, list, at };
        match read(element) {
            Ok(element) => elements.push((place, element)),
            Err(mismatch) => mistakes.push(Mistake::of(&place, mismatch)),
        }
    }
    elements
}

/// Members of `object`, which stands at `path`, that are none of `known`.
pub(super) fn unknown_fields(
    object: &Object<'_>,
    path: &dyn fmt::Display,
    known: &[&str],
    mistakes: &mut Vec<Mistake>,
) {
    for (key, _) in object.members() {
        if !known.contains(&key.as_ref()) {
            let problem = format!("unknown field {}, expected one of {}", quote(&key), known.join(", "));
            mistakes.push(Mistake::new(path, &problem));
        }
    }
}
