//! What to do: the causes that a person must change, each once, the worst first.

use std::collections::{BTreeMap, BTreeSet};

use node_placement_policy::{
    decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind},
    settings::{NamespaceEntry, Settings, choice::OnDaemonSets},
    toleration::Taint,
};

use super::{
    Advice, Cause, CauseKind, Outcome,
    blame::{Blame, blame},
    judging::{Judged, Why},
    placing::{Nodes, PodId},
    tolerating::{Remedy, remedy},
    verdict::listed,
};
use crate::{
    engine::{
        deployed::Refusal,
        gap::Gap,
        namespace_rules::{Demand, NamespaceRules, entry_name, is_for_the_rest},
    },
    input::settings::entries,
};

/// So many are named.
const NAMED: usize = 4;
/// So many pieces of advice about one label of one setting are told.
const ALIKE: usize = 5;

/// Collects what is wrong, and words it.
pub struct Advisor<'p> {
    settings: &'p Settings,
    rules: &'p BTreeMap<String, NamespaceRules>,
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
    setting: Option<String>,
    label: Option<String>,
    taint: Option<String>,
    demanded: Option<String>,
    asked: Option<String>,
    nodes: Vec<String>,
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
    pub fn new(settings: &'p Settings, rules: &'p BTreeMap<String, NamespaceRules>, nodes: &'p Nodes) -> Self {
        Self { settings, rules, nodes, points: BTreeMap::new() }
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
                Some(self.waits(&who, &blame(self.nodes, pod, &self.demands(&who.namespace))))
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
        let all = entries(self.settings);
        for (position, entry) in all.iter().enumerate().filter(|(_, entry)| !is_for_the_rest(entry)) {
            let matching: Vec<_> = self.rules.iter().filter(|(_, rules)| rules.matching.contains(&position)).collect();
            if matching.is_empty() || matching.iter().any(|(_, rules)| rules.entry == Some(position)) {
                continue;
            }
            let Some((above, at)) = matching.iter().find_map(|(_, rules)| Some((all.get(rules.entry?)?, rules.entry?)))
            else {
                continue;
            };
            let namespaces: Vec<String> = matching.iter().map(|(name, _)| (*name).clone()).collect();
            let said = format!(
                "{} (placement.namespaces[{position}]) holds in no namespace, since {} (placement.namespaces[{at}]) stands \
                 above it and takes {}: move it up",
                capital(&entry_name(entry)),
                entry_name(above),
                names(&namespaces),
            );
            let cause = Cause {
                kind: CauseKind::EntryAbove,
                setting: Some(format!("placement.namespaces[{position}]")),
                ..Cause::default()
            };
            let namespace = namespaces.first().cloned().unwrap_or_default();
            let whos = namespaces.iter().map(|_| Who { name: None, namespace: namespace.clone() });
            self.points.entry(key(false, Rank::EntryAbove, said, cause)).or_default().extend(whos.take(1));
        }
    }

    /// Notes nodes of tenants that others may use, since they carry no taint: the setting, the nodes, who else.
    pub fn note_untainted(&mut self, setting: Option<String>, tenants: usize, nodes: Vec<String>, others: &[String]) {
        let whose = self.whose(setting.as_deref());
        let whose = if tenants > 1 { format!("{tenants} tenants of {whose}") } else { whose };
        let said = format!(
            "No taint keeps Pods of {} from nodes of {whose} ({}). If only that may run there, taint the nodes, and add the \
             toleration to the entry with defaultTolerations",
            names(others),
            names(&nodes),
        );
        let cause = Cause { kind: CauseKind::NoTaint, setting, nodes, ..Cause::default() };
        self.points.entry(key(false, Rank::NoTaint, said, cause)).or_default();
    }

    /// All of it. Of many pieces that are about the same label of the same setting, the first are told one by one.
    pub fn advice(self) -> Vec<Advice> {
        let mut alike: BTreeMap<_, Vec<(Key, Vec<Who>)>> = BTreeMap::new();
        for (key, whos) in self.points {
            let about = (key.would_be, key.rank, key.kind, key.setting.clone(), key.label.clone());
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

    fn demands(&self, namespace: &str) -> Vec<Demand> {
        self.rules.get(namespace).map(|rules| rules.demands.clone()).unwrap_or_default()
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
            (None, Some(setting)) => self.demanded_by(setting),
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
            (PolicyCauseKind::Asks, Some(asked), Some(demanded)) if who.name.is_some() => format!(
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

    /// An entry above selects by a label that the namespace lacks, and is what its objects are made for.
    fn missing_label(&self, who: &Who, found: &PolicyCause) -> Option<(String, Cause)> {
        let rules = self.rules.get(&who.namespace)?;
        let asked = found.asked.as_deref()?;
        let (position, label) = rules.lacking.iter().find(|(position, _)| {
            let demanding = entries(self.settings).get(*position);
            demanding.is_some_and(|entry| {
                entry.node_selectors().any(|(_, text)| text.split(',').any(|one| one.trim() == asked))
            })
        })?;
        let entry = entries(self.settings).get(*position)?;
        let said = format!(
            "Namespace {} has no label {label}, by which {} (placement.namespaces[{position}]) selects, and {WHO} refused by \
             the entry that holds instead: label the namespace, if it is meant there",
            who.namespace,
            entry_name(entry),
        );
        let cause = Cause {
            kind: CauseKind::MissingLabel,
            setting: Some(format!("placement.namespaces[{position}].namespaceSelector")),
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
        let demands = self.demands(&who.namespace);
        let demand = demands.iter().find(|demand| !demand.text.is_empty());
        let demanded = demand.map(|demand| demand.text.clone());
        let nodes =
            if judged.nodes.is_empty() { "nodes that Karpenter creates".to_owned() } else { names(&judged.nodes) };
        let on_daemon_sets = self.settings.placement.as_ref().map(|placement| placement.on_daemon_sets);
        // Its template is not changed, so its controller still counts on these nodes.
        let planned = match on_daemon_sets {
            Some(OnDaemonSets::Ignore | OnDaemonSets::Warn) => {
                "Its controller would still make Pods for these nodes, and they would wait for ever: set \
                 placement.onDaemonSets to Inject. "
            }
            _ => "",
        };
        let why = demand.map(|demand| format!(": {} demands {}", self.source(demand), demand.text)).unwrap_or_default();
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
        let demand = self.demands(&who.namespace).into_iter().find(|demand| blame.is_demanded_by(demand));
        let source = demand.as_ref().map(|demand| self.source(demand));
        let by = source.map(|source| format!(", which {source} demands")).unwrap_or_default();
        let setting = demand.as_ref().and_then(|demand| demand.path.clone());
        let (said, cause) = match blame {
            Blame::Taints { taints, nodes } => {
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
    fn demanded_by(&self, setting: &str) -> String {
        match self.entry_at(setting) {
            Some(entry) => format!("{} ({setting})", entry_name(entry)),
            None => setting.to_owned(),
        }
    }

    fn source(&self, demand: &Demand) -> String {
        demand.path.as_deref().map_or_else(|| demand.source.clone(), |path| self.demanded_by(path))
    }

    fn whose(&self, setting: Option<&str>) -> String {
        setting.and_then(|setting| self.entry_at(setting)).map_or_else(|| "some namespaces".to_owned(), entry_name)
    }

    fn entry_at(&self, setting: &str) -> Option<&NamespaceEntry> {
        let position = setting.strip_prefix("placement.namespaces[")?.split(']').next()?.parse::<usize>().ok()?;
        entries(self.settings).get(position)
    }

    fn remedy(&self, namespace: &str, taints: &[Taint]) -> Remedy {
        let rules = self.rules.get(namespace).cloned().unwrap_or_default();
        remedy(self.settings, &rules, namespace, &self.entry_of(namespace), taints)
    }

    fn entry_of(&self, namespace: &str) -> String {
        let position = self.rules.get(namespace).and_then(|rules| rules.entry);
        let entry = position.and_then(|position| Some((position, entries(self.settings).get(position)?)));
        entry.map_or_else(
            || "an entry for the namespace".to_owned(),
            |(position, entry)| format!("{} (placement.namespaces[{position}])", entry_name(entry)),
        )
    }
}

/// Stands for who is concerned, and the verb behind it: `Deployment web in blue is`.
const WHO: &str = "\u{1}";
/// Stands for who is concerned.
const WHO_ALONE: &str = "\u{2}";

fn key(would_be: bool, rank: Rank, said: String, cause: Cause) -> Key {
    let Cause { kind, setting, label, taint, demanded, asked, nodes, .. } = cause;
    Key { would_be, rank, kind, said, setting, label, taint, demanded, asked, nodes }
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
        let nodes = more.iter().flat_map(|(key, _)| key.nodes.clone()).collect();
        told.push(Advice { text, cause: Cause { kind, setting, label, nodes, ..Cause::default() } });
    }
    told
}

fn advice(key: Key, whos: &[Who]) -> Advice {
    let Key { would_be, rank, kind, said, setting, label, taint, demanded, asked, nodes } = key;
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
    let cause = Cause { kind, setting, namespace, label, taint, demanded, asked, nodes };
    Advice { text, cause }
}

/// `Deployment web in blue, new Pods in blue and 3 more`
fn describe(whos: &[Who]) -> String {
    let named: Vec<String> = whos
        .iter()
        .take(NAMED)
        .map(|Who { name, namespace }| match name {
            Some(name) => format!("{name} in {namespace}"),
            None => format!("new Pods in {namespace}"),
        })
        .collect();
    match whos.len().saturating_sub(NAMED) {
        0 => listed(&named),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn names(names: &[String]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 => listed(names),
        more => format!("{} and {more} more", names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ")),
    }
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
    let namespace = match gap {
        Gap::Object { kind, name } if kind == "Namespace" => Some(name.clone()),
        _ => None,
    };
    (gap.advice(), Cause { kind: CauseKind::Lacks, namespace, ..Cause::default() })
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
