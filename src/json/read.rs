//! Reads texts into types. Of long lists it keeps only what is needed: webhooks run before the API server validates, so
//! a list may have hundreds of thousands of elements, each as short as `{}`.
//!
//! Derived types accept too much: a struct is also read from a list (serde #1587), an enum also from an object, and
//! `null` counts as absent. [`FromObject`] and the functions for `deserialize_with` prevent that.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::ReadError;
use super::text::Text;

/// Reads `text` as a `T`.
///
/// ```
/// use node_placement_policy::json::read::read;
///
/// assert_eq!(read::<Vec<i64>>("[1, 2]").unwrap(), [1, 2]);
/// assert_eq!(read::<Vec<i64>>(r#"[1, "x"]"#).unwrap_err().to_string(), "[1]: expected an integer, found a string");
/// ```
///
/// # Errors
/// It is no `T`. The error has the path within it.
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::of(&error, text))
}

/// The first elements of a list.
#[derive(Clone, Debug)]
pub struct Bounded<T> {
    /// The elements that were read.
    pub elements: Vec<T>,
    /// Whether the list has more elements. They were skipped.
    pub has_more: bool,
}

impl<'de, T: Deserialize<'de>> Bounded<T> {
    /// Reads the first elements of the list `text`, at most `most`.
    ///
    /// # Errors
    /// It is no list, or one of these elements is no `T`.
    pub fn read(text: &'de str, most: usize) -> Result<Self, ReadError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = deserializer.deserialize_seq(ReadFirst { most, elements: PhantomData });
        read.map_err(|error| ReadError::of(&error, text))
    }

    /// Returns the number of elements of the list, or one more than were read if there are more.
    pub fn count(&self) -> usize {
        self.elements.len() + usize::from(self.has_more)
    }
}

struct ReadFirst<T> {
    most: usize,
    elements: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ReadFirst<T> {
    type Value = Bounded<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bounded<T>, A::Error> {
        let mut first = Bounded { elements: Vec::new(), has_more: false };
        while first.elements.len() < self.most {
            let Some(element) = list.next_element()? else { return Ok(first) };
            first.elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            first.has_more = true;
        }
        Ok(first)
    }
}

/// Passes the elements of the list `text` to `take`, one after the other.
///
/// # Errors
/// It is no list, or an element is no `T`.
pub fn for_each<'de, T: Deserialize<'de>>(text: &'de str, take: &mut dyn FnMut(T)) -> Result<(), ReadError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = deserializer.deserialize_seq(ForEach(take));
    read.map_err(|error| ReadError::of(&error, text))
}

struct ForEach<'f, T>(&'f mut dyn FnMut(T));

impl<'de, T: Deserialize<'de>> Visitor<'de> for ForEach<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            self.0(element);
        }
        Ok(())
    }
}

/// A struct that can be read from an object only.
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

/// Reads a setting that is an object. `null` counts as absent.
///
/// # Errors
/// It is no `T`.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<FromObject<T>>::deserialize(deserializer)?.map(|read| read.0))
}

/// Reads a setting that is a list of objects. `null` counts as absent, and absent as empty.
///
/// # Errors
/// It is no list, or an element is no `T`.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    optional_objects(deserializer).map(Option::unwrap_or_default)
}

/// Reads a setting that is a list of objects. `null` counts as absent, which is something else than empty.
///
/// # Errors
/// It is no list, or an element is no `T`.
pub fn optional_objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let list = Option::<Vec<FromObject<T>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|read| read.0).collect()))
}

/// A type whose values are written as words. Derived code that reads each of them would be a fortieth of the module.
pub trait OneOfWords: Copy + Default + 'static {
    /// The words.
    const WORDS: &'static [&'static str];

    /// The values, in the order of their words.
    const VALUES: &'static [Self];
}

/// Defines enums for settings that are one of a few words: the names of the variants. `null` counts as absent.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$of_word:meta])* $word:ident,)* })*) => { $(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
        pub enum $name {
            $($(#[$of_word])* $word,)*
        }

        impl crate::json::OneOfWords for $name {
            const WORDS: &'static [&'static str] = &[$(stringify!($word)),*];
            const VALUES: &'static [Self] = &[$(Self::$word),*];
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json::word(deserializer)
            }
        }
    )* };
}
pub(crate) use words;

/// Reads a setting that is one of a few words. `null` counts as absent.
///
/// # Errors
/// It is another word, or no string.
pub fn word<'de, D: Deserializer<'de>, T: OneOfWords>(deserializer: D) -> Result<T, D::Error> {
    let position = position_of_word(deserializer, T::WORDS)?;
    Ok(position.and_then(|position| T::VALUES.get(position).copied()).unwrap_or_default())
}

fn position_of_word<'de, D: Deserializer<'de>>(
    deserializer: D,
    words: &'static [&'static str],
) -> Result<Option<usize>, D::Error> {
    let Some(word) = Option::<Text<'de>>::deserialize(deserializer)? else { return Ok(None) };
    match words.iter().position(|known| *known == &*word) {
        Some(position) => Ok(Some(position)),
        None => Err(D::Error::unknown_variant(&word, words)),
    }
}

/// Reads a setting. `null` counts as absent.
///
/// # Errors
/// It is no `T`.
pub fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a setting that must not be `null`, so that a template which renders to nothing can't remove it.
///
/// # Errors
/// It is no `T`.
pub fn never_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
