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
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.text),
            path => write!(f, "{path}: {}", self.text),
        }
    }
}
