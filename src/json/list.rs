//! Lists of which no more is kept than somebody needs. Webhooks run before the API server validates, so a list may have
//! hundreds of thousands of elements, each as short as `{}`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::read::ReadError;

/// The first elements of a list, at most `MOST`. The rest is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded<T, const MOST: usize> {
    /// The first.
    pub elements: Vec<T>,
    /// Whether there are more.
    pub has_more: bool,
}

impl<T, const MOST: usize> Default for Bounded<T, MOST> {
    fn default() -> Self {
        Self { elements: Vec::new(), has_more: false }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Bounded<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ReadBounded(PhantomData))
    }
}

struct ReadBounded<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for ReadBounded<T, MOST> {
    type Value = Bounded<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut bounded = Bounded::default();
        while bounded.elements.len() < MOST {
            let Some(element) = list.next_element()? else { return Ok(bounded) };
            bounded.elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            bounded.has_more = true;
        }
        Ok(bounded)
    }
}

/// Reads the elements of the list `text` one after the other, and keeps none.
///
/// # Errors
/// It is no list, or an element is no `T`.
pub fn for_each<'de, T: Deserialize<'de>>(text: &'de str, take: impl FnMut(T)) -> Result<(), ReadError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = ForEach(take, PhantomData).deserialize(&mut deserializer);
    read.map_err(|error| ReadError::of(&error, text))
}

struct ForEach<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for ForEach<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for ForEach<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            self.0(element);
        }
        Ok(())
    }
}
