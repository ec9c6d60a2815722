//! A JSON object of which some members are read or replaced, and all else is kept as it came.
//!
//! The host compares what the policy returns with what it sent, and turns every difference into a patch on
//! somebody's Pod. A round trip through typed structs drops fields it has never heard of and adds empty
//! ones; here a member that nobody touches is copied as text, so number spellings, nulls, empty lists and
//! unknown fields survive.
//!
//! As in Kubernetes, a member that is `null` counts as absent; of members with the same key the last counts.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::scan::{Outline, Scanner};
use crate::{Json, Mismatch, StringMap, encode};

/// An object whose members can be read, replaced, added and removed. Clones share the members until one changes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    members: Rc<Vec<Member<'a>>>,
    changed: bool,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member<'a> {
    /// As JSON text, quotes included.
    key: Cow<'a, str>,
    /// Whether what stands between the quotes is the name.
    is_plain: bool,
    value: Value<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum Value<'a> {
    /// As it came; and its members, if they were cut on the way.
    Kept(Json<'a>, Option<Object<'a>>),
    /// New, as JSON text.
    Written(String),
    /// An object that has changes of its own.
    Inner(Object<'a>),
}

impl<'a> Object<'a> {
    /// An object as it came.
    pub(crate) fn of(members: Vec<Member<'a>>) -> Self {
        Self { members: Rc::new(members), changed: false }
    }

    /// Reads `text` as an object; and in the same pass the objects in it that `outline` names.
    ///
    /// # Errors
    /// Where it is not JSON, or that it is no object.
    pub fn parse(text: &'a str, outline: &Outline) -> Result<Self, Mismatch> {
        let (value, object) = Scanner::new(text).whole(Some(outline))?;
        object.ok_or_else(|| Mismatch::new("an object", value.kind()))
    }

    /// The value of `key`, unless it is absent or `null`. Sees the object as it came, not what was set since.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.kept(key).map(|(value, _)| value)
    }

    /// The object under `key`, if there is one.
    pub fn object(&self, key: &str) -> Result<Option<Object<'a>>, Mismatch> {
        match self.kept(key) {
            Some((_, Some(cut))) => Ok(Some(cut.clone())),
            Some((value, None)) => value.object().map(Some).map_err(|mismatch| mismatch.within(key)),
            None => Ok(None),
        }
    }

    /// The object at the end of `path`, if there is one.
    pub fn descend(&self, path: &[&str]) -> Result<Option<Object<'a>>, Mismatch> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(Some(self.clone()));
        };
        match self.object(first)? {
            None => Ok(None),
            Some(inner) => inner.descend(rest).map_err(|mismatch| mismatch.within(first)),
        }
    }

    /// Puts `object` back at the end of `path`; without effect if `object` was not changed.
    pub fn replace(&mut self, path: &[&str], object: Object<'a>) -> Result<(), Mismatch> {
        match path.split_first() {
            None => {}
            Some((last, [])) => self.set_object(last, object),
            Some((first, rest)) => {
                let mut inner = self.object(first)?.unwrap_or_default();
                inner.replace(rest, object)?;
                self.set_object(first, inner);
            }
        }
        Ok(())
    }

    /// The string under `key`; absent is empty, as in Go.
    pub fn string(&self, key: &str) -> Result<Cow<'a, str>, Mismatch> {
        self.read(key, Json::string).map(Option::unwrap_or_default)
    }

    /// The object of strings under `key`; absent is empty.
    pub fn string_map(&self, key: &str) -> Result<StringMap<'a>, Mismatch> {
        let wrong_type = |_| self.mismatch(key, "an object of strings");
        let Some(object) = self.object(key).map_err(wrong_type)? else { return Ok(StringMap::new()) };
        object.to_string_map().map_err(|mismatch| mismatch.within(key))
    }

    /// What `read` makes of the value under `key`, if there is one.
    pub fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(Json<'a>) -> Result<T, Mismatch>,
    ) -> Result<Option<T>, Mismatch> {
        self.get(key).map(read).transpose().map_err(|mismatch| mismatch.within(key))
    }

    /// The members as they came.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'a, str>, Json<'a>)> {
        self.members.iter().filter_map(|member| match member.value {
            Value::Kept(value, _) => Some((member.name(), value)),
            Value::Written(_) | Value::Inner(_) => None,
        })
    }

    /// The members by key, if all are strings.
    pub(crate) fn to_string_map(&self) -> Result<StringMap<'a>, Mismatch> {
        let mut pairs = Vec::with_capacity(self.members.len());
        for (key, value) in self.members() {
            // As in Go, where null leaves the zero value of a string.
            let text = if value.is_null() { Ok(Cow::Borrowed("")) } else { value.string() };
            let text = text.map_err(|mismatch| mismatch.within(&format!("[{}]", encode(&key))))?;
            pairs.push((key, text));
        }
        Ok(pairs.into_iter().collect())
    }

    /// Puts `json`, a JSON text, under `key`.
    pub fn set(&mut self, key: &str, json: String) {
        self.put(key, Value::Written(json));
    }

    /// Puts the string `text` under `key`.
    pub fn set_string(&mut self, key: &str, text: &str) {
        self.set(key, encode(text));
    }

    /// Puts the string `text` under `key`, which is not there yet.
    pub fn push_string(&mut self, key: &str, text: &str) {
        self.changed = true;
        Rc::make_mut(&mut self.members).push(Member::new(key, Value::Written(encode(text))));
    }

    /// Gives this object of strings, which reads as `before`, the members of `after`; those that are equal stay as they
    /// came.
    pub fn assign(&mut self, before: &StringMap<'_>, after: &StringMap<'_>) {
        let mut changed = false;
        Rc::make_mut(&mut self.members).retain_mut(|member| {
            let name = member.name();
            let text = after.get(&name);
            let is_kept = text.is_some() && text == before.get(&name);
            changed |= !is_kept;
            if let Some(text) = text.filter(|_| !is_kept) {
                member.value = Value::Written(encode(text));
            }
            text.is_some()
        });
        self.changed |= changed;
        for (key, text) in after.iter().filter(|(key, _)| !before.contains_key(key)) {
            self.push_string(key, text);
        }
    }

    /// Puts `inner` back under `key`; without effect if `inner` was not changed.
    pub fn set_object(&mut self, key: &str, inner: Object<'a>) {
        if inner.changed {
            self.put(key, Value::Inner(inner));
        }
    }

    /// Whether anything was set or removed.
    pub const fn is_changed(&self) -> bool {
        self.changed
    }

    /// How long the object's text is in bytes, at most.
    pub fn longest(&self) -> usize {
        // For each member a colon and a comma, or the brackets.
        let members = self.members.iter().map(|member| member.key.len().saturating_add(member.value.len()));
        members.fold(2, |sum, length| sum.saturating_add(length).saturating_add(2))
    }

    /// Appends the object's text to `out`.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        for (at, member) in self.members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&member.key);
            out.push(':');
            match &member.value {
                Value::Kept(value, _) => out.push_str(value.text()),
                Value::Written(text) => out.push_str(text),
                Value::Inner(object) => object.write(out),
            }
        }
        out.push('}');
    }

    fn mismatch(&self, key: &str, expected: &'static str) -> Mismatch {
        Mismatch::new(expected, self.get(key).map_or("nothing", Json::kind)).within(key)
    }

    fn kept(&self, key: &str) -> Option<(Json<'a>, Option<&Object<'a>>)> {
        let member = self.members.iter().rev().find(|member| member.is(key))?;
        match &member.value {
            Value::Kept(value, cut) if !value.is_null() => Some((*value, cut.as_ref())),
            Value::Kept(..) | Value::Written(_) | Value::Inner(_) => None,
        }
    }

    fn put(&mut self, key: &str, value: Value<'a>) {
        self.changed = true;
        let members = Rc::make_mut(&mut self.members);
        match members.iter_mut().rev().find(|member| member.is(key)) {
            Some(member) => member.value = value,
            None => members.push(Member::new(key, value)),
        }
    }
}

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

impl Value<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Kept(value, _) => value.text().len(),
            Self::Written(text) => text.len(),
            Self::Inner(object) => object.longest(),
        }
    }
}

impl<'a> Member<'a> {
    /// A member as it came: `key` and `value` are JSON texts.
    pub(crate) const fn kept(key: &'a str, is_plain: bool, value: &'a str, cut: Option<Object<'a>>) -> Self {
        Self { key: Cow::Borrowed(key), is_plain, value: Value::Kept(Json::of(value), cut) }
    }

    fn new(name: &str, value: Value<'a>) -> Self {
        Self { key: Cow::Owned(encode(name)), is_plain: false, value }
    }

    fn is(&self, name: &str) -> bool {
        if self.is_plain {
            self.key.len() == name.len().wrapping_add(2) && self.key.get(1..).is_some_and(|key| key.starts_with(name))
        } else {
            self.name() == name
        }
    }

    fn name(&self) -> Cow<'a, str> {
        match &self.key {
            Cow::Borrowed(key) => Json::of(key).string().unwrap_or_default(),
            Cow::Owned(key) => Cow::Owned(Json::of(key).string().unwrap_or_default().into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        const OUTLINE: Outline = Outline(&[("a", Outline(&[("b", Outline(&[]))])), ("d", Outline(&[]))]);
        Object::parse(text, &OUTLINE).unwrap()
    }

    #[test]
    fn untouched_members_are_copied_as_text() {
        let text = r#"{"a":1.0e+02,"b":null,"c":[ ],"d":{"x" : "\u00e9"},"\u0065":"e"}"#;
        let mut whole = object(text);
        assert!(!whole.is_changed());
        assert_eq!(whole.to_string(), text);

        whole.set("new", "7".into());
        assert_eq!(whole.to_string(), text.replace(r#""e"}"#, r#""e","new":7}"#));
    }

    #[test]
    fn an_escaped_key_is_found() {
        let mut whole = object(r#"{"\u0061b":1,"c":2}"#);
        assert_eq!(whole.get("ab").map(Json::text), Some("1"));
        whole.set("ab", "3".into());
        assert_eq!(whole.to_string(), r#"{"\u0061b":3,"c":2}"#);
    }

    #[test]
    fn a_name_is_not_its_spelling() {
        let whole = object(r#"{"\\\"":"a","\"":"b"}"#);
        assert_eq!(whole.get("\\\"").map(Json::text), Some(r#""a""#));
        assert_eq!(whole.get("\"").map(Json::text), Some(r#""b""#));
    }

    #[test]
    fn strings_are_assigned_in_one_pass() {
        let mut whole = object(r#"{"a":"\u0031","b":"2","c":null,"d":"4"}"#);
        let before = whole.to_string_map().unwrap();
        let mut after = before.clone();
        whole.assign(&before, &after);
        assert!(!whole.is_changed());
        after.retain(|key| key != "b");
        after.insert("d".into(), "5".into());
        after.insert("e".into(), "6".into());
        whole.assign(&before, &after);
        assert_eq!(whole.to_string(), r#"{"a":"\u0031","c":null,"d":"5","e":"6"}"#);
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        let whole = object(r#"{"a":1,"a":2}"#);
        assert_eq!(whole.get("a").map(Json::text), Some("2"));
    }

    #[test]
    fn null_is_absent() {
        let whole = object(r#"{"a":null}"#);
        assert_eq!(whole.get("a"), None);
        assert_eq!(whole.string("a").unwrap(), "");
        assert!(whole.string_map("a").unwrap().is_empty());
    }

    #[test]
    fn inner_objects_are_put_back_only_if_changed() {
        let mut whole = object(r#"{"a":{"b": 1}}"#);
        let mut inner = whole.object("a").unwrap().unwrap();
        whole.set_object("a", inner.clone());
        assert!(!whole.is_changed());
        inner.set_string("c", "\"");
        whole.set_object("a", inner);
        assert_eq!(whole.to_string(), r#"{"a":{"b":1,"c":"\""}}"#);
    }

    #[test]
    fn a_path_is_followed_and_made() {
        let mut whole = object(r#"{"a":{"b":{"c":1}}}"#);
        let mut inner = whole.descend(&["a", "b"]).unwrap().unwrap();
        inner.set("d", "2".into());
        whole.replace(&["a", "b"], inner.clone()).unwrap();
        assert_eq!(whole.to_string(), r#"{"a":{"b":{"c":1,"d":2}}}"#);
        assert_eq!(whole.descend(&["x", "y"]).unwrap(), None);
        whole.replace(&["x", "y"], inner).unwrap();
        assert_eq!(whole.to_string(), r#"{"a":{"b":{"c":1,"d":2}},"x":{"y":{"c":1,"d":2}}}"#);
    }
}
