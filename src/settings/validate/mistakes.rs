//! What is wrong with the settings, collected.

use std::fmt::Display;

use crate::settings::SettingsError;

/// All mistakes that were found.
#[derive(Debug, Default)]
pub struct Mistakes(pub Vec<SettingsError>);

impl Mistakes {
    /// `problem` at `path`.
    pub fn add(&mut self, path: &dyn Display, problem: impl Into<String>) {
        self.0.push(SettingsError::new(path, problem));
    }

    /// What was `checked` at `path`; nothing, and one mistake more, if it has a problem.
    pub fn check<T>(&mut self, path: &dyn Display, checked: Result<T, impl ToString>) -> Option<T> {
        self.ok_or_record(checked.map_err(|problem| SettingsError::new(path, problem.to_string())))
    }

    /// What was read; nothing, and one mistake more, if it has one.
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
