//! What is wrong with one setting.

use std::fmt;

use crate::json::{ReadError, Within};

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub(super) ReadError);

impl SettingsError {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    #[cold]
    #[inline(never)]
    pub fn new(path: &dyn fmt::Display, problem: impl Into<String>) -> Self {
        Self(ReadError::new(problem).within(&path.to_string()))
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
