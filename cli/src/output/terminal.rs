//! The terminal: how wide it is, lines that fit, what must not reach it, and how far a command is.

use std::{
    borrow::Cow,
    cell::Cell,
    env,
    io::{IsTerminal, Write, stderr, stdout},
    time::{Duration, Instant},
};

use terminal_size::{Width, terminal_size};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Where there is no terminal, and nobody says otherwise.
pub const WIDTH: usize = 100;

/// Narrower lines nobody reads.
const LEAST_WIDTH: usize = 40;

/// How wide lines may be: as the terminal is that shows them, else as `COLUMNS` says, else 100.
pub fn width() -> usize {
    let terminal = stdout().is_terminal().then(terminal_size).flatten().map(|(Width(width), _)| usize::from(width));
    let columns = || env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(columns).unwrap_or(WIDTH).max(LEAST_WIDTH)
}

/// Breaks a text at spaces, so that no line is longer than `width`, unless a single word is; its own line breaks stay.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    text.lines().flat_map(|line| textwrap::wrap(line, &options)).map(Cow::into_owned).collect()
}

/// A text whose control characters are written out, as `\u001b`: what comes from files or a cluster could clear the
/// screen, or say something else than it shows. Ends of lines stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_dangerous(character) {
            true => escaped += &format!("\\u{:04x}", u32::from(character)),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Prints a line to the standard error. Readers that leave early are free to.
pub fn print_stderr(text: &str) {
    let _ = writeln!(stderr(), "{}", escaped(text));
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

/// A line on the terminal that says how far a command is, for who waits longer than two seconds.
pub struct Progress {
    start: Instant,
    is_terminal: bool,
    last_update: Cell<Option<Instant>>,
}

/// Who waits longer than this wants to see that something happens.
const PATIENCE: Duration = Duration::from_secs(2);
/// So often, at most, the line changes.
const TICK: Duration = Duration::from_millis(100);

impl Progress {
    /// Of what begins now.
    pub fn begin() -> Self {
        Self { start: Instant::now(), is_terminal: stderr().is_terminal(), last_update: Cell::new(None) }
    }

    /// Says what is being done.
    pub fn update(&self, activity: &str) {
        let is_early = self.last_update.get().is_some_and(|last| last.elapsed() < TICK);
        if !self.is_terminal || is_early || self.start.elapsed() < PATIENCE {
            return;
        }
        let _ = write!(stderr(), "\r\x1b[K{}", escaped(activity));
        self.last_update.set(Some(Instant::now()));
    }
}

/// The line goes before anything else is printed, errors too.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.last_update.get().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
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
