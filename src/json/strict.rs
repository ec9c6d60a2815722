//! Where derived types read more than they should: a struct from a list too (serde #1587), an enum from an object, and
//! `null` as an absence.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::text::Text;

/// A struct that is read from an object only.
#[derive(Debug)]
pub struct FromObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FromObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadObject(PhantomData))
    }
}

struct ReadObject<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ReadObject<T> {
    type Value = FromObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<FromObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(FromObject)
    }
}

/// Reads a setting that is an object; `null` is the same as its absence.
///
/// # Errors
/// It is no `T`.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<FromObject<T>>::deserialize(deserializer)?.map(|read| read.0))
}

/// Reads a setting that is a list of objects; `null` is the same as its absence.
///
/// # Errors
/// It is no list, or one of them is no `T`.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list = Option::<Vec<FromObject<T>>>::deserialize(deserializer)?;
    Ok(list.into_iter().flatten().map(|read| read.0).collect())
}

/// Reads a setting that is one of a few words; `null` is the same as its absence.
///
/// # Errors
/// It is another word, or no text.
pub fn word<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    // Text first: every sort of JSON value read anew for every sort of word would be a thirtieth of the module.
    match Option::<Text<'de>>::deserialize(deserializer)? {
        Some(word) => T::deserialize(StrDeserializer::new(&word)),
        None => Ok(T::default()),
    }
}

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
