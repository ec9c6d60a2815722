use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// A part of a text that many share: whoever has a part keeps the whole alive, and nothing is copied.
#[derive(Clone)]
pub struct Text {
    whole: Rc<str>,
    start: usize,
    end: usize,
}

impl Text {
    /// The bytes from `start` to `end` of `whole`, both of which are ends of characters.
    pub fn part(whole: &Rc<str>, start: usize, end: usize) -> Self {
        Self { whole: Rc::clone(whole), start, end }
    }

    /// What stands between the quotes, if this is a JSON string.
    pub fn unquoted(&self) -> Self {
        let (start, end) = if self.len() < 2 { (self.end, self.end) } else { (self.start + 1, self.end - 1) };
        Self::part(&self.whole, start, end)
    }

    /// The text that this is a part of.
    pub const fn whole(&self) -> &Rc<str> {
        &self.whole
    }

    /// Where in the [whole](Self::whole) this begins, in bytes.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// Whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// How long this is, in bytes.
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// The bytes. They are had for less than the characters, of which one must begin and end where this does.
    pub fn as_bytes(&self) -> &[u8] {
        self.whole.as_bytes().get(self.start..self.end).unwrap_or_default()
    }

    /// Whether `other` is not only equal, but the very same part of the same text.
    pub fn is_same_part(&self, other: &Self) -> bool {
        self.start == other.start && self.end == other.end && Rc::ptr_eq(&self.whole, &other.whole)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        // Parts are made where a character begins or ends, so that there always is one.
        self.whole.get(self.start..self.end).unwrap_or_default()
    }
}

impl From<Rc<str>> for Text {
    fn from(whole: Rc<str>) -> Self {
        Self { start: 0, end: whole.len(), whole }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(Rc::<str>::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(Rc::<str>::from(text))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
