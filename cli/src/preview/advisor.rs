//! The words of advice, and its cause as data: what stands in the way of a workload, which setting demands that, and the
//! way out.

use std::ptr;

use node_placement_policy::{
    decision::{Cause as PolicyCause, CauseKind as PolicyCauseKind},
    settings::{Enforcement, EntryAt, NamespaceEntry, OnDaemonSets, Setting, SettingPath},
    toleration::Taint,
};

use super::{
    advice::{AdviceList, AffectedObject, Cause, CauseKind, Sentence, capital, names},
    finding::{Finding, JudgedSubject, Why},
    outcome::{Forecast, Outcome},
    remedy::{NOT_FOR_WORKLOADS, Remedy, is_control_plane, remedy},
    rulebook::Rulebook,
    subject::Subject,
    unschedulable::Unschedulable,
};
use crate::{
    cluster::{manifests::Manifest, pod_template::template},
    input::settings::{covers, entries, entry_name},
    lists::listed,
    rules::Rule,
    webhook::{defaults::runtime_class, deployment::Refusal, settings_file::SettingsFile},
};

/// Words what to do, with the settings and the namespaces of a round.
pub struct Advisor<'p> {
    pub round: &'p Rulebook<'p>,
}

impl<'p> Advisor<'p> {
    /// Adds what is to be done about an outcome, if anything is.
    pub fn advise(&self, about: &JudgedSubject<'_>, to_do: &mut AdviceList) {
        let (subject, judged) = (about.subject, &about.findings.worst);
        let outcome = judged.forecast.outcome;
        let (sentence, cause) = match &judged.why {
            Why::Unknown(gap) => (Sentence::Alone(gap.advice()), Cause::of_gap(gap)),
            Why::Refused(refusal) => self.refused(subject, refusal),
            Why::Unschedulable(why) => self.waits(subject, why),
            Why::FewerNodes(taints) if outcome == Outcome::LeavesNodes => self.leaves_nodes(subject, taints, judged),
            Why::Unbound(refusal) if outcome.is_trouble() => unbound(refusal, judged),
            Why::NotAsked(reason) if outcome.is_trouble() => (
                Sentence::Does(format!("would no longer get the tolerations of the old settings: {reason}")),
                Cause { nodes: judged.nodes.clone(), ..Cause::new(CauseKind::Taint, None) },
            ),
            Why::AsItIs => (
                Sentence::Does("waits as it is: enforce the policy, then delete it or restart its workload".to_owned()),
                Cause::new(CauseKind::Requests, None),
            ),
            _ => return,
        };
        let sentence = match &about.others {
            Some(others) => sentence.with(others),
            None => sentence,
        };
        to_do.add(judged.forecast, sentence, cause, Some(AffectedObject::new(subject, judged.part.as_deref())));
    }

    fn refused(&self, subject: &Subject<'_>, Refusal { message, cause, .. }: &Refusal) -> (Sentence, Cause) {
        let Some(found) = cause else {
            return (Sentence::Is(format!("refused: {message}")), Cause::new(CauseKind::Requests, None));
        };
        if let Some(missing) = self.missing_label(&subject.namespace, found) {
            return missing;
        }
        let mut found = found.clone();
        if self.is_of_class(subject, found.requested.as_ref()) {
            found.kind = PolicyCauseKind::RuntimeClass;
        }
        let obstacle = self.obstacle(subject, &found).unwrap_or_else(|| message.clone());
        (Sentence::Is(format!("refused: {obstacle}")), Cause::from(found))
    }

    /// Advises to add the label by which an entry above selects, if that entry requires what the objects request.
    fn missing_label(&self, namespace: &str, found: &PolicyCause) -> Option<(Sentence, Cause)> {
        let asked = found.requested.as_deref()?;
        let requires = |entry: &NamespaceEntry| {
            entry.node_selectors().any(|(_, text)| text.split(',').any(|one| one.trim() == asked))
        };
        let (at, label) = self.round.rules(namespace).lacking().find(|(at, _)| requires(at.entry))?;
        let sentence = Sentence::Is(format!(
            "refused by the entry that holds, since Namespace {namespace} has no label {label}, by which {} selects: label \
             the namespace, if it is meant there",
            self.entry(at),
        ));
        let cause = Cause::new(CauseKind::MissingLabel, Some(format!("{at}.namespaceSelector")));
        Some((sentence, Cause { label: Some(label.to_owned()), ..cause }))
    }

    /// Returns whether a label that is asked for is of the RuntimeClass, with which the API server has merged the Pod
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
    fn obstacle(&self, subject: &Subject<'_>, cause: &PolicyCause) -> Option<String> {
        let namespace = subject.namespace.as_str();
        let path = cause.setting.as_ref().map(ToString::to_string);
        let source = match (&cause.annotation, &path) {
            (Some(annotation), _) => format!("the annotation {annotation} of the namespace"),
            (None, Some(path)) => self.setting(namespace, path, cause.required.as_deref().unwrap_or_default()),
            (None, None) => "the policy".to_owned(),
        };
        let asked = cause.requested.as_ref().or(cause.taint.as_ref());
        let asks_only = |setting| matches!(cause.setting, Some(SettingPath::Placement(own) | SettingPath::Entry(_, own)) if own == setting);
        if asks_only(Setting::OnDaemonSets) && cause.requested.is_none() {
            let taint = cause.taint.as_deref()?;
            return Some(format!(
                "its template lacks the toleration {taint}, which its namespace adds to Pods: add it"
            ));
        }
        let is_whitelist = asks_only(Setting::AllowedNodeSelector) || asks_only(Setting::AllowedTolerations);
        let (what, way_out) = match cause.kind {
            PolicyCauseKind::MissingLabel if cause.setting.is_some() => {
                let label = cause.label.as_deref().unwrap_or_default();
                return Some(format!(
                    "Namespace {namespace} has no usable label {label}, which {source} refers to: label it"
                ));
            }
            PolicyCauseKind::Annotation | PolicyCauseKind::Contradiction if cause.annotation.is_some() => {
                let annotation = cause.annotation.as_deref().unwrap_or("of the node selector");
                return Some(format!("correct the annotation {annotation} of Namespace {namespace}"));
            }
            PolicyCauseKind::RuntimeClass => (format!("the RuntimeClass brings {}", asked?), "Use another class"),
            PolicyCauseKind::Requests | PolicyCauseKind::Contradiction if self.is_added(subject, asked?) => (
                format!("they get {}", asked?),
                "Correct the settings: nothing that asks for nothing can be created there",
            ),
            PolicyCauseKind::Requests if asked.is_some_and(|asked| asked == "*") => {
                ("a toleration of everything is asked for".to_owned(), "Change the object, or the setting")
            }
            PolicyCauseKind::Requests => (format!("{} is asked for", asked?), "Change the object, or the setting"),
            _ => return None,
        };
        // An empty whitelist demands nothing.
        Some(match cause.required.as_ref().filter(|demanded| !demanded.is_empty()) {
            Some(allowed) if is_whitelist => format!("{what}, and {source} allows only {allowed}. {way_out}"),
            Some(demanded) => format!("{what}, and {source} demands {demanded}. {way_out}"),
            None => format!("{what}, and {source} does not allow it. {way_out}"),
        })
    }

    /// Returns whether the settings themselves ask for something there: of Pods that ask for nothing, always.
    fn is_added(&self, subject: &Subject<'_>, asked: &str) -> bool {
        let mut required = self.round.rules(&subject.namespace).required();
        subject.is_plain() || required.any(|rule| rule.requirements().iter().any(|added| added == asked))
    }

    fn leaves_nodes(
        &self,
        subject: &Subject<'_>,
        taints: &[Taint],
        Finding { nodes, pods, lost_pools, .. }: &Finding,
    ) -> (Sentence, Cause) {
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
            let Remedy { taints, text: remedy, setting, .. } = self.remedy(namespace, taints);
            let sentence = format!("{text}: it would no longer tolerate the taint {}. {remedy}", taints.join(", "));
            return (Sentence::Does(sentence), Cause { setting, taint: taints.into_iter().next(), ..cause });
        }
        let demand = self.round.rules(namespace).required().find(|rule| !rule.text.is_empty());
        let why = demand.map(|demand| format!(": {} demands {}", self.source(namespace, demand), demand.text));
        // Its template is not changed, so its controller still counts on these nodes.
        let planned = if self.keeps_its_template(subject) {
            let what = demand.map(|demand| demand.text.clone()).unwrap_or_default();
            format!(
                "Its controller would still make Pods for these nodes, and they would wait for ever. {}. ",
                to_its_template(subject, &what)
            )
        } else {
            String::new()
        };
        let (why, way_out) = (why.unwrap_or_default(), self.way_out_of_leaving(namespace));
        let sentence = format!("{text}{why}. {planned}{way_out}");
        let (setting, demanded) = (demand.and_then(|it| it.path.clone()), demand.map(|it| it.text.clone()));
        (Sentence::Does(sentence), Cause { setting, demanded, ..cause })
    }

    /// Returns what to do for a DaemonSet that leaves nodes. The fence of a tenant is never lifted for it.
    fn way_out_of_leaving(&self, namespace: &str) -> String {
        match self.round.rules(namespace).held().next() {
            Some(at) if at.entry.namespace_selector.is_none() && at.entry.name.is_some() => format!(
                "If it must run there, put an entry for {namespace} above {}, with a podSelector for its Pods and without \
                 rules: these may then use every node",
                self.entry(at)
            ),
            _ => "If it may leave them, pass --accept LeavesNodes; if it serves all nodes, move it to a namespace without a \
                  fence"
                .to_owned(),
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

    fn waits(&self, subject: &Subject<'_>, why: &Unschedulable) -> (Sentence, Cause) {
        let namespace = subject.namespace.as_str();
        let demand = self.round.rules(namespace).required().find(|rule| why.is_required_by(rule));
        let source = demand.map(|demand| self.source(namespace, demand));
        let cause = Cause::new(CauseKind::NoSuchLabel, demand.and_then(|demand| demand.path.clone()));
        let (text, cause) = match why {
            Unschedulable::Taints { taints, nodes, for_a_time } => self.tainted(subject, taints, nodes, *for_a_time),
            Unschedulable::Label { key, needs, similar, .. } => {
                let by = source.map(|source| format!(", which {source} demands")).unwrap_or_default();
                let similar = similar.as_ref().filter(|similar| !self.is_of_a_tenant(namespace, demand, similar));
                let similar = similar.map_or_else(|| ".".to_owned(), |similar| format!("; did you mean {similar}?"));
                let text = format!("{why}{by}{similar} Correct the selector, or label nodes");
                (text, Cause { label: Some(key.clone()), demanded: Some(needs.clone()), ..cause })
            }
            Unschedulable::Together { demanded, asked, key, is_named } => {
                let by = source.map(|source| format!(" by {source}")).unwrap_or_default();
                let by = match listed(demanded) {
                    demanded if demanded.is_empty() => demanded,
                    demanded => format!("; {demanded} is demanded{by}"),
                };
                let (kind, way_out) = match is_named {
                    true => (CauseKind::NodeName, "Name another node, or none"),
                    false => (cause.kind, "Label nodes, or change one of them"),
                };
                let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
                let (label, demanded, asked) = (Some(key.clone()), joined(demanded), joined(asked));
                (format!("{why}{by}. {way_out}"), Cause { kind, label, demanded, asked, ..cause })
            }
            _ => without_room(why, source, cause),
        };
        (Sentence::Is(format!("left without a node: {text}")), cause)
    }

    fn tainted(&self, subject: &Subject<'_>, taints: &[Taint], nodes: &[String], for_a_time: bool) -> (String, Cause) {
        let remedy = match for_a_time {
            _ if self.keeps_its_template(subject) => {
                Remedy::new(taints, to_its_template(subject, "the toleration"), None)
            }
            true => Remedy::new(taints, "Tolerate it without tolerationSeconds".to_owned(), None),
            false if taints.iter().any(is_control_plane) => Remedy::new(taints, NOT_FOR_WORKLOADS.to_owned(), None),
            false => self.remedy(&subject.namespace, taints),
        };
        let evicted = if for_a_time { ", which they tolerate for some seconds only, and are evicted then" } else { "" };
        // The other tenants of the entry have other nodes.
        let (nodes, named) = match remedy.is_for_all {
            true => (vec![], String::new()),
            false => (nodes.to_vec(), format!(" ({})", names(nodes))),
        };
        let taints = remedy.taints.join(", ");
        let text = format!("those that match{named} have the taint {taints}{evicted}. {}", remedy.text);
        let taint = remedy.taints.into_iter().next();
        (text, Cause { taint, nodes, ..Cause::new(CauseKind::Taint, remedy.setting) })
    }

    fn remedy(&self, namespace: &str, taints: &[Taint]) -> Remedy {
        let Some(placement) = self.round.rules(namespace).placement() else {
            let text = "podNodeSelectorPluginConfig adds no tolerations: add them to the Pods, or use placement";
            return Remedy::new(taints, text.to_owned(), None);
        };
        let entry = placement.entry.map_or_else(|| "an entry for the namespace".to_owned(), |at| self.entry(at));
        remedy(placement, &entry, taints)
    }

    /// Adds entries whose namespaces are all taken by entries above them.
    pub fn advise_on_entries(&self, to_do: &mut AdviceList) {
        for (at, namespaces) in self.round.idle_entries() {
            let mut above = namespaces.iter().filter_map(|namespace| self.round.rules(namespace).above(at.entry));
            // An exception stands above its rule on purpose.
            let Some(above) = above.find(|above| !is_exception(above.entry, at.entry)) else { continue };
            let sentence = Sentence::Alone(format!(
                "{} holds in no namespace, since {} stands above it and takes {}: move it up, if it is meant there",
                capital(&self.entry(at)),
                self.entry(above),
                names(&namespaces.iter().map(ToString::to_string).collect::<Vec<_>>()),
            ));
            let namespace = namespaces.first().map(ToString::to_string);
            let cause = Cause { namespace, ..Cause::new(CauseKind::EntryAbove, Some(at.to_string())) };
            to_do.add(Forecast::real(Outcome::Changed), sentence, cause, None);
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

/// Returns what to do where the nodes that match have no room; `source` requires what they match.
fn without_room(why: &Unschedulable, source: Option<String>, cause: Cause) -> (String, Cause) {
    let (cause, way_out) = match why {
        Unschedulable::TooSmall(_) => (
            Cause { kind: CauseKind::Room, ..cause },
            "Widen what it may use, add a node that is large enough, or request less",
        ),
        Unschedulable::Volume { .. } => {
            (Cause { kind: CauseKind::Volume, ..cause }, "Widen what it may use, or move its data first")
        }
        Unschedulable::Crowd(crowd) => (
            Cause { kind: CauseKind::Room, label: Some(crowd.topology_key.clone()), ..cause },
            "Widen what it may use, lower its replicas, or prefer the anti-affinity",
        ),
        Unschedulable::NotNow(taints) => (
            Cause { kind: CauseKind::Room, taint: taints.first().map(ToString::to_string), ..cause },
            "Uncordon or repair one of them before its Pods are created again",
        ),
        _ => return (format!("{why}. Correct it"), cause),
    };
    let by = source.map(|source| format!("; {source} requires what they match")).unwrap_or_default();
    (format!("{why}{by}. {way_out}"), cause)
}

/// Returns how a DaemonSet whose template is not changed gets something into it.
fn to_its_template(subject: &Subject<'_>, what: &str) -> String {
    match &subject.owner {
        Some(owner) => format!("Add {what} to the settings of {owner}, which writes its template"),
        None => format!("Add {what} to its template, or set placement.onDaemonSets to Inject"),
    }
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

fn unbound(Refusal { message, cause, .. }: &Refusal, judged: &Finding) -> (Sentence, Cause) {
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
    (Sentence::OfBindings(format!("{refused}: {message}")), Cause { nodes: judged.nodes.clone(), ..cause })
}
