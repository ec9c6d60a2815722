//! What is wrong with one setting.

use std::fmt;

use crate::json::read::ReadError;

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    path: String,
    problem: String,
}

impl SettingsError {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    #[cold]
    #[inline(never)]
    pub fn new(path: &dyn fmt::Display, problem: impl Into<String>) -> Self {
        Self { path: path.to_string(), problem: problem.into() }
    }
}

impl From<ReadError> for SettingsError {
    fn from(error: ReadError) -> Self {
        Self::new(&error.path(), error.problem())
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}
