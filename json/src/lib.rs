//! JSON texts, cut into pieces but not converted.
//!
//! A [`Scanner`] says whether a text is JSON and where its values begin and end, which is all that the policy needs of
//! most of it. Levels that are surely read are cut on the way, so that most bytes are looked at once.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

mod object;
mod scan;
mod string_map;

pub use object::Object;
pub use scan::Outline;
pub use string_map::StringMap;

use object::Shared;
use scan::{Cut, Scanner};

/// The text of one well-formed JSON value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Json<'a>(&'a str);

/// An element of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Element<'a> {
    /// The element.
    pub json: Json<'a>,
    /// Its members, if it is an object.
    pub(crate) members: Option<Shared<'a>>,
}

/// An element of a list, and the string that it has under some key.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<'a> {
    /// The string; none, if there is no such member, it is no string, or the element is no object.
    pub name: Option<Cow<'a, str>>,
    /// The element.
    pub json: Json<'a>,
}

/// A value is not of the type that is needed there.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Where, as in `spec.nodeSelector`; empty for the value itself.
    path: String,
    expected: &'static str,
    found: &'static str,
}

impl Mismatch {
    /// What is wrong with the value itself; the caller says [`within`](Self::within) what it stands.
    pub const fn new(expected: &'static str, found: &'static str) -> Self {
        Self { path: String::new(), expected, found }
    }

    /// The same mismatch, seen from the value that holds it under `parent`.
    #[cold]
    #[inline(never)]
    pub fn within(mut self, parent: &str) -> Self {
        if !self.path.is_empty() && !parent.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, parent);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}expected {}, found {}", self.path, self.expected, self.found)
    }
}

impl<'a> Json<'a> {
    /// `null`
    pub const NULL: Self = Self("null");

    /// Reads `text` as one JSON value.
    ///
    /// # Errors
    /// Where it is not JSON.
    pub fn parse(text: &'a str) -> Result<Self, Mismatch> {
        Scanner::new(text).whole(None).map(|(value, _)| value)
    }

    /// The value as it was written.
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// Whether this is `null`, which Kubernetes takes for absent.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// What kind of value this is, for a message. JSON tells by the first character.
    pub fn kind(self) -> &'static str {
        match self.0.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// The members, if this is an object.
    pub fn object(self) -> Result<Object<'a>, Mismatch> {
        Object::parse(self.0, &Outline::FLAT)
    }

    /// The elements, if this is a list.
    pub fn list(self) -> Result<Rc<[Element<'a>]>, Mismatch> {
        match Scanner::new(self.0).whole(Some(&Outline::List))? {
            (_, Cut::List(elements)) => Ok(elements),
            _ => Err(Mismatch::new("a list", self.kind())),
        }
    }

    fn list_by(self, key: &'static str) -> Result<Rc<[Named<'a>]>, Mismatch> {
        match Scanner::new(self.0).whole(Some(&Outline::ListBy(key)))? {
            (_, Cut::ListBy(elements)) => Ok(elements),
            _ => Err(Mismatch::new("a list", self.kind())),
        }
    }

    /// What `read` makes of each element, if this is a list.
    pub fn each<T>(self, read: impl Fn(&Element<'a>) -> Result<T, Mismatch>) -> Result<Vec<T>, Mismatch> {
        let mut all = Vec::new();
        for (at, element) in self.list()?.iter().enumerate() {
            all.push(read(element).map_err(|mismatch| mismatch.within(&format!("[{at}]")))?);
        }
        Ok(all)
    }

    /// The elements, if this is a list of objects.
    pub fn objects(self) -> Result<Vec<Object<'a>>, Mismatch> {
        self.each(Element::object)
    }

    /// The elements, if this is a list of strings.
    pub fn strings(self) -> Result<Vec<Cow<'a, str>>, Mismatch> {
        self.each(|element| element.json.string())
    }

    /// The characters, if this is a string; copied only if some were escaped.
    pub fn string(self) -> Result<Cow<'a, str>, Mismatch> {
        self.expect("a string", '"')?;
        let inner = self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default();
        if inner.contains('\\') {
            unescape(inner).map(Cow::Owned).ok_or(Mismatch::new("a string", "half of a surrogate pair"))
        } else {
            Ok(Cow::Borrowed(inner))
        }
    }

    /// The value of a boolean.
    pub fn boolean(self) -> Result<bool, Mismatch> {
        match self.0 {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Mismatch::new("true or false", self.kind())),
        }
    }

    pub(crate) const fn of(text: &'a str) -> Self {
        Self(text)
    }

    fn expect(self, expected: &'static str, first: char) -> Result<(), Mismatch> {
        if self.0.starts_with(first) { Ok(()) } else { Err(Mismatch::new(expected, self.kind())) }
    }
}

impl<'a> Element<'a> {
    /// The members, if this is an object.
    pub fn object(&self) -> Result<Object<'a>, Mismatch> {
        let members = self.members.clone().map(Object::of);
        members.ok_or_else(|| Mismatch::new("an object", self.json.kind()))
    }
}

/// `text` as a JSON string.
pub fn encode(text: &str) -> String {
    // Writing a string into memory can't fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// The characters of a JSON string, given what stands between its quotes; nothing, if they are no text.
fn unescape(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match rest.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = hex(&mut rest)?;
                let low = |rest: &mut std::str::Chars<'_>| {
                    (rest.next() == Some('\\') && rest.next() == Some('u')).then(|| hex(rest))?
                };
                let units = if (0xD800..0xDC00).contains(&unit) { vec![unit, low(&mut rest)?] } else { vec![unit] };
                char::decode_utf16(units).next()?.ok()?
            }
            itself => itself,
        });
    }
    Some(text)
}

fn hex(rest: &mut std::str::Chars<'_>) -> Option<u16> {
    let digits = rest.as_str().get(..4)?;
    *rest = rest.as_str().get(4..)?.chars();
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unescaped_as_serde_json_does() {
        for text in [
            r#""plain""#,
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\u00e9\ud83d\ude00x""#,
            r#""\ud83d""#,
            r#""\ud83dx""#,
            r#""\ud83d\u0041""#,
            r#""\ude00""#,
            r#""ü\u0000""#,
        ] {
            let expected = serde_json::from_str::<String>(text).ok();
            assert_eq!(Json::of(text).string().ok().map(Cow::into_owned), expected, "{text}");
        }
    }

    #[test]
    fn lists_are_cut_at_their_own_commas() {
        let list = Json::parse(r#" [ 1 , "a,]" ,[2,[3]],{"b":[4]} , null,true ] "#).unwrap();
        let texts: Vec<&str> = list.list().unwrap().iter().map(|element| element.json.text()).collect();
        assert_eq!(texts, ["1", r#""a,]""#, "[2,[3]]", r#"{"b":[4]}"#, "null", "true"]);
        assert!(Json::of("[ ]").list().unwrap().is_empty());
    }

    #[test]
    fn a_value_is_read_as_what_it_is() {
        for (text, kind) in [
            ("{}", "an object"),
            ("[]", "a list"),
            (r#""""#, "a string"),
            ("true", "a boolean"),
            ("false", "a boolean"),
            ("null", "null"),
            ("0", "a number"),
            ("-1", "a number"),
        ] {
            let json = Json::parse(text).unwrap();
            assert_eq!(json.kind(), kind);
            assert_eq!(json.object().is_ok(), kind == "an object");
            assert_eq!(json.list().is_ok(), kind == "a list");
            assert_eq!(json.string().is_ok(), kind == "a string");
            assert_eq!(json.boolean().is_ok(), kind == "a boolean");
            assert_eq!(json.boolean().unwrap_or_default(), text == "true");
            assert_eq!(json.is_null(), kind == "null");
        }
    }

    #[test]
    fn lists_of_strings_and_of_objects_are_read_whole() {
        let list = |text| Json::parse(text).unwrap();
        assert_eq!(list(r#"["a","\u0062",""]"#).strings().unwrap(), ["a", "b", ""]);
        assert_eq!(list(r#"["a",1]"#).strings().unwrap_err().to_string(), "[1]: expected a string, found a number");
        let objects = list(r#"[{},{"a":true}]"#).objects().unwrap();
        let read: Vec<bool> = objects.iter().map(|object| object.get("a").is_some()).collect();
        assert_eq!(read, [false, true]);
        assert_eq!(list("[{},[]]").objects().unwrap_err().to_string(), "[1]: expected an object, found a list");
    }

    #[test]
    fn a_mismatch_says_where_and_what() {
        let whole = Json::of(r#"{"spec":{"nodeSelector":{"a":1}}}"#).object().unwrap();
        let spec = whole.object("spec").unwrap().unwrap();
        let mismatch = spec.string_map("nodeSelector").unwrap_err().within("spec");
        assert_eq!(mismatch.to_string(), r#"spec.nodeSelector["a"]: expected a string, found a number"#);
        let mismatch = whole.string("spec").unwrap_err();
        assert_eq!(mismatch.to_string(), "spec: expected a string, found an object");
    }
}
