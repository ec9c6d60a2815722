//! What the policy would make of something, and how bad that is.

use serde::Serialize;

/// What the policy would make of a workload, or of a Pod that requests nothing; the worst first. With `--old`, a node
/// that accepts a Pod with the old settings counts as one that accepts it without the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Outcome {
    /// It, or its Pods, would be rejected.
    Refused,
    /// No node would accept its Pods, though one does without the policy.
    Waits,
    /// A DaemonSet whose Pods fit fewer nodes than without the policy.
    LeavesNodes,
    /// Pods of it run on nodes that would accept their replacements without the policy, and not with it. They keep
    /// running.
    Misplaced,
    /// It could not be evaluated: it depends on something that is not known of the cluster.
    CannotTell,
    /// It gets something, and the policy does not move it.
    Changed,
    /// Nothing happens to it.
    Unchanged,
    /// Neither it nor its Pods are sent to the policy.
    NotAsked,
}

/// What `--accept` can name: what is intended, and does not count against a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accepted {
    /// The outcome of this name.
    Misplaced,
    /// The outcome of this name.
    LeavesNodes,
    /// With other settings, a namespace may use more nodes.
    Opens,
}

impl Accepted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Misplaced, Self::LeavesNodes, Self::Opens];

    /// Returns its name, as `--accept` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Misplaced => "Misplaced",
            Self::LeavesNodes => "LeavesNodes",
            Self::Opens => "Opens",
        }
    }

    /// Returns the outcome, if it is one.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Misplaced => Some(Outcome::Misplaced),
            Self::LeavesNodes => Some(Outcome::LeavesNodes),
            Self::Opens => None,
        }
    }
}

/// An outcome, and whether an entry with `enforcement: Warn` keeps it from happening. Real outcomes are ordered before
/// those that only would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// Whether it only would be so: the namespace's entry says `enforcement: Warn`.
    pub would_be: bool,
    /// What would become of it.
    pub outcome: Outcome,
}

impl Outcome {
    /// Returns whether somebody has to do something about it before the policy is enforced.
    pub fn is_trouble(self) -> bool {
        self <= Self::CannotTell
    }

    /// Returns how `--accept` names it, if it can.
    pub const fn accepted(self) -> Option<Accepted> {
        match self {
            Self::Misplaced => Some(Accepted::Misplaced),
            Self::LeavesNodes => Some(Accepted::LeavesNodes),
            _ => None,
        }
    }

    /// Returns whether a verdict is not *Ready* because of it: it is trouble, and not `accepted`.
    pub fn holds_up(self, accepted: &[Self]) -> bool {
        self.is_trouble() && !(self.accepted().is_some() && accepted.contains(&self))
    }

    /// Returns the place of an outcome among those that can get worse, the worst first.
    pub const fn severity(self) -> usize {
        match self {
            Self::Refused => 0,
            Self::CannotTell => 1,
            Self::Waits => 2,
            Self::LeavesNodes => 3,
            Self::Misplaced => 4,
            Self::Changed | Self::Unchanged | Self::NotAsked => 5,
        }
    }

    /// Returns what a list of such workloads is headed by.
    pub fn title(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waits => "waits",
            Self::LeavesNodes => "leaves nodes",
            Self::Misplaced => "misplaced",
            Self::CannotTell => "could not be evaluated",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::NotAsked => "not asked",
        }
    }
}

impl Forecast {
    /// Makes the forecast of an outcome that is real.
    pub const fn real(outcome: Outcome) -> Self {
        Self { would_be: false, outcome }
    }

    /// Returns `refused`, `would be: refused`.
    pub fn title(self) -> String {
        let would_be = if self.would_be { "would be: " } else { "" };
        format!("{would_be}{}", self.outcome.title())
    }

    /// Returns whether it is trouble, and happens.
    pub fn is_real_trouble(self) -> bool {
        self.outcome.is_trouble() && !self.would_be
    }

    /// Returns whether it happens, and a verdict is not *Ready* because of it.
    pub fn holds_up(self, accepted: &[Outcome]) -> bool {
        !self.would_be && self.outcome.holds_up(accepted)
    }
}
