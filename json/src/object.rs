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

use crate::scan::{Cut, Outline, Scanner};
use crate::{Element, Json, Mismatch, Named, StringMap, encode};

/// An object whose members can be read, replaced, added and removed. Clones share the members that came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    came: Shared<'a>,
    /// All members, once one was set or removed.
    changed: Option<Vec<Member<'a>>>,
}

/// Members as they came.
pub(crate) type Shared<'a> = Rc<[Member<'a>]>;

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member<'a> {
    key: Key<'a>,
    value: Value<'a>,
}

/// The key of a member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key<'a> {
    /// As JSON text, quotes included.
    pub text: Cow<'a, str>,
    /// Whether what stands between the quotes is the name.
    pub is_plain: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Value<'a> {
    /// As it came; and what was cut of it on the way.
    Kept(Json<'a>, Cut<'a>),
    /// New, as JSON text.
    Written(String),
    /// An object that has changes of its own.
    Inner(Object<'a>),
}

impl<'a> Object<'a> {
    /// An object as it came.
    pub(crate) const fn of(members: Shared<'a>) -> Self {
        Self { came: members, changed: None }
    }

    /// Reads `text` as an object; and in the same pass the objects in it that `outline` names.
    ///
    /// # Errors
    /// Where it is not JSON, or that it is no object.
    pub fn parse(text: &'a str, outline: &Outline) -> Result<Self, Mismatch> {
        match Scanner::new(text).whole(Some(outline))? {
            (_, Cut::Object(members)) => Ok(Self::of(members)),
            (value, _) => Err(Mismatch::new("an object", value.kind())),
        }
    }

    /// The value of `key`, unless it is absent or `null`. Sees the object as it came, not what was set since.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.kept(key).map(|(value, _)| value)
    }

    /// The object under `key`, if there is one.
    pub fn object(&self, key: &str) -> Result<Option<Object<'a>>, Mismatch> {
        match self.kept(key) {
            Some((_, Cut::Object(members))) => Ok(Some(Self::of(members.clone()))),
            Some((value, _)) => value.object().map(Some).map_err(|mismatch| mismatch.within(key)),
            None => Ok(None),
        }
    }

    /// The elements of the list under `key`; of none, if there is no list.
    pub fn list(&self, key: &str) -> Result<Rc<[Element<'a>]>, Mismatch> {
        match self.kept(key) {
            Some((_, Cut::List(elements))) => Ok(elements.clone()),
            Some((value, _)) => value.list().map_err(|mismatch| mismatch.within(key)),
            None => Ok(Rc::default()),
        }
    }

    /// The elements of the list under `key`, each with the string that it has under `by`. An [`Outline`] that cuts
    /// the list must name the same.
    pub fn list_by(&self, key: &str, by: &'static str) -> Result<Rc<[Named<'a>]>, Mismatch> {
        match self.kept(key) {
            Some((_, Cut::ListBy(elements))) => Ok(elements.clone()),
            Some((value, _)) => value.list_by(by).map_err(|mismatch| mismatch.within(key)),
            None => Ok(Rc::default()),
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
        self.all().iter().filter_map(|member| match member.value {
            Value::Kept(value, _) => Some((member.key.name(), value)),
            Value::Written(_) | Value::Inner(_) => None,
        })
    }

    /// The members by key, if all are strings.
    pub(crate) fn to_string_map(&self) -> Result<StringMap<'a>, Mismatch> {
        let mut pairs = Vec::with_capacity(self.all().len());
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
        self.change().push(Member::new(key, Value::Written(encode(text))));
    }

    /// Gives this object of strings, which reads as `before`, the members of `after`; those that are equal stay as they
    /// came.
    pub fn assign(&mut self, before: &StringMap<'_>, after: &StringMap<'_>) {
        if before == after {
            return;
        }
        self.change().retain_mut(|member| {
            let name = member.key.name();
            let text = after.get(&name);
            if let Some(text) = text.filter(|_| text != before.get(&name)) {
                member.value = Value::Written(encode(text));
            }
            text.is_some()
        });
        for (key, text) in after.iter().filter(|(key, _)| !before.contains_key(key)) {
            self.push_string(key, text);
        }
    }

    /// Puts `inner` back under `key`; without effect if `inner` was not changed.
    pub fn set_object(&mut self, key: &str, inner: Object<'a>) {
        if inner.is_changed() {
            self.put(key, Value::Inner(inner));
        }
    }

    /// Whether anything was set or removed.
    pub const fn is_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// How long the object's text is in bytes, at most.
    pub fn longest(&self) -> usize {
        // For each member a colon and a comma, or the brackets.
        let members = self.all().iter().map(|member| member.key.text.len().saturating_add(member.value.len()));
        members.fold(2, |sum, length| sum.saturating_add(length).saturating_add(2))
    }

    /// Appends the object's text to `out`.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        for (at, member) in self.all().iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&member.key.text);
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

    fn all(&self) -> &[Member<'a>] {
        self.changed.as_deref().unwrap_or(&self.came)
    }

    fn change(&mut self) -> &mut Vec<Member<'a>> {
        self.changed.get_or_insert_with(|| self.came.to_vec())
    }

    fn kept(&self, key: &str) -> Option<(Json<'a>, &Cut<'a>)> {
        let member = self.all().iter().rev().find(|member| member.key.is(key))?;
        match &member.value {
            Value::Kept(value, cut) if !value.is_null() => Some((*value, cut)),
            Value::Kept(..) | Value::Written(_) | Value::Inner(_) => None,
        }
    }

    fn put(&mut self, key: &str, value: Value<'a>) {
        let members = self.change();
        match members.iter_mut().rev().find(|member| member.key.is(key)) {
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
    /// A member as it came, with its value's JSON text.
    pub(crate) const fn kept(key: Key<'a>, value: &'a str, cut: Cut<'a>) -> Self {
        Self { key, value: Value::Kept(Json::of(value), cut) }
    }

    fn new(name: &str, value: Value<'a>) -> Self {
        Self { key: Key { text: Cow::Owned(encode(name)), is_plain: false }, value }
    }
}

impl<'a> Key<'a> {
    pub(crate) fn is(&self, name: &str) -> bool {
        if self.is_plain {
            self.text.len() == name.len().wrapping_add(2) && self.text.get(1..).is_some_and(|key| key.starts_with(name))
        } else {
            self.name() == name
        }
    }

    fn name(&self) -> Cow<'a, str> {
        match &self.text {
            Cow::Borrowed(text) => Json::of(text).string().unwrap_or_default(),
            Cow::Owned(text) => Cow::Owned(Json::of(text).string().unwrap_or_default().into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        const OUTLINE: Outline =
            Outline::Object(&[("a", Outline::Object(&[("b", Outline::FLAT)])), ("d", Outline::FLAT)]);
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
    fn its_length_is_known_before_it_is_written() {
        let mut whole = object(r#"{"a":{"b":{"c":1}},"d":{},"e":"ü"}"#);
        // With a comma after the last member too.
        assert_eq!(whole.longest(), whole.to_string().len() + 1);
        let mut inner = whole.object("a").unwrap().unwrap();
        inner.set_string("f", "\"");
        whole.set_object("a", inner);
        whole.set("g", "[7]".into());
        assert_eq!(whole.longest(), whole.to_string().len() + 2);
        assert_eq!(Object::default().longest(), 2);
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
    fn a_list_is_the_same_whether_it_was_cut_on_the_way_or_not() {
        const CUT: Outline = Outline::Object(&[("l", Outline::List), ("n", Outline::ListBy("name"))]);
        let list = r#"[{"name":"a"}, 1, {"name":"\u0062","x":[{"name":"y"}]},{"n\u0061me":"c"},{"name":"x","name":"d"},
            {"name":"x","name":3},{"name":null},{"Name":"x"},{},"name",null,["name"],{"name":"\ud800"},{"name":"e"}]"#;
        let text = format!(r#"{{"l":{list},"n":{list},"o":{{"l":1}}}}"#);
        let (cut, whole) = (Object::parse(&text, &CUT).unwrap(), Object::parse(&text, &Outline::FLAT).unwrap());
        for key in ["l", "n"] {
            assert_eq!(cut.list(key).unwrap(), whole.list(key).unwrap());
            assert_eq!(cut.list_by(key, "name").unwrap(), whole.list_by(key, "name").unwrap());
        }
        let list = cut.list_by("n", "name").unwrap();
        let names: Vec<Option<&str>> = list.iter().map(|element| element.name.as_deref()).collect();
        let expected = ["a", "", "b", "c", "d", "", "", "", "", "", "", "", "", "e"]
            .map(|name| Some(name).filter(|name| !name.is_empty()));
        assert_eq!(names, expected);
        let texts = cut.list("l").unwrap();
        assert!(list.iter().map(|named| named.json).eq(texts.iter().map(|element| element.json)));
        assert_eq!(texts.iter().filter(|element| element.object().is_ok()).count(), 10);
        assert!(cut.list("x").unwrap().is_empty() && cut.list_by("x", "name").unwrap().is_empty());
        assert_eq!(cut.list("o").unwrap_err().to_string(), "o: expected a list, found an object");
        assert_eq!(cut.list_by("o", "name").unwrap_err().to_string(), "o: expected a list, found an object");
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
