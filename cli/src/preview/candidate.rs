//! A subject as it is created in every scenario, before nodes are looked at.

use anyhow::{Context, Result};

use super::subject::Subject;
use crate::{
    verdict::Draft,
    webhook::deployment::{Deployment, Scenario},
};

/// A subject as it is created with some settings.
pub struct Attempt {
    /// As it is with the settings.
    pub with: Draft,
    /// As if every entry was enforced; nothing, where no entry warns.
    pub enforced: Option<Draft>,
}

/// A subject as it is created in all scenarios.
pub struct Candidate<'s> {
    /// The subject.
    pub subject: &'s Subject<'s>,
    /// What it is without the policy.
    pub without: Draft,
    /// With the settings that are previewed.
    pub now: Attempt,
    /// With the settings that hold now.
    pub old: Option<Attempt>,
    /// What becomes of its parts, in their order.
    pub parts: Vec<Self>,
    /// Its Pods that wait, as they are.
    pub standing: Vec<(&'s Subject<'s>, Draft)>,
    /// What something else adds to its Pods, in words.
    pub others: Option<String>,
}

impl Attempt {
    /// Returns the subject in front of a deployment; with `is_enforced`, as if every entry was enforced.
    pub fn in_scenario<'a>(&'a self, deployment: &'a Deployment<'a>, is_enforced: bool) -> (&'a Draft, Scenario<'a>) {
        match self.enforced.as_ref().filter(|_| is_enforced) {
            Some(enforced) => (enforced, Scenario::Enforced(deployment)),
            None => (&self.with, Scenario::With(deployment)),
        }
    }
}

impl Candidate<'_> {
    /// Returns it as it is created with the settings that are previewed, or with the old ones.
    ///
    /// # Errors
    /// There are no old settings.
    pub fn attempt(&self, is_old: bool) -> Result<&Attempt> {
        let attempt = if is_old { self.old.as_ref() } else { Some(&self.now) };
        attempt.context("nothing was created with the old settings")
    }
}
