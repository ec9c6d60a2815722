//! All that a namespace adds to a Pod.

use super::injection::Injection;
use super::preferences::{self, Preference};
use super::tolerations;
use crate::decision::Decision;
use crate::json::{RawObject, ReadError};
use crate::toleration::Toleration;

/// What is to be added to a Pod that is let in.
#[derive(Debug)]
pub struct PodMutation<'r> {
    /// What is added to its nodeSelector and node affinity.
    pub injection: Injection<'r>,
    /// What is added to its tolerations.
    pub tolerations: Vec<Toleration>,
    /// What is added to its preferences.
    pub preferences: Vec<Preference>,
}

impl PodMutation<'_> {
    /// Whether nothing is added.
    pub const fn is_empty(&self) -> bool {
        self.injection.is_empty() && self.tolerations.is_empty() && self.preferences.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn apply(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        self.injection.write(spec)?;
        preferences::write(&self.preferences, spec)?;
        tolerations::write(&self.tolerations, spec)
    }

    /// All of it as text, as the audit log has it.
    pub fn as_text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.injection.is_empty() {
            parts.push(format!("node-selector {}", self.injection.as_text()));
        }
        let preferences: Vec<String> = self.preferences.iter().map(|own| own.selector.to_string()).collect();
        if !preferences.is_empty() {
            parts.push(format!("preferred {}", preferences.join("; ")));
        }
        if !self.tolerations.is_empty() {
            parts.push(format!("tolerations {}", tolerations::as_text(&self.tolerations)));
        }
        parts.join("; ")
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        self.injection.record(decision);
        if !self.tolerations.is_empty() {
            decision.audit("tolerations", tolerations::as_text(&self.tolerations));
        }
    }
}
