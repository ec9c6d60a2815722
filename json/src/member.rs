use std::borrow::Cow;

use crate::string::{encode, unescape};
use crate::text::Text;
use crate::value::Value;

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: Key,
    pub value: Value,
}

/// The key of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// As JSON text, quotes included.
    text: Text,
    /// Whether what stands between the quotes is the name.
    is_plain: bool,
}

impl Key {
    /// The key that is spelled `text`, a JSON string without escapes.
    pub const fn plain(text: Text) -> Self {
        Self { text, is_plain: true }
    }

    /// The key that is spelled `text`, a JSON string, perhaps with escapes.
    pub const fn escaped(text: Text) -> Self {
        Self { text, is_plain: false }
    }

    /// The key `name`.
    pub fn new(name: &str) -> Self {
        Self::escaped(encode(name).into())
    }

    /// As JSON text, quotes included.
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// Whether this is the key `name`. Most keys are of another length.
    pub fn is(&self, name: &str) -> bool {
        let may_be = self.text.len() == name.len() + 2 || !self.is_plain;
        may_be && self.is_called(name)
    }

    /// The characters. A key that is spelled with half of a surrogate pair has none, and is called as it is spelled.
    pub fn name(&self) -> Cow<'_, str> {
        if self.is_plain {
            return Cow::Borrowed(self.inner());
        }
        unescape(self.inner()).map_or(Cow::Borrowed(self.inner()), Cow::Owned)
    }

    /// The same, as a text that outlives this.
    pub fn name_text(&self) -> Text {
        match self.name() {
            Cow::Borrowed(_) => self.text.unquoted(),
            Cow::Owned(name) => name.into(),
        }
    }

    #[inline(never)]
    fn is_called(&self, name: &str) -> bool {
        if self.is_plain {
            self.text.as_bytes().get(1..=name.len()) == Some(name.as_bytes())
        } else {
            self.name() == name
        }
    }

    fn inner(&self) -> &str {
        self.text.get(1..self.text.len() - 1).unwrap_or_default()
    }
}
