//! Whether the policy can be enforced now, or whether other settings make anything worse: in one sentence.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::{Accepted, Forecast, Outcome};
use crate::lists::{counted, listed, shortened};

/// Whether the policy can be enforced now; of a comparison, whether nothing gets worse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether nothing speaks against it.
    pub ready: bool,
    /// The same for people, with counts.
    pub text: String,
    /// The lines below it: what does not happen, what was not looked at, and what comes next.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The first thing that people want to know of a policy that they are about to enforce.
const NOTHING_IS_MOVED: &str = "Running Pods are neither moved nor stopped.";

/// What speaks neither for nor against it.
const NOT_LOOKED_AT: &str =
    "Not looked at: topology spread, affinity between different workloads, and ports of the host.";

/// At most this many names stand in a note.
const NAMED: usize = 3;

/// Something that was judged, with its kind: `Pod`, that of a workload, or none for the plain Pod of a namespace.
type Judged<'k> = (&'k str, Forecast);

/// What else a verdict depends on.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// What of the cluster is not known at all, such as `the Deployments could not be listed`.
    pub lacking: Vec<String>,
    /// Why nothing is fenced, if nothing is.
    pub unfenced: Option<String>,
    /// How many objects of custom kinds could not be evaluated.
    pub unjudged: usize,
    /// How many workloads need more nodes than there are.
    pub short: usize,
    /// How many would, if every entry was enforced.
    pub would_be_short: usize,
    /// Whether something that is misplaced can be restarted.
    pub can_restart: bool,
}

/// What differs between two sets of settings.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// How many namespaces may use more nodes, if that is not accepted.
    pub openings: usize,
    /// How many outcomes differ without being worse, or are accepted.
    pub others: usize,
    /// What was wrong before, and still is.
    pub still_wrong: Vec<String>,
    /// How many workloads need more nodes than there are, and did not before.
    pub short: usize,
    /// Whether something that is misplaced can be restarted.
    pub can_restart: bool,
}

impl Verdict {
    /// Returns the verdict about everything that was judged.
    pub fn new<'k>(
        judged: impl IntoIterator<Item = Judged<'k>>,
        circumstances: &Circumstances,
        accepted: &[Outcome],
    ) -> Self {
        let Circumstances { lacking, unfenced, unjudged, short, would_be_short, can_restart } = circumstances;
        let all = Counts::new(judged);
        let real = all.0.keys().filter(|forecast| !forecast.would_be).map(|forecast| forecast.outcome);
        let holding: Vec<Outcome> = real.filter(|outcome| outcome.holds_up(accepted)).collect();
        let ready = holding.is_empty() && lacking.is_empty();
        let mut phrases = [lacking.as_slice(), &all.phrases(false)].concat();
        if *unjudged > 0 {
            phrases.push(format!("{} of custom kinds could not be evaluated", counted(*unjudged, "object")));
        }
        let but = unfenced.iter().map(|why| format!("but nothing is fenced: {why}"));
        let conditions: Vec<String> = but.chain(if_nodes_are_added(*short)).collect();
        let mut text = match (ready, phrases.join("; ")) {
            (true, counts) if !conditions.is_empty() => {
                let all: Vec<String> = conditions.into_iter().chain((!counts.is_empty()).then_some(counts)).collect();
                format!("Ready to enforce, {}.", all.join("; "))
            }
            (true, counts) if counts.is_empty() && all.is_asked_nothing() => {
                "Ready to enforce: nothing of this cluster is sent to the policy.".to_owned()
            }
            (true, counts) if counts.is_empty() => "Ready to enforce: nothing changes.".to_owned(),
            (true, counts) => format!("Ready to enforce: {counts}."),
            (false, counts) => format!("Not yet: {counts}."),
        };
        let mut would_be = all.phrases(true);
        would_be.extend((*would_be_short > 0).then(|| short_of_nodes(*would_be_short)));
        if !would_be.is_empty() {
            text += &format!(" If the entries that only warn were enforced: {}.", would_be.join("; "));
        }
        let mut notes = vec![NOTHING_IS_MOVED.to_owned(), NOT_LOOKED_AT.to_owned()];
        if lacking.is_empty() {
            let flags: Option<Vec<Accepted>> = holding.iter().map(|outcome| outcome.accepted()).collect();
            notes.extend(flags.and_then(|flags| way_on(&flags, *can_restart)));
        }
        Self { ready, text, notes }
    }

    /// Returns the verdict about what gets worse.
    pub fn of_difference<'k>(worse: impl IntoIterator<Item = Judged<'k>>, difference: &Difference) -> Self {
        let Difference { openings, others, still_wrong, short, can_restart } = difference;
        let worse = Counts::new(worse);
        let mut phrases = worse.phrases(false);
        if *openings > 0 {
            phrases.push(format!("{} may also use nodes of others", counted(*openings, "namespace")));
        }
        let ready = phrases.is_empty();
        let added = if_nodes_are_added(*short).filter(|_| ready).map(|added| format!(", {added}")).unwrap_or_default();
        let mut text = match ready {
            true => format!("Nothing gets worse{added}."),
            false => format!("Worse: {}.", phrases.join("; ")),
        };
        text += &match others {
            0 => String::new(),
            1 => " Also, 1 outcome differs.".to_owned(),
            others => format!(" Also, {others} outcomes differ."),
        };
        let mut notes = vec![NOTHING_IS_MOVED.to_owned()];
        if !still_wrong.is_empty() {
            let names = shortened(still_wrong, NAMED).unwrap_or_else(|| listed(still_wrong));
            notes.push(format!("Wrong before, and still: {} ({names}).", still_wrong.len()));
        }
        let outcomes = worse.0.keys().map(|forecast| forecast.outcome.accepted());
        let opens = (*openings > 0).then_some(Some(Accepted::Opens));
        let flags: Option<Vec<Accepted>> = outcomes.chain(opens).collect();
        notes.extend(flags.and_then(|flags| way_on(&flags, *can_restart)));
        Self { ready, text, notes }
    }
}

/// Returns that nodes must be added for some workloads, if they must.
fn if_nodes_are_added(short: usize) -> Option<String> {
    (short > 0).then(|| format!("if nodes are added: {}", short_of_nodes(short)))
}

fn short_of_nodes(workloads: usize) -> String {
    format!("{} {} more than there are", counted(workloads, "workload"), if workloads == 1 { "needs" } else { "need" })
}

/// Returns which flags accept what holds a verdict up, and what comes next.
fn way_on(holding: &[Accepted], can_restart: bool) -> Option<String> {
    if holding.is_empty() {
        return None;
    }
    let flags = holding.iter().map(|accepted| accepted.name()).collect::<Vec<_>>().join(",");
    let next = match holding.contains(&Accepted::Misplaced) {
        false => "enforce the policy",
        true if can_restart => "enforce the policy, and run what -o commands prints",
        true => "enforce the policy. No command can restart these workloads: -o commands says why",
    };
    Some(format!("If this is intended, accept it with --accept {flags}, then {next}."))
}

/// How many of what have each outcome, the worst first.
struct Counts(BTreeMap<Forecast, BTreeMap<Noun, usize>>);

impl Counts {
    fn new<'k>(judged: impl IntoIterator<Item = Judged<'k>>) -> Self {
        let mut all: BTreeMap<Forecast, BTreeMap<Noun, usize>> = BTreeMap::new();
        for (kind, forecast) in judged {
            *all.entry(forecast).or_default().entry(Noun::new(kind, forecast.outcome)).or_default() += 1;
        }
        Self(all)
    }

    /// Returns a phrase for each outcome, of those that would be or of those that are.
    fn phrases(&self, would_be: bool) -> Vec<String> {
        let all = self.0.iter().filter(|(forecast, _)| forecast.would_be == would_be);
        all.filter_map(|(forecast, counts)| phrase(forecast.outcome, counts)).collect()
    }

    fn is_asked_nothing(&self) -> bool {
        !self.0.is_empty() && self.0.keys().all(|it| it.outcome == Outcome::NotAsked)
    }
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

/// Returns `3 workloads, 1 Pod and new Pods in 2 namespaces are refused`.
fn phrase(outcome: Outcome, counts: &BTreeMap<Noun, usize>) -> Option<String> {
    let (one, many) = match outcome {
        Outcome::Refused => ("is refused", "are refused"),
        Outcome::Waits => ("waits: no node accepts it", "wait: no node accepts them"),
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
    #[case::a_namespace_alone(&[], &[Outcome::Waits], "Not yet: new Pods in 1 namespace wait: no node accepts them.")]
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
        let verdict = Verdict::new(judged, &Circumstances::default(), &[]);
        assert_eq!((verdict.text.as_str(), verdict.ready), (text, text.starts_with("Ready")));
    }

    #[test]
    fn what_is_accepted_holds_nothing_up() {
        let accepted = [Outcome::Misplaced, Outcome::Refused];
        let verdict =
            |outcome| Verdict::new([("Deployment", Forecast::real(outcome))], &Circumstances::default(), &accepted);
        assert!(verdict(Outcome::Misplaced).ready);
        assert!(!verdict(Outcome::Refused).ready);
    }

    #[test]
    fn what_only_would_be_is_counted_apart() {
        let would_be = Forecast { would_be: true, outcome: Outcome::Refused };
        let verdict = Verdict::new([("Job", would_be)], &Circumstances::default(), &[]);
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
        let verdict = Verdict::new(judged, &Circumstances { can_restart, ..Circumstances::default() }, &[]);
        let notes: Vec<&str> = [NOTHING_IS_MOVED, NOT_LOOKED_AT].into_iter().chain(note).collect();
        assert_eq!(verdict.notes, notes);
    }

    #[test]
    fn what_is_lacking_is_named_first() {
        let lacking = vec!["the Deployments could not be listed".to_owned()];
        let verdict = Verdict::new([], &Circumstances { lacking, ..Circumstances::default() }, &[]);
        assert_eq!(verdict.text, "Not yet: the Deployments could not be listed.");
        assert!(!verdict.ready);
    }

    #[rstest]
    #[case::alone(&[], 0, "Ready to enforce, but nothing is fenced: no namespace has the label tenant.")]
    #[case::with_counts(
        &[Outcome::Changed],
        0,
        "Ready to enforce, but nothing is fenced: no namespace has the label tenant; 1 Pod changes."
    )]
    #[case::not_ready(&[Outcome::Refused], 0, "Not yet: 1 Pod is refused.")]
    #[case::custom_kinds(
        &[],
        2,
        "Ready to enforce, but nothing is fenced: no namespace has the label tenant; 2 objects of custom kinds could not be \
         evaluated."
    )]
    fn that_nothing_is_fenced_is_said_first(#[case] outcomes: &[Outcome], #[case] unjudged: usize, #[case] text: &str) {
        let judged = outcomes.iter().map(|outcome| ("Pod", Forecast::real(*outcome)));
        let unfenced = Some("no namespace has the label tenant".to_owned());
        let verdict = Verdict::new(judged, &Circumstances { unfenced, unjudged, ..Circumstances::default() }, &[]);
        assert_eq!((verdict.text.as_str(), verdict.ready), (text, text.starts_with("Ready")));
    }

    #[rstest]
    #[case::nothing(&[], 0, 0, "Nothing gets worse.", None)]
    #[case::something_else(&[], 0, 2, "Nothing gets worse. Also, 2 outcomes differ.", None)]
    #[case::refused(&[Outcome::Refused], 0, 1, "Worse: 1 workload is refused. Also, 1 outcome differs.", None)]
    #[case::a_fence_opens(
        &[],
        1,
        0,
        "Worse: 1 namespace may also use nodes of others.",
        Some("If this is intended, accept it with --accept Opens, then enforce the policy.")
    )]
    #[case::both(
        &[Outcome::LeavesNodes],
        2,
        0,
        "Worse: 1 DaemonSet leaves nodes; 2 namespaces may also use nodes of others.",
        Some("If this is intended, accept it with --accept LeavesNodes,Opens, then enforce the policy.")
    )]
    fn a_comparison_says_what_gets_worse(
        #[case] worse: &[Outcome],
        #[case] openings: usize,
        #[case] others: usize,
        #[case] text: &str,
        #[case] note: Option<&str>,
    ) {
        let worse = worse.iter().map(|outcome| ("DaemonSet", Forecast::real(*outcome)));
        let verdict = Verdict::of_difference(worse, &Difference { openings, others, ..Difference::default() });
        assert_eq!((verdict.text.as_str(), verdict.ready), (text, text.starts_with("Nothing")));
        assert_eq!(verdict.notes.get(1).map(String::as_str), note);
    }

    #[test]
    fn what_was_wrong_before_is_a_count() {
        let still_wrong = ["a", "b", "c", "d"].map(|name| format!("Deployment {name} in blue")).to_vec();
        let verdict = Verdict::of_difference([], &Difference { still_wrong, ..Difference::default() });
        let expected =
            "Wrong before, and still: 4 (Deployment a in blue, Deployment b in blue, Deployment c in blue and 1 more).";
        assert!(verdict.notes.iter().any(|note| note == expected), "{:?}", verdict.notes);
    }
}
