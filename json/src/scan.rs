//! One strict pass over a JSON text (RFC 8259): whether it is JSON, where its values end, and the members of its outer
//! objects.
//!
//! This is what the policy spends most of its time on, so it is written for speed: positions are passed from function to
//! function, never zero after something was read, so that "no more" costs nothing; strings are read eight bytes at a
//! time.
#![expect(clippy::inline_always, reason = "measured: it is a fifth of the time of a large Pod")]

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::rc::Rc;

use crate::object::{Key, Member, Shared};
use crate::{Element, Json, Mismatch, Named};

/// How deep values may be nested, as for the host, which reads everything before the policy does.
const DEEPEST: usize = 128;

/// The position after what was read; none, if it is not JSON.
type End = Option<NonZeroUsize>;

/// What of a value is cut on the way, while it is read.
#[derive(Debug)]
pub enum Outline {
    /// An object, into its members; and of these those that are named here, in the same manner.
    Object(&'static [(&'static str, Outline)]),
    /// A list, into its elements; and those of these that are objects into their members.
    List,
    /// A list, into its elements, each with the string that it has under this key.
    ListBy(&'static str),
}

impl Outline {
    /// An object, and nothing in it.
    pub const FLAT: Self = Self::Object(&[]);
}

/// What was cut of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cut<'a> {
    /// Nothing.
    Nothing,
    /// Its members.
    Object(Shared<'a>),
    /// Its elements.
    List(Rc<[Element<'a>]>),
    /// Its elements, each with its name.
    ListBy(Rc<[Named<'a>]>),
}

/// A JSON text, and what is wrong with it.
pub struct Scanner<'a> {
    text: &'a str,
    /// Where, and what was expected there.
    wrong: Option<(usize, &'static str)>,
    /// Whether a string had a backslash since this was last cleared.
    has_escapes: bool,
    /// Members of the objects that are being read, the innermost object's last.
    members: Vec<Member<'a>>,
}

/// Where a key stands, and whether no character of it is escaped.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: NonZeroUsize,
    is_plain: bool,
}

impl<'a> Scanner<'a> {
    /// At no position yet.
    pub const fn new(text: &'a str) -> Self {
        Self { text, wrong: None, has_escapes: false, members: Vec::new() }
    }

    /// The one value that the text is; and what of it `outline` names.
    ///
    /// # Errors
    /// It is not one JSON value; at the first byte that does not belong to one.
    pub fn whole(mut self, outline: Option<&Outline>) -> Result<(Json<'a>, Cut<'a>), Mismatch> {
        if outline.is_some() {
            // Few requests have more members than one in 64 bytes, or more than 64 on the way.
            self.members.reserve(self.text.len().min(4096) / 64);
        }
        let start = self.space(0);
        let mut cut = Cut::Nothing;
        let end = self.cut(start, outline, DEEPEST, &mut cut);
        let end = end.filter(|end| {
            let after = self.space(end.get());
            after >= self.text.len() || self.fail(after, "the end of the text").is_some()
        });
        match end {
            Some(end) => Ok((Json::of(self.between(start, end)), cut)),
            None => Err(self.mismatch()),
        }
    }

    /// The value at `at`, of which `outline` is cut.
    fn cut(&mut self, at: usize, outline: Option<&Outline>, depth: usize, cut: &mut Cut<'a>) -> End {
        match (outline, self.byte(at)) {
            (Some(Outline::Object(inner)), b'{') => {
                let first = self.members.len();
                let end = self.object(at, depth, |scanner, key, start, depth| {
                    let mut cut = Cut::Nothing;
                    let key = scanner.key_of(key);
                    let outline = inner.iter().find(|(name, _)| key.is(name)).map(|(_, outline)| outline);
                    let end = scanner.cut(start, outline, depth, &mut cut)?;
                    scanner.members.push(Member::kept(key, scanner.between(start, end), cut));
                    Some(end)
                })?;
                *cut = Cut::Object(self.members.drain(first..).collect());
                Some(end)
            }
            (Some(Outline::List), b'[') => {
                let mut elements = Vec::new();
                let end = self.list(at, depth, |scanner, start, depth| {
                    let mut cut = Cut::Nothing;
                    let end = scanner.cut(start, Some(&Outline::FLAT), depth, &mut cut)?;
                    let members = if let Cut::Object(members) = cut { Some(members) } else { None };
                    elements.push(Element { json: Json::of(scanner.between(start, end)), members });
                    Some(end)
                })?;
                *cut = Cut::List(elements.into());
                Some(end)
            }
            (Some(Outline::ListBy(name)), b'[') => {
                let mut elements = Vec::new();
                let end = self.list(at, depth, |scanner, start, depth| {
                    let mut value = None;
                    let end = scanner.named(start, depth, name, &mut value)?;
                    elements.push(Named { name: value, json: Json::of(scanner.between(start, end)) });
                    Some(end)
                })?;
                *cut = Cut::ListBy(elements.into());
                Some(end)
            }
            _ => self.value(at, depth),
        }
    }

    /// The value at `at`, of which nothing is kept.
    #[inline(always)]
    fn value(&mut self, at: usize, depth: usize) -> End {
        match self.byte(at) {
            b'"' => self.string(at),
            b'{' => self.object_skipped(at, depth),
            b'[' => self.list_skipped(at, depth),
            _ => self.scalar(at),
        }
    }

    /// The value at `at`, of which the string under `key` is kept as `name`, if it is an object that has it.
    fn named(&mut self, at: usize, depth: usize, key: &str, name: &mut Option<Cow<'a, str>>) -> End {
        if self.byte(at) != b'{' {
            return self.value(at, depth);
        }
        self.object(at, depth, |scanner, found, start, depth| {
            scanner.has_escapes = false;
            let end = scanner.value(start, depth)?;
            if scanner.is(found, key) {
                let text = scanner.between(start, end);
                *name = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    Some(text) if !scanner.has_escapes => Some(Cow::Borrowed(text)),
                    _ => Json::of(text).string().ok(),
                };
            }
            Some(end)
        })
    }

    fn object_skipped(&mut self, at: usize, depth: usize) -> End {
        self.object(at, depth, |scanner, _, start, depth| scanner.value(start, depth))
    }

    fn list_skipped(&mut self, at: usize, depth: usize) -> End {
        self.list(at, depth, Self::value)
    }

    /// The object at `at`, of which `value` reads the values, given their keys.
    #[inline(always)]
    fn object(&mut self, at: usize, depth: usize, mut value: impl FnMut(&mut Self, Span, usize, usize) -> End) -> End {
        let Some(depth) = depth.checked_sub(1) else { return self.too_deep(at) };
        let mut at = self.space(next(at));
        if self.byte(at) == b'}' {
            return after(at);
        }
        loop {
            self.has_escapes = false;
            let key_end = self.key(at)?;
            let key = Span { start: at, end: key_end, is_plain: !self.has_escapes };
            let start = self.colon(key_end)?.get();
            let end = value(self, key, start, depth)?;
            at = self.space(end.get());
            match self.byte(at) {
                b',' => at = self.space(next(at)),
                b'}' => return after(at),
                _ => return self.fail(at, "',' or '}'"),
            }
        }
    }

    /// The list at `at`, of which `value` reads the elements.
    #[inline(always)]
    fn list(&mut self, at: usize, depth: usize, mut value: impl FnMut(&mut Self, usize, usize) -> End) -> End {
        let Some(depth) = depth.checked_sub(1) else { return self.too_deep(at) };
        let mut at = self.space(next(at));
        if self.byte(at) == b']' {
            return after(at);
        }
        loop {
            let end = value(self, at, depth)?;
            at = self.space(end.get());
            match self.byte(at) {
                b',' => at = self.space(next(at)),
                b']' => return after(at),
                _ => return self.fail(at, "',' or ']'"),
            }
        }
    }

    fn scalar(&mut self, at: usize) -> End {
        match self.byte(at) {
            b'-' | b'0'..=b'9' => self.number(at),
            b't' => self.word(at, "true"),
            b'f' => self.word(at, "false"),
            b'n' => self.word(at, "null"),
            _ => self.fail(at, "a value"),
        }
    }

    #[inline(always)]
    fn key(&mut self, at: usize) -> End {
        if self.byte(at) == b'"' { self.string(at) } else { self.fail(at, "a key in double quotes") }
    }

    /// The position of the value whose key ends at `end`.
    #[inline(always)]
    fn colon(&mut self, end: NonZeroUsize) -> End {
        let at = self.space(end.get());
        if self.byte(at) == b':' { NonZeroUsize::new(self.space(next(at))) } else { self.fail(at, "':'") }
    }

    /// The string at `at`. Most are so short that the first eight bytes show their end.
    #[inline(always)]
    fn string(&mut self, at: usize) -> End {
        let at = next(at);
        let end = self.eight(at).map_or(at, |eight| at.wrapping_add(special(eight).trailing_zeros() as usize >> 3));
        if self.byte(end) == b'"' { after(end) } else { self.rest_of_string(end) }
    }

    fn rest_of_string(&mut self, mut at: usize) -> End {
        loop {
            while let Some(eight) = self.eight(at) {
                let special = special(eight);
                at = at.wrapping_add(special.trailing_zeros() as usize >> 3);
                if special != 0 {
                    break;
                }
            }
            match self.byte(at) {
                b'"' => return after(at),
                b'\\' => at = self.escape(next(at))?.get(),
                ..0x20 => return self.fail(at, "more of the string, and control characters escaped"),
                _ => at = next(at),
            }
        }
    }

    #[cold]
    fn escape(&mut self, at: usize) -> End {
        self.has_escapes = true;
        match self.byte(at) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => after(at),
            b'u' => {
                let digits = self.text.as_bytes().get(next(at)..at.wrapping_add(5)).unwrap_or_default();
                if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) {
                    NonZeroUsize::new(at.wrapping_add(5))
                } else {
                    self.fail(at, "four hexadecimal digits")
                }
            }
            _ => self.fail(at, "an escape sequence"),
        }
    }

    fn number(&mut self, at: usize) -> End {
        let mut at = if self.byte(at) == b'-' { next(at) } else { at };
        at = if self.byte(at) == b'0' { next(at) } else { self.digits(at)?.get() };
        if self.byte(at) == b'.' {
            at = self.digits(next(at))?.get();
        }
        if matches!(self.byte(at), b'e' | b'E') {
            at = next(at);
            if matches!(self.byte(at), b'+' | b'-') {
                at = next(at);
            }
            at = self.digits(at)?.get();
        }
        NonZeroUsize::new(at)
    }

    fn digits(&mut self, start: usize) -> End {
        let mut at = start;
        while self.byte(at).is_ascii_digit() {
            at = next(at);
        }
        if at == start { self.fail(at, "a digit") } else { NonZeroUsize::new(at) }
    }

    fn word(&mut self, at: usize, word: &str) -> End {
        let end = at.wrapping_add(word.len());
        if self.text.get(at..end) == Some(word) { NonZeroUsize::new(end) } else { self.fail(at, "a value") }
    }

    /// The position of the next byte from `at` on that is no white space. Between machines there is hardly any.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        if self.byte(at) > b' ' { at } else { self.spaces(at) }
    }

    #[inline(never)]
    fn spaces(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\n' | b'\r' | b'\t') {
            at = next(at);
        }
        at
    }

    /// The byte at `at`; at the end, one that belongs nowhere.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    #[inline]
    fn eight(&self, at: usize) -> Option<u64> {
        let rest = self.text.as_bytes().get(at..)?;
        rest.first_chunk().map(|eight| u64::from_le_bytes(*eight))
    }

    fn key_of(&self, span: Span) -> Key<'a> {
        Key { text: Cow::Borrowed(self.between(span.start, span.end)), is_plain: span.is_plain }
    }

    /// Whether the key is `name`; most are of another length.
    fn is(&self, key: Span, name: &str) -> bool {
        let length = key.end.get().wrapping_sub(key.start);
        (length == name.len().wrapping_add(2) || !key.is_plain) && self.key_of(key).is(name)
    }

    fn between(&self, start: usize, end: NonZeroUsize) -> &'a str {
        self.text.get(start..end.get()).unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&mut self, at: usize) -> End {
        self.fail(at, "at most 128 levels of nesting")
    }

    #[cold]
    #[inline(never)]
    const fn fail(&mut self, at: usize, expected: &'static str) -> End {
        self.wrong = Some((at, expected));
        None
    }

    #[cold]
    #[inline(never)]
    fn mismatch(&self) -> Mismatch {
        let (at, expected) = self.wrong.unwrap_or((0, "a value"));
        let found = if at < self.text.len() { "something else" } else { "the end of the text" };
        Mismatch::new(expected, found).within(&format!("byte {at}"))
    }
}

#[inline]
const fn next(at: usize) -> usize {
    at.wrapping_add(1)
}

#[inline]
const fn after(at: usize) -> End {
    NonZeroUsize::new(next(at))
}

/// Marks the bytes of a string, given eight of them, that are a quote, a backslash or a control character: the lowest
/// bit that is set lies in the first of them.
#[inline]
const fn special(eight: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    // A borrow goes up only from a byte that is marked, and bytes beyond ASCII are none of these.
    let control = eight.wrapping_sub(SPACES);
    let quote = (eight ^ QUOTES).wrapping_sub(ONES);
    let backslash = (eight ^ BACKSLASHES).wrapping_sub(ONES);
    (control | quote | backslash) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;

    /// Texts with everything that JSON has, and the corners of its grammar.
    const TEXTS: [&str; 12] = [
        r#"{"a":1,"b":{"c":[true,false,null,{}],"d":""},"e":[[],[{}]],"":0}"#,
        " {\t\"a\" :\r\n 1 , \"b\" : [ 1 , 2 ] } ",
        "[0,-0,10,-1.5,0.25e10,1E+2,2e-3,123456789012345678901234567890]",
        r#"["\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00","\ud83d"]"#,
        r#"["more than eight bytes, and more than sixteen","exactly8","seven77","quote at nine\""]"#,
        "[\"ü\",\"日本語日本語\",\"\u{7f}\u{80}\u{10ffff}\"]",
        "\"text\"",
        "null",
        "-1",
        "[\"a\u{1f}b\"]",
        "[\"12345678\u{0}\"]",
        "[01,1.,.5,+1,1e,--1,tru,nulll,'a',\"\\x\",\"\\u12g4\",{a:1},{\"a\"},{\"a\":},[1,],{\"a\":1,},{,},[,]]",
    ];

    fn agrees(text: &str) {
        let known = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let deep = Outline::Object(&[("b", Outline::Object(&[("c", Outline::List)])), ("e", Outline::ListBy("a"))]);
        for outline in [None, Some(&Outline::FLAT), Some(&Outline::List), Some(&Outline::ListBy("a")), Some(&deep)] {
            assert_eq!(Scanner::new(text).whole(outline).is_ok(), known, "{text:?}, {outline:?}");
        }
    }

    #[test]
    fn what_is_json_is_what_serde_json_takes_for_it() {
        for text in TEXTS {
            agrees(text);
            for (at, character) in text.char_indices() {
                let (before, from) = text.split_at(at);
                let (_, after) = text.split_at(at + character.len_utf8());
                agrees(before);
                agrees(from);
                for odd in ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", " ", "\u{1}", "ü", "t"] {
                    agrees(&format!("{before}{odd}{after}"));
                    agrees(&format!("{before}{odd}{from}"));
                }
            }
        }
        for piece in TEXTS[11].trim_matches(['[', ']']).split(',') {
            agrees(piece);
        }
    }

    #[test]
    fn every_byte_of_a_string_is_looked_at() {
        for length in 0..40 {
            for at in 0..length {
                for odd in ["\"", "\\", "\u{1f}", "\u{0}", "é", "\u{7f}", " ", "!"] {
                    agrees(&format!("\"{}{odd}{}\"", "x".repeat(at), "x".repeat(length - at)));
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str| Scanner::new(text).whole(Some(&Outline::FLAT)).unwrap_err().to_string();
        assert_eq!(told(""), "byte 0: expected a value, found the end of the text");
        assert_eq!(told(r#"{"a":1"#), "byte 6: expected ',' or '}', found the end of the text");
        assert_eq!(told(r#"{"a" 1}"#), "byte 5: expected ':', found something else");
        assert_eq!(told("[1,]"), "byte 3: expected a value, found something else");
        assert_eq!(told("{} {}"), "byte 3: expected the end of the text, found something else");
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Scanner::new(&nested(128)).whole(None).is_ok());
        let error = Scanner::new(&nested(129)).whole(None).unwrap_err();
        assert_eq!(error.to_string(), "byte 128: expected at most 128 levels of nesting, found something else");
        assert!(Scanner::new(&r#"{"a":"#.repeat(100_000)).whole(Some(&Outline::FLAT)).is_err());
    }
}
