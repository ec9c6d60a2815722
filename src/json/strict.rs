//! Two holes of derived types, closed: a struct is read from a list too (serde #1587), and a word from an object.
//!
//! A type whose derived reader has `#[serde(remote = "Self")]` gets one by these macros that looks first.

/// Reads the structs from objects only.
macro_rules! from_object {
    ($($name:ident $(<$lifetime:lifetime>)?),+ $(,)?) => { $(
        impl<'de $(: $lifetime, $lifetime)?> serde::Deserialize<'de> for $name $(<$lifetime>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct FromObject;

                impl<'de> serde::de::Visitor<'de> for FromObject {
                    type Value = from_object!(@value $name $(<$lifetime>)?);

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                        $name::deserialize(serde::de::value::MapAccessDeserializer::new(members))
                    }
                }
                deserializer.deserialize_map(FromObject)
            }
        }
    )+ };
    (@value $name:ident) => { $name };
    (@value $name:ident <$lifetime:lifetime>) => { $name<'de> };
}

/// Reads the enums from strings only. `null` is the default.
macro_rules! from_word {
    ($($name:ident),+ $(,)?) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct FromWord;

                impl serde::de::Visitor<'_> for FromWord {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        // The error about what is none of them lists the words.
                        let none: serde::de::value::StrDeserializer<'_, serde::de::value::Error> =
                            serde::de::IntoDeserializer::into_deserializer("");
                        let error = $name::deserialize(none).err().map(|error| error.to_string()).unwrap_or_default();
                        let words: Vec<&str> = error.split('`').skip(1).step_by(2).skip(1).collect();
                        write!(f, "one of {}", words.join(", "))
                    }

                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$name, E> {
                        $name::deserialize(serde::de::IntoDeserializer::into_deserializer(word))
                    }

                    fn visit_unit<E: serde::de::Error>(self) -> Result<$name, E> {
                        Ok($name::default())
                    }
                }
                deserializer.deserialize_any(FromWord)
            }
        }
    )+ };
}

pub(crate) use {from_object, from_word};

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
