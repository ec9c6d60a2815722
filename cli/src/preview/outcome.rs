//! What the policy would make of something, how that compares, and why.

use std::{cmp::Ordering, iter};

use node_placement_policy::toleration::Taint;
use serde::Serialize;

use super::{round::Creation, subject::Subject, unschedulable::Unschedulable};
use crate::{gap::Gap, webhook::deployment::Refusal};

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
    /// Whether somebody has to do something about it before the policy is enforced.
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

    /// Returns whether it holds up a verdict: it is trouble, and not `accepted`.
    pub fn holds_up(self, accepted: &[Self]) -> bool {
        self.is_trouble() && !(self.accepted().is_some() && accepted.contains(&self))
    }

    /// Returns the place of an outcome among those that can get worse, the worst first.
    const fn severity(self) -> usize {
        match self {
            Self::Refused => 0,
            Self::CannotTell => 1,
            Self::Waits => 2,
            Self::LeavesNodes => 3,
            Self::Misplaced => 4,
            Self::Changed | Self::Unchanged | Self::NotAsked => 5,
        }
    }

    /// What a list of such workloads is headed by.
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
    /// Of what happens.
    pub const fn real(outcome: Outcome) -> Self {
        Self { would_be: false, outcome }
    }

    /// `refused`, `would be: refused`
    pub fn title(self) -> String {
        let would_be = if self.would_be { "would be: " } else { "" };
        format!("{would_be}{}", self.outcome.title())
    }

    /// Whether it is trouble, and happens.
    pub fn is_real_trouble(self) -> bool {
        self.outcome.is_trouble() && !self.would_be
    }

    /// Whether it happens, and holds up a verdict.
    pub fn holds_up(self, accepted: &[Outcome]) -> bool {
        !self.would_be && self.outcome.holds_up(accepted)
    }
}

/// What becomes of a workload or of a Pod, and why.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What becomes of it.
    pub forecast: Forecast,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// The positions of the pools of which Karpenter no longer creates nodes for a DaemonSet.
    pub lost_pools: Vec<usize>,
    /// How many of its Pods run on these; where it is about none, how many run.
    pub pods: usize,
    /// Nodes that its Pods run on, and that would not take them again, with the policy or without, nor with the old
    /// settings.
    pub stranded: Vec<String>,
    /// The part of a workload that it is about, if it is one: `ReplicaSet web-1`.
    pub part: Option<String>,
    /// Why.
    pub why: Why,
    /// What else is wrong with it, or with its parts.
    pub others: Vec<Self>,
}

/// Why something has its outcome.
#[derive(Clone, Debug)]
pub enum Why {
    /// There is nothing to explain.
    Plain,
    /// The policy is not asked.
    NotAsked(String),
    /// It depends on what is not known here.
    Unknown(Gap),
    /// The policy rejects it.
    Refused(Refusal),
    /// Nothing takes its Pods.
    Unschedulable(Unschedulable),
    /// Nodes no longer take its Pods; for these taints, if it is for taints alone.
    FewerNodes(Vec<Taint>),
    /// The policy rejects Bindings to nodes that would take it.
    Unbound(Refusal),
}

impl Judged {
    /// An outcome that is about some nodes, or about none.
    pub fn new(outcome: Outcome, subject: &Subject<'_>, nodes: Vec<String>, why: Why) -> Self {
        let is_about = |node: &&String| nodes.is_empty() || nodes.contains(node);
        let pods = subject.nodes.iter().filter(is_about).count();
        let forecast = Forecast::real(outcome);
        Self { forecast, nodes, lost_pools: vec![], pods, stranded: vec![], part: None, why, others: vec![] }
    }

    /// This, and all else that is wrong.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(&self.others)
    }

    /// Whether it is worse than with the old settings: trouble where the same part had less, none, or none that happens;
    /// or trouble about more nodes. What only would be is never worse, and what is `accepted` was no trouble.
    pub fn is_worse_than(&self, was: &Self, accepted: &[Outcome]) -> bool {
        let was_as_bad = |was: &Self| {
            let is_about_as_many = || {
                self.nodes.iter().all(|node| was.nodes.contains(node))
                    && self.lost_pools.iter().all(|pool| was.lost_pools.contains(pool))
            };
            self.part == was.part
                && !was.forecast.would_be
                && match was.forecast.outcome.severity().cmp(&self.forecast.outcome.severity()) {
                    Ordering::Less => was.forecast.holds_up(accepted),
                    Ordering::Equal => is_about_as_many(),
                    Ordering::Greater => false,
                }
        };
        self.forecast.is_real_trouble() && !was.all().any(was_as_bad)
    }

    /// Why, as a sentence; nothing, where nothing is wrong.
    pub fn reason(&self) -> Option<String> {
        let outcome = self.forecast.outcome;
        let reason = match &self.why {
            Why::Plain => return None,
            Why::NotAsked(reason) => reason.clone(),
            Why::Unknown(gap) => gap.to_string(),
            Why::Refused(refusal) => refusal.message.clone(),
            Why::Unschedulable(why) => why.to_string(),
            Why::Unbound(Refusal { message, .. }) if outcome == Outcome::CannotTell => {
                format!("its Pods could not be bound to every node that takes them: {message}")
            }
            Why::Unbound(Refusal { message, .. }) => format!("its Pods could not be bound: {message}"),
            Why::FewerNodes(_) if outcome == Outcome::Misplaced => {
                "these nodes would not accept its Pods again".to_owned()
            }
            Why::FewerNodes(_) if self.nodes.is_empty() => {
                "Karpenter would no longer run it on the nodes that it creates".to_owned()
            }
            Why::FewerNodes(_) if !self.lost_pools.is_empty() => {
                "it would no longer run on these nodes, nor on those that Karpenter creates".to_owned()
            }
            Why::FewerNodes(_) => "it would no longer run on these nodes".to_owned(),
        };
        Some(self.part.as_ref().map_or(reason.clone(), |part| format!("its {part}: {reason}")))
    }
}

/// A subject, and what becomes of it.
pub struct JudgedSubject<'s> {
    /// What is judged.
    pub subject: &'s Subject<'s>,
    /// Its creation with the settings.
    pub creation: &'s Creation,
    /// What becomes of it.
    pub judged: Judged,
    /// What becomes of it with the old settings, if there are such.
    pub was: Option<Judged>,
}

impl JudgedSubject<'_> {
    /// What gets worse than with the old settings.
    pub fn worse<'j>(&'j self, accepted: &'j [Outcome]) -> impl Iterator<Item = &'j Judged> {
        let pairs = self.was.iter().flat_map(|was| self.judged.all().map(move |judged| (judged, was)));
        pairs.filter(|(judged, was)| judged.is_worse_than(was, accepted)).map(|(judged, _)| judged)
    }

    /// Returns whether it gets worse, or something else becomes of it than with the old settings, or the same about other
    /// nodes; without old settings, always.
    pub fn differs(&self, accepted: &[Outcome]) -> bool {
        let now = (self.judged.forecast, &self.judged.nodes);
        let is_other = self.was.as_ref().is_none_or(|was| (was.forecast, &was.nodes) != now);
        is_other || self.worse(accepted).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn judged((outcome, would_be): (Outcome, bool), nodes: &[&str]) -> Judged {
        let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
        let judged = Judged::new(outcome, &Subject::new(None, "blue"), nodes, Why::Plain);
        Judged { forecast: Forecast { would_be, outcome }, ..judged }
    }

    #[rstest]
    #[case::in_trouble((Outcome::Unchanged, false), (Outcome::Refused, false), true)]
    #[case::no_longer_only_would((Outcome::Refused, true), (Outcome::Refused, false), true)]
    #[case::in_more_trouble((Outcome::Misplaced, false), (Outcome::Refused, false), true)]
    #[case::not_known((Outcome::NotAsked, false), (Outcome::CannotTell, false), true)]
    #[case::the_same((Outcome::Refused, false), (Outcome::Refused, false), false)]
    #[case::in_less_trouble((Outcome::Refused, false), (Outcome::Misplaced, false), false)]
    #[case::no_longer_known((Outcome::Waits, false), (Outcome::CannotTell, false), true)]
    #[case::known_again((Outcome::CannotTell, false), (Outcome::Waits, false), false)]
    #[case::only_would((Outcome::Unchanged, false), (Outcome::Refused, true), false)]
    #[case::in_no_trouble((Outcome::Unchanged, false), (Outcome::Changed, false), false)]
    fn worse_is_what_is_in_more_trouble(
        #[case] was: (Outcome, bool),
        #[case] now: (Outcome, bool),
        #[case] is_worse: bool,
    ) {
        assert_eq!(judged(now, &[]).is_worse_than(&judged(was, &[]), &[]), is_worse);
    }

    #[rstest]
    #[case::more(&["a"], &["a", "b"], true)]
    #[case::others(&["a", "b"], &["c"], true)]
    #[case::fewer(&["a", "b"], &["b"], false)]
    #[case::the_same(&["a"], &["a"], false)]
    fn worse_is_what_is_about_more_nodes(#[case] old: &[&str], #[case] new: &[&str], #[case] is_worse: bool) {
        let misplaced = |nodes| judged((Outcome::Misplaced, false), nodes);
        assert_eq!(misplaced(new).is_worse_than(&misplaced(old), &[]), is_worse);
    }
}
