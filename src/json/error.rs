//! Errors of reading: the path of the value, what was expected and what was found.

use std::fmt;

use serde_json::Deserializer;

use crate::message::quote;

/// An error of reading: a value has the wrong type, or the text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(Box<PathAndProblem>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathAndProblem {
    /// The path of the value, as in `spec.containers[0].env`. It is empty for the value that was read.
    path: String,
    problem: String,
    /// The field that the value must not have, if that is the problem.
    unknown_field: Option<String>,
}

/// Adds the beginning of the path to a [`ReadError`].
pub trait Within {
    /// Adds a key, or a path such as `metadata.labels`.
    fn within(self, parent: &str) -> Self;

    /// Adds a position in a list, counted from zero.
    fn at(self, position: usize) -> Self;
}

impl ReadError {
    /// Returns the error that the value itself has this `problem`. [`Within`] adds the path.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(Box::new(PathAndProblem { path: String::new(), problem: problem.into(), unknown_field: None }))
    }

    /// Returns the error that something else than the expected was found.
    pub fn mismatch(expected: &str, found: &str) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }

    /// Returns the path of the value, as in `spec.containers[0].env`.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns what is wrong with the value.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// Returns the field of the value that is unknown, if that is the problem.
    pub fn unknown_field(&self) -> Option<&str> {
        self.0.unknown_field.as_deref()
    }

    pub(super) fn of(error: &serde_json::Error, text: &str) -> Self {
        let mut steps = steps_to(error, text);
        let text = error.to_string();
        // The text may be a part of the request: its lines and columns mean nothing to the requester.
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
        let mut unknown = None;
        let problem = if let Some(field) = text.strip_prefix("missing field ") {
            steps.push(field.trim_matches('`').to_owned());
            "expected a value, found nothing".to_owned()
        } else if let Some((found, known)) = found_and_known(text, "unknown field ") {
            // The last step is the field itself.
            steps.pop_if(|step| *step == step_to(found));
            unknown = Some(found.to_owned());
            unknown_field(found, &known)
        } else if let Some((found, known)) = found_and_known(text, "unknown variant ") {
            format!("found {}, expected one of {}", quote(found), known.join(", "))
        } else {
            in_words(text)
        };
        let mut error = Self::new(problem);
        error.0.unknown_field = unknown;
        for step in steps.iter().rev() {
            error = error.within(step);
        }
        error
    }
}

/// Splits `text`, if it starts with `beginning`, into the word that was found and the known words.
pub fn found_and_known<'t>(text: &'t str, beginning: &str) -> Option<(&'t str, Vec<&'t str>)> {
    let (found, known) = text.strip_prefix(beginning)?.rsplit_once(", expected ")?;
    // The words are in backticks.
    Some((found.trim_matches('`'), known.split('`').skip(1).step_by(2).collect()))
}

/// Words the problem that a field is unknown, with the `known` field that is most like it.
pub fn unknown_field(found: &str, known: &[&str]) -> String {
    match most_alike(found, known) {
        Some(alike) => format!("unknown field {}, did you mean {alike}?", quote(found)),
        None => format!("unknown field {}, expected one of {}", quote(found), known.join(", ")),
    }
}

/// Returns the `known` word that is most like the one that was found, if more than half of it is the same.
pub fn most_alike<'k>(found: &str, known: &[&'k str]) -> Option<&'k str> {
    let distances = known.iter().map(|known| (strsim::levenshtein(found, known), *known));
    distances.min().filter(|(distance, _)| distance * 2 < found.chars().count()).map(|(_, alike)| alike)
}

/// Replaces serde's words for types by those of the documentation.
fn in_words(text: &str) -> String {
    let Some((found, expected)) = text.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "))
    else {
        return text.to_owned();
    };
    let found = match found.split_once(' ').map_or(found, |(word, _)| word) {
        "null" => "null",
        "boolean" => "a boolean",
        "integer" | "floating" => "a number",
        "string" => "a string",
        "sequence" => "a list",
        "map" => "an object",
        _ => found,
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "i64" => "an integer",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

impl Within for ReadError {
    fn within(mut self, parent: &str) -> Self {
        if !self.0.path.is_empty() && !parent.is_empty() && !self.0.path.starts_with('[') {
            self.0.path.insert(0, '.');
        }
        self.0.path.insert_str(0, parent);
        self
    }

    fn at(self, position: usize) -> Self {
        self.within(&format!("[{position}]"))
    }
}

impl<T> Within for Result<T, ReadError> {
    fn within(self, parent: &str) -> Self {
        self.map_err(|error| error.within(parent))
    }

    fn at(self, position: usize) -> Self {
        self.map_err(|error| error.at(position))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.0.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.0.path, self.0.problem)
    }
}

impl std::error::Error for ReadError {}

/// The most levels that `serde_json` reads.
const DEEPEST: usize = 128;

/// A list or an object that is open at the position of the error.
enum Open {
    /// A list, with the position of the current element.
    List(usize),
    /// An object, with the step to the current member, or an empty one before the first.
    Object(String),
}

/// Returns the steps to the value in `text` that `error` is about, as in `spec`, `containers`, `[0]`.
///
/// Reads the text once more, up to the error. The lists and objects that are open there are the path.
fn steps_to(error: &serde_json::Error, text: &str) -> Vec<String> {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let (read, next) = text.split_at_checked(before + error.column()).unwrap_or((text, ""));
    let mut rest = read.trim_end();
    // If a list is not expected, it may have been entered. A wrong first element that is a list or an object was not.
    if !next.starts_with(['[', '{']) {
        rest = rest.strip_suffix('[').unwrap_or(rest);
    }
    // serde checks a word after it has read the bracket that closes the object.
    if error.to_string().starts_with("unknown variant") {
        rest = rest.strip_suffix('}').unwrap_or(rest);
    }
    let mut open: Vec<Open> = Vec::new();
    let mut key_is_next = false;
    while open.len() < DEEPEST
        && let Some(sign) = rest.chars().next()
    {
        let mut length = sign.len_utf8();
        match (sign, open.last_mut()) {
            ('[', _) => open.push(Open::List(0)),
            ('{', _) => {
                open.push(Open::Object(String::new()));
                key_is_next = true;
            }
            (']', Some(Open::List(_))) | ('}', Some(Open::Object(_))) => drop(open.pop()),
            (',', Some(Open::List(position))) => *position += 1,
            (',', _) => key_is_next = true,
            (':', _) => key_is_next = false,
            ('"', last) => {
                let mut strings = Deserializer::from_str(rest).into_iter::<String>();
                let Some(Ok(string)) = strings.next() else { break };
                length = strings.byte_offset();
                if let (Some(Open::Object(step)), true) = (last, key_is_next) {
                    *step = step_to(&string);
                }
            }
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    let steps = open.into_iter().map(|open| match open {
        Open::List(position) => format!("[{position}]"),
        Open::Object(step) => step,
    });
    steps.filter(|step| !step.is_empty()).collect()
}

/// Returns the step to the member `key` of an object.
fn step_to(key: &str) -> String {
    let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { key.to_owned() } else { format!("[{key:?}]") }
}
