//! Where in a text an error of `serde_json` is: it tells the line and the column, and whoever wrote the text needs the
//! path.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The path of the value in `text` that `error` is about, as in `spec.containers[0].env`; empty for the whole text.
///
/// The text is read once more, up to there. What is open where it ends so early is the path.
pub fn path_of(error: &serde_json::Error, text: &str) -> String {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut end = before + error.column();
    // A list or an object that is not wanted is not read at all: it begins here.
    if matches!(text.as_bytes().get(end), Some(b'[' | b'{')) {
        end += 1;
    }
    let mut steps = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text.get(..end).unwrap_or(text));
    // This always fails: the text is cut at the error.
    let _ = deserializer.deserialize_any(Walk(&mut steps));
    let path = steps.concat();
    path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
}

/// Walks through a value, and notes the steps to the last that was read.
struct Walk<'s>(&'s mut Vec<String>);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The same for an element of a list, which begins here.
struct Element<'s> {
    steps: &'s mut Vec<String>,
    /// How many steps lead to the list.
    depth: usize,
    position: usize,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.steps.truncate(self.depth);
        self.steps.push(format!("[{}]", self.position));
        deserializer.deserialize_any(Walk(self.steps))
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let depth = self.0.len();
        while let Some(key) = map.next_key::<String>()? {
            self.0.truncate(depth);
            let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
            self.0.push(if is_plain { format!(".{key}") } else { format!("[{key:?}]") });
            map.next_value_seed(Walk(self.0))?;
        }
        self.0.truncate(depth);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let depth = self.0.len();
        let mut position = 0;
        while list.next_element_seed(Element { steps: self.0, depth, position })?.is_some() {
            position += 1;
        }
        self.0.truncate(depth);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
