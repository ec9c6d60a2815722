//! How far a command is, for who waits at a terminal.

use std::{
    cell::Cell,
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use super::terminal::escaped;

/// Who waits longer than this wants to see that something happens.
const PATIENCE: Duration = Duration::from_secs(2);
/// So often, at most, a line on the terminal changes.
const TICK: Duration = Duration::from_millis(100);

/// A line on the terminal that says how far it is.
pub struct Progress {
    start: Instant,
    is_watched: bool,
    /// When it was told last, if it was.
    told: Cell<Option<Instant>>,
}

impl Progress {
    /// Of what begins now.
    pub fn begin() -> Self {
        Self { start: Instant::now(), is_watched: stderr().is_terminal(), told: Cell::new(None) }
    }

    /// Says what is being done, to who has waited for it.
    pub fn tell(&self, what: &str) {
        let is_early = self.told.get().is_some_and(|told| told.elapsed() < TICK);
        if !self.is_watched || is_early || self.start.elapsed() < PATIENCE {
            return;
        }
        let _ = write!(stderr(), "\r\x1b[K{}", escaped(what));
        self.told.set(Some(Instant::now()));
    }
}

/// It goes before anything else is printed, errors too.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.told.get().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
