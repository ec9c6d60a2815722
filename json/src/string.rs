//! JSON strings: from characters to their spelling, and back.

use std::borrow::Cow;
use std::str::Chars;

use crate::mismatch::Mismatch;

/// `text` as a JSON string, quotes included.
pub fn encode(text: &str) -> String {
    // Writing a string into memory can't fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// The characters of the JSON string `text`; copied only if some were escaped.
pub fn characters(text: &str) -> Result<Cow<'_, str>, Mismatch> {
    let inner = text.get(1..text.len() - 1).unwrap_or_default();
    if !inner.as_bytes().contains(&b'\\') {
        return Ok(Cow::Borrowed(inner));
    }
    match unescape(inner) {
        Some(text) => Ok(Cow::Owned(text)),
        None => Err(Mismatch::new("a string", "half of a surrogate pair")),
    }
}

/// The characters of a JSON string, given what stands between its quotes; nothing, if an escape sequence is half of a
/// surrogate pair without the other, which is no character.
pub fn unescape(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    // Escapes mostly come close together: a search made for long texts takes longer to begin than these take to end.
    while let Some(length) = rest.bytes().position(|byte| byte == b'\\') {
        let (plain, escape) = rest.split_at_checked(length)?;
        text.push_str(plain);
        let mut after = escape.chars();
        after.next();
        text.push(escaped(&mut after)?);
        rest = after.as_str();
    }
    text.push_str(rest);
    Some(text)
}

/// The character whose escape sequence `rest` begins with, after the backslash.
fn escaped(rest: &mut Chars<'_>) -> Option<char> {
    Some(match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = unit(rest)?;
            let is_half = (0xD800..0xDC00).contains(&first);
            let units = if is_half { vec![first, second_half(rest)?] } else { vec![first] };
            char::decode_utf16(units).next()?.ok()?
        }
        itself => itself,
    })
}

fn second_half(rest: &mut Chars<'_>) -> Option<u16> {
    if rest.next()? != '\\' || rest.next()? != 'u' {
        return None;
    }
    unit(rest)
}

/// The UTF-16 unit whose four hexadecimal digits `rest` begins with.
fn unit(rest: &mut Chars<'_>) -> Option<u16> {
    let (digits, after) = rest.as_str().split_at_checked(4)?;
    *rest = after.chars();
    u16::from_str_radix(digits, 16).ok()
}
