//! The words of a selector, as `labels.Lexer` cuts them.

/// A word, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub token: Token,
    pub text: &'a str,
    pub at: usize,
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// The next word of `text` at or after byte `from`, and the byte where the one after it may begin.
///
/// A NUL byte ends the text where a word would begin, and a word that it stands in. It is swallowed.
pub(super) fn next(text: &str, from: usize) -> (Word<'_>, usize) {
    let rest = text.get(from..).unwrap_or_default();
    let word_text = rest.trim_start_matches(is_space);
    let at = text.len() - word_text.len();
    let (token, length) = match word_text.chars().next() {
        None | Some('\0') => (Token::End, 0),
        Some(first) if is_special(first) => special(word_text),
        Some(_) => identifier(word_text),
    };
    let literal = word_text.get(..length).unwrap_or_default();
    let mut end = at + length;
    if text.as_bytes().get(end) == Some(&0) {
        end += 1;
    }
    (Word { token, text: literal, at }, end)
}

fn special(text: &str) -> (Token, usize) {
    match text.as_bytes() {
        [b'=', b'=', ..] => (Token::DoubleEquals, 2),
        [b'!', b'=', ..] => (Token::NotEquals, 2),
        [b'=', ..] => (Token::Equals, 1),
        [b'!', ..] => (Token::Not, 1),
        [b'>', ..] => (Token::Greater, 1),
        [b'<', ..] => (Token::Less, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        _ => (Token::Comma, 1),
    }
}

fn identifier(text: &str) -> (Token, usize) {
    let ends = |c: char| c == '\0' || is_space(c) || is_special(c);
    let length = text.find(ends).unwrap_or(text.len());
    let token = match text.get(..length) {
        Some("in") => Token::In,
        Some("notin") => Token::NotIn,
        _ => Token::Identifier,
    };
    (token, length)
}

/// Only these four; Unicode's other spaces are part of a word.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

const fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
