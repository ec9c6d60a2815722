//! A mistake in the settings, and where it is.

use std::fmt;

use crate::json::{Json, Mismatch};
use crate::object::Object;
use crate::text::quote;

/// What is wrong with one setting: its path, as in `podNodeSelector.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake(String);

impl Mistake {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    pub fn new(path: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        let (path, problem) = (path.as_ref(), problem.as_ref());
        let colon = if path.is_empty() { "" } else { ": " };
        Self(format!("{path}{colon}{problem}"))
    }

    /// A value of the wrong type, at `path` or within it.
    pub fn of(path: &str, mismatch: Mismatch) -> Self {
        Self(mismatch.within(path).to_string())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The member `key` of `object`, which stands at `path`, as `read` reads it; a value of the wrong type is a mistake.
pub(super) fn field<'a, T>(
    object: &Object<'a>,
    path: &str,
    key: &str,
    read: impl FnOnce(Json<'a>) -> Result<T, Mismatch>,
    mistakes: &mut Vec<Mistake>,
) -> Option<T> {
    let value = object.get(key)?;
    match read(value) {
        Ok(value) => Some(value),
        Err(mismatch) => {
            mistakes.push(Mistake::of(&format!("{path}.{key}"), mismatch));
            None
        }
    }
}

/// The elements of the list `key` of `object`, which stands at `path`, as `read` reads them, each with its path; what is
/// of the wrong type is a mistake.
pub(super) fn elements<'a, T>(
    object: &Object<'a>,
    path: &str,
    key: &str,
    read: impl Fn(Json<'a>) -> Result<T, Mismatch>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<(String, T)> {
    let list = field(object, path, key, Json::list, mistakes).unwrap_or_default();
    let mut elements = Vec::new();
    for (at, element) in list.into_iter().enumerate() {
        let path = format!("{path}.{key}[{at}]");
        match read(element) {
            Ok(element) => elements.push((path, element)),
            Err(mismatch) => mistakes.push(Mistake::of(&path, mismatch)),
        }
    }
    elements
}

/// Members of `object`, which stands at `path`, that are none of `known`.
pub(super) fn unknown_fields(object: &Object<'_>, path: &str, known: &[&str], mistakes: &mut Vec<Mistake>) {
    for (key, _) in object.members() {
        if !known.contains(&key.as_ref()) {
            let problem = format!("unknown field {}, expected one of {}", quote(&key), known.join(", "));
            mistakes.push(Mistake::new(path, problem));
        }
    }
}
