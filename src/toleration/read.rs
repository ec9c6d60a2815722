//! Tolerations as Kubernetes reads them.
//!
//! Pods and configurations are read by `sigs.k8s.io/json`, annotations by Go's `encoding/json`. Both take the last of
//! repeated fields, leave a text as it is for `null`, and pass over what they don't know. They differ in the names of
//! fields: only for annotations case does not matter. The policy's own settings know no other fields.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};

use super::{Effect, Operator, Toleration};
use crate::json::read::{ReadError, read};

/// The fields of a toleration.
pub(super) const FIELDS: &[&str] = &[KEY, OPERATOR, VALUE, EFFECT, SECONDS];

pub(super) const KEY: &str = "key";
pub(super) const OPERATOR: &str = "operator";
pub(super) const VALUE: &str = "value";
pub(super) const EFFECT: &str = "effect";
pub(super) const SECONDS: &str = "tolerationSeconds";

/// Who wrote a toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// As an entry of a Pod's `spec.tolerations`: unknown fields are passed over, `null` is one without anything.
    Pod,
    /// The same, where case does not matter.
    Annotation,
    /// A setting: unknown fields are mistakes, as is `null`.
    Settings,
}

/// The tolerations in the `text` of a namespace's annotation; one that is empty has none.
///
/// # Errors
/// It is not JSON, no list of objects, or a field has another type.
pub fn from_annotation(text: &str) -> Result<Vec<Toleration>, ReadError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list: Option<Vec<InAnnotation>> = read(text)?;
    Ok(list.into_iter().flatten().map(|entry| entry.0).collect())
}

/// Reads a list of tolerations in the settings, if it is there.
///
/// # Errors
/// It is no list of tolerations, or one has an unknown field.
pub fn from_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Toleration>>, D::Error> {
    let list = Option::<Vec<InSettings>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|entry| entry.0).collect()))
}

struct InAnnotation(Toleration);

struct InSettings(Toleration);

impl<'de> Deserialize<'de> for InAnnotation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Dialect::Annotation).map(Self)
    }
}

impl<'de> Deserialize<'de> for InSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Dialect::Settings).map(Self)
    }
}

impl<'de> Deserialize<'de> for Toleration {
    /// Reads an entry of a Pod's `spec.tolerations`; `null` is one without anything.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Dialect::Pod)
    }
}

impl<'de> Visitor<'de> for Dialect {
    type Value = Toleration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Toleration, E> {
        Ok(Toleration::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Toleration, A::Error> {
        let mut toleration = Toleration::default();
        while let Some(name) = map.next_key::<String>()? {
            match FIELDS.iter().find(|field| self.names(field, &name)) {
                Some(field) => toleration.read_field(field, &mut map)?,
                None if self == Self::Settings => return Err(A::Error::unknown_field(&name, FIELDS)),
                None => map.next_value::<serde::de::IgnoredAny>().map(drop)?,
            }
        }
        Ok(toleration)
    }
}

impl Toleration {
    /// Gives `field` the value that comes next. `null` leaves a text as it is, and clears the seconds.
    fn read_field<'de, A: MapAccess<'de>>(&mut self, field: &str, map: &mut A) -> Result<(), A::Error> {
        if field == SECONDS {
            self.seconds = map.next_value::<Option<Seconds>>()?.map(|seconds| seconds.0);
            return Ok(());
        }
        let Some(text) = map.next_value::<Option<String>>()? else { return Ok(()) };
        match field {
            KEY => self.key = text,
            OPERATOR => self.operator = Operator::from(text.as_str()),
            VALUE => self.value = text,
            _ => self.effect = Effect::from(text.as_str()),
        }
        Ok(())
    }
}

/// An integer as Go reads it: `-0` is one, and `5.0` is none.
struct Seconds(i64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadSeconds)
    }
}

struct ReadSeconds;

impl Visitor<'_> for ReadSeconds {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
        Ok(Seconds(seconds))
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
        i64::try_from(seconds).map(Seconds).map_err(|_| E::invalid_type(Unexpected::Unsigned(seconds), &self))
    }

    /// The only integer that comes as something else is `-0`.
    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
        if seconds == 0.0 && seconds.is_sign_negative() {
            return Ok(Seconds(0));
        }
        Err(E::invalid_type(Unexpected::Float(seconds), &self))
    }
}

impl Dialect {
    /// Whether `name` is one of `field`.
    fn names(self, field: &str, name: &str) -> bool {
        match self {
            Self::Pod | Self::Settings => field == name,
            Self::Annotation => field.chars().map(folded).eq(name.chars().map(folded)),
        }
    }
}

/// What `encoding/json` compares of a letter in a name. Two letters beyond ASCII are other cases of one in it.
const fn folded(letter: char) -> char {
    match letter {
        'ſ' => 's',
        '\u{212A}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}
