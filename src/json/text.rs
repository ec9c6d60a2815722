//! Strings that borrow from the text that they were read from, unless they have escapes there; and pairs of them.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// How many pairs are searched one after the other. More are put in order first.
const FEW: usize = 64;

/// Labels, annotations, or a nodeSelector: in the order in which they came, or by key where there are many. Of equal
/// keys the last counts, as in Go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs<'a> {
    pairs: Vec<(Text<'a>, Text<'a>)>,
    is_sorted: bool,
}

impl<'a> Pairs<'a> {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        if !self.is_sorted {
            let (_, value) = self.pairs.iter().rev().find(|(own, _)| &**own == key)?;
            return Some(value);
        }
        let after = self.pairs.partition_point(|(own, _)| &**own <= key);
        let (own, value) = self.pairs.get(after.checked_sub(1)?)?;
        if &**own == key { Some(value) } else { None }
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// All keys and values, as they can be kept.
    pub fn texts(&self) -> impl Iterator<Item = &(Text<'a>, Text<'a>)> {
        self.pairs.iter()
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(key, _)| &**key)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds one that is not there.
    pub fn push(&mut self, key: Text<'a>, value: Text<'a>) {
        self.pairs.push((key, value));
        if self.is_sorted {
            self.pairs.sort_by(|one, other| one.0.cmp(&other.0));
        }
    }
}

impl<'a> FromIterator<(Text<'a>, Text<'a>)> for Pairs<'a> {
    fn from_iter<I: IntoIterator<Item = (Text<'a>, Text<'a>)>>(pairs: I) -> Self {
        let mut pairs: Vec<(Text<'a>, Text<'a>)> = pairs.into_iter().collect();
        let is_sorted = pairs.len() > FEW;
        if is_sorted {
            pairs.sort_by(|one, other| one.0.cmp(&other.0));
        }
        Self { pairs, is_sorted }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadPairs)
    }
}

struct ReadPairs;

impl<'de> Visitor<'de> for ReadPairs {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs.into_iter().collect())
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
