use std::borrow::Cow;
use std::fmt;

use crate::mismatch::{Mismatch, Within};
use crate::object::Object;
use crate::string::characters;
use crate::text::Text;
use crate::value::Value;

/// The elements of a list. Two lists are equal if they are written the same.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// As it came; nothing, if it is new, or once an element was added, replaced or removed.
    came_as: Option<Text>,
    elements: Vec<Value>,
    /// What was found on the way; nothing, once somebody may have edited an element.
    by_key: Option<ByKey>,
}

/// The strings that the elements of a list have under one key, as JSON text.
#[derive(Clone, Debug)]
pub struct ByKey {
    pub key: &'static str,
    pub found: Vec<Option<Text>>,
}

impl List {
    /// A list without elements.
    pub const fn new() -> Self {
        Self { came_as: None, elements: Vec::new(), by_key: None }
    }

    /// A list that came as `text`.
    pub(crate) const fn read(text: Text, elements: Vec<Value>) -> Self {
        Self { came_as: Some(text), elements, by_key: None }
    }

    /// A list that came as `text`, of which is known what its elements have under one key.
    pub(crate) const fn read_by(text: Text, elements: Vec<Value>, by_key: ByKey) -> Self {
        Self { came_as: Some(text), elements, by_key: Some(by_key) }
    }

    /// How many elements there are, those that are `null` too.
    pub const fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The element at `position`, counted from zero.
    pub fn get(&self, position: usize) -> Option<&Value> {
        self.elements.get(position)
    }

    /// All elements, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.elements.iter()
    }

    /// All elements, which must be objects. What is wrong is told with its position: `[3]`.
    pub fn objects(&self) -> impl Iterator<Item = Result<&Object, Mismatch>> {
        self.elements.iter().enumerate().map(|(position, element)| element.object().at(position))
    }

    /// All elements, which must be strings. What is wrong is told with its position: `[3]`.
    pub fn strings(&self) -> impl Iterator<Item = Result<Cow<'_, str>, Mismatch>> {
        self.elements.iter().enumerate().map(|(position, element)| element.string().at(position))
    }

    /// All elements, each with the string that it has under `key`; with none, if it has something else there, or is no
    /// object. [`Outline::ListBy`] finds these strings while it reads the list, so that an element is taken apart only
    /// when somebody looks into it.
    ///
    /// [`Outline::ListBy`]: crate::Outline::ListBy
    pub fn by(&self, key: &str) -> impl Iterator<Item = (Option<Cow<'_, str>>, &Value)> {
        let known = self.by_key.as_ref().filter(|known| known.key == key);
        self.elements.iter().enumerate().map(move |(position, element)| match known {
            Some(known) => (known.string(position), element),
            None => (string_in(element, key), element),
        })
    }

    /// All elements, which must be objects, to edit. That alone changes nothing.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = Result<&mut Object, Mismatch>> {
        self.edit().iter_mut().enumerate().map(|(position, element)| element.object_mut().at(position))
    }

    /// The element at `position`, which must be an object, to edit. That alone changes nothing.
    ///
    /// # Errors
    /// It is something else, or there is none.
    pub fn object_mut(&mut self, position: usize) -> Result<&mut Object, Mismatch> {
        match self.edit().get_mut(position) {
            Some(element) => element.object_mut().at(position),
            None => Err(Mismatch::new("an object", "nothing").at(position)),
        }
    }

    /// Adds `value` behind all others.
    pub fn push(&mut self, value: impl Into<Value>) {
        self.change().push(value.into());
    }

    /// Adds `value` before the element at `position`; behind all others, if there is none.
    pub fn insert(&mut self, position: usize, value: impl Into<Value>) {
        let position = position.min(self.len());
        self.change().insert(position, value.into());
    }

    /// Puts `value` in the place of the element at `position`. Returns whether there was one. A value that is there
    /// already, and written the same, stays.
    pub fn set(&mut self, position: usize, value: impl Into<Value>) -> bool {
        let value = value.into();
        let Some(own) = self.edit().get_mut(position) else { return false };
        if *own != value {
            *own = value;
            self.came_as = None;
        }
        true
    }

    /// Keeps only the elements for which `holds` is true.
    pub fn retain(&mut self, holds: impl FnMut(&Value) -> bool) {
        let before = self.len();
        self.edit().retain(holds);
        if self.len() < before {
            self.came_as = None;
        }
    }

    /// Whether this is written otherwise than it came: it is new, or was changed, here or anywhere below.
    pub fn is_changed(&self) -> bool {
        self.unchanged().is_none()
    }

    /// How long the JSON text is, in bytes.
    pub fn text_len(&self) -> usize {
        if let Some(text) = self.unchanged() {
            return text.len();
        }
        // For each element a comma, but for the last; and the brackets.
        self.elements.iter().map(|element| element.text_len() + 1).sum::<usize>().max(1) + 1
    }

    /// Appends the JSON text to `out`.
    pub fn write(&self, out: &mut String) {
        if let Some(text) = self.unchanged() {
            return out.push_str(text);
        }
        out.push('[');
        for (at, element) in self.elements.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            element.write(out);
        }
        out.push(']');
    }

    /// The text that this came as, unless an element was added, replaced or removed.
    pub(crate) const fn came_as(&self) -> Option<&Text> {
        self.came_as.as_ref()
    }

    /// The text that this came as, if it is written so.
    pub(crate) fn unchanged(&self) -> Option<&Text> {
        let text = self.came_as.as_ref()?;
        if self.elements.iter().any(Value::is_changed) { None } else { Some(text) }
    }
}

impl List {
    /// The elements, any of which may be another afterwards.
    fn edit(&mut self) -> &mut Vec<Value> {
        self.by_key = None;
        &mut self.elements
    }

    /// The elements, to add one.
    fn change(&mut self) -> &mut Vec<Value> {
        self.came_as = None;
        self.edit()
    }
}

impl ByKey {
    fn string(&self, position: usize) -> Option<Cow<'_, str>> {
        let text = self.found.get(position)?.as_ref()?;
        characters(text).ok()
    }
}

fn string_in<'v>(element: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    element.object().ok()?.get(key)?.string().ok()
}

impl<'l> IntoIterator for &'l List {
    type Item = &'l Value;
    type IntoIter = std::slice::Iter<'l, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<V: Into<Value>> FromIterator<V> for List {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        Self { came_as: None, elements: values.into_iter().map(Into::into).collect(), by_key: None }
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        match (self.unchanged(), other.unchanged()) {
            (Some(text), Some(other)) => text == other,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl fmt::Display for List {
    /// The JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(self.text_len());
        self.write(&mut text);
        f.write_str(&text)
    }
}
