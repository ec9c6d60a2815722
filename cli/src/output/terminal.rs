//! The terminal: how wide it is, and how far a command is.

use std::{
    cell::Cell,
    env,
    io::{IsTerminal, Write, stderr, stdout},
    time::{Duration, Instant},
};

use terminal_size::{Width, terminal_size};

use crate::text::escaped;

/// Where there is no terminal, and nobody says otherwise.
pub const WIDTH: usize = 100;

/// Narrower lines nobody reads.
const LEAST_WIDTH: usize = 40;

/// Returns how wide lines may be: as the terminal is that shows them, else as `COLUMNS` says, else 100.
pub fn width() -> usize {
    let terminal = stdout().is_terminal().then(terminal_size).flatten().map(|(Width(width), _)| usize::from(width));
    let columns = || env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(columns).unwrap_or(WIDTH).max(LEAST_WIDTH)
}

/// Prints a line to the standard error. Readers that leave early are free to.
pub fn print_stderr(text: &str) {
    let _ = writeln!(stderr(), "{}", escaped(text));
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
    /// Begins a progress line.
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
