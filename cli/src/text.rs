//! Texts as they may be shown: on lines that fit, without control characters.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Breaks a text at spaces, so that no line is longer than `width`, unless a single word is; its own line breaks stay.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    text.lines().flat_map(|line| textwrap::wrap(line, &options)).map(Cow::into_owned).collect()
}

/// Returns a text whose control characters are written out, as `\u001b`: what comes from files or a cluster could clear
/// the screen, or say something else than it shows. Ends of lines stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escape(text, is_dangerous)
}

/// Returns the same for a file, in which tabs stay.
pub fn escaped_in_file(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_dangerous(character) && character != '\t')
}

fn escape(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_escaped(character) {
            true => escaped += &format!("\\u{:04x}", u32::from(character)),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// C0 but the line's end, DEL, C1, and what changes the direction in which text is written (Unicode's
/// `Bidi_Control`).
fn is_dangerous(character: char) -> bool {
    character.is_control() && character != '\n'
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        let screen = "\u{1b}[2J\u{1b}[Henv=prod\r\n\u{7f}\u{9b}31m\u{202e}abc\u{2066}\t";
        let expected = "\\u001b[2J\\u001b[Henv=prod\\u000d\n\\u007f\\u009b31m\\u202eabc\\u2066\\u0009";
        assert_eq!(escaped(screen), expected);
        assert_eq!(escaped("größer, 日本\n"), "größer, 日本\n");
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        assert_eq!(wrap("one two-three four\n\nfive", 7), ["one", "two-three", "four", "", "five"]);
    }

    #[test]
    fn what_is_written_with_spaces_stays_so() {
        assert_eq!(wrap("  a  b", 10), ["  a  b"]);
    }
}
