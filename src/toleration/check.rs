//! What the API server refuses in a toleration.

use std::fmt;

use super::read::{EFFECT, KEY, OPERATOR, SECONDS, VALUE};
use super::{Effect, Operator, Toleration};
use crate::message::quote;
use crate::selector::syntax;

/// Why the API server would refuse a toleration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field that is wrong.
    pub field: &'static str,
    /// What stands there, as it may be shown in a message.
    pub found: String,
    /// What must stand there instead.
    pub expected: &'static str,
}

impl Invalid {
    fn new(field: &'static str, found: &str, expected: &'static str) -> Self {
        let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
        Self { field, found, expected }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.field, self.expected, self.found)
    }
}

impl std::error::Error for Invalid {}

impl Toleration {
    /// All that the API server would refuse in this (`ValidateTolerations`, with comparison operators off, as they are
    /// by default); nothing, if it is valid.
    pub fn check(&self) -> Vec<Invalid> {
        let checks =
            [self.check_key(), self.check_operator(), self.check_value(), self.check_effect(), self.check_seconds()];
        checks.into_iter().flatten().collect()
    }

    fn check_key(&self) -> Option<Invalid> {
        if self.key.is_empty() {
            return None;
        }
        let expected = syntax::label_key(&self.key).err()?;
        Some(Invalid::new(KEY, &self.key, expected))
    }

    fn check_operator(&self) -> Option<Invalid> {
        let expected = match self.operator {
            Operator::Exists => return None,
            Operator::Other(_) if !self.key.is_empty() => "Equal or Exists",
            Operator::Omitted | Operator::Equal if !self.key.is_empty() => return None,
            _ => "Exists where there is no key",
        };
        Some(Invalid::new(OPERATOR, self.operator.as_str(), expected))
    }

    fn check_value(&self) -> Option<Invalid> {
        let expected = match self.operator {
            Operator::Omitted | Operator::Equal => syntax::label_value(&self.value).err()?,
            Operator::Exists if !self.value.is_empty() => "nothing beside operator Exists",
            Operator::Exists | Operator::Other(_) => return None,
        };
        Some(Invalid::new(VALUE, &self.value, expected))
    }

    fn check_effect(&self) -> Option<Invalid> {
        let Effect::Other(word) = &self.effect else { return None };
        Some(Invalid::new(EFFECT, word, "NoSchedule, PreferNoSchedule or NoExecute"))
    }

    fn check_seconds(&self) -> Option<Invalid> {
        if self.effect == Effect::NoExecute {
            return None;
        }
        let found = self.seconds?.to_string();
        Some(Invalid { field: SECONDS, found, expected: "nothing unless the effect is NoExecute" })
    }
}
