//! What to do: the causes that a person must change, each once, the worst first.

use std::{collections::BTreeMap, ptr};

use node_placement_policy::{
    decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind},
    selector,
    settings::{Enforcement, EntryAt, NamespaceEntry, OnDaemonSets},
    toleration::Taint,
};
use serde::Serialize;

use super::{
    namespace_rules::NamespaceRules,
    outcome::{Forecast, Judged, Outcome, Why},
    remedy::{NOT_FOR_WORKLOADS, Remedy, is_control_plane, remedy},
    round::Round,
    subject::Subject,
    unschedulable::Unschedulable,
};
use crate::{
    demands::Demand,
    engine::reply::{Gap, Refusal},
    input::{
        manifests::Manifest,
        settings::{entries, entry_name, is_for_the_rest},
        settings_file::SettingsFile,
    },
    lists::{listed, shortened},
    requests::{plugins, template},
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

/// Stands for who is concerned, and the verb behind it: `Deployment web in blue is`.
const WHO: &str = "\u{1}";
/// Stands for who is concerned.
const WHO_ALONE: &str = "\u{2}";

/// Collects what is wrong, and words it.
pub struct Advisor<'p> {
    round: &'p Round<'p>,
    points: BTreeMap<Point, Vec<Who>>,
}

/// What makes two pieces of advice the same: how bad it is, the cause, and what is said of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// Of what is no trouble, and worth a word: the outcome Changed.
    forecast: Forecast,
    cause: Cause,
    said: String,
}

/// Who is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Who {
    /// `Deployment web`, or nothing for Pods that ask for nothing.
    name: Option<String>,
    namespace: String,
}

impl<'p> Advisor<'p> {
    /// About the settings of a round, and the namespaces of its cluster.
    pub fn new(round: &'p Round<'p>) -> Self {
        Self { round, points: BTreeMap::new() }
    }

    /// Notes what is to be done about an outcome, if anything is.
    pub fn note(&mut self, subject: &Subject<'_>, judged: &Judged) {
        let who = Who { name: subject.called(judged.part.as_deref()), namespace: subject.namespace.clone() };
        let outcome = judged.forecast.outcome;
        let (said, cause) = match &judged.why {
            Why::Unknown(gap) => lacks(gap),
            Why::Refused(refusal) => self.refused(&who, refusal, subject),
            Why::Unschedulable(why) => self.waits(&who, why),
            Why::FewerNodes(taints) if outcome == Outcome::LeavesNodes => self.leaves_nodes(&who, taints, judged),
            Why::Unbound(refusal) if outcome.is_trouble() => unbound(refusal, judged),
            Why::NotAsked(reason) if outcome.is_trouble() => (
                format!("{WHO_ALONE} would no longer get the tolerations of the old settings: {reason}"),
                Cause { kind: CauseKind::Taint, nodes: judged.nodes.clone(), ..Cause::default() },
            ),
            _ => return,
        };
        self.add(judged.forecast, said, cause, [who]);
    }

    /// Notes what is lacking of the cluster as a whole.
    pub fn note_gap(&mut self, gap: &Gap) {
        let (said, cause) = lacks(gap);
        self.add(Forecast::real(Outcome::CannotTell), said, cause, []);
    }

    /// Notes entries whose namespaces are all taken by entries above them.
    pub fn note_entries(&mut self) {
        for file in self.round.files.iter().filter(|file| file.places_pods()) {
            for (position, entry) in entries(&file.typed).iter().enumerate() {
                self.note_entry(EntryAt { position, entry }, entries(&file.typed));
            }
        }
    }

    fn note_entry(&mut self, at: EntryAt<'_>, all: &[NamespaceEntry]) {
        let matching: Vec<_> = self.round.namespaces.iter().filter(|(_, rules)| rules.matches(at.entry)).collect();
        let held =
            |rules: &NamespaceRules<'p>| rules.held().find(|held| all.iter().any(|own| ptr::eq(own, held.entry)));
        let mut held = matching.iter().filter_map(|(_, rules)| held(rules));
        if is_for_the_rest(at.entry) || held.clone().any(|held| ptr::eq(held.entry, at.entry)) {
            return;
        }
        // An exception stands above its rule on purpose.
        let is_meant = |held: &EntryAt<'_>| is_narrower(held.entry, at.entry) || is_enforced_copy(held.entry, at.entry);
        let Some(above) = held.find(|held| !is_meant(held)) else { return };
        let namespaces: Vec<String> = matching.iter().map(|(name, _)| (**name).to_owned()).collect();
        let said = format!(
            "{} holds in no namespace, since {} stands above it and takes {}: move it up, if it is meant there",
            capital(&self.entry_told(at)),
            self.entry_told(above),
            names(&namespaces),
        );
        let cause = Cause { kind: CauseKind::EntryAbove, setting: Some(at.to_string()), ..Cause::default() };
        let who = namespaces.into_iter().next().map(|namespace| Who { name: None, namespace });
        self.add(Forecast::real(Outcome::Changed), said, cause, who);
    }

    /// Notes nodes of tenants that others may use, since they carry no taint: the setting, whose it is, the nodes, who
    /// else, and whether only until what warns of it is enforced.
    pub fn note_untainted(
        &mut self,
        setting: &str,
        whose: &str,
        nodes: Vec<String>,
        others: &[String],
        is_warned_of: bool,
    ) {
        let (since, enforce) = match is_warned_of {
            true => (", since entries that only warn keep nobody away", "enforce these, or "),
            false => ("", ""),
        };
        let said = format!(
            "No taint keeps Pods of {} from nodes of {whose} ({}){since}. If only that may run there, {enforce}add a \
             toleration to the entry with defaultTolerations, then taint the nodes with NoSchedule",
            names(others),
            names(&nodes),
        );
        let cause = Cause { kind: CauseKind::NoTaint, setting: Some(setting.to_owned()), nodes, ..Cause::default() };
        self.add(Forecast::real(Outcome::Changed), said, cause, []);
    }

    /// All of it. Of many pieces that are about the same label of the same setting, the first are told one by one.
    pub fn advice(self) -> Vec<Advice> {
        let mut alike: BTreeMap<_, Vec<(Point, Vec<Who>)>> = BTreeMap::new();
        for (point, whos) in self.points {
            let Cause { kind, setting, label, .. } = &point.cause;
            let about = (point.forecast, *kind, setting.clone(), label.clone());
            alike.entry(about).or_default().push((point, whos));
        }
        alike.into_values().flat_map(told).collect()
    }

    fn add(&mut self, forecast: Forecast, said: String, cause: Cause, whos: impl IntoIterator<Item = Who>) {
        let known = self.points.entry(Point { forecast, cause, said }).or_default();
        for who in whos {
            if !known.contains(&who) {
                known.push(who);
            }
        }
    }

    /// Whether a label that is asked for is of the RuntimeClass, with which the API server has merged the Pod before.
    fn is_of_class(&self, subject: &Subject<'_>, asked: Option<&String>) -> bool {
        let Some(object) = subject.manifest.map(Manifest::parse) else { return false };
        let spec = &template::template(&object).unwrap_or(&object)["spec"];
        let class = plugins::runtime_class(spec, self.round.chain.cluster).ok().flatten();
        let labels = class.and_then(|class| class.scheduling?.node_selector).unwrap_or_default();
        // A Pod of the cluster is merged.
        let is_own = |key| subject.kind() != "Pod" && spec["nodeSelector"].get(key).is_some();
        labels.iter().any(|(key, value)| asked == Some(&format!("{key}={value}")) && !is_own(key))
    }

    fn refused(&self, who: &Who, refusal: &Refusal, subject: &Subject<'_>) -> (String, Cause) {
        let message = &refusal.message;
        let Some(mut found) = refusal.cause.clone() else {
            return (format!("{WHO} refused: {message}"), Cause { kind: CauseKind::Asks, ..Cause::default() });
        };
        if self.is_of_class(subject, found.asked.as_ref()) {
            found.kind = PolicyCauseKind::RuntimeClass;
        }
        let found = &found;
        if let Some(point) = self.missing_label(who, found) {
            return point;
        }
        let said = format!("{WHO} refused: {}", self.obstacle(who, found).unwrap_or_else(|| message.clone()));
        (said, Cause::from(found))
    }

    /// What stands in the way, and the way out; nothing, where the message says it best.
    fn obstacle(&self, who: &Who, cause: &PolicyCause) -> Option<String> {
        let source = match (&cause.annotation, &cause.setting) {
            (Some(annotation), _) => format!("the annotation {annotation} of the namespace"),
            (None, Some(setting)) => {
                self.demanded_by(&who.namespace, setting, cause.demanded.as_deref().unwrap_or_default())
            }
            (None, None) => "the policy".to_owned(),
        };
        let asked = cause.asked.as_ref().or(cause.taint.as_ref());
        let (what, way_out) = match cause.kind {
            PolicyCauseKind::MissingLabel if cause.setting.is_some() => {
                let label = cause.label.as_deref().unwrap_or_default();
                let lacking = format!("Namespace {} has no usable label {label}", who.namespace);
                return Some(format!("{lacking}, which {source} refers to: label it"));
            }
            PolicyCauseKind::Annotation => {
                let annotation = cause.annotation.as_deref().unwrap_or("of the node selector");
                return Some(format!("correct the annotation {annotation} of Namespace {}", who.namespace));
            }
            PolicyCauseKind::RuntimeClass => (format!("the RuntimeClass brings {}", asked?), "Use another class"),
            PolicyCauseKind::Asks if self.is_added(who, asked?) => (
                format!("they get {}", asked?),
                "Correct the settings: nothing that asks for nothing can be created there",
            ),
            PolicyCauseKind::Asks => (format!("{} is asked for", asked?), "Change the object, or the setting"),
            _ => return None,
        };
        // An empty whitelist demands nothing.
        Some(match cause.demanded.as_ref().filter(|demanded| !demanded.is_empty()) {
            Some(demanded) => format!("{what}, and {source} demands {demanded}. {way_out}"),
            None => format!("{what}, and {source} does not allow it. {way_out}"),
        })
    }

    /// Whether the settings themselves ask for something there: of Pods that ask for nothing, always.
    fn is_added(&self, who: &Who, asked: &str) -> bool {
        let mut demands = self.round.rules(&who.namespace).demands();
        who.name.is_none() || demands.any(|demand| demand.requirements().iter().any(|added| added == asked))
    }

    /// An entry above selects by a label that the namespace lacks, and is what its objects are made for.
    fn missing_label(&self, who: &Who, found: &PolicyCause) -> Option<(String, Cause)> {
        let rules = self.round.rules(&who.namespace);
        let asked = found.asked.as_deref()?;
        let (at, label) = rules.lacking().find(|(at, _)| {
            at.entry.node_selectors().any(|(_, text)| text.split(',').any(|one| one.trim() == asked))
        })?;
        let said = format!(
            "{WHO} refused by the entry that holds, since Namespace {} has no label {label}, by which {} selects: label \
             the namespace, if it is meant there",
            who.namespace,
            self.entry_told(at),
        );
        let setting = Some(format!("{at}.namespaceSelector"));
        let cause = Cause { kind: CauseKind::MissingLabel, setting, label: Some(label.to_owned()), ..Cause::default() };
        Some((said, cause))
    }

    fn leaves_nodes(&self, who: &Who, taints: &[Taint], judged: &Judged) -> (String, Cause) {
        let nodes =
            if judged.nodes.is_empty() { "nodes that Karpenter creates".to_owned() } else { names(&judged.nodes) };
        let runs = match judged.pods {
            0 => "none of its Pods runs now".to_owned(),
            1 => "1 of its Pods runs now".to_owned(),
            pods => format!("{pods} of its Pods run now"),
        };
        let said = format!("{WHO_ALONE} would leave {nodes}, where {runs}");
        let cause = Cause { kind: CauseKind::LeavesNodes, nodes: judged.nodes.clone(), ..Cause::default() };
        // What only the old settings let it tolerate.
        if !taints.is_empty() {
            let Remedy { taints, text, setting, .. } = self.remedy(&who.namespace, taints);
            let said = format!("{said}: it would no longer tolerate the taint {}. {text}", taints.join(", "));
            return (said, Cause { setting, taint: taints.into_iter().next(), ..cause });
        }
        let demand = self.round.rules(&who.namespace).demands().find(|demand| !demand.text.is_empty());
        let why = demand.map(|demand| format!(": {} demands {}", self.source(&who.namespace, demand), demand.text));
        // Its template is not changed, so its controller still counts on these nodes.
        let planned =
            match self.round.rules(&who.namespace).placement().map(|placement| placement.settings.on_daemon_sets) {
                Some(OnDaemonSets::Ignore | OnDaemonSets::Warn) => {
                    "Its controller would still make Pods for these nodes, and they would wait for ever: set \
                 placement.onDaemonSets to Inject. "
                }
                _ => "",
            };
        let why = why.unwrap_or_default();
        let said = format!("{said}{why}. {planned}If it must run there, exempt its namespace or widen what it may use");
        let (setting, demanded) = (demand.and_then(|it| it.path.clone()), demand.map(|it| it.text.clone()));
        (said, Cause { setting, demanded, ..cause })
    }

    fn waits(&self, who: &Who, unschedulable: &Unschedulable) -> (String, Cause) {
        let demand = self.round.rules(&who.namespace).demands().find(|demand| unschedulable.is_demanded_by(demand));
        let source = demand.map(|demand| self.source(&who.namespace, demand));
        let setting = demand.and_then(|demand| demand.path.clone());
        let cause = Cause { kind: CauseKind::NoSuchLabel, setting, ..Cause::default() };
        let (said, cause) = match unschedulable {
            Unschedulable::Taints { taints, nodes, for_a_time } => self.tainted(who, taints, nodes, *for_a_time),
            Unschedulable::Label { key, needs, similar, .. } => {
                let by = source.map(|source| format!(", which {source} demands")).unwrap_or_default();
                let similar = similar.as_ref().map(|similar| format!("; did you mean {similar}?")).unwrap_or_default();
                let said = format!("{unschedulable}{by}{similar}. Correct the selector, or label nodes");
                (said, Cause { label: Some(key.clone()), demanded: Some(needs.clone()), ..cause })
            }
            Unschedulable::Together { demanded, asked, key, is_named } => {
                let by = source.map(|source| format!(" by {source}")).unwrap_or_default();
                let by = match listed(demanded) {
                    demanded if demanded.is_empty() => demanded,
                    demanded => format!("; {demanded} is demanded{by}"),
                };
                let text = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
                let (kind, way_out) = match is_named {
                    true => (CauseKind::NodeName, "Name another node, or none"),
                    false => (cause.kind, "Label nodes, or change one of them"),
                };
                let (demanded, asked) = (text(demanded), text(asked));
                (
                    format!("{unschedulable}{by}. {way_out}"),
                    Cause { kind, label: Some(key.clone()), demanded, asked, ..cause },
                )
            }
            Unschedulable::Nothing => (format!("{unschedulable}. Correct it"), cause),
        };
        (format!("{WHO} without a node: {said}"), cause)
    }

    fn tainted(&self, who: &Who, taints: &[Taint], nodes: &[String], for_a_time: bool) -> (String, Cause) {
        let remedy = match for_a_time {
            true => Remedy::new(taints, "Tolerate it without tolerationSeconds".to_owned(), None),
            false if taints.iter().any(is_control_plane) => Remedy::new(taints, NOT_FOR_WORKLOADS.to_owned(), None),
            false => self.remedy(&who.namespace, taints),
        };
        let evicted = if for_a_time { ", which they tolerate for some seconds only, and are evicted then" } else { "" };
        // The other tenants of the entry have other nodes.
        let nodes = if remedy.is_for_all { vec![] } else { nodes.to_vec() };
        let named = if remedy.is_for_all { String::new() } else { format!(" ({})", names(&nodes)) };
        let told = remedy.taints.join(", ");
        let said = format!("those that match{named} have the taint {told}{evicted}. {}", remedy.text);
        let (setting, taint) = (remedy.setting, remedy.taints.into_iter().next());
        (said, Cause { kind: CauseKind::Taint, setting, taint, nodes, ..Cause::default() })
    }

    /// `the entry for tenant (placement.namespaces[0].requiredNodeSelector)`
    fn demanded_by(&self, namespace: &str, setting: &str, demanded: &str) -> String {
        match self.entry_at(namespace, setting, demanded) {
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
        let policy = self.file_of(entry).and_then(|file| file.name.as_deref());
        let mut placing = self.round.files.iter().filter(|file| file.places_pods());
        policy.filter(|_| placing.nth(1).is_some()).map_or_else(|| path.to_owned(), |name| format!("{name}: {path}"))
    }

    fn source(&self, namespace: &str, demand: &Demand) -> String {
        let source = |path| self.demanded_by(namespace, path, &demand.text);
        demand.path.as_deref().map_or_else(|| demand.source.clone(), source)
    }

    /// The entry with this setting; where several policies have one at the same place, that which demands this.
    fn entry_at(&self, namespace: &str, setting: &str, demanded: &str) -> Option<&'p NamespaceEntry> {
        let (position, field) = setting.strip_prefix("placement.namespaces[")?.split_once(']')?;
        let (position, field) = (position.parse::<usize>().ok()?, field.trim_start_matches('.').split('[').next()?);
        let written = |at: &EntryAt<'p>| {
            let settings = &self.file_of(at.entry)?.settings;
            settings["placement"]["namespaces"].get(at.position)?.get(field)
        };
        let held = self.round.rules(namespace).held().filter(|at| at.position == position);
        held.max_by_key(|at| written(at).map(|text| text == demanded)).map(|at| at.entry)
    }

    fn file_of(&self, entry: &NamespaceEntry) -> Option<&SettingsFile> {
        let is_own = |file: &&SettingsFile| entries(&file.typed).iter().any(|own| ptr::eq(own, entry));
        self.round.files.iter().find(is_own)
    }

    fn remedy(&self, namespace: &str, taints: &[Taint]) -> Remedy {
        let Some(placement) = self.round.rules(namespace).placement() else {
            let text = "podNodeSelectorPluginConfig adds no tolerations: add them to the Pods, or use placement";
            return Remedy::new(taints, text.to_owned(), None);
        };
        let entry = placement.entry.map_or_else(|| "an entry for the namespace".to_owned(), |at| self.entry_told(at));
        remedy(placement, &entry, taints)
    }
}

/// Whether an entry enforces for some namespaces what another, below it, only warns of: so tenants are brought in.
fn is_enforced_copy(entry: &NamespaceEntry, warning: &NamespaceEntry) -> bool {
    let NamespaceEntry { name, namespace_selector, enforcement, .. } = entry.clone();
    warning.enforcement == Enforcement::Warn
        && NamespaceEntry { name, namespace_selector, enforcement, ..warning.clone() } == *entry
}

/// Whether an entry is for one namespace, or for none that another, which is for some of its namespaces, is not for.
fn is_narrower(entry: &NamespaceEntry, other: &NamespaceEntry) -> bool {
    let name = entry.name.as_deref();
    if name.is_some_and(|name| !name.ends_with('*')) {
        return true;
    }
    let covers_name = other.name.is_none() || name.is_some_and(|name| other.name_fits(name.trim_end_matches('*')));
    let selector = |entry: &NamespaceEntry| {
        selector::parse(entry.namespace_selector.as_deref().unwrap_or_default()).unwrap_or_default()
    };
    covers_name && selector(entry).implies(&selector(other))
}

fn unbound(Refusal { message, cause, .. }: &Refusal, judged: &Judged) -> (String, Cause) {
    let unknown = || Cause { kind: CauseKind::Metadata, ..Cause::default() };
    let cause = Cause { nodes: judged.nodes.clone(), ..cause.as_ref().map_or_else(unknown, Cause::from) };
    let said = match (judged.forecast.outcome, judged.nodes.as_slice()) {
        (Outcome::CannotTell, []) => {
            " to nodes that Karpenter creates would be refused, unless somebody else labels these".to_owned()
        }
        (Outcome::CannotTell, nodes) => {
            format!(" to {} would be refused, and the scheduler may pick that", names(nodes))
        }
        _ => " would be refused".to_owned(),
    };
    (format!("Bindings of {WHO_ALONE}{said}: {message}"), cause)
}

/// Each piece, or the first of them and who else is concerned.
fn told(mut points: Vec<(Point, Vec<Who>)>) -> Vec<Advice> {
    let is_about_somebody = points.iter().all(|(_, whos)| !whos.is_empty());
    let more = if points.len() > ALIKE && is_about_somebody { points.split_off(ALIKE - 1) } else { vec![] };
    let mut told: Vec<Advice> = points.into_iter().map(|(point, whos)| advice(point, &whos)).collect();
    if !more.is_empty() {
        let Cause { kind, setting, label, .. } = told.last().map(|last| last.cause.clone()).unwrap_or_default();
        let setting_told = setting.as_ref().map(|setting| format!(", by {setting}")).unwrap_or_default();
        let whos: Vec<Who> = more.iter().flat_map(|(_, whos)| whos.clone()).collect();
        let text = format!("The same, {} times more{setting_told}: {}.", more.len(), describe(&whos));
        let nodes = more.iter().flat_map(|(point, _)| point.cause.nodes.clone()).collect();
        told.push(Advice { text, cause: Cause { kind, setting, label, nodes, ..Cause::default() } });
    }
    told
}

fn advice(Point { forecast, said, cause, .. }: Point, whos: &[Who]) -> Advice {
    let first = whos.first().map(|who| who.namespace.clone());
    let namespace = first.filter(|first| whos.iter().all(|who| who.namespace == *first));
    let is = match whos {
        _ if forecast.would_be => "would be",
        [Who { name: Some(_), .. }] => "is",
        _ => "are",
    };
    let left = if forecast.outcome == Outcome::Refused { "" } else { " left" };
    let alone = describe(whos);
    let text = capital(&said.replace(WHO_ALONE, &alone).replace(WHO, &format!("{alone} {is}{left}")));
    let text = if text.ends_with(['.', '?', ']']) { text } else { format!("{text}.") };
    let text = if forecast.would_be { format!("{text} (So far its entry only warns.)") } else { text };
    Advice { text, cause: Cause { namespace, ..cause } }
}

/// `Deployment web in blue, new Pods in blue and 3 more`
fn describe(whos: &[Who]) -> String {
    let named = |who: &Who| format!("{} in {}", who.name.as_deref().unwrap_or("new Pods"), who.namespace);
    names(&whos.iter().map(named).collect::<Vec<_>>())
}

fn names(names: &[String]) -> String {
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn lacks(gap: &Gap) -> (String, Cause) {
    (gap.advice(), Cause { kind: CauseKind::Lacks, ..Cause::default() })
}

impl From<&PolicyCause> for Cause {
    fn from(cause: &PolicyCause) -> Self {
        Self {
            kind: cause.kind.into(),
            setting: cause.setting.clone(),
            label: cause.label.clone(),
            taint: cause.taint.clone(),
            demanded: cause.demanded.clone(),
            asked: cause.asked.clone(),
            ..Self::default()
        }
    }
}

impl From<PolicyCauseKind> for CauseKind {
    fn from(kind: PolicyCauseKind) -> Self {
        match kind {
            PolicyCauseKind::Asks => Self::Asks,
            PolicyCauseKind::MissingLabel => Self::MissingLabel,
            PolicyCauseKind::Annotation => Self::Annotation,
            PolicyCauseKind::RuntimeClass => Self::RuntimeClass,
            PolicyCauseKind::NodeName => Self::NodeName,
            PolicyCauseKind::Limit => Self::Limit,
            PolicyCauseKind::Metadata => Self::Metadata,
            PolicyCauseKind::Taint => Self::Taint,
            PolicyCauseKind::Unreadable => Self::Lacks,
        }
    }
}
