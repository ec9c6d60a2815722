//! What can be wrong with a JSON text, and how the place is told.

use std::error::Error;
use std::fmt;

/// A text is not JSON. Says what was expected, and where: the line and the column.
#[derive(Debug)]
pub struct SyntaxError(serde_json::Error);

/// A value is not what is needed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(Box<Difference>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Difference {
    /// Where, as in `spec.containers[0].env`; empty for the value itself.
    path: String,
    expected: &'static str,
    found: &'static str,
}

/// A text is not what it must be.
#[derive(Debug)]
pub enum ParseError {
    /// It is not JSON.
    Syntax(SyntaxError),
    /// It is JSON, and something else than an object.
    Mismatch(Mismatch),
}

/// Adds to a [`Mismatch`] where the value stands in which it was found.
///
/// ```
/// use json::{Mismatch, Within};
///
/// let read: Result<(), _> = Err(Mismatch::new("a string", "a number"));
/// let read = read.within("values").at(3).within("expressions");
/// assert_eq!(read.unwrap_err().to_string(), "expressions[3].values: expected a string, found a number");
/// ```
pub trait Within {
    /// Under the key `parent`, or at the end of a path such as `metadata.labels`.
    fn within(self, parent: &str) -> Self;

    /// At this position of a list, counted from zero.
    fn at(self, position: usize) -> Self;
}

impl Mismatch {
    /// What is wrong with the value itself; [`Within`] says where that stands.
    #[cold]
    #[inline(never)]
    pub fn new(expected: &'static str, found: &'static str) -> Self {
        Self(Box::new(Difference { path: String::new(), expected, found }))
    }

    /// The path to the value, as in `spec.containers[0].env`; empty for the value itself.
    pub fn path(&self) -> &str {
        &self.0.path
    }
}

impl Within for Mismatch {
    #[cold]
    #[inline(never)]
    fn within(mut self, parent: &str) -> Self {
        if !self.0.path.is_empty() && !parent.is_empty() && !self.0.path.starts_with('[') {
            self.0.path.insert(0, '.');
        }
        self.0.path.insert_str(0, parent);
        self
    }

    #[cold]
    #[inline(never)]
    fn at(self, position: usize) -> Self {
        self.within(&format!("[{position}]"))
    }
}

impl<T> Within for Result<T, Mismatch> {
    fn within(self, parent: &str) -> Self {
        match self {
            Ok(value) => Ok(value),
            Err(mismatch) => Err(mismatch.within(parent)),
        }
    }

    fn at(self, position: usize) -> Self {
        match self {
            Ok(value) => Ok(value),
            Err(mismatch) => Err(mismatch.at(position)),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.0.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}expected {}, found {}", self.0.path, self.0.expected, self.0.found)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl Error for SyntaxError {}
impl Error for Mismatch {}
impl Error for ParseError {}

impl From<serde_json::Error> for SyntaxError {
    fn from(error: serde_json::Error) -> Self {
        Self(error)
    }
}

impl From<SyntaxError> for ParseError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

impl From<Mismatch> for ParseError {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(mismatch)
    }
}
