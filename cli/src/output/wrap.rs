//! Lines that fit.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        assert_eq!(wrap("one two-three four\n\nfive", 7), ["one", "two-three", "four", "", "five"]);
    }

    #[test]
    fn what_is_written_with_spaces_stays_so() {
        assert_eq!(wrap("  a  b", 10), ["  a  b"]);
    }
}
