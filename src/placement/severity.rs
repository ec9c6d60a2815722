//! How a rejection is answered.

use crate::decision::{Decision, Rejection, Status};

/// The answer to a request that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The request is rejected.
    Reject,
    /// The entry has `enforcement: Warn`: the request is accepted as it came, and what would happen is reported.
    Report,
    /// An `on…` setting is `Warn`: the request is accepted with a warning.
    Warn,
}

impl Severity {
    /// Returns the value of a verdict, or reports the rejection and returns `None`.
    ///
    /// # Errors
    /// The rejection.
    pub fn answer<T>(self, verdict: Result<T, Rejection>, decision: &mut Decision<'_>) -> Result<Option<T>, Rejection> {
        match verdict {
            Ok(value) => Ok(Some(value)),
            Err(rejection) => self.report(rejection, decision).map(|()| None),
        }
    }

    fn report(self, rejection: Rejection, decision: &mut Decision<'_>) -> Result<(), Rejection> {
        match (self, rejection.status()) {
            (Self::Report, Status::Forbidden) => decision.would_reject(&rejection),
            (Self::Warn, Status::Forbidden | Status::Internal) => decision.warn_instead(&rejection),
            _ => return Err(rejection),
        }
        Ok(())
    }
}
