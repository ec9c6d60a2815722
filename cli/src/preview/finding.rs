//! What a preview finds of a subject: outcomes with their reasons, and whether they are worse than with other settings.

use std::{cmp::Ordering, iter, rc::Rc};

use node_placement_policy::toleration::Taint;

use super::{
    outcome::{Forecast, Outcome},
    subject::Subject,
    unschedulable::Unschedulable,
};
use crate::{
    cluster::Gap,
    places::pod::PodNeeds,
    webhook::{delivery::KeptAway, deployment::Refusal},
};

/// Something that becomes of a subject, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What becomes of it.
    pub forecast: Forecast,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// The positions of the pools for which Karpenter no longer creates nodes that run the DaemonSet.
    pub lost_pools: Vec<usize>,
    /// How many of its Pods run on these nodes; where it is about none, how many run.
    pub pods: usize,
    /// Nodes that its Pods run on, and that would not accept them again in any case.
    pub stranded: Vec<String>,
    /// The part of a workload that it is about, if it is one: `ReplicaSet web-1`.
    pub part: Option<String>,
    /// Why.
    pub why: Why,
}

/// Why something has its outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// There is nothing to explain.
    Plain,
    /// The policy is not asked.
    NotAsked(KeptAway),
    /// It depends on what is not known here.
    Unknown(Gap),
    /// The policy rejects it.
    Refused(Refusal),
    /// Nothing accepts its Pods.
    Unschedulable(Unschedulable),
    /// Nodes no longer accept its Pods; for these taints, if it is for taints alone.
    FewerNodes(Vec<Taint>),
    /// The policy rejects Bindings to nodes that would accept it.
    Unbound(Refusal),
    /// It waits as it is, and would not if it was created anew.
    AsItIs,
    /// Nodes must be added, so that all its Pods can run.
    NeedsNodes(Unschedulable),
}

/// All that is found of a subject.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The worst that is not intended: its outcome.
    pub worst: Finding,
    /// What else is wrong with it, or with its parts.
    pub others: Vec<Finding>,
}

impl Findings {
    /// Sorts findings: those that make a verdict *Not yet* come first. Returns `None` if there are no findings.
    pub fn new(mut all: Vec<Finding>, accepted: &[Outcome]) -> Option<Self> {
        all.sort_by_key(|Finding { forecast, .. }| {
            (!forecast.holds_up(accepted), !forecast.outcome.is_trouble(), *forecast)
        });
        let mut all = all.into_iter();
        Some(Self { worst: all.next()?, others: all.collect() })
    }

    /// Returns all of them, the worst first.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        iter::once(&self.worst).chain(&self.others)
    }
}

impl Finding {
    /// Returns what is found where nothing is wrong, and nothing changes.
    pub const fn nothing() -> Self {
        Self {
            forecast: Forecast::real(Outcome::Unchanged),
            nodes: vec![],
            lost_pools: vec![],
            pods: 0,
            stranded: vec![],
            part: None,
            why: Why::Plain,
        }
    }

    /// Returns whether it is worse than what was found with the old settings: trouble where the same part had less, none,
    /// or none that happens; or trouble about more nodes. What only would be is never worse, and what is `accepted` was no
    /// trouble.
    pub fn is_worse_than(&self, was: &Findings, accepted: &[Outcome]) -> bool {
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

    /// Returns for what nodes must be added, if they must.
    pub const fn needed_nodes(&self) -> Option<&Unschedulable> {
        match &self.why {
            Why::NeedsNodes(why) => Some(why),
            _ => None,
        }
    }

    /// Returns why, as a sentence; nothing, where nothing is wrong.
    pub fn reason(&self) -> Option<String> {
        let outcome = self.forecast.outcome;
        let reason = match &self.why {
            Why::Plain | Why::NeedsNodes(_) => return None,
            Why::NotAsked(by) => by.to_string(),
            Why::Unknown(gap) => gap.to_string(),
            Why::Refused(refusal) => refusal.message.clone(),
            Why::Unschedulable(why) => why.to_string(),
            Why::AsItIs => "it waits as it is, and would not if it was created anew".to_owned(),
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
    /// What its Pods require of nodes with the policy; nothing, if they are refused.
    pub needs: Option<Rc<PodNeeds>>,
    /// The same, as if every entry was enforced.
    pub needs_enforced: Option<Rc<PodNeeds>>,
    /// What becomes of it.
    pub findings: Findings,
    /// What becomes of it with the old settings, if there are such.
    pub was: Option<Findings>,
    /// What something else adds to its Pods, in words.
    pub others: Option<String>,
}

impl JudgedSubject<'_> {
    /// Returns its outcome.
    pub const fn forecast(&self) -> Forecast {
        self.findings.worst.forecast
    }

    /// Returns what gets worse than with the old settings.
    pub fn worse<'j>(&'j self, accepted: &'j [Outcome]) -> impl Iterator<Item = &'j Finding> {
        let pairs = self.was.iter().flat_map(|was| self.findings.all().map(move |finding| (finding, was)));
        pairs.filter(|(finding, was)| finding.is_worse_than(was, accepted)).map(|(finding, _)| finding)
    }

    /// Returns that nodes must be added, where that was not so with the old settings.
    pub fn needs_nodes(&self) -> impl Iterator<Item = &Finding> {
        let is_old =
            |finding: &Finding| self.was.as_ref().is_some_and(|was| was.all().any(|was| was.why == finding.why));
        self.findings.all().filter(move |finding| finding.needed_nodes().is_some() && !is_old(finding))
    }

    /// Returns whether it gets worse, or something else becomes of it than with the old settings, or the same about other
    /// nodes; without old settings, always.
    pub fn differs(&self, accepted: &[Outcome]) -> bool {
        let now = (self.forecast(), &self.findings.worst.nodes);
        let is_other = self.was.as_ref().is_none_or(|was| (was.worst.forecast, &was.worst.nodes) != now);
        is_other || self.worse(accepted).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn found((outcome, would_be): (Outcome, bool), nodes: &[&str]) -> Findings {
        let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
        let forecast = Forecast { would_be, outcome };
        Findings { worst: Finding { forecast, nodes, ..Finding::nothing() }, others: vec![] }
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
        assert_eq!(found(now, &[]).worst.is_worse_than(&found(was, &[]), &[]), is_worse);
    }

    #[rstest]
    #[case::more(&["a"], &["a", "b"], true)]
    #[case::others(&["a", "b"], &["c"], true)]
    #[case::fewer(&["a", "b"], &["b"], false)]
    #[case::the_same(&["a"], &["a"], false)]
    fn worse_is_what_is_about_more_nodes(#[case] old: &[&str], #[case] new: &[&str], #[case] is_worse: bool) {
        let misplaced = |nodes| found((Outcome::Misplaced, false), nodes);
        assert_eq!(misplaced(new).worst.is_worse_than(&misplaced(old), &[]), is_worse);
    }
}
