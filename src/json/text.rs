//! Strings that borrow from the text that they were read from, unless they have escapes there.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Labels, annotations, or a nodeSelector.
pub type StringMap<'a> = BTreeMap<Text<'a>, Text<'a>>;

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<&str> for Text<'_> {
    fn from(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
