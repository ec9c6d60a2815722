use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use crate::kind::Kind;
use crate::list::List;
use crate::mismatch::{Mismatch, SyntaxError};
use crate::object::Object;
use crate::outline::Outline;
use crate::parse;
use crate::parts::Parts;
use crate::string::characters;
use crate::text::Text;

/// A JSON value: a well-formed text, taken apart where somebody looked into it. Two are equal if they are written the
/// same.
///
/// It keeps the whole text alive that it is a part of; clones share that, and what was taken apart until one is edited.
#[derive(Clone, Debug)]
pub struct Value(Form);

#[derive(Clone, Debug)]
enum Form {
    /// As it came; and its parts, once somebody looked into it. They may have changed since.
    Read(Text, OnceCell<Rc<Parts>>),
    /// New: there is no text yet.
    Made(Rc<Parts>),
}

/// Where what is written of a value stands.
enum Written<'v> {
    Text(&'v Text),
    Parts(&'v Parts),
}

impl Value {
    /// Reads `text` as one JSON value, and takes apart what `outline` names. A `String` or `&str` is copied once.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn parse(text: impl Into<Rc<str>>, outline: &Outline) -> Result<Self, SyntaxError> {
        parse::parse(&text.into(), outline)
    }

    /// What this is.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Form::Read(text, _) => Kind::beginning_with(text.as_bytes().first()),
            Form::Made(parts) => parts.kind(),
        }
    }

    /// Whether this is `null`, which counts as absent.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The JSON text: as it came, or as it is written now. Copied only if something in it was changed.
    pub fn text(&self) -> Cow<'_, str> {
        match self.written() {
            Written::Text(text) => Cow::Borrowed(text),
            Written::Parts(_) => Cow::Owned(self.to_string()),
        }
    }

    /// The characters, if this is a string; copied only if some were escaped.
    pub fn string(&self) -> Result<Cow<'_, str>, Mismatch> {
        characters(self.scalar(Kind::String)?)
    }

    /// The value of a boolean.
    pub fn boolean(&self) -> Result<bool, Mismatch> {
        let text: &str = &self.text();
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Mismatch::new("true or false", self.kind().name())),
        }
    }

    /// The value of a whole number. As for an `int64` of Go's `encoding/json`, one with a fraction or an exponent is
    /// none, even if they mean nothing.
    pub fn integer(&self) -> Result<i64, Mismatch> {
        let text = self.scalar(Kind::Number)?;
        text.parse().map_err(|_| Mismatch::new("a whole number of 64 bits", "another number"))
    }

    /// The members, if this is an object.
    pub fn object(&self) -> Result<&Object, Mismatch> {
        match self.parts() {
            Some(Parts::Object(object)) => Ok(object),
            _ => Err(mismatch(Kind::Object, self.kind())),
        }
    }

    /// The elements, if this is a list.
    pub fn list(&self) -> Result<&List, Mismatch> {
        match self.parts() {
            Some(Parts::List(list)) => Ok(list),
            _ => Err(mismatch(Kind::List, self.kind())),
        }
    }

    /// The members to edit, if this is an object. That alone changes nothing.
    pub fn object_mut(&mut self) -> Result<&mut Object, Mismatch> {
        let kind = self.kind();
        match self.parts_mut() {
            Some(Parts::Object(object)) => Ok(object),
            _ => Err(mismatch(Kind::Object, kind)),
        }
    }

    /// The elements to edit, if this is a list. That alone changes nothing.
    pub fn list_mut(&mut self) -> Result<&mut List, Mismatch> {
        let kind = self.kind();
        match self.parts_mut() {
            Some(Parts::List(list)) => Ok(list),
            _ => Err(mismatch(Kind::List, kind)),
        }
    }

    /// Whether this is written otherwise than it came: it is new, or was changed, here or anywhere below.
    pub fn is_changed(&self) -> bool {
        matches!(self.written(), Written::Parts(_))
    }

    /// How long the [text](Self::text) is, in bytes.
    pub fn text_len(&self) -> usize {
        match self.written() {
            Written::Text(text) => text.len(),
            Written::Parts(parts) => parts.text_len(),
        }
    }

    /// Appends the [text](Self::text) to `out`.
    pub fn write(&self, out: &mut String) {
        match self.written() {
            Written::Text(text) => out.push_str(text),
            Written::Parts(parts) => parts.write(out),
        }
    }

    /// Takes apart what `outline` names, in one reading, if nobody has looked into this yet.
    pub(crate) fn take_apart(&self, outline: &Outline) {
        if let Form::Read(text, parts) = &self.0
            && parts.get().is_none()
            && let Some(read) = parse::take_apart(text, outline)
        {
            parts.get_or_init(|| read);
        }
    }

    /// The members, if this is an object.
    pub(crate) fn into_object(self) -> Result<Object, Mismatch> {
        let kind = self.kind();
        self.parts();
        match self.into_parts().map(Rc::unwrap_or_clone) {
            Some(Parts::Object(object)) => Ok(object),
            _ => Err(mismatch(Kind::Object, kind)),
        }
    }

    /// What this was taken apart into, if it was.
    pub(crate) fn into_parts(self) -> Option<Rc<Parts>> {
        match self.0 {
            Form::Made(parts) => Some(parts),
            Form::Read(_, parts) => parts.into_inner(),
        }
    }

    /// The value that `text` is, which is JSON.
    pub(crate) const fn from_text(text: Text) -> Self {
        Self(Form::Read(text, OnceCell::new()))
    }

    /// The value that has such `parts`, which were read from `text`; from none, if it is new.
    pub(crate) fn from_parts(text: Option<Text>, parts: Parts) -> Self {
        let parts = Rc::new(parts);
        Self(match text {
            Some(text) => Form::Read(text, OnceCell::from(parts)),
            None => Form::Made(parts),
        })
    }

    /// The characters, if this is a string, as a text that outlives this.
    pub(crate) fn string_text(&self) -> Result<Text, Mismatch> {
        match self.string()? {
            Cow::Borrowed(_) => Ok(self.scalar(Kind::String)?.unquoted()),
            Cow::Owned(characters) => Ok(characters.into()),
        }
    }

    /// Whether this is the same part of the same text as `other`, and nothing in them was changed.
    pub(crate) fn is_same_part(&self, other: &Self) -> bool {
        match (self.written(), other.written()) {
            (Written::Text(own), Written::Text(others)) => own.is_same_part(others),
            _ => false,
        }
    }

    /// Whether a string in this can have an escape sequence.
    pub(crate) fn may_have_escapes(&self) -> bool {
        !matches!(self.written(), Written::Text(text) if !text.as_bytes().contains(&b'\\'))
    }

    /// The text, if this is of such a kind, which has no parts.
    fn scalar(&self, kind: Kind) -> Result<&Text, Mismatch> {
        match &self.0 {
            Form::Read(text, _) if self.kind() == kind => Ok(text),
            _ => Err(mismatch(kind, self.kind())),
        }
    }

    fn parts(&self) -> Option<&Parts> {
        match self.kind() {
            Kind::Object => self.take_apart(&Outline::FLAT),
            Kind::List => self.take_apart(&Outline::OBJECTS),
            _ => return None,
        }
        match &self.0 {
            Form::Made(parts) => Some(parts),
            Form::Read(_, parts) => parts.get().map(Rc::as_ref),
        }
    }

    fn parts_mut(&mut self) -> Option<&mut Parts> {
        self.parts()?;
        match &mut self.0 {
            Form::Made(parts) => Some(Rc::make_mut(parts)),
            Form::Read(_, parts) => parts.get_mut().map(Rc::make_mut),
        }
    }

    fn written(&self) -> Written<'_> {
        match &self.0 {
            Form::Made(parts) => Written::Parts(parts),
            Form::Read(text, parts) => match parts.get() {
                Some(parts) if !parts.are_still(text) => Written::Parts(parts),
                _ => Written::Text(text),
            },
        }
    }
}

fn mismatch(expected: Kind, found: Kind) -> Mismatch {
    Mismatch::new(expected.name(), found.name())
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Display for Value {
    /// The [text](Self::text).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(self.text_len());
        self.write(&mut text);
        f.write_str(&text)
    }
}
