//! Lists of which no more is kept than somebody needs. Webhooks run before the API server validates, so a list may have
//! hundreds of thousands of elements, each as short as `{}`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::read::ReadError;

/// The first elements of a list. The rest is skipped.
#[derive(Clone, Debug, Default)]
pub struct Bounded<'a> {
    /// The first.
    pub elements: Vec<&'a RawValue>,
    /// Whether there are more.
    pub has_more: bool,
}

impl<'a> Bounded<'a> {
    /// The first elements of the list `text`, at most `most`.
    ///
    /// # Errors
    /// It is no list.
    pub fn read(text: &'a str, most: usize) -> Result<Self, ReadError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = deserializer.deserialize_seq(ReadFirst(most));
        read.map_err(|error| ReadError::of(&error, text))
    }
}

struct ReadFirst(usize);

impl<'de> Visitor<'de> for ReadFirst {
    type Value = Bounded<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bounded<'de>, A::Error> {
        let mut bounded = Bounded::default();
        while bounded.elements.len() < self.0 {
            let Some(element) = list.next_element()? else { return Ok(bounded) };
            bounded.elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            bounded.has_more = true;
        }
        Ok(bounded)
    }
}

/// Hands the elements of the list `text` over one after the other, and keeps none.
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
