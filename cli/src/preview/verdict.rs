//! Whether the policy can be enforced now, in one sentence.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    document::{Namespace, Workload},
    outcome::Outcome,
    restart::Restart,
};
use crate::lists::{counted, listed};

/// Whether the policy can be enforced now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether nothing speaks against it.
    pub ready: bool,
    /// The same for people, with counts.
    pub text: String,
    /// Whether nothing but Moves holds it up.
    #[serde(skip)]
    pub is_about_moves_alone: bool,
}

/// Outcomes that are wanted: they don't hold up a verdict.
#[derive(Clone, Debug, Default)]
pub struct Accepted(BTreeSet<Outcome>);

impl Accepted {
    /// Moves and LeavesNodes can be wanted; nothing else can.
    pub fn new(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let can_be_wanted = |outcome: &Outcome| matches!(outcome, Outcome::Moves | Outcome::LeavesNodes);
        Self(outcomes.into_iter().filter(can_be_wanted).collect())
    }

    /// Whether an outcome is trouble, and not wanted.
    pub fn holds_up(&self, outcome: Outcome) -> bool {
        outcome.is_trouble() && !self.0.contains(&outcome)
    }
}

impl Verdict {
    /// The verdict about everything that was judged. `lacking` names what of the cluster is not known at all, such as
    /// `the Deployments could not be listed`.
    pub fn new(workloads: &[Workload], namespaces: &[Namespace], lacking: &[String], accepted: &Accepted) -> Self {
        let (mut counts, mut would_be) = (BTreeMap::new(), BTreeMap::new());
        for workload in workloads {
            let counts: &mut BTreeMap<Outcome, Counts> = if workload.would_be { &mut would_be } else { &mut counts };
            let counts = counts.entry(workload.outcome).or_default();
            match (&*workload.kind, workload.outcome) {
                ("Pod", _) => counts.pods += 1,
                (_, Outcome::LeavesNodes) => counts.daemon_sets += 1,
                _ => counts.workloads += 1,
            }
        }
        for namespace in namespaces {
            let counts = if namespace.would_be { &mut would_be } else { &mut counts };
            counts.entry(namespace.outcome).or_default().namespaces += 1;
        }
        let holding: Vec<Outcome> = counts.keys().copied().filter(|outcome| accepted.holds_up(*outcome)).collect();
        let ready = holding.is_empty() && lacking.is_empty();
        let told = lacking.iter().cloned().chain(phrases(&counts)).collect::<Vec<_>>().join("; ");
        let mut outcomes =
            workloads.iter().map(|it| it.outcome).chain(namespaces.iter().map(|it| it.outcome)).peekable();
        let is_asked_nothing = outcomes.peek().is_some() && outcomes.all(|outcome| outcome == Outcome::NotAsked);
        let mut text = match (ready, told.is_empty()) {
            (true, true) if is_asked_nothing => {
                "Ready to enforce: nothing of this cluster is sent to the policy.".to_owned()
            }
            (true, true) => "Ready to enforce: nothing changes.".to_owned(),
            (true, false) => format!("Ready to enforce: {told}."),
            (false, _) => format!("Not yet: {told}."),
        };
        let would_be = phrases(&would_be).join("; ");
        if !would_be.is_empty() {
            text += &format!(" Entries with enforcement: Warn hold nothing up; enforced, {would_be}.");
        }
        Self { ready, text, is_about_moves_alone: lacking.is_empty() && holding == [Outcome::Moves] }
    }

    /// Says what comes next where nothing but Moves holds it up.
    pub fn add_next_step(&mut self, restarts: &[Restart]) {
        let can_be_run = restarts.iter().any(|restart| restart.obstacle.is_none());
        self.text += if can_be_run {
            " If that is wanted, enforce the policy, then run what -o commands prints."
        } else {
            " If that is wanted, enforce the policy. Nothing can restart these; -o commands says why."
        };
    }
}

/// What has an outcome.
#[derive(Debug, Default)]
struct Counts {
    workloads: usize,
    daemon_sets: usize,
    pods: usize,
    namespaces: usize,
}

fn phrases(counts: &BTreeMap<Outcome, Counts>) -> Vec<String> {
    counts.iter().filter_map(|(outcome, counts)| phrase(*outcome, counts)).collect()
}

/// `3 workloads, 1 Pod and new Pods in 2 namespaces are refused`
fn phrase(outcome: Outcome, counts: &Counts) -> Option<String> {
    let (one, many) = match outcome {
        Outcome::Refused => ("is refused", "are refused"),
        Outcome::Waits => ("waits: no node takes it", "wait: no node takes them"),
        Outcome::LeavesNodes => ("leaves nodes", "leave nodes"),
        Outcome::Moves => ("moves to other nodes", "move to other nodes"),
        Outcome::CannotTell => ("can't be told", "can't be told"),
        Outcome::Changed => ("changes", "change"),
        Outcome::Unchanged | Outcome::NotAsked => return None,
    };
    let mut nouns = vec![];
    for (count, noun) in [(counts.workloads, "workload"), (counts.daemon_sets, "DaemonSet"), (counts.pods, "Pod")] {
        if count > 0 {
            nouns.push(counted(count, noun));
        }
    }
    if counts.namespaces > 0 {
        nouns.push(format!("new Pods in {}", counted(counts.namespaces, "namespace")));
    }
    let is_one = counts.namespaces == 0 && counts.workloads + counts.daemon_sets + counts.pods == 1;
    Some(format!("{} {}", listed(&nouns), if is_one { one } else { many }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{super::outcome::Change, *};

    fn workload(kind: &str, outcome: Outcome, would_be: bool) -> Workload {
        Workload {
            kind: kind.to_owned(),
            namespace: "a".to_owned(),
            name: "web".to_owned(),
            outcome,
            would_be,
            reason: None,
            nodes: vec![],
            pods: 0,
            was: None,
            change: Change::None,
            owner: None,
        }
    }

    fn namespace(outcome: Outcome) -> Namespace {
        Namespace { name: "a".to_owned(), outcome, would_be: false, reason: None, was: None, change: Change::None }
    }

    #[rstest]
    #[case::nothing(&[], &[Outcome::Unchanged], "Ready to enforce: nothing changes.")]
    #[case::changes(&[("Pod", Outcome::Changed)], &[], "Ready to enforce: 1 Pod changes.")]
    #[case::worst_first(
        &[("Job", Outcome::Moves), ("Pod", Outcome::Refused), ("Job", Outcome::Refused)],
        &[Outcome::Refused],
        "Not yet: 1 workload, 1 Pod and new Pods in 1 namespace are refused; 1 workload moves to other nodes."
    )]
    #[case::a_namespace_alone(&[], &[Outcome::Waits], "Not yet: new Pods in 1 namespace wait: no node takes them.")]
    #[case::not_known(&[("Job", Outcome::CannotTell)], &[], "Not yet: 1 workload can't be told.")]
    #[case::moves_alone(
        &[("Job", Outcome::Moves), ("Job", Outcome::Moves)],
        &[],
        "Not yet: 2 workloads move to other nodes."
    )]
    #[case::what_is_not_asked(
        &[("Job", Outcome::NotAsked)],
        &[Outcome::NotAsked],
        "Ready to enforce: nothing of this cluster is sent to the policy."
    )]
    #[case::what_is_asked_partly(
        &[("Job", Outcome::NotAsked)],
        &[Outcome::Unchanged],
        "Ready to enforce: nothing changes."
    )]
    fn a_verdict_counts_what_people_know(
        #[case] workloads: &[(&str, Outcome)],
        #[case] namespaces: &[Outcome],
        #[case] text: &str,
    ) {
        let workloads: Vec<_> = workloads.iter().map(|(kind, outcome)| workload(kind, *outcome, false)).collect();
        let namespaces: Vec<_> = namespaces.iter().map(|outcome| namespace(*outcome)).collect();
        let verdict = Verdict::new(&workloads, &namespaces, &[], &Accepted::default());
        assert_eq!((verdict.text.as_str(), verdict.ready), (text, text.starts_with("Ready")));
    }

    #[test]
    fn what_is_accepted_holds_nothing_up() {
        let moves = [workload("Deployment", Outcome::Moves, false)];
        let accepted = Accepted::new([Outcome::Moves, Outcome::Refused]);
        let verdict = Verdict::new(&moves, &[], &[], &accepted);
        assert!(verdict.ready, "{}", verdict.text);
        let refused = [workload("Deployment", Outcome::Refused, false)];
        assert!(!Verdict::new(&refused, &[], &[], &accepted).ready);
    }

    #[test]
    fn what_only_would_be_is_counted_apart() {
        let verdict = Verdict::new(&[workload("Job", Outcome::Refused, true)], &[], &[], &Accepted::default());
        assert!(verdict.ready && verdict.text.ends_with("enforced, 1 workload is refused."), "{}", verdict.text);
    }

    #[test]
    fn what_is_lacking_is_named_first() {
        let lacking = ["the Deployments could not be listed".to_owned()];
        let verdict = Verdict::new(&[], &[], &lacking, &Accepted::default());
        assert_eq!(verdict.text, "Not yet: the Deployments could not be listed.");
        assert!(!verdict.ready);
    }
}
