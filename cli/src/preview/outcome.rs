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

/// What new settings change of an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    #[default]
    None,
    /// Something, and nothing gets worse.
    Other,
    /// It is in trouble where it was in less, in none, or only would have been; or the trouble is about more nodes.
    Worse,
}

impl Change {
    /// From one outcome, and the nodes that it is about, to another. What only would be is never worse.
    pub fn between((was, old_nodes): (Was, &[String]), (now, nodes): (Was, &[String])) -> Self {
        if was == now && old_nodes == nodes {
            return Self::None;
        }
        let was_as_bad = !was.would_be && was.outcome <= now.outcome;
        let is_about_more = was.outcome == now.outcome && nodes.iter().any(|node| !old_nodes.contains(node));
        let is_real = now.outcome.is_trouble() && !now.would_be;
        if is_real && (!was_as_bad || is_about_more) { Self::Worse } else { Self::Other }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::in_trouble((Outcome::Unchanged, false), (Outcome::Refused, false), Change::Worse)]
    #[case::no_longer_only_would((Outcome::Refused, true), (Outcome::Refused, false), Change::Worse)]
    #[case::in_more_trouble((Outcome::Moves, false), (Outcome::Refused, false), Change::Worse)]
    #[case::not_known((Outcome::NotAsked, false), (Outcome::CannotTell, false), Change::Worse)]
    #[case::the_same((Outcome::Refused, false), (Outcome::Refused, false), Change::None)]
    #[case::in_less_trouble((Outcome::Refused, false), (Outcome::Moves, false), Change::Other)]
    #[case::only_would((Outcome::Unchanged, false), (Outcome::Refused, true), Change::Other)]
    #[case::in_no_trouble((Outcome::Unchanged, false), (Outcome::Changed, false), Change::Other)]
    fn worse_is_what_is_in_more_trouble(
        #[case] was: (Outcome, bool),
        #[case] now: (Outcome, bool),
        #[case] change: Change,
    ) {
        let was = Was { outcome: was.0, would_be: was.1 };
        let now = Was { outcome: now.0, would_be: now.1 };
        assert_eq!(Change::between((was, &[]), (now, &[])), change);
    }

    #[rstest]
    #[case::more(&["a"], &["a", "b"], Change::Worse)]
    #[case::others(&["a", "b"], &["c"], Change::Worse)]
    #[case::fewer(&["a", "b"], &["b"], Change::Other)]
    #[case::the_same(&["a"], &["a"], Change::None)]
    fn worse_is_what_is_about_more_nodes(#[case] old: &[&str], #[case] new: &[&str], #[case] change: Change) {
        let nodes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let moves = Was { outcome: Outcome::Moves, would_be: false };
        assert_eq!(Change::between((moves, &nodes(old)), (moves, &nodes(new))), change);
    }
}
