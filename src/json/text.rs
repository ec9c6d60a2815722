//! Strings and pairs of strings. They borrow from the text that they were read from, unless they have escapes there.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::error::ReadError;

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The most pairs in one piece of memory. One piece for 100,000 pairs would take twice the memory while it grows, and
/// inserting a pair would take a thousand times as long.
const CHUNK: usize = 256;

/// Labels, annotations, or a nodeSelector, sorted by key, as the API server writes them. If a key is repeated, the last
/// value counts, as in Go.
///
/// ```
/// use node_placement_policy::json::Pairs;
/// use node_placement_policy::json::read::read;
///
/// let labels: Pairs<'_> = read(r#"{"zone": "a", "pool": "blue", "zone": "b"}"#).unwrap();
/// assert_eq!(labels.get("zone"), Some("b"));
/// assert_eq!(labels.keys().collect::<Vec<_>>(), ["pool", "zone"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairs<'a> {
    /// The pairs in order. No chunk is empty.
    chunks: Vec<Vec<(Text<'a>, Text<'a>)>>,
}

impl<'a> Pairs<'a> {
    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let position = chunk.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        chunk.get(position).map(|(_, value)| &**value)
    }

    /// Returns whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns all pairs, in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.chunks.iter().flatten().map(|(key, value)| (&**key, &**value))
    }

    /// Returns all keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the pairs whose keys begin with `prefix`.
    pub fn with_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let chunks = self.chunks.get(self.chunk_of(prefix)..).unwrap_or_default();
        let pairs = chunks.iter().flatten().map(|(key, value)| (&**key, &**value));
        pairs.skip_while(move |(key, _)| *key < prefix).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// Returns whether there are no pairs.
    pub const fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Sets the value of `key`.
    pub fn insert(&mut self, key: Text<'a>, value: Text<'a>) {
        let last = self.chunks.last().and_then(|chunk| chunk.last());
        if last.is_none_or(|(last, _)| *last < key) {
            return match self.chunks.last_mut() {
                Some(chunk) if chunk.len() < CHUNK => chunk.push((key, value)),
                _ => self.chunks.push(vec![(key, value)]),
            };
        }
        let at = self.chunk_of(&key);
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let position = chunk.partition_point(|(other, _)| *other < key);
        if let Some((other, old)) = chunk.get_mut(position)
            && *other == key
        {
            *old = value;
        } else if chunk.len() < CHUNK {
            chunk.insert(position, (key, value));
        } else {
            // Leaves room in the first part, for the pairs that come after this one.
            let rest = chunk.split_off(position.clamp(1, CHUNK - 1));
            self.chunks.insert(at + 1, rest);
            self.insert(key, value);
        }
    }

    /// Returns the position of the chunk that `key` belongs to.
    fn chunk_of(&self, key: &str) -> usize {
        let begins_before = |chunk: &Vec<(Text<'a>, Text<'a>)>| chunk.first().is_some_and(|(first, _)| &**first <= key);
        self.chunks.partition_point(begins_before).saturating_sub(1)
    }
}

impl PartialEq for Pairs<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
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

/// Passes the pairs of the object `text` to `take`, one after the other.
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

/// Passes the pairs of an object on, one after the other.
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
