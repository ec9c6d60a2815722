//! `enforcement: Warn`: what would be rejected is let through, with a warning.

use super::holding_entry::HoldingEntry;
use crate::decision::{Decision, Rejection};
use crate::settings::Enforcement;

impl HoldingEntry<'_> {
    /// Whether what the entry says is enforced.
    pub fn is_enforced(&self) -> bool {
        self.entry.is_none_or(|at| at.entry.enforcement == Enforcement::Enforce)
    }

    /// The `verdict`; nothing, and a warning, where it was rejected by rules that are not enforced.
    ///
    /// # Errors
    /// The rejection.
    pub fn enforce<T>(
        &self,
        verdict: Result<T, Rejection>,
        decision: &mut Decision<'_>,
    ) -> Result<Option<T>, Rejection> {
        match verdict {
            Err(rejection) if !self.is_enforced() && rejection.is_forbidden() => {
                decision.would_reject(&rejection);
                Ok(None)
            }
            verdict => verdict.map(Some),
        }
    }
}
