//! What the policy would make of something, and how that compares.

use serde::Serialize;

/// What the policy would make of a workload, or of a Pod that asks for nothing; the worst first. With `--old`, a node
/// that takes a Pod with the old settings counts as one that takes it without the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Outcome {
    /// It, or its Pods, would be rejected.
    Refused,
    /// No node would take its Pods, though one does without the policy.
    Waits,
    /// A DaemonSet whose Pods fit fewer nodes than without the policy.
    LeavesNodes,
    /// Its Pods run on nodes that would not take their replacements.
    Moves,
    /// It depends on something that is not known of the cluster.
    CannotTell,
    /// It gets something, and the policy does not move it.
    Changed,
    /// Nothing happens to it.
    Unchanged,
    /// Neither it nor its Pods are sent to the policy.
    NotAsked,
}

/// An outcome with other settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Was {
    /// What it was.
    pub outcome: Outcome,
    /// Whether it only would have been so.
    pub would_be: bool,
}

impl Outcome {
    /// All of them, the worst first.
    pub const ALL: [Self; 8] = [
        Self::Refused,
        Self::Waits,
        Self::LeavesNodes,
        Self::Moves,
        Self::CannotTell,
        Self::Changed,
        Self::Unchanged,
        Self::NotAsked,
    ];

    /// Whether somebody has to do something about it before the policy is enforced.
    pub fn is_trouble(self) -> bool {
        self <= Self::CannotTell
    }

    /// What a list of such workloads is headed by.
    pub fn title(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waits => "waits",
            Self::LeavesNodes => "leaves nodes",
            Self::Moves => "moves",
            Self::CannotTell => "can't be told",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::NotAsked => "not asked",
        }
    }
}

impl Was {
    /// Whether `now` is worse: in trouble, where this was in less, in none, or only would have been. What only would
    /// be is never worse.
    pub fn got_worse(self, now: Self) -> bool {
        let was_as_bad = !self.would_be && self.outcome <= now.outcome;
        now.outcome.is_trouble() && !now.would_be && !was_as_bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_is_what_is_in_more_trouble_than_before() {
        let was = |outcome, would_be| Was { outcome, would_be };
        let refused = was(Outcome::Refused, false);
        assert!(was(Outcome::Unchanged, false).got_worse(refused));
        assert!(was(Outcome::Refused, true).got_worse(refused));
        assert!(was(Outcome::Moves, false).got_worse(refused));
        assert!(!refused.got_worse(refused));
        assert!(!refused.got_worse(was(Outcome::Moves, false)));
        assert!(!was(Outcome::Unchanged, false).got_worse(was(Outcome::Refused, true)));
        assert!(!was(Outcome::Unchanged, false).got_worse(was(Outcome::Changed, false)));
        assert!(was(Outcome::NotAsked, false).got_worse(was(Outcome::CannotTell, false)));
    }
}
