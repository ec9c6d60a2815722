use std::borrow::Cow;
use std::cell::OnceCell;

use crate::kind::Kind;
use crate::mismatch::{Mismatch, Within};
use crate::object::Object;
use crate::string::encode;
use crate::text::Text;
use crate::value::Value;

/// Up to how many members are looked through one by one: sorting them would cost more than it saves.
const FEW: usize = 64;

/// Strings by key, in the order of the keys: what an object holds whose members are all strings.
///
/// Of most such objects somebody wants the values of a few keys. These are looked up where they stand; the strings are
/// copied into a sorted list only for who wants all of them in order, or changes them.
#[derive(Clone, Debug, Default)]
pub struct StringMap {
    /// The object, until something is changed.
    read_from: Option<Value>,
    sorted: OnceCell<Vec<(Text, Text)>>,
}

impl StringMap {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { read_from: None, sorted: OnceCell::new() }
    }

    /// The members of `value`, an object of strings.
    pub(crate) fn read(value: &Value) -> Result<Self, Mismatch> {
        let Ok(object) = value.object() else {
            return Err(Mismatch::new("an object of strings", value.kind().name()));
        };
        let has_escapes = value.may_have_escapes();
        let are_strings = object.members.iter().all(|member| member.value.is_string_or_null(has_escapes));
        if object.members.len() > FEW || !are_strings {
            return Self::copy(object);
        }
        Ok(Self { read_from: Some(value.clone()), sorted: OnceCell::new() })
    }

    /// Copies the members of `object`, if they are all strings.
    pub(crate) fn copy(object: &Object) -> Result<Self, Mismatch> {
        Ok(Self { read_from: None, sorted: OnceCell::from(sorted_pairs(object)?) })
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        if let Some(object) = self.object() {
            let value = object.last(key)?;
            if let Some(text) = value.string_as_it_stands() {
                return Some(text);
            }
        }
        let pairs = self.pairs();
        let at = find(pairs, key).ok()?;
        pairs.get(at).map(|(_, value)| &**value)
    }

    /// Whether there is a value for `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Gives `key` this value.
    pub fn insert(&mut self, key: &str, value: &str) {
        let mut pairs = self.take_pairs();
        match find(&pairs, key) {
            Ok(at) => {
                if let Some((_, own)) = pairs.get_mut(at) {
                    *own = value.into();
                }
            }
            Err(at) => pairs.insert(at, (key.into(), value.into())),
        }
        self.sorted = OnceCell::from(pairs);
    }

    /// Keeps only what `holds` is true for, given key and value.
    pub fn retain(&mut self, mut holds: impl FnMut(&str, &str) -> bool) {
        let mut pairs = self.take_pairs();
        pairs.retain(|(key, value)| holds(key, value));
        self.sorted = OnceCell::from(pairs);
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        match self.object() {
            Some(object) => object.members.is_empty(),
            None => self.pairs().is_empty(),
        }
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().iter().map(|(key, value)| (&**key, &**value))
    }

    fn object(&self) -> Option<&Object> {
        self.read_from.as_ref()?.object().ok()
    }

    fn pairs(&self) -> &Vec<(Text, Text)> {
        self.sorted.get_or_init(|| self.object().and_then(|object| sorted_pairs(object).ok()).unwrap_or_default())
    }

    /// What there is, to put it back changed.
    fn take_pairs(&mut self) -> Vec<(Text, Text)> {
        self.pairs();
        self.read_from = None;
        self.sorted.take().unwrap_or_default()
    }
}

/// Of pairs with the same key the last counts.
impl<'p> FromIterator<(&'p str, &'p str)> for StringMap {
    fn from_iter<I: IntoIterator<Item = (&'p str, &'p str)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { read_from: None, sorted: OnceCell::from(sort(pairs)) }
    }
}

impl PartialEq for StringMap {
    fn eq(&self, other: &Self) -> bool {
        match (&self.read_from, &other.read_from) {
            (Some(own), Some(others)) if own.is_same_part(others) => true,
            _ => self.pairs() == other.pairs(),
        }
    }
}

impl Eq for StringMap {}

impl Value {
    /// Whether this is a string, or `null`, which in Go is the empty string where one is wanted. Without escapes, there are
    /// no half surrogate pairs to look for.
    pub(crate) fn is_string_or_null(&self, may_have_escapes: bool) -> bool {
        match self.kind() {
            Kind::String => !may_have_escapes || self.string().is_ok(),
            kind => kind == Kind::Null,
        }
    }

    /// The characters of a string, if none is escaped; and none of `null`.
    fn string_as_it_stands(&self) -> Option<&str> {
        match self.string() {
            Ok(Cow::Borrowed(text)) => Some(text),
            Ok(Cow::Owned(_)) => None,
            Err(_) => Some(""),
        }
    }
}

/// The members of `object`, sorted, if they are all strings. As in Go, `null` is the empty string.
fn sorted_pairs(object: &Object) -> Result<Vec<(Text, Text)>, Mismatch> {
    let mut pairs = Vec::with_capacity(object.members.len());
    for member in &object.members {
        let text = if member.value.is_null() { Ok("".into()) } else { member.value.string_text() };
        match text {
            Ok(text) => pairs.push((member.key.name_text(), text)),
            Err(mismatch) => return Err(mismatch.within(&format!("[{}]", encode(&member.key.name())))),
        }
    }
    Ok(sort(pairs))
}

fn find(pairs: &[(Text, Text)], key: &str) -> Result<usize, usize> {
    pairs.binary_search_by(|(own, _)| own.as_bytes().cmp(key.as_bytes()))
}

/// Of pairs with the same key the last counts.
fn sort(pairs: Vec<(Text, Text)>) -> Vec<(Text, Text)> {
    if pairs.is_sorted_by(|(before, _), (after, _)| before.as_bytes() < after.as_bytes()) {
        return pairs;
    }
    let mut order: Vec<(&str, usize)> = pairs.iter().enumerate().map(|(at, (key, _))| (&**key, at)).collect();
    order.sort_unstable();
    let mut sorted: Vec<(Text, Text)> = Vec::with_capacity(pairs.len());
    for (_, position) in order {
        let Some(pair) = pairs.get(position) else { continue };
        match sorted.last_mut() {
            Some(last) if last.0 == pair.0 => last.clone_from(pair),
            _ => sorted.push(pair.clone()),
        }
    }
    sorted
}
