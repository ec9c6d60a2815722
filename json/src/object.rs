use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::list::List;
use crate::member::Member;
use crate::mismatch::{Mismatch, ParseError, Within};
use crate::outline::Outline;
use crate::string_map::StringMap;
use crate::text::Text;
use crate::value::Value;

/// The members of an object. Two objects are equal if they are written the same.
///
/// A member that is `null` counts as absent; of members with the same key the last counts.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// As it came; nothing, if it is new, or once a member was set or removed.
    pub(crate) came_as: Option<Text>,
    pub(crate) members: Vec<Member>,
}

impl Object {
    /// An object without members.
    pub const fn new() -> Self {
        Self { came_as: None, members: Vec::new() }
    }

    /// Reads `text` as an object, and takes apart what `outline` names in it. A `String` or `&str` is copied once.
    ///
    /// # Errors
    /// It is not JSON, or no object.
    pub fn parse(text: impl Into<Rc<str>>, outline: &Outline) -> Result<Self, ParseError> {
        Ok(Value::parse(text, outline)?.into_object()?)
    }

    /// Takes apart what `outline` names of the value under `key`, in one reading, where nobody has looked into that yet.
    pub fn take_apart(&self, key: &str, outline: &Outline) {
        if let Some(value) = self.last(key) {
            value.take_apart(outline);
        }
    }

    /// The value under `key`; none, if it is absent or `null`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let value = self.last(key)?;
        if value.is_null() { None } else { Some(value) }
    }

    /// The value under `key`, which must be there.
    ///
    /// # Errors
    /// It is absent.
    pub fn required(&self, key: &str) -> Result<&Value, Mismatch> {
        self.get(key).ok_or_else(|| Mismatch::new("a value", "nothing").within(key))
    }

    /// The object under `key`, which must be there.
    ///
    /// # Errors
    /// It is absent, or something else.
    pub fn required_object(&self, key: &str) -> Result<&Object, Mismatch> {
        self.required(key)?.object().within(key)
    }

    /// The string under `key`, which must be there.
    ///
    /// # Errors
    /// It is absent, or something else.
    pub fn required_string(&self, key: &str) -> Result<Cow<'_, str>, Mismatch> {
        self.required(key)?.string().within(key)
    }

    /// The string under `key`; absent is empty.
    pub fn string(&self, key: &str) -> Result<Cow<'_, str>, Mismatch> {
        match self.get(key) {
            Some(value) => value.string().within(key),
            None => Ok(Cow::Borrowed("")),
        }
    }

    /// The boolean under `key`; absent is false.
    pub fn boolean(&self, key: &str) -> Result<bool, Mismatch> {
        match self.get(key) {
            Some(value) => value.boolean().within(key),
            None => Ok(false),
        }
    }

    /// The [whole number](Value::integer) under `key`, if there is one.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, Mismatch> {
        match self.get(key) {
            Some(value) => value.integer().map(Some).within(key),
            None => Ok(None),
        }
    }

    /// The object under `key`, if there is one.
    pub fn object(&self, key: &str) -> Result<Option<&Object>, Mismatch> {
        match self.get(key) {
            Some(value) => value.object().map(Some).within(key),
            None => Ok(None),
        }
    }

    /// The object at the end of `path`, if there is one.
    pub fn object_at(&self, path: &[&str]) -> Result<Option<&Object>, Mismatch> {
        let Some((first, rest)) = path.split_first() else { return Ok(Some(self)) };
        match self.object(first)? {
            Some(inner) => inner.object_at(rest).within(first),
            None => Ok(None),
        }
    }

    /// The list under `key`, if there is one.
    pub fn list(&self, key: &str) -> Result<Option<&List>, Mismatch> {
        match self.get(key) {
            Some(value) => value.list().map(Some).within(key),
            None => Ok(None),
        }
    }

    /// The elements of the list of objects under `key`; absent is empty.
    pub fn objects(&self, key: &str) -> Result<Vec<&Object>, Mismatch> {
        match self.list(key)? {
            Some(list) => list.objects().collect::<Result<_, _>>().within(key),
            None => Ok(Vec::new()),
        }
    }

    /// The elements of the list of strings under `key`; absent is empty.
    pub fn strings(&self, key: &str) -> Result<Vec<Cow<'_, str>>, Mismatch> {
        match self.list(key)? {
            Some(list) => list.strings().collect::<Result<_, _>>().within(key),
            None => Ok(Vec::new()),
        }
    }

    /// The strings under `key`, an object of nothing else; absent is empty. As in Go, `null` is the empty string.
    pub fn string_map(&self, key: &str) -> Result<StringMap, Mismatch> {
        match self.get(key) {
            Some(value) => StringMap::read(value).within(key),
            None => Ok(StringMap::new()),
        }
    }

    /// Whether there is an object of strings under `key`, or nothing. What they say is not looked at.
    pub fn holds_strings(&self, key: &str) -> bool {
        match self.get(key).map(Value::object) {
            None => true,
            Some(Ok(object)) => object.members.iter().all(|member| member.value.is_string_or_null(false)),
            Some(Err(_)) => false,
        }
    }

    /// The members as strings by key, if they are nothing else. As in Go, `null` is the empty string.
    pub fn to_string_map(&self) -> Result<StringMap, Mismatch> {
        StringMap::copy(self)
    }

    /// All members with their keys, in order: those that are `null` too, and each of those with the same key.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, &Value)> {
        self.members.iter().map(|member| (member.key.name(), &member.value))
    }

    /// Whether this is written otherwise than it came: it is new, or was changed, here or anywhere below.
    pub fn is_changed(&self) -> bool {
        self.unchanged().is_none()
    }

    /// The JSON text: as it came, or as it is written now. Written only if something in it was changed.
    pub fn text(&self) -> Text {
        match self.unchanged() {
            Some(text) => text.clone(),
            None => self.written().into(),
        }
    }

    /// How long the JSON text is, in bytes.
    pub fn text_len(&self) -> usize {
        if let Some(text) = self.unchanged() {
            return text.len();
        }
        // For each member a colon and a comma, but for the last comma; and the brackets.
        let members = self.members.iter().map(|member| member.key.text().len() + member.value.text_len() + 2);
        members.sum::<usize>().max(1) + 1
    }

    /// Appends the JSON text to `out`.
    pub fn write(&self, out: &mut String) {
        if let Some(text) = self.unchanged() {
            return out.push_str(text);
        }
        out.push('{');
        for (at, member) in self.members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(member.key.text());
            out.push(':');
            member.value.write(out);
        }
        out.push('}');
    }

    fn written(&self) -> String {
        let mut text = String::with_capacity(self.text_len());
        self.write(&mut text);
        text
    }

    /// The value that counts for `key`, `null` too.
    pub(crate) fn last(&self, key: &str) -> Option<&Value> {
        self.members.iter().rev().find(|member| member.key.is(key)).map(|member| &member.value)
    }

    /// The text that this came as, if it is written so.
    pub(crate) fn unchanged(&self) -> Option<&Text> {
        let text = self.came_as.as_ref()?;
        if self.members.iter().any(|member| member.value.is_changed()) { None } else { Some(text) }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        match (self.unchanged(), other.unchanged()) {
            (Some(text), Some(other)) => text == other,
            _ => self.to_string() == other.to_string(),
        }
    }
}

impl fmt::Display for Object {
    /// The JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written())
    }
}
