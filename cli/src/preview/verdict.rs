//! Whether the policy can be enforced now, in one sentence.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::{Forecast, Outcome};
use crate::lists::{counted, listed};

/// Whether the policy can be enforced now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether nothing speaks against it.
    pub ready: bool,
    /// The same for people, with counts.
    pub text: String,
    /// The lines below it: what does not happen, and what lets the policy be enforced.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The first thing that people want to know of a policy that they are about to enforce.
const NOTHING_IS_MOVED: &str = "Running Pods are neither moved nor stopped.";

impl Verdict {
    /// The verdict about everything that was judged, each with its kind: `Pod`, that of a workload, or none for the Pod of
    /// a namespace that asks for nothing. `lacking` names what of the cluster is not known at all, such as
    /// `the Deployments could not be listed`; `can_restart` says whether something that is misplaced can be restarted.
    pub fn new<'k>(
        judged: impl IntoIterator<Item = (&'k str, Forecast)>,
        lacking: &[String],
        accepted: &[Outcome],
        can_restart: bool,
    ) -> Self {
        let mut all: BTreeMap<Forecast, BTreeMap<Noun, usize>> = BTreeMap::new();
        for (kind, forecast) in judged {
            *all.entry(forecast).or_default().entry(Noun::new(kind, forecast.outcome)).or_default() += 1;
        }
        let real = all.keys().filter(|forecast| !forecast.would_be).map(|forecast| forecast.outcome);
        let holding: Vec<Outcome> = real.filter(|outcome| outcome.holds_up(accepted)).collect();
        let ready = holding.is_empty() && lacking.is_empty();
        let phrases = |would_be: bool| -> Vec<String> {
            let all = all.iter().filter(|(forecast, _)| forecast.would_be == would_be);
            all.filter_map(|(forecast, counts)| phrase(forecast.outcome, counts)).collect()
        };
        let is_asked_nothing = !all.is_empty() && all.keys().all(|it| it.outcome == Outcome::NotAsked);
        let mut text = match (ready, [lacking, &phrases(false)].concat().join("; ").as_str()) {
            (true, "") if is_asked_nothing => {
                "Ready to enforce: nothing of this cluster is sent to the policy.".to_owned()
            }
            (true, "") => "Ready to enforce: nothing changes.".to_owned(),
            (true, counts) => format!("Ready to enforce: {counts}."),
            (false, counts) => format!("Not yet: {counts}."),
        };
        let would_be = phrases(true).join("; ");
        if !would_be.is_empty() {
            text += &format!(" If the entries that only warn were enforced: {would_be}.");
        }
        let mut notes = vec![NOTHING_IS_MOVED.to_owned()];
        if lacking.is_empty() {
            notes.extend(way_on(&holding, can_restart));
        }
        Self { ready, text, notes }
    }
}

/// Returns which flag accepts the outcomes that hold a verdict up, if that is all that does, and what comes next.
fn way_on(holding: &[Outcome], can_restart: bool) -> Option<String> {
    if holding.is_empty() || !holding.iter().all(|outcome| outcome.can_be_accepted()) {
        return None;
    }
    let flag = holding.iter().map(|outcome| format!("{outcome:?}")).collect::<Vec<_>>().join(",");
    let next = match holding.contains(&Outcome::Misplaced) {
        false => "enforce the policy",
        true if can_restart => "enforce the policy, and run what -o commands prints",
        true => "enforce the policy. No command can restart these workloads: -o commands says why",
    };
    Some(format!("If this is intended, accept it with --accept {flag}, then {next}."))
}

/// What has an outcome, as people call it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Noun {
    Workload,
    DaemonSet,
    Pod,
    PodsOfNamespace,
}

impl Noun {
    fn new(kind: &str, outcome: Outcome) -> Self {
        match (kind, outcome) {
            ("", _) => Self::PodsOfNamespace,
            ("Pod", _) => Self::Pod,
            (_, Outcome::LeavesNodes) => Self::DaemonSet,
            _ => Self::Workload,
        }
    }

    fn counted(&self, count: usize) -> String {
        match self {
            Self::Workload => counted(count, "workload"),
            Self::DaemonSet => counted(count, "DaemonSet"),
            Self::Pod => counted(count, "Pod"),
            Self::PodsOfNamespace => format!("new Pods in {}", counted(count, "namespace")),
        }
    }
}

/// `3 workloads, 1 Pod and new Pods in 2 namespaces are refused`
fn phrase(outcome: Outcome, counts: &BTreeMap<Noun, usize>) -> Option<String> {
    let (one, many) = match outcome {
        Outcome::Refused => ("is refused", "are refused"),
        Outcome::Waits => ("waits: no node takes it", "wait: no node takes them"),
        Outcome::LeavesNodes => ("leaves nodes", "leave nodes"),
        Outcome::Misplaced => ("is misplaced", "are misplaced"),
        Outcome::CannotTell => ("could not be evaluated", "could not be evaluated"),
        Outcome::Changed => ("changes", "change"),
        Outcome::Unchanged | Outcome::NotAsked => return None,
    };
    let nouns: Vec<String> = counts.iter().map(|(noun, count)| noun.counted(*count)).collect();
    let is_one = !counts.contains_key(&Noun::PodsOfNamespace) && counts.values().sum::<usize>() == 1;
    Some(format!("{} {}", listed(&nouns), if is_one { one } else { many }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(&[], &[Outcome::Unchanged], "Ready to enforce: nothing changes.")]
    #[case::changes(&[("Pod", Outcome::Changed)], &[], "Ready to enforce: 1 Pod changes.")]
    #[case::worst_first(
        &[("Job", Outcome::Misplaced), ("Pod", Outcome::Refused), ("Job", Outcome::Refused)],
        &[Outcome::Refused],
        "Not yet: 1 workload, 1 Pod and new Pods in 1 namespace are refused; 1 workload is misplaced."
    )]
    #[case::a_namespace_alone(&[], &[Outcome::Waits], "Not yet: new Pods in 1 namespace wait: no node takes them.")]
    #[case::not_known(&[("Job", Outcome::CannotTell)], &[], "Not yet: 1 workload could not be evaluated.")]
    #[case::misplaced_alone(
        &[("Job", Outcome::Misplaced), ("Job", Outcome::Misplaced)],
        &[],
        "Not yet: 2 workloads are misplaced."
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
        let judged = workloads.iter().copied().chain(namespaces.iter().map(|outcome| ("", *outcome)));
        let judged = judged.map(|(kind, outcome)| (kind, Forecast::real(outcome)));
        let verdict = Verdict::new(judged, &[], &[], false);
        assert_eq!((verdict.text.as_str(), verdict.ready), (text, text.starts_with("Ready")));
    }

    #[test]
    fn what_is_accepted_holds_nothing_up() {
        let accepted = [Outcome::Misplaced, Outcome::Refused];
        let verdict = |outcome| Verdict::new([("Deployment", Forecast::real(outcome))], &[], &accepted, false);
        assert!(verdict(Outcome::Misplaced).ready);
        assert!(!verdict(Outcome::Refused).ready);
    }

    #[test]
    fn what_only_would_be_is_counted_apart() {
        let would_be = Forecast { would_be: true, outcome: Outcome::Refused };
        let verdict = Verdict::new([("Job", would_be)], &[], &[], false);
        assert!(verdict.ready && verdict.text.ends_with("enforced: 1 workload is refused."), "{}", verdict.text);
    }

    #[rstest]
    #[case::can_restart(&[Outcome::Misplaced], true, Some(
        "If this is intended, accept it with --accept Misplaced, then enforce the policy, and run what -o commands prints."
    ))]
    #[case::nothing_can_restart(&[Outcome::Misplaced], false, Some(
        "If this is intended, accept it with --accept Misplaced, then enforce the policy. No command can restart these \
         workloads: -o commands says why."
    ))]
    #[case::leaves(&[Outcome::LeavesNodes], true, Some(
        "If this is intended, accept it with --accept LeavesNodes, then enforce the policy."
    ))]
    #[case::both(&[Outcome::LeavesNodes, Outcome::Misplaced], true, Some(
        "If this is intended, accept it with --accept LeavesNodes,Misplaced, then enforce the policy, and run what -o \
         commands prints."
    ))]
    #[case::more_is_wrong(&[Outcome::Refused, Outcome::Misplaced], true, None)]
    #[case::nothing_is_wrong(&[Outcome::Changed], true, None)]
    fn what_can_be_accepted_is_told_with_its_flag(
        #[case] outcomes: &[Outcome],
        #[case] can_restart: bool,
        #[case] note: Option<&str>,
    ) {
        let judged = outcomes.iter().map(|outcome| ("DaemonSet", Forecast::real(*outcome)));
        let verdict = Verdict::new(judged, &[], &[], can_restart);
        let notes: Vec<&str> = [NOTHING_IS_MOVED].into_iter().chain(note).collect();
        assert_eq!(verdict.notes, notes);
    }

    #[test]
    fn what_is_lacking_is_named_first() {
        let lacking = ["the Deployments could not be listed".to_owned()];
        let verdict = Verdict::new([], &lacking, &[], false);
        assert_eq!(verdict.text, "Not yet: the Deployments could not be listed.");
        assert!(!verdict.ready);
    }
}
