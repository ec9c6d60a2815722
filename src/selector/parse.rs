//! Reads the label-selector language exactly as `labels.Parse` does.
//!
//! ```text
//! selector    = [ requirement *( "," requirement ) ]
//! requirement = key / "!" key / key operator value / key ( "in" / "notin" ) "(" values ")"
//! operator    = "=" / "==" / "!=" / ">" / "<"
//! ```

use std::collections::BTreeMap;

use super::{Invalid, Operator, Requirement, Selector, syntax};
use crate::message::quote;

/// Parses `text`. An empty text selects every node.
///
/// # Errors
/// What was found where, and what was expected.
///
/// Upstream: `labels.Parse`, with its oddities: `k in ()` and `k=` mean the empty value, `in` and `notin` may be
/// keys and values, spaces are only space, tab, CR and LF.
pub fn parse(text: &str) -> Result<Selector, String> {
    let mut parser = Parser { text, at: 0 };
    let mut requirements = Vec::new();
    if parser.peek().is_end() {
        return Ok(Selector::default());
    }
    loop {
        requirements.push(parser.requirement()?);
        let word = parser.take();
        match word.text {
            "" => return Ok(Selector::new(requirements)),
            "," => {}
            _ => return Err(word.unexpected("',' or the end")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    /// Returns the next word without taking it.
    fn peek(&self) -> Word<'a> {
        next(self.text, self.at).0
    }

    fn take(&mut self) -> Word<'a> {
        let (word, after) = next(self.text, self.at);
        self.at = after;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut key = self.take();
        let negated = key.text == "!";
        if negated {
            key = self.take();
        }
        if !key.is_identifier() {
            return Err(key.unexpected(if negated { "a key" } else { "a key or '!'" }));
        }
        syntax::label_key(key.text).map_err(|expected| no_key(key.at, key.text, expected))?;
        if negated {
            return build(key, key, Operator::DoesNotExist, Vec::new());
        }
        if self.peek().ends_requirement() {
            return build(key, key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let first = self.peek();
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        build(key, first, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let word = self.take();
        match word.text {
            "in" => Ok(Operator::In),
            "notin" => Ok(Operator::NotIn),
            "=" => Ok(Operator::Equals),
            "==" => Ok(Operator::DoubleEquals),
            "!=" => Ok(Operator::NotEquals),
            ">" => Ok(Operator::GreaterThan),
            "<" => Ok(Operator::LessThan),
            _ => Err(word.unexpected("an operator: =, ==, !=, in, notin, > or <")),
        }
    }

    /// Takes one value. Before a comma or the end, it is empty.
    fn value(&mut self) -> Result<String, String> {
        if self.peek().ends_requirement() {
            return Ok(String::new());
        }
        let word = self.take();
        if word.is_identifier() { Ok(word.text.to_owned()) } else { Err(word.unexpected("a value")) }
    }

    /// Takes a list in parentheses. A value beside a comma may be empty.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.take();
        if open.text != "(" {
            return Err(open.unexpected("'('"));
        }
        let mut values = Vec::new();
        loop {
            let mut value = "";
            let mut word = self.take();
            if word.is_identifier() {
                value = word.text;
                word = self.take();
            }
            values.push(value.to_owned());
            match word.text {
                "," => {}
                ")" => return Ok(values),
                _ => return Err(word.unexpected("',' or ')'")),
            }
        }
    }
}

fn build(key: Word<'_>, first: Word<'_>, operator: Operator, values: Vec<String>) -> Result<Requirement, String> {
    Requirement::new(key.text.to_owned(), operator, values).map_err(|invalid| match invalid {
        Invalid::Key(expected) => no_key(key.at, key.text, expected),
        Invalid::Value(value, expected) => no_value(first.at, &value, expected),
        Invalid::Count(expected) => unexpected(first.at, first.text, expected),
    })
}

/// A word, and the position where it begins. At the end of the text, it is empty.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    at: usize,
}

impl Word<'_> {
    const fn is_end(self) -> bool {
        self.text.is_empty()
    }

    fn ends_requirement(self) -> bool {
        self.is_end() || self.text == ","
    }

    /// Returns whether this is a key or a value; `in` and `notin` may be both.
    fn is_identifier(self) -> bool {
        !self.is_end() && !self.text.starts_with(is_special)
    }

    fn unexpected(self, expected: &'static str) -> String {
        unexpected(self.at, self.text, expected)
    }
}

/// Returns the next word of `text` at or after byte `from`, and the byte where the one after it may begin.
///
/// A NUL byte ends the text where a word would begin, and a word that it stands in. It is swallowed.
fn next(text: &str, from: usize) -> (Word<'_>, usize) {
    let rest = text.get(from..).unwrap_or_default();
    let word_text = rest.trim_start_matches(is_space);
    let at = text.len() - word_text.len();
    let ends_word = |c: char| c == '\0' || is_space(c) || is_special(c);
    let length = match word_text.as_bytes() {
        [b'=' | b'!', b'=', ..] => 2,
        _ if word_text.starts_with(is_special) => 1,
        _ => word_text.find(ends_word).unwrap_or(word_text.len()),
    };
    let mut end = at + length;
    if text.as_bytes().get(end) == Some(&0) {
        end += 1;
    }
    (Word { text: word_text.get(..length).unwrap_or_default(), at }, end)
}

/// Returns whether `c` is one of the four spaces. Other spaces of Unicode are part of a word.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

const fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

/// Words the problem that something else is expected at byte `at`. People count from 1.
fn unexpected(at: usize, found: &str, expected: &str) -> String {
    let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
    format!("found {found} at position {}, expected {expected}", at + 1)
}

/// Words the problem that the text at byte `at` is no label key.
fn no_key(at: usize, key: &str, expected: &str) -> String {
    format!("{} at position {} is not a label key, expected {expected}", quote(key), at + 1)
}

/// Words the problem that the text at byte `at` is no value for a label or for the operator.
fn no_value(at: usize, value: &str, expected: &str) -> String {
    format!("{} at position {} is not a valid value, expected {expected}", quote(value), at + 1)
}

/// Parses `text` as a comma-separated list of `key=value`. An empty text selects every node.
///
/// # Errors
/// What was found where, and what was expected.
pub fn parse_pairs(text: &str) -> Result<Selector, String> {
    let requirements = read_pairs(text)?.into_iter().map(|(key, value)| Requirement::pair(key, value));
    Ok(Selector::new(requirements.collect()))
}

/// Reads the comma-separated list of `key=value` in `text`.
///
/// # Errors
/// What was found where, and what was expected.
///
/// Upstream: `labels.ConvertSelectorToLabelsMap`, with its oddities: of equal keys the last wins, spaces around keys
/// and values are trimmed as Unicode has them, and a text of nothing but spaces is malformed.
pub fn read_pairs(text: &str) -> Result<BTreeMap<&str, &str>, String> {
    let mut pairs = BTreeMap::new();
    if text.is_empty() {
        return Ok(pairs);
    }
    let mut at: usize = 0;
    for pair in text.split(',') {
        let (key, value) = match pair.split_once('=') {
            Some((key, value)) if !value.contains('=') => (key.trim(), value.trim()),
            _ => return Err(unexpected(at, pair, "key=value")),
        };
        syntax::label_key(key).map_err(|expected| no_key(at, key, expected))?;
        syntax::label_value(value).map_err(|expected| no_value(at, value, expected))?;
        pairs.insert(key, value);
        at = at + pair.len() + 1;
    }
    Ok(pairs)
}
