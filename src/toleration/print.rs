//! Tolerations for people, and as JSON.

use std::fmt;

use json::Object;

use super::Toleration;
use super::read::{EFFECT, KEY, OPERATOR, SECONDS, VALUE};

impl fmt::Display for Toleration {
    /// `key[=value][:effect]`, as taints are written for `kubectl taint`; with `*` for every key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.key.is_empty() { "*" } else { &self.key })?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        let effect = self.effect.as_str();
        if effect.is_empty() { Ok(()) } else { write!(f, ":{effect}") }
    }
}

impl From<&Toleration> for Object {
    /// As an entry of a Pod's `spec.tolerations`, in the order in which Kubernetes writes the fields, without the empty
    /// ones.
    fn from(toleration: &Toleration) -> Self {
        let mut object = Self::new();
        let texts = [
            (KEY, toleration.key.as_str()),
            (OPERATOR, toleration.operator.as_str()),
            (VALUE, toleration.value.as_str()),
            (EFFECT, toleration.effect.as_str()),
        ];
        for (field, text) in texts {
            if !text.is_empty() {
                object.push(field, text);
            }
        }
        if let Some(seconds) = toleration.seconds {
            object.push(SECONDS, seconds);
        }
        object
    }
}
