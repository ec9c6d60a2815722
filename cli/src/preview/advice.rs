//! What to do: the causes that a person must change, each once, the worst first.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use node_placement_policy::{
    decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind},
    settings::{EntryAt, NamespaceEntry, OnDaemonSets},
    toleration::Taint,
};
use serde::Serialize;

use super::{
    blame::{Blame, blame},
    judging::{Judged, Why},
    outcome::Outcome,
    placing::{Nodes, PodId},
    tolerating::{Remedy, remedy},
};
use crate::{
    engine::{
        deployed::Refusal,
        gap::Gap,
        namespace_rules::{Demand, NamespaceRules},
    },
    input::{
        settings::{entries, entry_name, is_for_the_rest},
        settings_file::SettingsFile,
    },
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
    /// What the policy demands, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demanded: Option<String>,
    /// What is asked for instead, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// The cluster's objects lack something; or a condition can't be evaluated here.
    #[default]
    Lacks,
    /// A namespace lacks the label that an entry refers to or selects by.
    MissingLabel,
    /// An entry above takes a namespace that this one is for.
    EntryAbove,
    /// An annotation of the namespace is malformed, or contradicts what holds there.
    Annotation,
    /// No node has the label that is demanded.
    NoSuchLabel,
    /// The nodes that match have a taint that the Pod does not tolerate.
    Taint,
    /// An object asks for what the namespace's rules do not allow.
    Asks,
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
}

/// So many are named.
const NAMED: usize = 4;
/// So many pieces of advice about one label of one setting are told.
const ALIKE: usize = 5;

/// Collects what is wrong, and words it.
pub struct Advisor<'p> {
    files: &'p [SettingsFile],
    rules: &'p BTreeMap<String, NamespaceRules<'p>>,
    nodes: &'p Nodes,
    points: BTreeMap<Key, Vec<Who>>,
}

/// What makes two pieces of advice the same: how bad it is, the cause, and what is said of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    would_be: bool,
    rank: Rank,
    kind: CauseKind,
    said: String,
    cause: Cause,
}

/// The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Of(Outcome),
    EntryAbove,
    NoTaint,
}

/// Who is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// `Deployment web`, or nothing for Pods that ask for nothing.
    pub name: Option<String>,
    /// The namespace.
    pub namespace: String,
}

impl<'p> Advisor<'p> {
    /// About settings, and the namespaces and nodes of a cluster.
    pub fn new(files: &'p [SettingsFile], rules: &'p BTreeMap<String, NamespaceRules<'p>>, nodes: &'p Nodes) -> Self {
        Self { files, rules, nodes, points: BTreeMap::new() }
    }

    /// Notes what is to be done about an outcome, if anything is.
    pub fn note(&mut self, who: Who, judged: &Judged) {
        let point = match &judged.why {
            Why::Unknown(gap) => Some(lacks(gap)),
            Why::NotAsked(reason) if judged.outcome.is_trouble() => {
                let said = format!("{WHO_ALONE} would no longer get the tolerations of the old settings: {reason}");
                Some((said, Cause { kind: CauseKind::Taint, nodes: judged.nodes.clone(), ..Cause::default() }))
            }
            Why::Refused(refusal) => Some(self.refused(&who, refusal)),
            Why::Unbound(refusal) if judged.outcome.is_trouble() => Some(Self::unbound(refusal, judged)),
            Why::Excluded(pod) if judged.outcome == Outcome::LeavesNodes => Some(self.leaves_nodes(&who, pod, judged)),
            Why::Excluded(pod) if judged.outcome == Outcome::Waits => {
                Some(self.waits(&who, &blame(self.nodes, pod, demands(self.rules, &who.namespace))))
            }
            _ => None,
        };
        if let Some((said, cause)) = point {
            self.add(judged.would_be, Rank::Of(judged.outcome), said, cause, who);
        }
    }

    /// Notes what is lacking of the cluster as a whole.
    pub fn note_gap(&mut self, gap: &Gap) {
        let (said, cause) = lacks(gap);
        self.points.entry(key(false, Rank::Of(Outcome::CannotTell), said, cause)).or_default();
    }

    /// Notes entries whose namespaces are all taken by entries above them.
    pub fn note_entries(&mut self) {
        for file in self.files.iter().filter(|file| file.places()) {
            for (position, entry) in entries(&file.typed).iter().enumerate() {
                self.note_entry(EntryAt { position, entry }, entries(&file.typed));
            }
        }
    }

    fn note_entry(&mut self, at: EntryAt<'_>, all: &[NamespaceEntry]) {
        let matching: Vec<_> = self.rules.iter().filter(|(_, rules)| rules.matches(at.entry)).collect();
        let holding = |rules: &NamespaceRules<'p>| {
            rules.held.iter().copied().find(|held| all.iter().any(|own| ptr::eq(own, held.entry)))
        };
        let holds = |rules: &NamespaceRules<'p>| holding(rules).is_some_and(|held| ptr::eq(held.entry, at.entry));
        if is_for_the_rest(at.entry) || matching.iter().any(|(_, rules)| holds(rules)) {
            return;
        }
        let Some(above) = matching.iter().find_map(|(_, rules)| holding(rules)) else { return };
        let namespaces: Vec<String> = matching.iter().map(|(name, _)| (*name).clone()).collect();
        let said = format!(
            "{} holds in no namespace, since {} stands above it and takes {}: move it up",
            capital(&self.entry_told(at)),
            self.entry_told(above),
            names(&namespaces),
        );
        let cause = Cause { kind: CauseKind::EntryAbove, setting: Some(at.to_string()), ..Cause::default() };
        let who = namespaces.into_iter().next().map(|namespace| Who { name: None, namespace });
        self.points.entry(key(false, Rank::EntryAbove, said, cause)).or_default().extend(who);
    }

    /// Notes nodes of tenants that others may use, since they carry no taint: the setting, whose it is, the nodes, who
    /// else.
    pub fn note_untainted(
        &mut self,
        setting: String,
        whose: String,
        tenants: usize,
        nodes: Vec<String>,
        others: &[String],
    ) {
        let whose = if tenants > 1 { format!("{tenants} tenants of {whose}") } else { whose };
        let said = format!(
            "No taint keeps Pods of {} from nodes of {whose} ({}). If only that may run there, taint the nodes, and add the \
             toleration to the entry with defaultTolerations",
            names(others),
            names(&nodes),
        );
        let cause = Cause { kind: CauseKind::NoTaint, setting: Some(setting), nodes, ..Cause::default() };
        self.points.entry(key(false, Rank::NoTaint, said, cause)).or_default();
    }

    /// All of it. Of many pieces that are about the same label of the same setting, the first are told one by one.
    pub fn advice(self) -> Vec<Advice> {
        let mut alike: BTreeMap<_, Vec<(Key, Vec<Who>)>> = BTreeMap::new();
        for (key, whos) in self.points {
            let about = (key.would_be, key.rank, key.kind, key.cause.setting.clone(), key.cause.label.clone());
            alike.entry(about).or_default().push((key, whos));
        }
        alike.into_values().flat_map(told).collect()
    }

    fn add(&mut self, would_be: bool, rank: Rank, said: String, cause: Cause, who: Who) {
        let whos = self.points.entry(key(would_be, rank, said, cause)).or_default();
        if !whos.contains(&who) {
            whos.push(who);
        }
    }

    fn refused(&self, who: &Who, Refusal { message, cause, .. }: &Refusal) -> (String, Cause) {
        let Some(found) = cause else {
            let cause = Cause { kind: CauseKind::Asks, ..Cause::default() };
            return (format!("{WHO} refused: {message}"), cause);
        };
        if let Some(point) = self.missing_label(who, found) {
            return point;
        }
        let cause = Cause {
            kind: kind(found.kind),
            setting: found.setting.clone(),
            namespace: None,
            label: found.label.clone(),
            taint: found.taint.clone(),
            demanded: found.demanded.clone(),
            asked: found.asked.clone(),
            nodes: vec![],
        };
        (self.said(who, found, message), cause)
    }

    fn said(&self, who: &Who, cause: &PolicyCause, message: &str) -> String {
        let source = match (&cause.annotation, &cause.setting) {
            (Some(annotation), _) => format!("the annotation {annotation} of the namespace"),
            (None, Some(setting)) => self.demanded_by(&who.namespace, setting),
            (None, None) => "the policy".to_owned(),
        };
        let asked = cause.asked.as_ref().or(cause.taint.as_ref());
        let label = cause.label.as_deref().unwrap_or_default();
        // An empty whitelist.
        let demanded = cause.demanded.as_ref().filter(|demanded| !demanded.is_empty());
        match (cause.kind, asked, demanded) {
            (PolicyCauseKind::MissingLabel, ..) if cause.setting.is_some() => {
                let labels = format!("Namespace {} has no usable label {label}", who.namespace);
                format!("{labels}, which {source} refers to: label it. Until then {WHO} refused")
            }
            (PolicyCauseKind::Annotation, ..) => {
                let annotation = cause.annotation.as_deref().unwrap_or("of the node selector");
                format!("{WHO} refused: correct the annotation {annotation} of Namespace {}", who.namespace)
            }
            (PolicyCauseKind::RuntimeClass, Some(asked), Some(demanded)) => {
                format!(
                    "{WHO} refused: the RuntimeClass brings {asked}, and {source} demands {demanded}: use another class"
                )
            }
            (PolicyCauseKind::Asks, Some(asked), Some(demanded)) if !self.is_added(who, asked) => format!(
                "{WHO} refused: {asked} is asked for, and {source} demands {demanded}. Change the object, or the setting"
            ),
            (PolicyCauseKind::Asks, Some(asked), Some(demanded)) => format!(
                "{WHO} refused: they get {asked}, and {source} demands {demanded}. Correct the settings: nothing that asks for \
                 nothing can be created there"
            ),
            (PolicyCauseKind::Asks, Some(asked), None) => {
                format!(
                    "{WHO} refused: {asked} is asked for, and {source} does not allow it. Change the object, or the setting"
                )
            }
            _ => format!("{WHO} refused: {message}"),
        }
    }

    /// Whether the settings themselves ask for something there: of Pods that ask for nothing, always.
    fn is_added(&self, who: &Who, asked: &str) -> bool {
        let mut demands = demands(self.rules, &who.namespace).iter();
        who.name.is_none() || demands.any(|demand| demand.requirements().iter().any(|added| added == asked))
    }

    /// An entry above selects by a label that the namespace lacks, and is what its objects are made for.
    fn missing_label(&self, who: &Who, found: &PolicyCause) -> Option<(String, Cause)> {
        let rules = self.rules.get(&who.namespace)?;
        let asked = found.asked.as_deref()?;
        let (at, label) = rules.lacking.iter().find(|(at, _)| {
            at.entry.node_selectors().any(|(_, text)| text.split(',').any(|one| one.trim() == asked))
        })?;
        let said = format!(
            "Namespace {} has no label {label}, by which {} selects, and {WHO} refused by the entry that holds instead: \
             label the namespace, if it is meant there",
            who.namespace,
            self.entry_told(*at),
        );
        let cause = Cause {
            kind: CauseKind::MissingLabel,
            setting: Some(format!("{at}.namespaceSelector")),
            label: Some(label.clone()),
            ..Cause::default()
        };
        Some((said, cause))
    }

    fn unbound(Refusal { message, cause, .. }: &Refusal, judged: &Judged) -> (String, Cause) {
        let (outcome, nodes) = (judged.outcome, judged.nodes.as_slice());
        let found = cause.as_ref();
        let setting = found.and_then(|cause| cause.setting.clone());
        let cause = Cause {
            kind: found.map_or(CauseKind::Metadata, |cause| kind(cause.kind)),
            label: found.and_then(|cause| cause.label.clone()),
            nodes: nodes.to_vec(),
            setting,
            ..Cause::default()
        };
        let said = match (outcome, nodes) {
            (Outcome::CannotTell, []) => format!(
                "Bindings of {WHO_ALONE} to nodes that Karpenter creates would be refused, unless somebody else labels \
                 these"
            ),
            (Outcome::CannotTell, nodes) => {
                format!("Bindings of {WHO_ALONE} to {} would be refused, and the scheduler may pick that", names(nodes))
            }
            _ => format!("Bindings of {WHO_ALONE} would be refused"),
        };
        (format!("{said}: {message}"), cause)
    }

    fn leaves_nodes(&self, who: &Who, pod: &[PodId], judged: &Judged) -> (String, Cause) {
        let taints = self.nodes.taints(pod, &judged.nodes);
        if !taints.is_empty() {
            return self.no_longer_tolerates(who, &taints, judged);
        }
        let demand = demands(self.rules, &who.namespace).iter().find(|demand| !demand.text.is_empty());
        let demanded = demand.map(|demand| demand.text.clone());
        let nodes =
            if judged.nodes.is_empty() { "nodes that Karpenter creates".to_owned() } else { names(&judged.nodes) };
        let on_daemon_sets = self.rules.get(&who.namespace).and_then(|rules| rules.on_daemon_sets);
        // Its template is not changed, so its controller still counts on these nodes.
        let planned = match on_daemon_sets {
            Some(OnDaemonSets::Ignore | OnDaemonSets::Warn) => {
                "Its controller would still make Pods for these nodes, and they would wait for ever: set \
                 placement.onDaemonSets to Inject. "
            }
            _ => "",
        };
        let why = demand
            .map(|demand| format!(": {} demands {}", self.source(&who.namespace, demand), demand.text))
            .unwrap_or_default();
        let said = format!(
            "{WHO_ALONE} would leave {nodes}, where {}{why}. {planned}If it must run there, exempt its namespace or widen \
             what it may use",
            counted_runs(judged.pods),
        );
        let setting = demand.and_then(|demand| demand.path.clone());
        (
            said,
            Cause { kind: CauseKind::LeavesNodes, setting, demanded, nodes: judged.nodes.clone(), ..Cause::default() },
        )
    }

    /// What only the old settings let it tolerate.
    fn no_longer_tolerates(&self, who: &Who, taints: &[Taint], judged: &Judged) -> (String, Cause) {
        let Remedy { taints, text, setting, .. } = self.remedy(&who.namespace, taints);
        let said = format!(
            "{WHO_ALONE} would leave {}, where {}: it would no longer tolerate the taint {}. {text}",
            names(&judged.nodes),
            counted_runs(judged.pods),
            taints.join(", "),
        );
        let (taint, nodes) = (taints.first().cloned(), judged.nodes.clone());
        (said, Cause { kind: CauseKind::LeavesNodes, setting, taint, nodes, ..Cause::default() })
    }

    fn waits(&self, who: &Who, blame: &Blame) -> (String, Cause) {
        let demand = demands(self.rules, &who.namespace).iter().find(|demand| blame.is_demanded_by(demand));
        let source = demand.map(|demand| self.source(&who.namespace, demand));
        let by = source.map(|source| format!(", which {source} demands")).unwrap_or_default();
        let setting = demand.and_then(|demand| demand.path.clone());
        let (said, cause) = match blame {
            Blame::Taints { taints, nodes, for_a_time: true } => {
                let told: Vec<String> = taints.iter().map(ToString::to_string).collect();
                let said = format!(
                    "{WHO} without a node: those that match ({}) have the taint {}, which they tolerate for some seconds \
                     only, and are evicted then. Tolerate it without tolerationSeconds",
                    names(nodes),
                    told.join(", ")
                );
                let taint = told.into_iter().next();
                (said, Cause { kind: CauseKind::Taint, taint, nodes: nodes.clone(), ..Cause::default() })
            }
            Blame::Taints { taints, nodes, for_a_time: false } => {
                let Remedy { taints, is_for_all, text, setting } = self.remedy(&who.namespace, taints);
                // The other tenants of the entry have other nodes.
                let nodes = if is_for_all { vec![] } else { nodes.clone() };
                let named = if is_for_all { String::new() } else { format!(" ({})", names(&nodes)) };
                let said = format!(
                    "{WHO} without a node: those that match{named} have the taint {}. {text}",
                    taints.join(", ")
                );
                let taint = taints.first().cloned();
                (said, Cause { kind: CauseKind::Taint, setting, taint, nodes, ..Cause::default() })
            }
            Blame::Label { key, needs, similar, class } => {
                let similar = similar.as_ref().map(|similar| format!("; did you mean {similar}?")).unwrap_or_default();
                let class = class.as_ref().map(|class| format!(" (RuntimeClass {class})")).unwrap_or_default();
                let said = format!(
                    "{WHO} without a node: no node has {needs}{class}{by}{similar}. Correct the selector, or label nodes"
                );
                let cause = Cause {
                    kind: CauseKind::NoSuchLabel,
                    setting,
                    label: Some(key.clone()),
                    demanded: Some(needs.clone()),
                    ..Cause::default()
                };
                (said, cause)
            }
            Blame::Together { demanded, asked, key } => {
                let all: Vec<String> = demanded.iter().chain(asked).cloned().collect();
                let said = format!(
                    "{WHO} without a node: none has {} together{}. Label nodes, or change one of them",
                    listed(&all),
                    if demanded.is_empty() {
                        String::new()
                    } else {
                        format!(
                            "; {} is demanded{}",
                            listed(demanded),
                            by.replace(", which", " by").replace(" demands", "")
                        )
                    },
                );
                let text = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
                let cause = Cause {
                    kind: CauseKind::NoSuchLabel,
                    setting,
                    label: Some(key.clone()),
                    demanded: text(demanded),
                    asked: text(asked),
                    ..Cause::default()
                };
                (said, cause)
            }
            Blame::Nothing => {
                let said = format!("{WHO} without a node: its node affinity matches none. Correct it");
                (said, Cause { kind: CauseKind::NoSuchLabel, setting, ..Cause::default() })
            }
        };
        (said, cause)
    }

    /// `the entry for tenant (placement.namespaces[0].requiredNodeSelector)`
    fn demanded_by(&self, namespace: &str, setting: &str) -> String {
        match self.entry_at(namespace, setting) {
            Some(entry) => format!("{} ({})", entry_name(entry), self.in_policy(entry, setting)),
            None => setting.to_owned(),
        }
    }

    /// `the entry for tenant (placement.namespaces[0])`
    fn entry_told(&self, at: EntryAt<'_>) -> String {
        format!("{} ({})", entry_name(at.entry), self.in_policy(at.entry, &at.to_string()))
    }

    /// A path; where several policies place, with the name of that which the entry is of.
    fn in_policy(&self, entry: &NamespaceEntry, path: &str) -> String {
        let mut placing = self.files.iter().filter(|file| file.places());
        let is_of = |file: &&SettingsFile| entries(&file.typed).iter().any(|own| ptr::eq(own, entry));
        let policy = placing.clone().find(is_of).and_then(|file| file.name.as_deref());
        policy.filter(|_| placing.nth(1).is_some()).map_or_else(|| path.to_owned(), |name| format!("{name}: {path}"))
    }

    fn source(&self, namespace: &str, demand: &Demand) -> String {
        demand.path.as_deref().map_or_else(|| demand.source.clone(), |path| self.demanded_by(namespace, path))
    }

    /// The name of the entry that holds in a namespace and has this setting.
    pub fn whose(&self, namespace: &str, setting: &str) -> String {
        self.entry_at(namespace, setting).map_or_else(|| "some namespaces".to_owned(), entry_name)
    }

    fn entry_at(&self, namespace: &str, setting: &str) -> Option<&'p NamespaceEntry> {
        let position = setting.strip_prefix("placement.namespaces[")?.split(']').next()?.parse::<usize>().ok()?;
        self.rules.get(namespace)?.held.iter().find(|at| at.position == position).map(|at| at.entry)
    }

    fn remedy(&self, namespace: &str, taints: &[Taint]) -> Remedy {
        let none = NamespaceRules::default();
        let rules = self.rules.get(namespace).unwrap_or(&none);
        let entry = rules.held.first();
        let entry = entry.map_or_else(|| "an entry for the namespace".to_owned(), |at| self.entry_told(*at));
        remedy(rules, namespace, &entry, taints)
    }
}

/// The node selectors that hold in a namespace.
pub fn demands<'r>(rules: &'r BTreeMap<String, NamespaceRules<'_>>, namespace: &str) -> &'r [Demand] {
    rules.get(namespace).map(|rules| rules.demands.as_slice()).unwrap_or_default()
}

/// Stands for who is concerned, and the verb behind it: `Deployment web in blue is`.
const WHO: &str = "\u{1}";
/// Stands for who is concerned.
const WHO_ALONE: &str = "\u{2}";

fn key(would_be: bool, rank: Rank, said: String, cause: Cause) -> Key {
    Key { would_be, rank, kind: cause.kind, said, cause }
}

/// Each piece, or the first of them and who else is concerned.
fn told(mut points: Vec<(Key, Vec<Who>)>) -> Vec<Advice> {
    let is_about_somebody = points.iter().all(|(_, whos)| !whos.is_empty());
    let more = if points.len() > ALIKE && is_about_somebody { points.split_off(ALIKE - 1) } else { vec![] };
    let mut told: Vec<Advice> = points.into_iter().map(|(key, whos)| advice(key, &whos)).collect();
    if !more.is_empty() {
        let Cause { kind, setting, label, .. } = told.last().map(|last| last.cause.clone()).unwrap_or_default();
        let setting_told = setting.as_ref().map(|setting| format!(", by {setting}")).unwrap_or_default();
        let whos: Vec<Who> = more.iter().flat_map(|(_, whos)| whos.clone()).collect();
        let text = format!("The same, {} times more{setting_told}: {}.", more.len(), describe(&whos));
        let nodes = more.iter().flat_map(|(key, _)| key.cause.nodes.clone()).collect();
        told.push(Advice { text, cause: Cause { kind, setting, label, nodes, ..Cause::default() } });
    }
    told
}

fn advice(key: Key, whos: &[Who]) -> Advice {
    let Key { would_be, rank, said, cause, .. } = key;
    let namespaces: BTreeSet<&str> = whos.iter().map(|who| who.namespace.as_str()).collect();
    let namespace = (namespaces.len() == 1).then(|| whos.first().map(|who| who.namespace.clone())).flatten();
    let is_one = whos.len() == 1 && whos.iter().all(|who| who.name.is_some());
    let verb = match (would_be, rank, is_one) {
        (true, Rank::Of(Outcome::Refused), _) => "would be",
        (true, ..) => "would be left",
        (false, Rank::Of(Outcome::Refused), true) => "is",
        (false, Rank::Of(Outcome::Refused), false) => "are",
        (false, _, true) => "is left",
        (false, _, false) => "are left",
    };
    let alone = describe(whos);
    let text = capital(&said.replace(WHO_ALONE, &alone).replace(WHO, &format!("{alone} {verb}")));
    let text = if text.ends_with(['.', '?', ']']) { text } else { format!("{text}.") };
    let text = if would_be { format!("{text} (So far its entry only warns.)") } else { text };
    Advice { text, cause: Cause { namespace, ..cause } }
}

/// `Deployment web in blue, new Pods in blue and 3 more`
fn describe(whos: &[Who]) -> String {
    let named: Vec<String> = whos
        .iter()
        .map(|Who { name, namespace }| match name {
            Some(name) => format!("{name} in {namespace}"),
            None => format!("new Pods in {namespace}"),
        })
        .collect();
    names(&named)
}

fn names(names: &[String]) -> String {
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

fn counted_runs(pods: usize) -> String {
    match pods {
        0 => "none of its Pods runs now".to_owned(),
        1 => "1 of its Pods runs now".to_owned(),
        pods => format!("{pods} of its Pods run now"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn lacks(gap: &Gap) -> (String, Cause) {
    (gap.advice(), Cause { kind: CauseKind::Lacks, ..Cause::default() })
}

fn kind(kind: PolicyCauseKind) -> CauseKind {
    match kind {
        PolicyCauseKind::Asks => CauseKind::Asks,
        PolicyCauseKind::MissingLabel => CauseKind::MissingLabel,
        PolicyCauseKind::Annotation => CauseKind::Annotation,
        PolicyCauseKind::RuntimeClass => CauseKind::RuntimeClass,
        PolicyCauseKind::NodeName => CauseKind::NodeName,
        PolicyCauseKind::Limit => CauseKind::Limit,
        PolicyCauseKind::Metadata => CauseKind::Metadata,
        PolicyCauseKind::Taint => CauseKind::Taint,
        PolicyCauseKind::Unreadable => CauseKind::Lacks,
    }
}
