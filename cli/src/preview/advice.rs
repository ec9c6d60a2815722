//! What to do, as a preview lists it: the causes that a person must change, each once, the worst first. The words for each
//! come from [`Advisor`](super::advisor::Advisor).

use std::{collections::BTreeMap, fmt};

use node_placement_policy::decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind};
use serde::Serialize;

use super::{
    outcome::{Forecast, Outcome},
    subject::Subject,
    way_out::WayOut,
};
use crate::{
    cluster::Gap,
    lists::{listed, shortened},
};

/// Something to do, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// What people read.
    pub text: String,
    /// What programs read.
    pub cause: Cause,
    /// What a person does about it.
    #[serde(skip)]
    pub way_out: WayOut,
    /// Whom it is about; nobody in particular, if it is about the settings or the cluster.
    #[serde(skip)]
    pub about: Vec<AffectedObject>,
}

/// The cause that a person must change. Fields that say nothing about it are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// What sort of cause it is.
    pub kind: CauseKind,
    /// The path of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The namespace, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The key of the label, of nodes or of the namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The taint or toleration, as `key[=value][:Effect]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taint: Option<String>,
    /// What the policy requires, as text.
    #[serde(rename = "required", skip_serializing_if = "Option::is_none")]
    pub demanded: Option<String>,
    /// What is requested instead, as text.
    #[serde(rename = "requested", skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The names of the nodes that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub nodes: Vec<String>,
}

/// The sorts of causes, in the order in which people should look at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum CauseKind {
    /// The cluster's objects lack something: the command that adds it.
    #[default]
    Lacks,
    /// A condition can't be evaluated here.
    Condition,
    /// A namespace lacks the label that an entry refers to or selects by.
    MissingLabel,
    /// An entry above takes a namespace that this one is for.
    EntryAbove,
    /// An annotation of the namespace is malformed, or contradicts what holds there.
    Annotation,
    /// No node has the label that is required.
    NoSuchLabel,
    /// The nodes that match have a taint that the Pod does not tolerate.
    Taint,
    /// The nodes that match are too small, or can't run Pods for now.
    Room,
    /// The nodes that match do not reach a volume.
    Volume,
    /// An object requests what the namespace's rules do not allow.
    Requests,
    /// Two settings, or a setting and an annotation, contradict each other.
    Contradiction,
    /// A RuntimeClass adds what they do not allow.
    RuntimeClass,
    /// A Pod names its node.
    NodeName,
    /// A bound on sizes or counts is passed.
    Limit,
    /// It is about the metadata of nodes.
    Metadata,
    /// A DaemonSet would leave nodes.
    LeavesNodes,
    /// Nodes that only one tenant's selector names have no taint.
    NoTaint,
    /// A namespace of what the cluster needs to run Pods should be exempt.
    Exempt,
    /// With other settings, a namespace may use more nodes.
    Opens,
    /// No namespace has the label that an entry selects by, and nothing else is fenced.
    NothingFenced,
}

/// At most this many names stand in a sentence.
const NAMED: usize = 3;
/// At most this many pieces of advice about one label of one setting are listed one by one.
const SIMILAR: usize = 5;

/// A sentence about everybody who shares a cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sentence {
    /// Behind who it is about, and a verb: `Deployment web in blue is …`.
    Is(String),
    /// Behind who it is about: `Deployment web in blue …`.
    Does(String),
    /// Behind whose Bindings it is about: `Bindings of Deployment web in blue …`.
    OfBindings(String),
    /// It stands alone.
    Alone(String),
}

impl Sentence {
    /// Adds another statement.
    pub fn with(self, statement: &str) -> Self {
        let joined = |text: String| format!("{text} ({statement})");
        match self {
            Self::Is(text) => Self::Is(joined(text)),
            Self::Does(text) => Self::Does(joined(text)),
            Self::OfBindings(text) => Self::OfBindings(joined(text)),
            Self::Alone(text) => Self::Alone(joined(text)),
        }
    }
}

/// A cause, what is said of it, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The cause.
    pub cause: Cause,
    /// What is wrong.
    pub sentence: Sentence,
    /// What to do.
    pub way_out: WayOut,
}

/// Whom a piece of advice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffectedObject {
    /// Its kind; empty for Pods that request nothing.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// ` (of Rollout web)`, ` (its ReplicaSet web-1)`.
    more: String,
}

impl AffectedObject {
    /// Returns a subject, or this part of it.
    pub fn new(subject: &Subject<'_>, part: Option<&str>) -> Self {
        let owner = subject.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
        let part = part.map(|part| format!(" (its {part})")).unwrap_or_default();
        let (kind, name) = (subject.kind().to_owned(), subject.name().to_owned());
        Self { kind, namespace: subject.namespace.clone(), name, more: format!("{owner}{part}") }
    }
}

impl fmt::Display for AffectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, more } = self;
        match kind.as_str() {
            "" => write!(f, "new Pods in {namespace}"),
            kind => write!(f, "{kind} {name}{more} in {namespace}"),
        }
    }
}

/// All there is to do: by how bad it is (`Changed` for advice that reports no trouble), the points, and whom each is about.
#[derive(Default)]
pub struct AdviceList(BTreeMap<(Forecast, Point), Vec<AffectedObject>>);

impl AdviceList {
    /// Adds a piece of advice.
    pub fn add(&mut self, forecast: Forecast, point: Point, about: Option<AffectedObject>) {
        let known = self.0.entry((forecast, point)).or_default();
        known.extend(about.filter(|about| !known.contains(about)));
    }

    /// Adds a piece of advice about nothing that was judged, which says itself what to do.
    pub fn add_alone(&mut self, outcome: Outcome, text: String, cause: Cause) {
        let point = Point { cause, sentence: Sentence::Alone(text), way_out: WayOut::Said };
        self.add(Forecast::real(outcome), point, None);
    }

    /// Returns all of it. Of many pieces that are about the same label of the same setting, the first are listed one by
    /// one.
    pub fn advice(self) -> Vec<Advice> {
        let mut similar: BTreeMap<_, Vec<Advice>> = BTreeMap::new();
        for ((forecast, point), concerned) in self.0 {
            let Cause { kind, setting, label, .. } = &point.cause;
            let about = (forecast, *kind, setting.clone(), label.clone());
            similar.entry(about).or_default().push(Advice::new(forecast, point, concerned));
        }
        similar.into_values().flat_map(shorten).collect()
    }
}

/// Returns each piece, or the first of them and whom the others are about.
fn shorten(mut advice: Vec<Advice>) -> Vec<Advice> {
    let are_about_workloads = advice.iter().all(|it| !it.about.is_empty());
    let more = if advice.len() > SIMILAR && are_about_workloads { advice.split_off(SIMILAR - 1) } else { vec![] };
    if let Some(Cause { kind, setting, label, .. }) = more.first().map(|first| first.cause.clone()) {
        let by = setting.as_ref().map(|setting| format!(", by {setting}")).unwrap_or_default();
        let about: Vec<AffectedObject> = more.iter().flat_map(|it| it.about.clone()).collect();
        let text = format!("The same, {} times more{by}: {}.", more.len(), list_subjects(&about));
        let nodes = more.into_iter().flat_map(|it| it.cause.nodes).collect();
        let cause = Cause { label, nodes, ..Cause::new(kind, setting) };
        advice.push(Advice { text, cause, way_out: WayOut::Said, about });
    }
    advice
}

impl Advice {
    fn new(forecast: Forecast, Point { cause, sentence, way_out }: Point, about: Vec<AffectedObject>) -> Self {
        let first = about.first().map(|first| first.namespace.clone());
        let shared = first.filter(|first| about.iter().all(|it| it.namespace == *first));
        let namespace = cause.namespace.or(shared);
        let is = match about.as_slice() {
            _ if forecast.would_be => "would be",
            [only] if !only.kind.is_empty() => "is",
            _ => "are",
        };
        let subject = list_subjects(&about);
        let mut text = capital(&match sentence {
            Sentence::Is(rest) => format!("{subject} {is} {rest}"),
            Sentence::Does(rest) => format!("{subject} {rest}"),
            Sentence::OfBindings(rest) => format!("Bindings of {subject} {rest}"),
            Sentence::Alone(text) => text,
        });
        text += &way_out.sentence();
        if !text.ends_with(['.', '?']) {
            text.push('.');
        }
        if forecast.would_be {
            text += " (So far its entry only warns.)";
        }
        Self { text, cause: Cause { namespace, ..cause }, way_out, about }
    }
}

/// Returns `Deployment web in blue, new Pods in blue and 3 more`.
fn list_subjects(concerned: &[AffectedObject]) -> String {
    names(&concerned.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Returns `a, b, c, d and 3 more`.
pub fn names(names: &[String]) -> String {
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

/// Returns a text that begins a sentence.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

impl Cause {
    /// Returns the cause of what is not known.
    pub fn of_gap(gap: &Gap) -> Self {
        let is_of_condition = matches!(gap, Gap::Delivery(_) | Gap::Condition(_));
        Self::new(if is_of_condition { CauseKind::Condition } else { CauseKind::Lacks }, None)
    }

    /// Returns a cause of this kind, at this setting.
    pub fn new(kind: CauseKind, setting: Option<String>) -> Self {
        Self { kind, setting, ..Self::default() }
    }
}

impl From<PolicyCause> for Cause {
    fn from(PolicyCause { kind, setting, label, taint, required, requested, .. }: PolicyCause) -> Self {
        let setting = setting.map(|path| path.to_string());
        Self { label, taint, demanded: required, asked: requested, ..Self::new(kind.into(), setting) }
    }
}

impl From<PolicyCauseKind> for CauseKind {
    fn from(kind: PolicyCauseKind) -> Self {
        match kind {
            PolicyCauseKind::Requests => Self::Requests,
            PolicyCauseKind::Contradiction => Self::Contradiction,
            PolicyCauseKind::MissingLabel => Self::MissingLabel,
            PolicyCauseKind::Annotation => Self::Annotation,
            PolicyCauseKind::RuntimeClass => Self::RuntimeClass,
            PolicyCauseKind::NodeName => Self::NodeName,
            PolicyCauseKind::Limit => Self::Limit,
            PolicyCauseKind::Metadata => Self::Metadata,
            PolicyCauseKind::Unreadable => Self::Lacks,
        }
    }
}
