//! Strings that borrow from the text that they were read from, unless they have escapes there; and pairs of them.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::read::ReadError;

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// How many pairs are searched one after the other, even if they are in order.
const FEW: usize = 64;

/// How many pairs stand in one piece of memory: to move 100,000 pairs to a larger one would take twice the room.
const CHUNK: usize = 1024;

/// Labels, annotations, or a nodeSelector, in the order in which they came. Of equal keys the last counts, as in Go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs<'a> {
    chunks: Vec<Vec<(Text<'a>, Text<'a>)>>,
    /// Whether each key is greater than the one before: so the API server writes them.
    is_sorted: bool,
}

impl Default for Pairs<'_> {
    fn default() -> Self {
        Self { chunks: Vec::new(), is_sorted: true }
    }
}

impl<'a> Pairs<'a> {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut chunk = self.chunks.first()?;
        if !self.is_sorted || self.len() <= FEW {
            let pair = self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev()).find(|(own, _)| &**own == key);
            return pair.map(|(_, value)| &**value);
        }
        if self.chunks.len() > 1 {
            let begins_before = |chunk: &Vec<(Text<'a>, Text<'a>)>| chunk.first().is_some_and(|(own, _)| &**own <= key);
            chunk = self.chunks.get(self.chunks.partition_point(begins_before).checked_sub(1)?)?;
        }
        let position = chunk.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
        chunk.get(position).map(|(_, value)| &**value)
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All keys and values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.chunks.iter().flatten().map(|(key, value)| (&**key, &**value))
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds one that is not there yet, where its key belongs if they are in order: so they stay quick to search.
    pub fn insert(&mut self, key: Text<'a>, value: Text<'a>) {
        let position = self.chunks.partition_point(|chunk| chunk.first().is_some_and(|(own, _)| **own <= *key));
        match self.chunks.get_mut(position.saturating_sub(1)) {
            Some(chunk) if self.is_sorted => {
                let place = chunk.partition_point(|(own, _)| **own < *key);
                chunk.insert(place, (key, value));
            }
            _ => self.push(key, value),
        }
    }

    /// Adds one at the end.
    pub fn push(&mut self, key: Text<'a>, value: Text<'a>) {
        let last = self.chunks.last().and_then(|chunk| chunk.last());
        self.is_sorted &= last.is_none_or(|(last, _)| **last < *key);
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push((key, value)),
            last => {
                let room = if last.is_some() { CHUNK } else { 0 };
                let mut chunk = Vec::with_capacity(room);
                chunk.push((key, value));
                self.chunks.push(chunk);
            }
        }
    }
}

impl<'a> FromIterator<(Text<'a>, Text<'a>)> for Pairs<'a> {
    fn from_iter<I: IntoIterator<Item = (Text<'a>, Text<'a>)>>(pairs: I) -> Self {
        let mut read = Self::default();
        for (key, value) in pairs {
            read.push(key, value);
        }
        read
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Self::default();
        deserializer.deserialize_map(EachPair(&mut |key, value| pairs.push(key, value)))?;
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

struct EachPair<'f, 'de, V>(&'f mut dyn FnMut(Text<'de>, V));

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

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
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
