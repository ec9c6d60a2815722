//! Objects whose members stay text until a rule reads or sets one. All other members are written back as they came.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::error::{ReadError, Within};
use super::read::{self, Bounded};
use super::text::{self, Text};

/// The number of members that there is room for at first. Most objects have no more. This saves a hundredth of the
/// instructions of a small request.
const USUAL_MEMBERS: usize = 8;

/// Returns whether some rule always reads members of the object `key`. Such objects are taken apart at once, which saves
/// reading them twice. All others stay text until a rule reads them.
fn is_always_read(key: &str) -> bool {
    matches!(key, "request" | "object" | "oldObject" | "metadata" | "spec" | "template" | "jobTemplate")
}

/// A JSON object. If a key is repeated, the last member counts, as in Go.
///
/// ```
/// use node_placement_policy::json::Raw;
/// use node_placement_policy::json::read::read;
///
/// let mut pod: Raw<'_> = read(r#"{"spec": {"weight": 1.50, "nodeName": "node-a"}}"#).unwrap();
/// let pod = pod.object_mut().unwrap();
/// assert_eq!(pod.get_at::<String>(&["spec", "nodeName"]).unwrap().as_deref(), Some("node-a"));
/// pod.object_mut("spec").unwrap().set("nodeName", "node-b").unwrap();
/// assert_eq!(serde_json::to_string(pod).unwrap(), r#"{"spec":{"weight":1.50,"nodeName":"node-b"}}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawObject<'a> {
    members: Vec<(Text<'a>, Raw<'a>)>,
}

/// A value in a [`RawObject`].
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Raw<'a> {
    /// The text as it came.
    Text(&'a RawValue),
    /// The text of a value that a rule set.
    Written(Box<RawValue>),
    /// An object that was taken apart.
    Object(RawObject<'a>),
    /// A list that was taken apart.
    List(Vec<Raw<'a>>),
}

impl<'a> RawObject<'a> {
    /// Returns the member `key`, unless it is absent or null.
    pub fn member(&self, key: &str) -> Option<&Raw<'a>> {
        let (_, value) = self.members.iter().rev().find(|(name, _)| &**name == key)?;
        if value.is_null() { None } else { Some(value) }
    }

    /// Returns all members: keys and values.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Raw<'a>)> {
        self.members.iter().map(|(key, value)| (&**key, value))
    }

    /// Reads the member `key` as a `T`, unless it is absent or null.
    ///
    /// # Errors
    /// It is no `T`, or a rule has set it.
    pub fn get<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, ReadError> {
        self.member(key).map(Raw::get).transpose().within(key)
    }

    /// Reads the value at the end of `path` as a `T`, unless it or a step before it is absent or null.
    ///
    /// # Errors
    /// A step is no object; the value is no `T`, or a rule has set it.
    pub fn get_at<T: Deserialize<'a>>(&self, path: &[&str]) -> Result<Option<T>, ReadError> {
        let Some((key, steps)) = path.split_last() else { return Ok(None) };
        let Some(object) = self.object_at(steps)? else { return Ok(None) };
        object.get(key).map_err(|error| steps.iter().rfold(error, |error, step| error.within(step)))
    }

    /// Returns the text of the member `key`, unless it is absent or null.
    fn text(&self, key: &str) -> Result<Option<&'a str>, ReadError> {
        self.member(key).map(Raw::unchanged_text).transpose().within(key)
    }

    /// Reads the string `key`. It is empty if it is absent or null.
    ///
    /// # Errors
    /// It is no string.
    pub fn string(&self, key: &str) -> Result<String, ReadError> {
        Ok(self.get(key)?.unwrap_or_default())
    }

    /// Removes the member `key` and returns it, unless it is absent or null.
    pub fn take(&mut self, key: &str) -> Option<Raw<'a>> {
        let position = self.members.iter().rposition(|(name, _)| &**name == key)?;
        // The order of the others must stay: if a key is repeated, the last member counts.
        let (_, value) = self.members.remove(position);
        self.members.retain(|(name, _)| &**name != key);
        if value.is_null() { None } else { Some(value) }
    }

    /// Reads the object `key`. Returns `None` if it is absent or null.
    ///
    /// # Errors
    /// It is no object.
    pub fn object(&self, key: &str) -> Result<Option<Cow<'_, Self>>, ReadError> {
        let Some(value) = self.member(key) else { return Ok(None) };
        value.object().map(Some).within(key)
    }

    /// Reads the object at the end of `path`. Returns `None` if a step is absent or null.
    ///
    /// # Errors
    /// A step is no object.
    pub fn object_at(&self, path: &[&str]) -> Result<Option<Cow<'_, Self>>, ReadError> {
        let Some((first, rest)) = path.split_first() else { return Ok(Some(Cow::Borrowed(self))) };
        match self.object(first)? {
            Some(Cow::Borrowed(object)) => object.object_at(rest).within(first),
            Some(Cow::Owned(object)) => {
                let found = object.object_at(rest).within(first)?;
                Ok(found.map(|found| Cow::Owned(found.into_owned())))
            }
            None => Ok(None),
        }
    }

    /// Passes the elements of the list `key` to `take`, one after the other. There are none if it is absent or null.
    ///
    /// # Errors
    /// It is no list, an element is no `T`, or a rule has set it.
    pub fn for_each<T: Deserialize<'a>>(&self, key: &str, take: &mut dyn FnMut(T)) -> Result<(), ReadError> {
        let Some(text) = self.text(key)? else { return Ok(()) };
        read::for_each(text, take).within(key)
    }

    /// Reads the first elements of the list `key`, at most `most`. There are none if it is absent or null.
    ///
    /// # Errors
    /// It is no list, one of these elements is no `T`, or a rule has set it.
    pub fn first<T: Deserialize<'a>>(&self, key: &str, most: usize) -> Result<Bounded<T>, ReadError> {
        Bounded::read(self.text(key)?.unwrap_or("[]"), most).within(key)
    }

    /// Passes the pairs of the object `key` to `take`, one after the other. There are none if it is absent or null.
    ///
    /// # Errors
    /// It is no object, a value is no string, or a rule has set it.
    pub fn for_each_pair(&self, key: &str, take: &mut dyn FnMut(Text<'a>, Text<'a>)) -> Result<(), ReadError> {
        let Some(text) = self.text(key)? else { return Ok(()) };
        text::for_each_pair(text, take).within(key)
    }

    /// Replaces the object `key` by its members that are `kept`, followed by those that are `added`.
    ///
    /// # Errors
    /// It is no object.
    pub fn rewrite<'p>(
        &mut self,
        key: &str,
        kept: &dyn Fn(&str, &str) -> bool,
        added: &mut dyn Iterator<Item = (&'p str, &'p str)>,
    ) -> Result<(), ReadError> {
        let mut text = String::from("{");
        let mut write = |key: &str, value: &str| {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(key).unwrap_or_default());
            text.push(':');
            text.push_str(&serde_json::to_string(value).unwrap_or_default());
        };
        self.for_each_pair(key, &mut |key, value| {
            if kept(&key, &value) {
                write(&key, &value);
            }
        })?;
        for (key, value) in added {
            write(key, value);
        }
        text.push('}');
        let written = RawValue::from_string(text).map_err(|error| ReadError::new(error.to_string()))?;
        self.put(key, Raw::Written(written));
        Ok(())
    }

    /// Returns the object `key`, to be changed. Creates it if it is absent or null.
    ///
    /// # Errors
    /// It is something else.
    pub fn object_mut(&mut self, key: &str) -> Result<&mut Self, ReadError> {
        let value = self.member_mut(key, Raw::Object(RawObject::default()));
        value.object_mut().within(key)
    }

    /// Returns the object at the end of `path`, to be changed. Creates the steps that are absent or null.
    ///
    /// # Errors
    /// A step is something else.
    pub fn object_mut_at(&mut self, path: &[&str]) -> Result<&mut Self, ReadError> {
        let Some((first, rest)) = path.split_first() else { return Ok(self) };
        self.object_mut(first)?.object_mut_at(rest).within(first)
    }

    /// Returns the elements of the list `key`, to be changed. Elements that were not read are texts. Creates the list if
    /// it is absent or null.
    ///
    /// # Errors
    /// It is something else.
    pub fn list_mut(&mut self, key: &str) -> Result<&mut Vec<Raw<'a>>, ReadError> {
        let value = self.member_mut(key, Raw::List(Vec::new()));
        if let Raw::Text(text) = value {
            let elements: Vec<&'a RawValue> = read::read(text.get()).within(key)?;
            *value = Raw::List(elements.into_iter().map(Raw::Text).collect());
        }
        value.list_mut().within(key)
    }

    /// Sets the member `key` to `value`.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn set(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), ReadError> {
        self.put(key, Raw::written(value).within(key)?);
        Ok(())
    }

    /// Sets the member `key` to `value`.
    pub fn put(&mut self, key: &str, value: Raw<'a>) {
        *self.member_mut(key, Raw::List(Vec::new())) = value;
    }

    /// Moves the member `key` to the end and returns it. Adds `otherwise` if it is absent or null.
    fn member_mut(&mut self, key: &str, otherwise: Raw<'a>) -> &mut Raw<'a> {
        let value = self.take(key).unwrap_or(otherwise);
        &mut self.members.push_mut((Text::from(key), value)).1
    }
}

impl<'a> Raw<'a> {
    /// Writes `value` as the value of a member.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn written(value: &(impl Serialize + ?Sized)) -> Result<Self, ReadError> {
        to_raw_value(value).map(Self::Written).map_err(|error| ReadError::new(error.to_string()))
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// It is no `T`, or a rule has set it.
    pub fn get<T: Deserialize<'a>>(&self) -> Result<T, ReadError> {
        read::read(self.unchanged_text()?)
    }

    fn unchanged_text(&self) -> Result<&'a str, ReadError> {
        match self {
            Self::Text(text) => Ok(text.get()),
            _ => Err(ReadError::new(format!("{} was changed before it was read", self.kind()))),
        }
    }

    /// Reads the value as an object.
    ///
    /// # Errors
    /// It is no object.
    pub fn object(&self) -> Result<Cow<'_, RawObject<'a>>, ReadError> {
        match self {
            Self::Object(object) => Ok(Cow::Borrowed(object)),
            Self::Text(text) => read::read(text.get()).map(Cow::Owned),
            other => Err(other.is_no("an object")),
        }
    }

    /// Returns the object, to be changed. A text is taken apart.
    ///
    /// # Errors
    /// It is no object.
    pub fn object_mut(&mut self) -> Result<&mut RawObject<'a>, ReadError> {
        if let Self::Text(text) = self {
            *self = Self::Object(read::read(text.get())?);
        }
        match self {
            Self::Object(object) => Ok(object),
            other => Err(other.is_no("an object")),
        }
    }

    fn list_mut(&mut self) -> Result<&mut Vec<Self>, ReadError> {
        match self {
            Self::List(elements) => Ok(elements),
            other => Err(other.is_no("a list")),
        }
    }

    fn is_no(&self, expected: &str) -> ReadError {
        ReadError::mismatch(expected, self.kind())
    }

    /// Returns whether the value is null.
    pub fn is_null(&self) -> bool {
        self.text() == Some("null")
    }

    /// Returns what messages call such a value.
    pub fn kind(&self) -> &'static str {
        let first = self.text().and_then(|text| text.bytes().next());
        match (self, first) {
            (Self::Object(_), _) | (_, Some(b'{')) => "an object",
            (Self::List(_), _) | (_, Some(b'[')) => "a list",
            (_, Some(b'"')) => "a string",
            (_, Some(b't' | b'f')) => "a boolean",
            (_, Some(b'n')) => "null",
            _ => "a number",
        }
    }

    /// Returns the text, unless the value was taken apart.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.get()),
            Self::Written(text) => Some(text.get()),
            Self::Object(_) | Self::List(_) => None,
        }
    }
}

/// Compares texts as they are written. An API server writes the same value the same way.
impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(one), Self::Object(other)) => one == other,
            (Self::List(one), Self::List(other)) => one == other,
            _ => self.text().is_some() && self.text() == other.text(),
        }
    }
}

impl Serialize for RawObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadMembers)
    }
}

struct ReadMembers;

impl<'de> Visitor<'de> for ReadMembers {
    type Value = RawObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject<'de>, A::Error> {
        let mut members = Vec::with_capacity(USUAL_MEMBERS);
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let value = if is_always_read(&key) { map.next_value()? } else { Raw::Text(map.next_value()?) };
            members.push((key, value));
        }
        Ok(RawObject { members })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    /// Takes the value apart.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TakenApart)
    }
}

struct TakenApart;

impl<'de> Visitor<'de> for TakenApart {
    type Value = Raw<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Raw<'de>, A::Error> {
        ReadMembers.visit_map(map).map(Raw::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Raw<'de>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Raw::List)
    }

    fn visit_unit<E: Error>(self) -> Result<Raw<'de>, E> {
        Raw::written(&()).map_err(E::custom)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Raw<'de>, E> {
        Raw::written(&value).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Raw<'de>, E> {
        Raw::written(&value).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Raw<'de>, E> {
        Raw::written(&value).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Raw<'de>, E> {
        Raw::written(&value).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Raw<'de>, E> {
        Raw::written(&value).map_err(E::custom)
    }
}
