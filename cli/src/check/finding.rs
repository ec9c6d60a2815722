//! What `check` finds: mistakes and remarks, each with the field that it is about.

use std::fmt;

use crate::input::{json::WrongType, yaml::Position};

/// Something that is wrong, or may be: where, and what holds now, with a way out.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Its position in the file.
    pub position: Option<Position>,
    /// The name of the policy, where there are several.
    pub policy: Option<String>,
    /// The field that it is about, from the settings or from the policy on: `placement.onBindings`, `spec.rules[0]`. Empty
    /// for the whole.
    pub path: String,
    /// The field at this path that is unknown, if one is.
    pub unknown_field: Option<String>,
    /// What is found.
    pub text: String,
}

impl Finding {
    /// Makes a finding about the field at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), ..Self::default() }
    }

    /// Returns the path of what it is about, with the unknown field.
    pub fn place(&self) -> String {
        let field = self.unknown_field.iter().map(|field| format!(".{field}"));
        std::iter::once(self.path.clone()).chain(field).collect()
    }

    /// Reads a line that begins with a path, or does not.
    pub fn from_line(line: &str) -> Self {
        match line.split_once(": ") {
            Some((path, text)) if !path.contains(' ') => Self::new(path, text),
            _ => Self::new("", line),
        }
    }
}

impl From<WrongType> for Finding {
    fn from(WrongType { path, problem, unknown_field }: WrongType) -> Self {
        Self { unknown_field, ..Self::new(path, problem) }
    }
}

/// `12:5: placement.onBindings: …`
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        for part in [self.policy.as_deref().unwrap_or_default(), &self.path] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.text)
    }
}

/// All that is found, in the order in which it is reported.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What can't be meant: nobody could deploy it, it does nothing, or it lets itself be bypassed.
    pub mistakes: Vec<Finding>,
    /// What may be meant.
    pub remarks: Vec<Finding>,
}

impl Findings {
    /// Adds a mistake.
    pub fn mistake(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.mistakes.push(Finding::new(path, text));
    }

    /// Adds a remark.
    pub fn remark(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.remarks.push(Finding::new(path, text));
    }
}
