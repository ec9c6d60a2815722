//! What is to be said of a setting, and where.

use std::fmt;

/// Something that is wrong, or may be: where, and what holds now, with a way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field that it is about, from the settings or from the policy on: `placement.onBindings`, `spec.rules[0]`. Empty
    /// for the whole.
    pub path: String,
    /// What is to be said about it.
    pub text: String,
}

impl Finding {
    /// Something about the field at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// A line that begins with a path, or does not.
    pub fn read(line: &str) -> Self {
        match line.split_once(": ") {
            Some((path, text)) if !path.contains(' ') => Self::new(path, text),
            _ => Self::new("", line),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.text),
            path => write!(f, "{path}: {}", self.text),
        }
    }
}

/// What there is to say.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What can't be meant: nobody could deploy it, it does nothing, or it lets itself be bypassed.
    pub mistakes: Vec<Finding>,
    /// What may be meant.
    pub remarks: Vec<Finding>,
}

impl Findings {
    /// Adds those of another part.
    pub fn extend(&mut self, other: Self) {
        self.mistakes.extend(other.mistakes);
        self.remarks.extend(other.remarks);
    }
}
