//! What is wrong with the settings, collected.

use std::fmt;

use super::SettingsError;

/// All mistakes that were found.
#[derive(Debug, Default)]
pub(super) struct Mistakes(pub(super) Vec<SettingsError>);

impl Mistakes {
    /// `problem` at `path`.
    pub fn add(&mut self, path: &dyn fmt::Display, problem: impl Into<String>) {
        self.0.push(SettingsError::new(path, problem));
    }

    /// The value, or nothing and one mistake more.
    pub fn ok_or_record<T>(&mut self, read: Result<T, SettingsError>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.0.push(mistake);
                None
            }
        }
    }
}
