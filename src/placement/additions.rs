//! All that a namespace adds to a Pod, and whether the Pod is held to the node that it names.

use super::injection::Injection;
use super::preferences::{self, Preference};
use super::tolerations;
use crate::decision::Decision;
use crate::json::{RawObject, ReadError};
use crate::toleration::Toleration;

/// What is to be added to a Pod that is let in.
#[derive(Debug)]
pub struct Additions<'r> {
    /// What is added to its nodeSelector and node affinity.
    pub injection: Injection<'r>,
    /// What is added to its tolerations.
    pub tolerations: Vec<Toleration>,
    /// What is added to its preferences.
    pub preferences: Vec<Preference>,
    /// Whether it names its node, and must be held to it.
    pub must_match_node: bool,
}

impl Additions<'_> {
    /// Whether nothing is added.
    pub const fn are_empty(&self) -> bool {
        self.injection.is_empty() && self.tolerations.is_empty() && self.preferences.is_empty()
    }

    /// Writes all of it into `spec`, a PodSpec.
    ///
    /// # Errors
    /// `spec` can't be read.
    pub fn write(&self, spec: &mut RawObject<'_>) -> Result<(), ReadError> {
        self.injection.write(spec)?;
        preferences::write(&self.preferences, spec)?;
        tolerations::write(&self.tolerations, spec)
    }

    /// All of it in words, as the audit log has them.
    pub fn in_words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        if !self.injection.is_empty() {
            words.push(format!("node-selector {}", self.injection.in_words()));
        }
        let preferences: Vec<String> = self.preferences.iter().map(|own| own.selector.to_string()).collect();
        if !preferences.is_empty() {
            words.push(format!("preferred {}", preferences.join("; ")));
        }
        if !self.tolerations.is_empty() {
            words.push(format!("tolerations {}", tolerations::in_words(&self.tolerations)));
        }
        words.join("; ")
    }

    /// Tells the audit log what was added, and where it is demanded.
    pub fn record(&self, decision: &mut Decision<'_>) {
        self.injection.record(decision);
        if !self.tolerations.is_empty() {
            decision.audit("tolerations", tolerations::in_words(&self.tolerations));
        }
    }
}
