//! Tolerations for people, and as JSON.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

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

impl Serialize for Toleration {
    /// As an entry of a Pod's `spec.tolerations`, in the order in which Kubernetes writes the fields, without the empty
    /// ones.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = [
            (KEY, self.key.as_str()),
            (OPERATOR, self.operator.as_str()),
            (VALUE, self.value.as_str()),
            (EFFECT, self.effect.as_str()),
        ];
        let mut object = serializer.serialize_map(None)?;
        for (field, text) in texts {
            if !text.is_empty() {
                object.serialize_entry(field, text)?;
            }
        }
        if let Some(seconds) = self.seconds {
            object.serialize_entry(SECONDS, &seconds)?;
        }
        object.end()
    }
}
