//! Strings that borrow from the text that they were read from, unless they have escapes there; and pairs of them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::error::ReadError;

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Labels, annotations, or a nodeSelector, sorted by key, as the API server writes them. Of equal keys the last counts,
/// as in Go.
///
/// ```
/// use node_placement_policy::json::Pairs;
/// use node_placement_policy::json::read::read;
///
/// let labels: Pairs<'_> = read(r#"{"zone": "a", "pool": "blue", "zone": "b"}"#).unwrap();
/// assert_eq!(labels.get("zone"), Some("b"));
/// assert_eq!(labels.keys().collect::<Vec<_>>(), ["pool", "zone"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'a> Pairs<'a> {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let position = self.position(key).ok()?;
        self.0.get(position).map(|(_, value)| &**value)
    }

    /// Where `key` stands, or must be inserted.
    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(key))
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All keys and values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives `key` this value.
    pub fn insert(&mut self, key: Text<'a>, value: Text<'a>) {
        if self.0.last().is_none_or(|(last, _)| *last < key) {
            return self.0.push((key, value));
        }
        match self.position(&key) {
            Ok(position) => drop(self.0.get_mut(position).map(|pair| pair.1 = value)),
            Err(position) => self.0.insert(position, (key, value)),
        }
    }
}

impl<'a> FromIterator<(Text<'a>, Text<'a>)> for Pairs<'a> {
    fn from_iter<I: IntoIterator<Item = (Text<'a>, Text<'a>)>>(pairs: I) -> Self {
        let mut read = Self::default();
        pairs.into_iter().for_each(|(key, value)| read.insert(key, value));
        read
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Self::default();
        deserializer.deserialize_map(EachPair(&mut |key, value| pairs.insert(key, value)))?;
        Ok(pairs)
    }
}

/// Hands the keys and values of the object `text` over one after the other, and keeps none.
///
/// # Errors
/// It is no object, or a value is no `V`.
pub fn for_each_pair<'de, V: Deserialize<'de>>(
    text: &'de str,
    take: &mut dyn FnMut(Text<'de>, V),
) -> Result<(), ReadError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = deserializer.deserialize_map(EachPair(take));
    read.map_err(|error| ReadError::of(&error, text))
}

/// Hands the keys and values of an object over one after the other.
pub struct EachPair<'f, 'de, V>(pub &'f mut dyn FnMut(Text<'de>, V));

impl<'de, V: Deserialize<'de>> Visitor<'de> for EachPair<'_, 'de, V> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry()? {
            self.0(key, value);
        }
        Ok(())
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<&str> for Text<'_> {
    fn from(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
