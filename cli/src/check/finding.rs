//! What is to be said of a setting, and where.

use std::fmt;

use crate::input::yaml::Position;

/// Something that is wrong, or may be: where, and what holds now, with a way out.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Where it stands in a file.
    pub position: Option<Position>,
    /// The policy, where there are several.
    pub policy: Option<String>,
    /// The field that it is about, from the settings or from the policy on: `placement.onBindings`, `spec.rules[0]`. Empty
    /// for the whole.
    pub path: String,
    /// What is to be said about it.
    pub text: String,
}

impl Finding {
    /// Something about the field at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), ..Self::default() }
    }

    /// A line that begins with a path, or does not.
    pub fn read(line: &str) -> Self {
        match line.split_once(": ") {
            Some((path, text)) if !path.contains(' ') => Self::new(path, text),
            _ => Self::new("", line),
        }
    }
}

/// `12:5: placement.onBindings: …`
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        for part in [self.policy.as_deref(), Some(self.path.as_str())].into_iter().flatten().filter(|it| !it.is_empty())
        {
            write!(f, "{part}: ")?;
        }
        f.write_str(&self.text)
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
