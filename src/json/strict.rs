//! Where derived types read more than they should: a struct from a list too (serde #1587), and `null` as an absence.

/// Reads the structs from objects only. Their derived readers have `#[serde(remote = "Self")]`.
macro_rules! from_object {
    ($($name:ident),+) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct FromObject;

                impl<'de> serde::de::Visitor<'de> for FromObject {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, members: A) -> Result<$name, A::Error> {
                        $name::deserialize(serde::de::value::MapAccessDeserializer::new(members))
                    }
                }
                deserializer.deserialize_map(FromObject)
            }
        }
    )+ };
}

pub(crate) use from_object;

use serde::{Deserialize, Deserializer};

/// Reads a setting for which `null` is the same as its absence.
///
/// # Errors
/// It is no `T`.
pub fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a setting that must not be `null`: a template that renders to nothing must not take it away.
///
/// # Errors
/// It is no `T`.
pub fn never_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
