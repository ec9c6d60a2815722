//! One pass over a text: whether it is JSON, and where the values begin and end that an [`Outline`] names.
//!
//! `serde_json` says where keys end, and every value that stays whole. Between them stands what is left of JSON:
//! brackets, commas and colons.

use std::rc::Rc;

use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::list::{ByKey, List};
use crate::member::{Key, Member};
use crate::mismatch::SyntaxError;
use crate::object::Object;
use crate::outline::Outline;
use crate::parts::Parts;
use crate::text::Text;
use crate::value::Value;

/// How many members there is room for at first. Most objects have no more, and none then has to move.
const USUAL_MEMBERS: usize = 8;

/// The one value that `text` is, with what `outline` names taken apart.
pub fn parse(text: &Rc<str>, outline: &Outline) -> Result<Value, SyntaxError> {
    let mut reader = Reader::new(text, 0);
    reader.skip_space();
    if let Some(value) = reader.value(outline)
        && reader.is_at_end()
    {
        return Ok(value);
    }
    // What is wrong, serde_json can tell better. It has the last word.
    serde_json::from_str::<IgnoredAny>(text)?;
    Ok(Value::from_text(text.trim().into()))
}

/// The members or elements of `text`, which is JSON, with what `outline` names in them taken apart too; none, if that
/// names something of another kind.
pub fn take_apart(text: &Text, outline: &Outline) -> Option<Rc<Parts>> {
    Reader::new(text.whole(), text.start()).value(outline)?.into_parts()
}

/// A text, and how far it was read. What returns nothing has come upon something that is not JSON.
struct Reader<'t> {
    text: &'t Rc<str>,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t Rc<str>, at: usize) -> Self {
        Self { text, bytes: text.as_bytes(), at }
    }

    /// The value that begins here, with what `outline` names taken apart.
    fn value(&mut self, outline: &Outline) -> Option<Value> {
        match (outline, self.byte()) {
            (Outline::Object(named), Some(b'{')) => self.object(named).map(Value::from),
            (Outline::List(each), Some(b'[')) => self.list(each).map(Value::from),
            (Outline::ListBy(key), Some(b'[')) => self.list_by(key).map(Value::from),
            _ => self.whole_value().map(Value::from_text),
        }
    }

    /// The object that begins here, with those of its members taken apart that are `named`.
    fn object(&mut self, named: &[(&str, Outline)]) -> Option<Object> {
        let start = self.at;
        let mut members = Vec::with_capacity(USUAL_MEMBERS);
        self.pass(b'{')?;
        while self.has_more(b'}', members.is_empty())? {
            let key = self.key()?;
            let value = self.value(outline_of(&key, named))?;
            members.push(Member { key, value });
        }
        Some(Object { came_as: Some(self.since(start)), members })
    }

    /// The list that begins here, with each of its elements taken apart.
    fn list(&mut self, each: &Outline) -> Option<List> {
        let start = self.at;
        let mut elements = Vec::new();
        self.pass(b'[')?;
        while self.has_more(b']', elements.is_empty())? {
            elements.push(self.value(each)?);
        }
        Some(List::read(self.since(start), elements))
    }

    /// The list that begins here, and the strings that its elements have under `key`.
    fn list_by(&mut self, key: &'static str) -> Option<List> {
        let start = self.at;
        let mut elements = Vec::new();
        let mut found = Vec::new();
        self.pass(b'[')?;
        while self.has_more(b']', elements.is_empty())? {
            let start = self.at;
            self.note_string(key, &mut found)?;
            elements.push(Value::from_text(self.since(start)));
        }
        Some(List::read_by(self.since(start), elements, ByKey { key, found }))
    }

    /// Adds to `strings` what the value that begins here has under `name`, if it is an object and that is a string.
    fn note_string(&mut self, name: &str, strings: &mut Vec<Option<Text>>) -> Option<()> {
        if self.byte() != Some(b'{') {
            self.whole_value()?;
            strings.push(None);
            return Some(());
        }
        let mut found = None;
        let mut is_first = true;
        self.pass(b'{')?;
        while self.has_more(b'}', is_first)? {
            is_first = false;
            let key = self.key()?;
            let text = self.whole_value()?;
            if key.is(name) {
                found = Some(text).filter(|text| text.as_bytes().first() == Some(&b'"'));
            }
        }
        strings.push(found);
        Some(())
    }

    /// Whether another member or element follows, which then begins here. If not, the bracket `close` was read.
    fn has_more(&mut self, close: u8, is_first: bool) -> Option<bool> {
        self.skip_space();
        if self.byte() == Some(close) {
            self.at += 1;
            return Some(false);
        }
        if !is_first {
            self.pass(b',')?;
        }
        Some(true)
    }

    /// The key that begins here; and reads up to its value.
    fn key(&mut self) -> Option<Key> {
        let start = self.at;
        self.read(b'"')?;
        let inner = self.bytes.get(self.at..)?;
        let length = inner.iter().position(|byte| is_special(*byte))?;
        let key = if inner.get(length) == Some(&b'"') {
            self.at += length + 1;
            Key::plain(self.since(start))
        } else {
            self.at = start;
            Key::escaped(self.whole_value()?)
        };
        self.skip_space();
        self.pass(b':')?;
        Some(key)
    }

    /// The value that begins here, whatever it is.
    fn whole_value(&mut self) -> Option<Text> {
        let start = self.at;
        // As bytes: that they are text is known, and need not be seen to again where they are cut.
        let rest = self.bytes.get(start..)?;
        let mut values = Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(self.since(start))
    }

    /// Reads `byte`, which must stand here, and the white space after it.
    fn pass(&mut self, byte: u8) -> Option<()> {
        self.read(byte)?;
        self.skip_space();
        Some(())
    }

    /// Reads `byte`, which must stand here.
    fn read(&mut self, byte: u8) -> Option<()> {
        if self.byte() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.byte().is_none()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn since(&self, start: usize) -> Text {
        Text::part(self.text, start, self.at)
    }
}

fn outline_of<'o>(key: &Key, named: &'o [(&str, Outline)]) -> &'o Outline {
    for (name, outline) in named {
        if key.is(name) {
            return outline;
        }
    }
    &Outline::Whole
}

/// The bytes that can't stand between two quotes as they are: quotes, backslashes, control characters. A table is read
/// faster than three comparisons are made, for every byte of every key.
#[expect(clippy::indexing_slicing, reason = "it is made when this is compiled")]
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < b' ' as usize {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

fn is_special(byte: u8) -> bool {
    SPECIAL.get(usize::from(byte)).copied().unwrap_or_default()
}
