//! The names of the entries of `namespaces`.

use std::fmt;

use crate::message::quote;
use crate::selector::syntax;

/// What namespaces can be called.
const NAME: &str = "at most 63 lowercase letters, digits and '-', beginning and ending with a letter or digit";

/// Which namespaces an entry is about, by their names. There can be such namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePattern {
    /// The one of this name.
    Exact(String),
    /// Those whose names begin so: `team-`, which is written `team-*`; all, if it is empty.
    Beginning(String),
}

impl NamePattern {
    /// Reads the name of a namespace, or the beginning of names and `*`.
    ///
    /// # Errors
    /// What is wrong with it, and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected the name of a namespace, or the beginning of names and '*'".to_owned());
        }
        let Some(beginning) = text.strip_suffix('*') else { return Self::exact(text) };
        if beginning.contains('*') {
            return Err(has_star_elsewhere(text));
        }
        // It is a name itself, or becomes one with a letter more.
        if syntax::is_dns_label(beginning) || syntax::is_dns_label(&format!("{beginning}x")) {
            return Ok(Self::Beginning(beginning.to_owned()));
        }
        Err(format!("no namespace's name can begin with {}, expected {NAME}", quote(beginning)))
    }

    fn exact(text: &str) -> Result<Self, String> {
        if text.contains('*') {
            return Err(has_star_elsewhere(text));
        }
        if syntax::is_dns_label(text) {
            return Ok(Self::Exact(text.to_owned()));
        }
        Err(format!("no namespace can be called {}, expected {NAME}", quote(text)))
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Beginning(beginning) => write!(f, "{beginning}*"),
        }
    }
}

/// Whether `pattern`, which requests do not check anew, is about the namespace of this name.
pub(super) fn matches(pattern: &str, namespace: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => namespace.starts_with(beginning),
        None => !pattern.is_empty() && pattern == namespace,
    }
}

fn has_star_elsewhere(text: &str) -> String {
    format!("{} has a '*' elsewhere than at its end", quote(text))
}
