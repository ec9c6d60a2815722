//! The words of advice, and its cause as data: what stands in the way of a workload, which setting demands that, and the
//! way out.

use std::ptr;

use node_placement_policy::{
    decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind},
    selector::{Requirement, Selector},
    settings::{Enforcement, EntryAt, NamespaceEntry, OnDaemonSets, Setting, SettingPath},
    toleration::{Taint, Toleration},
};

use super::{
    advice::{AdviceList, AffectedObject, Cause, CauseKind, Point, Sentence, capital, names},
    finding::{Finding, JudgedSubject, Why},
    outcome::Outcome,
    remedy::{Remedy, default_tolerations, is_control_plane, remedy, toleration},
    rulebook::Rulebook,
    subject::Subject,
    unschedulable::Unschedulable,
    way_out::WayOut,
};
use crate::{
    cluster::{manifests::Manifest, pod_template::template},
    input::settings::{covers, entries, entry_name, namespace_selector},
    lists::listed,
    rules::Rule,
    webhook::{defaults::runtime_class, deployment::Refusal, settings_file::SettingsFile},
};

/// Words what to do, with the settings and the namespaces of a round.
pub struct Advisor<'p> {
    pub round: &'p Rulebook<'p>,
}

impl<'p> Advisor<'p> {
    /// Adds what is to be done about something that was found of a subject, if anything is.
    pub fn advise(&self, about: &JudgedSubject<'_>, judged: &Finding, to_do: &mut AdviceList) {
        let subject = about.subject;
        let outcome = judged.forecast.outcome;
        let point = match &judged.why {
            Why::Unknown(gap) => point(Sentence::Alone(gap.advice()), WayOut::Provide(gap.clone()), Cause::of_gap(gap)),
            Why::Refused(refusal) => self.refused(subject, refusal),
            Why::Unschedulable(why) => self.waits(subject, "left without a node", why),
            Why::NeedsNodes(why) => self.waits(subject, "short of nodes", why),
            Why::FewerNodes(taints) if outcome == Outcome::LeavesNodes => self.leaves_nodes(subject, taints, judged),
            Why::Unbound(refusal) if outcome.is_trouble() => unbound(refusal, judged),
            Why::NotAsked(reason) if outcome.is_trouble() => point(
                Sentence::Does(format!("would no longer get the tolerations of the old settings: {reason}")),
                WayOut::Said,
                Cause { nodes: judged.nodes.clone(), ..Cause::new(CauseKind::Taint, None) },
            ),
            Why::AsItIs => point(
                Sentence::Does("waits as it is".to_owned()),
                WayOut::Recreate,
                Cause::new(CauseKind::Requests, None),
            ),
            _ => return,
        };
        let point = match &about.others {
            Some(others) => Point { sentence: point.sentence.with(others), ..point },
            None => point,
        };
        to_do.add(judged.forecast, point, Some(AffectedObject::new(subject, judged.part.as_deref())));
    }

    fn refused(&self, subject: &Subject<'_>, Refusal { message, cause, .. }: &Refusal) -> Point {
        let Some(found) = cause else {
            let cause = Cause::new(CauseKind::Requests, None);
            return point(Sentence::Is(format!("refused: {message}")), WayOut::Said, cause);
        };
        if let Some(missing) = self.missing_label(&subject.namespace, found) {
            return missing;
        }
        let mut found = found.clone();
        if self.is_of_class(subject, found.requested.as_ref()) {
            found.kind = PolicyCauseKind::RuntimeClass;
        }
        let (obstacle, way_out) = self.obstacle(subject, &found).unwrap_or_else(|| (message.clone(), WayOut::Said));
        point(Sentence::Is(format!("refused: {obstacle}")), way_out, Cause::from(found))
    }

    /// Advises to add the label by which an entry above selects, if that entry requires what the objects request.
    fn missing_label(&self, namespace: &str, found: &PolicyCause) -> Option<Point> {
        let asked = found.requested.as_deref()?;
        let requires = |entry: &NamespaceEntry| {
            entry.node_selectors().any(|(_, text)| text.split(',').any(|one| one.trim() == asked))
        };
        let (at, label) = self.round.rules(namespace).lacking().find(|(at, _)| requires(at.entry))?;
        let sentence = Sentence::Is(format!(
            "refused by the entry that holds. If it is meant for {}, Namespace {namespace} lacks the label {label}, by which \
             that selects",
            self.entry(at),
        ));
        let selector = namespace_selector(at.entry);
        let value = selector.on(label).iter().find_map(Requirement::only_value).map(str::to_owned);
        let way_out = WayOut::LabelNamespace { namespace: namespace.to_owned(), label: label.to_owned(), value };
        let cause = Cause::new(CauseKind::MissingLabel, Some(format!("{at}.namespaceSelector")));
        Some(point(sentence, way_out, Cause { label: Some(label.to_owned()), ..cause }))
    }

    /// Returns whether a label that is requested is of the RuntimeClass, with which the API server has merged the Pod
    /// before.
    fn is_of_class(&self, subject: &Subject<'_>, asked: Option<&String>) -> bool {
        let Some(object) = subject.manifest().map(Manifest::parse) else { return false };
        let spec = &template(&object).unwrap_or(&object)["spec"];
        let class = runtime_class(spec, self.round.cluster).ok().flatten();
        let labels = class.and_then(|class| class.scheduling?.node_selector).unwrap_or_default();
        // A Pod of the cluster is merged.
        let is_own = |key| subject.kind() != "Pod" && spec["nodeSelector"].get(key).is_some();
        labels.iter().any(|(key, value)| asked == Some(&format!("{key}={value}")) && !is_own(key))
    }

    /// Returns what stands in the way, and the way out; nothing, where the message says it best.
    fn obstacle(&self, subject: &Subject<'_>, cause: &PolicyCause) -> Option<(String, WayOut)> {
        let namespace = subject.namespace.clone();
        let asked = cause.requested.as_ref().or(cause.taint.as_ref());
        let setting = match &cause.setting {
            Some(SettingPath::Placement(setting) | SettingPath::Entry(_, setting)) => Some(*setting),
            _ => None,
        };
        if setting == Some(Setting::OnDaemonSets) && cause.requested.is_none() {
            let taint = cause.taint.as_deref()?;
            let text = format!("its template lacks the toleration {taint}, which its namespace adds to Pods");
            let added = self.round.rules(&namespace).placement().map(default_tolerations).unwrap_or_default();
            let lacking = added.into_iter().filter(|own| own.to_string() == *taint).collect();
            return Some((text, self.to_its_template(subject, &format!("the toleration {taint}"), lacking, false)));
        }
        let source = self.source_of(&namespace, cause);
        let is_whitelist = matches!(setting, Some(Setting::AllowedNodeSelector | Setting::AllowedTolerations));
        let whitelist = cause.setting.as_ref().map(ToString::to_string).filter(|_| is_whitelist);
        let (what, way_out) = match cause.kind {
            PolicyCauseKind::MissingLabel if cause.setting.is_some() => {
                let label = cause.label.clone().unwrap_or_default();
                let text = format!("Namespace {namespace} has no usable label {label}, which {source} refers to");
                return Some((text, WayOut::LabelNamespace { namespace, label, value: None }));
            }
            PolicyCauseKind::Annotation | PolicyCauseKind::Contradiction if cause.annotation.is_some() => {
                let annotation = cause.annotation.clone().unwrap_or_default();
                let text = format!("the annotation {annotation} of Namespace {namespace} can't be met");
                return Some((text, WayOut::FixAnnotation { namespace, annotation }));
            }
            PolicyCauseKind::RuntimeClass => (format!("its RuntimeClass adds {}", asked?), WayOut::UseAnotherClass),
            PolicyCauseKind::Requests | PolicyCauseKind::Contradiction if self.is_added(subject, asked?) => {
                (format!("they get {}", asked?), self.without(&namespace, asked?, whitelist))
            }
            PolicyCauseKind::Requests if asked.is_some_and(|asked| asked == "*") => {
                let requested = "the toleration of everything".to_owned();
                ("everything is tolerated".to_owned(), WayOut::Remove { requested, whitelist: None })
            }
            PolicyCauseKind::Requests => {
                let requested = asked?.clone();
                (format!("{requested} is requested"), WayOut::Remove { requested, whitelist })
            }
            _ => return None,
        };
        // An empty whitelist requires nothing.
        let text = match cause.required.as_ref().filter(|required| !required.is_empty()) {
            Some(allowed) if is_whitelist => format!("{what}, and {source} allows only {allowed}"),
            Some(required) => format!("{what}, and {source} requires {required}"),
            None => format!("{what}, and {source} does not allow it"),
        };
        Some((text, way_out))
    }

    /// Names what requires or forbids something.
    fn source_of(&self, namespace: &str, cause: &PolicyCause) -> String {
        match (&cause.annotation, &cause.setting) {
            (Some(annotation), _) => format!("the annotation {annotation} of the namespace"),
            (None, Some(path)) => {
                self.setting(namespace, &path.to_string(), cause.required.as_deref().unwrap_or_default())
            }
            (None, None) => "the policy".to_owned(),
        }
    }

    /// Returns whether the settings themselves request something there: of Pods that request nothing, always.
    fn is_added(&self, subject: &Subject<'_>, asked: &str) -> bool {
        let mut required = self.round.rules(&subject.namespace).required();
        subject.is_plain() || required.any(|rule| rule.requirements().iter().any(|added| added == asked))
    }

    /// Returns how to do without something that the settings add to Pods: without the default, if that adds it; else the
    /// whitelist must allow it.
    fn without(&self, namespace: &str, added: &str, whitelist: Option<String>) -> WayOut {
        let rules = self.round.rules(namespace);
        let mut demands = rules.required();
        let adding = demands.find(|demand| demand.requirements().iter().any(|own| own == added));
        let setting = adding.and_then(|demand| demand.setting.as_ref());
        let is_default = matches!(
            setting,
            Some(
                SettingPath::Placement(Setting::ClusterDefaultNodeSelector)
                    | SettingPath::Entry(_, Setting::DefaultNodeSelector)
            )
        );
        match (rules.held().next(), whitelist) {
            (Some(at), _) if is_default => WayOut::NoDefault { entry: self.entry(at), position: at.position },
            (None, _) if is_default => WayOut::OwnEntryWithoutDefault { namespace: namespace.to_owned() },
            (_, Some(setting)) => WayOut::Allow { requested: added.to_owned(), setting },
            _ => WayOut::Said,
        }
    }

    fn leaves_nodes(&self, subject: &Subject<'_>, taints: &[Taint], finding: &Finding) -> Point {
        let Finding { nodes, pods, lost_pools, .. } = finding;
        let namespace = subject.namespace.as_str();
        let created = "nodes that Karpenter creates".to_owned();
        let left = match (nodes.as_slice(), lost_pools.as_slice()) {
            ([], _) => created,
            (_, []) => names(nodes),
            _ => format!("{} and {created}", names(nodes)),
        };
        let running = match pods {
            0 => "none of its Pods runs now".to_owned(),
            1 => "1 of its Pods runs now".to_owned(),
            pods => format!("{pods} of its Pods run now"),
        };
        let text = format!("would leave {left}, where {running}");
        let cause = Cause { nodes: nodes.clone(), ..Cause::new(CauseKind::LeavesNodes, None) };
        // What only the old settings let it tolerate.
        if !taints.is_empty() {
            let Remedy { taints, way_out, setting, .. } = self.remedy(namespace, taints);
            let sentence = format!("{text}: it would no longer tolerate the taint {}", taints.join(", "));
            let cause = Cause { setting, taint: taints.into_iter().next(), ..cause };
            return point(Sentence::Does(sentence), way_out, cause);
        }
        let demand = self.round.rules(namespace).required().find(|rule| !rule.text.is_empty());
        let why = demand.map(|demand| format!(": {} requires {}", self.source(namespace, demand), demand.text));
        // Its template is not changed, so its controller still counts on these nodes.
        let planned = if self.keeps_its_template(subject) {
            let what = demand.map(|demand| demand.text.clone()).unwrap_or_default();
            format!(
                ". Its controller would still make Pods for these nodes, and they would wait for ever. {}",
                self.to_its_template(subject, &what, vec![], true)
            )
        } else {
            String::new()
        };
        let sentence = format!("{text}{}{planned}", why.unwrap_or_default());
        let (setting, demanded) = (demand.and_then(|it| it.path.clone()), demand.map(|it| it.text.clone()));
        point(Sentence::Does(sentence), self.way_out_of_leaving(namespace), Cause { setting, demanded, ..cause })
    }

    /// Returns what to do for a DaemonSet that leaves nodes. The fence of a tenant is never lifted for it, and no entry
    /// lifts what an annotation requires.
    fn way_out_of_leaving(&self, namespace: &str) -> WayOut {
        let rules = self.round.rules(namespace);
        let is_annotated = rules.required().any(|demand| demand.setting.is_none());
        match rules.held().next().filter(|_| !is_annotated) {
            Some(at) if at.entry.namespace_selector.is_none() && at.entry.name.is_some() => {
                WayOut::ExemptDaemonSet { namespace: namespace.to_owned(), entry: self.entry(at) }
            }
            _ => WayOut::AcceptLeaving,
        }
    }

    /// Returns whether it is a DaemonSet whose template the policy does not change.
    fn keeps_its_template(&self, subject: &Subject<'_>) -> bool {
        let settings = self.round.rules(&subject.namespace).placement().map(|matched| matched.settings);
        let is_ignored =
            settings.is_some_and(|it| matches!(it.on_daemon_sets, OnDaemonSets::Ignore | OnDaemonSets::Warn));
        subject.kind() == "DaemonSet" && (subject.owner.is_some() || is_ignored)
    }

    /// Returns whether a value of a label may be another tenant's: the setting takes its values from references, or another
    /// namespace requires it.
    fn is_of_a_tenant(&self, namespace: &str, rule: Option<&Rule>, value: &str) -> bool {
        let entry = rule.and_then(|it| self.round.rules(namespace).requiring(it.path.as_deref()?, &it.text));
        let refers = entry.is_some_and(|at| at.entry.references().next().is_some());
        let others = self.round.namespaces.iter().filter(|(name, _)| **name != namespace);
        let mut required = others.flat_map(|(_, rules)| rules.required());
        refers || required.any(|rule| rule.requirements().iter().any(|own| own == value))
    }

    /// Returns what to do for Pods that are `in_short` without a node.
    fn waits(&self, subject: &Subject<'_>, in_short: &str, why: &Unschedulable) -> Point {
        let namespace = subject.namespace.as_str();
        let demand = self.round.rules(namespace).required().find(|rule| why.is_required_by(rule));
        let source = demand.map(|demand| self.source(namespace, demand));
        let cause = Cause::new(CauseKind::NoSuchLabel, demand.and_then(|it| it.path.clone()));
        let (text, way_out, cause) = match why {
            Unschedulable::Taints { taints, nodes, for_a_time } => self.tainted(subject, taints, nodes, *for_a_time),
            Unschedulable::Label { key, needs, similar, is_absent, labels, .. } => {
                let by = source.map(|source| format!(", which {source} requires")).unwrap_or_default();
                let similar = similar.clone().filter(|similar| !self.is_of_a_tenant(namespace, demand, similar));
                let way_out = if *is_absent { WayOut::ChangeSelector } else { label_nodes(labels.as_ref(), similar) };
                let cause = Cause { label: Some(key.clone()), demanded: Some(needs.clone()), ..cause };
                (format!("{why}{by}"), way_out, cause)
            }
            Unschedulable::Together { demanded, asked, key, is_named, labels } => {
                let by = source.map(|source| format!(" by {source}")).unwrap_or_default();
                let by = match listed(demanded) {
                    demanded if demanded.is_empty() => demanded,
                    demanded => format!("; {demanded} is required{by}"),
                };
                let (kind, way_out) = match is_named {
                    true => (CauseKind::NodeName, WayOut::NameAnotherNode),
                    false => (cause.kind, label_nodes(labels.as_ref(), None)),
                };
                let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
                let (label, demanded, asked) = (Some(key.clone()), joined(demanded), joined(asked));
                (format!("{why}{by}"), way_out, Cause { kind, label, demanded, asked, ..cause })
            }
            _ => without_room(why, source, cause),
        };
        point(Sentence::Is(format!("{in_short}: {text}")), way_out, cause)
    }

    fn tainted(
        &self,
        subject: &Subject<'_>,
        taints: &[Taint],
        nodes: &[String],
        for_a_time: bool,
    ) -> (String, WayOut, Cause) {
        let remedy = match for_a_time {
            _ if self.keeps_its_template(subject) => {
                let tolerations = taints.iter().map(toleration).collect();
                let way_out = self.to_its_template(subject, "the toleration", tolerations, true);
                Remedy::new(taints, way_out, None)
            }
            true => Remedy::new(taints, WayOut::TolerateForGood, None),
            false if taints.iter().any(is_control_plane) => Remedy::new(taints, WayOut::AvoidControlPlane, None),
            false => self.remedy(&subject.namespace, taints),
        };
        let evicted = if for_a_time { ", which they tolerate for some seconds only, and are evicted then" } else { "" };
        // The other tenants of the entry have other nodes.
        let (nodes, named) = match remedy.is_for_all {
            true => (vec![], String::new()),
            false => (nodes.to_vec(), format!(" ({})", names(nodes))),
        };
        let text = format!("those that match{named} have the taint {}{evicted}", remedy.taints.join(", "));
        let taint = remedy.taints.into_iter().next();
        (text, remedy.way_out, Cause { taint, nodes, ..Cause::new(CauseKind::Taint, remedy.setting) })
    }

    fn remedy(&self, namespace: &str, taints: &[Taint]) -> Remedy {
        let Some(placement) = self.round.rules(namespace).placement() else {
            return Remedy::new(taints, WayOut::TolerateInPods, None);
        };
        let entry = placement.entry.map_or_else(|| "an entry for the namespace".to_owned(), |at| self.entry(at));
        remedy(placement, &entry, taints)
    }

    /// Returns how a DaemonSet whose template is not changed gets something into it.
    fn to_its_template(
        &self,
        subject: &Subject<'_>,
        what: &str,
        tolerations: Vec<Toleration>,
        or_inject: bool,
    ) -> WayOut {
        WayOut::AddToTemplate { what: what.to_owned(), tolerations, owner: subject.owner.clone(), or_inject }
    }

    /// Adds entries whose namespaces are all taken by entries above them.
    pub fn advise_on_entries(&self, to_do: &mut AdviceList) {
        for (at, namespaces) in self.round.idle_entries() {
            let mut above = namespaces.iter().filter_map(|namespace| self.round.rules(namespace).above(at.entry));
            // An exception stands above its rule on purpose.
            let Some(above) = above.find(|above| !is_exception(above.entry, at.entry)) else { continue };
            let text = format!(
                "{} holds in no namespace, since {} stands above it and takes {}: move it up, if it is meant there",
                capital(&self.entry(at)),
                self.entry(above),
                names(&namespaces.iter().map(ToString::to_string).collect::<Vec<_>>()),
            );
            let namespace = namespaces.first().map(ToString::to_string);
            let cause = Cause { namespace, ..Cause::new(CauseKind::EntryAbove, Some(at.to_string())) };
            to_do.add_alone(Outcome::Changed, text, cause);
        }
    }

    /// Returns `the entry for tenant (placement.namespaces[0])`.
    fn entry(&self, at: EntryAt<'_>) -> String {
        self.entry_with(at, &at.to_string())
    }

    /// Returns an entry with the path of one of its settings; where several policies place, also with the name of its
    /// own.
    fn entry_with(&self, EntryAt { entry, .. }: EntryAt<'_>, path: &str) -> String {
        let name = entry_name(entry);
        let mut placing = self.round.files.iter().filter(|file| file.places_pods());
        match self.file_of(entry).and_then(|file| file.name.as_deref()) {
            Some(policy) if placing.nth(1).is_some() => format!("{name} ({policy}: {path})"),
            _ => format!("{name} ({path})"),
        }
    }

    /// Returns `the entry for tenant (placement.namespaces[0].requiredNodeSelector)`; the path alone of what is in no entry.
    fn setting(&self, namespace: &str, path: &str, demanded: &str) -> String {
        let entry = self.round.rules(namespace).requiring(path, demanded);
        entry.map_or_else(|| path.to_owned(), |at| self.entry_with(at, path))
    }

    fn source(&self, namespace: &str, demand: &Rule) -> String {
        let setting = |path| self.setting(namespace, path, &demand.text);
        demand.path.as_deref().map_or_else(|| demand.source.clone(), setting)
    }

    fn file_of(&self, entry: &NamespaceEntry) -> Option<&SettingsFile> {
        let is_own = |file: &&SettingsFile| entries(&file.typed).iter().any(|own| ptr::eq(own, entry));
        self.round.files.iter().find(is_own)
    }
}

const fn point(sentence: Sentence, way_out: WayOut, cause: Cause) -> Point {
    Point { cause, sentence, way_out }
}

/// Returns how to get nodes with these labels.
fn label_nodes(labels: Option<&Selector>, similar: Option<String>) -> WayOut {
    match labels {
        Some(labels) => WayOut::LabelNodes { labels: labels.to_string(), similar },
        None => WayOut::ChangeOne,
    }
}

/// Returns what to do where the nodes that match have no room; `source` requires what they match.
fn without_room(why: &Unschedulable, source: Option<String>, cause: Cause) -> (String, WayOut, Cause) {
    let (cause, way_out) = match why {
        Unschedulable::TooSmall(_) => (
            Cause { kind: CauseKind::Room, ..cause },
            "Widen what it may use, add a node that is large enough, or request less",
        ),
        Unschedulable::Sum { nodes, .. } => (
            Cause { kind: CauseKind::Room, nodes: nodes.to_vec(), ..cause },
            "Add nodes, widen what it may use, or request less",
        ),
        Unschedulable::Volume { .. } => {
            (Cause { kind: CauseKind::Volume, ..cause }, "Widen what it may use, or move its data first")
        }
        Unschedulable::Crowd(crowd) => (
            Cause { kind: CauseKind::Room, label: Some(crowd.topology_key.clone()), ..cause },
            "Add nodes, widen what it may use, lower its replicas, or prefer the anti-affinity",
        ),
        Unschedulable::NotNow(taints) => (
            Cause { kind: CauseKind::Room, taint: taints.first().map(ToString::to_string), ..cause },
            "Uncordon or repair one of them before its Pods are created again",
        ),
        _ => return (why.to_string(), WayOut::FixAffinity, cause),
    };
    let by = source.map(|source| format!("; {source} requires what they match")).unwrap_or_default();
    (format!("{why}{by}"), WayOut::MakeRoom(way_out), cause)
}

/// Returns whether an entry is for one namespace, or for some of those that another is for; or enforces for some
/// namespaces what the other only warns of: so tenants are brought in.
fn is_exception(entry: &NamespaceEntry, other: &NamespaceEntry) -> bool {
    let is_enforced_copy = || {
        let NamespaceEntry { name, namespace_selector, enforcement, .. } = entry.clone();
        other.enforcement == Enforcement::Warn
            && NamespaceEntry { name, namespace_selector, enforcement, ..other.clone() } == *entry
    };
    entry.name.as_deref().is_some_and(|name| !name.ends_with('*')) || covers(other, entry) || is_enforced_copy()
}

fn unbound(Refusal { message, cause, .. }: &Refusal, judged: &Finding) -> Point {
    let cause = cause.clone().map_or_else(|| Cause::new(CauseKind::Metadata, None), Cause::from);
    let refused = match (judged.forecast.outcome, judged.nodes.as_slice()) {
        (Outcome::CannotTell, []) => {
            "to nodes that Karpenter creates would be refused, unless somebody else labels these".to_owned()
        }
        (Outcome::CannotTell, nodes) => {
            format!("to {} would be refused, and the scheduler may pick that", names(nodes))
        }
        _ => "would be refused".to_owned(),
    };
    let way_out = if cause.kind == CauseKind::Metadata { WayOut::LabelNodesWithMetadata } else { WayOut::Said };
    let sentence = Sentence::OfBindings(format!("{refused}: {message}"));
    point(sentence, way_out, Cause { nodes: judged.nodes.clone(), ..cause })
}
