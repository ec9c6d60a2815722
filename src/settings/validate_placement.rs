//! Finds every mistake in the block `placement`.

use std::collections::BTreeSet;

use super::earlier_entries::EarlierEntries;
use super::key::{KeyPattern, TargetKind};
use super::mistakes::Mistakes;
use super::name_pattern::NamePattern;
use super::source::EntryAt;
use super::{
    NamespaceEntry, OnDaemonSets, OnDefaultConflict, OnNodeAffinity, OnNodes, PLACEMENT, Placement, reference,
};
use crate::message::quote;
use crate::selector::{self, Requirement, Selector, Whitelist};
use crate::toleration::{Operator, Toleration};

const DEFAULT: &str = "defaultNodeSelector";
const REQUIRED: &str = "requiredNodeSelector";
const CLUSTER_DEFAULT: &str = "placement.clusterDefaultNodeSelector";
const CLUSTER_DEFAULT_TOLERATIONS: &str = "placement.clusterDefaultTolerations";

/// Finds every mistake in the block.
pub(super) fn check(placement: &Placement, mistakes: &mut Mistakes) {
    let cluster_default = consistent(&CLUSTER_DEFAULT, placement.cluster_default_node_selector.as_deref(), mistakes);
    if let Some(tolerations) = &placement.cluster_default_tolerations {
        check_tolerations(CLUSTER_DEFAULT_TOLERATIONS, tolerations, mistakes);
    }
    for (position, key) in placement.namespace_annotations.iter().enumerate() {
        if let Err(problem) = TargetKind::Annotation.check(key) {
            mistakes.add(&format_args!("{PLACEMENT}.namespaceAnnotations[{position}]"), problem);
        }
    }
    check_daemon_sets(placement, mistakes);
    check_guarded_labels(placement, mistakes);
    check_usernames(&placement.exempt_usernames, mistakes);
    let mut earlier = Earlier::default();
    let mut guarded =
        !placement.guarded_node_labels.is_empty() || cluster_default.iter().any(|selector| !selector.is_empty());
    for (position, entry) in placement.namespaces.iter().enumerate() {
        let at = EntryAt { position, entry };
        check_whom(at, &mut earlier, mistakes);
        let selectors = Selectors::of(at, mistakes);
        selectors.check_required(cluster_default.as_ref(), mistakes);
        // Where no annotation can replace it, and no Pod could be created with it.
        if placement.namespace_annotations.is_empty()
            && placement.on_default_conflict == OnDefaultConflict::Reject
            && let Some(default) = &cluster_default
        {
            selectors.check_allowed(default, placement.on_node_affinity, mistakes);
        }
        guarded |= selectors.name_any_label();
        check_preferred(at, mistakes);
        check_entry_tolerations(at, placement.cluster_default_tolerations.as_deref(), mistakes);
    }
    if placement.on_nodes != OnNodes::Ignore && !guarded {
        let problem = "there is no label to guard: no node selector of the settings names one; add one, or use Ignore";
        mistakes.add(&format_args!("{PLACEMENT}.onNodes"), problem);
    }
}

/// The selector `text` at `path`, if it is there, parses, and does not contradict itself.
fn consistent(path: &dyn std::fmt::Display, text: Option<&str>, mistakes: &mut Mistakes) -> Option<Selector> {
    let selector = match selector::parse(text?) {
        Ok(selector) => selector,
        Err(error) => {
            mistakes.add(path, error.to_string());
            return None;
        }
    };
    if let Some(requirements) = selector.contradiction() {
        mistakes.add(path, format!("contradicts itself: {}", nothing_meets(requirements, &[])));
        return None;
    }
    Some(selector)
}

/// The same for a selector of an entry, which may have references: as a selector with something in their place.
fn consistent_with_references(
    path: &dyn std::fmt::Display,
    text: Option<&str>,
    mistakes: &mut Mistakes,
) -> Option<Selector> {
    let text = text?;
    if !reference::is_in(text) {
        return consistent(path, Some(text), mistakes);
    }
    let selector = match reference::with_stand_ins(text).map(|filled| selector::parse(&filled)) {
        Ok(Ok(selector)) => selector,
        Ok(Err(error)) => {
            mistakes.add(path, reference::name_again(text, &error.to_string()));
            return None;
        }
        Err(problem) => {
            mistakes.add(path, problem);
            return None;
        }
    };
    if selector.requirements().iter().any(|requirement| reference::stands_in(requirement.key())) {
        mistakes.add(path, "a reference can't stand in the key of a label, only in its value");
        return None;
    }
    if let Some(requirements) = known(&selector).contradiction() {
        mistakes.add(path, format!("contradicts itself: {}", nothing_meets(requirements, &[])));
        return None;
    }
    Some(selector)
}

/// The requirements on labels without references. The others can be checked only in a request.
fn known(selector: &Selector) -> Selector {
    let is_known = |requirements: &&[Requirement]| {
        !requirements.iter().flat_map(Requirement::values).any(|value| reference::stands_in(value))
    };
    Selector::new(selector.by_label().filter(is_known).flatten().cloned().collect())
}

/// Words for requirements on one label that contradict each other.
fn nothing_meets(own: &[Requirement], others: &[Requirement]) -> String {
    let key = own.first().map(Requirement::key).unwrap_or_default();
    let own = quote(&selector::text(own));
    if others.is_empty() {
        return format!("no value of label {} satisfies {own}", quote(key));
    }
    format!("no value of label {} satisfies both {own} and {}", quote(key), quote(&selector::text(others)))
}

/// The controller of DaemonSets replaces the node affinity of their Pods, so only their templates show what they ask
/// for.
fn check_daemon_sets(placement: &Placement, mistakes: &mut Mistakes) {
    let lets_past = matches!(placement.on_daemon_sets, OnDaemonSets::Warn | OnDaemonSets::Ignore);
    if !lets_past || placement.on_node_affinity == OnNodeAffinity::Ignore {
        return;
    }
    let mut entries = placement.namespaces.iter().enumerate();
    let Some((position, entry)) = entries.find(|(_, entry)| entry.allowed_node_selector.is_some()) else { return };
    let problem = format!(
        "with {:?}, DaemonSets get past {}.allowedNodeSelector, since their controller replaces the node affinity of their \
         Pods; use Inject or Reject, or onNodeAffinity: Ignore",
        placement.on_daemon_sets,
        EntryAt { position, entry }
    );
    mistakes.add(&format_args!("{PLACEMENT}.onDaemonSets"), problem);
}

/// The entries before one.
#[derive(Default)]
struct Earlier<'s> {
    by_name: EarlierEntries<'s>,
    /// Of those by labels, the name and the namespaceSelector.
    by_labels: BTreeSet<String>,
}

const EXPECTED_NAME: &str =
    "expected the name of a namespace, or the beginning of names and '*'; or a namespaceSelector";

/// Checks which namespaces the entry is about; `earlier` are the entries before.
fn check_whom<'s>(at: EntryAt<'s>, earlier: &mut Earlier<'s>, mistakes: &mut Mistakes) {
    let NamespaceEntry { name, namespace_selector, .. } = at.entry;
    let path = format!("{at}.namespaceSelector");
    let selector = consistent(&path, namespace_selector.as_deref(), mistakes);
    if selector.as_ref().is_some_and(Selector::is_empty) {
        mistakes.add(&path, NOTHING_DEMANDED);
    }
    let name_path = format!("{at}.name");
    let name = match name.as_deref().map(NamePattern::parse) {
        Some(Ok(name)) => Some(name),
        Some(Err(problem)) => return mistakes.add(&name_path, problem),
        None if namespace_selector.is_some() => None,
        None => return mistakes.add(&name_path, EXPECTED_NAME),
    };
    if let Some(reason) = earlier.by_name.reason_never_reached(name.as_ref()) {
        return mistakes.add(&name_path, reason);
    }
    match (name, selector) {
        (name, Some(selector)) => {
            let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
            if !earlier.by_labels.insert(format!("{name} {selector}")) {
                let problem = "an earlier entry has the same name and namespaceSelector; merge the two";
                mistakes.add(&path, problem);
            }
        }
        (Some(name), None) if namespace_selector.is_none() => earlier.by_name.add(&name, at),
        _ => {}
    }
}

/// An empty selector may come from a template that rendered to nothing. It must not remove a restriction.
const NOTHING_DEMANDED: &str = "expected at least one requirement on labels; leave it out to demand nothing";

/// The selectors of an entry that parse, and don't contradict themselves.
struct Selectors<'s> {
    at: EntryAt<'s>,
    required: Option<Selector>,
    default: Option<Selector>,
    allowed: Option<Selector>,
}

impl<'s> Selectors<'s> {
    fn of(at: EntryAt<'s>, mistakes: &mut Mistakes) -> Self {
        let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = at.entry;
        let required_path = format!("{at}.{REQUIRED}");
        let required = consistent_with_references(&required_path, required_node_selector.as_deref(), mistakes);
        if required.as_ref().is_some_and(Selector::is_empty) {
            mistakes.add(&required_path, NOTHING_DEMANDED);
        }
        Self {
            at,
            required,
            default: consistent_with_references(
                &format_args!("{at}.{DEFAULT}"),
                default_node_selector.as_deref(),
                mistakes,
            ),
            allowed: consistent_with_references(
                &format_args!("{at}.allowedNodeSelector"),
                allowed_node_selector.as_deref(),
                mistakes,
            ),
        }
    }

    /// Checks what is required against what holds with it where no annotation is present: the entry's own default, or
    /// the cluster's if it has none.
    fn check_required(&self, cluster_default: Option<&Selector>, mistakes: &mut Mistakes) {
        let Some(required) = self.required.as_ref().map(known) else { return };
        if let Some(default) = self.default.as_ref().map(known)
            && let Some((own, others)) = default.contradiction_with(&required)
        {
            let problem = format!("contradicts {REQUIRED}: {}", nothing_meets(own, others));
            mistakes.add(&format_args!("{}.{DEFAULT}", self.at), problem);
        }
        if let Some(cluster_default) = cluster_default
            && self.at.entry.default_node_selector.is_none()
            && let Some((own, others)) = required.contradiction_with(cluster_default)
        {
            let problem = format!(
                "contradicts {CLUSTER_DEFAULT}: {}; to switch it off here, use {DEFAULT}: \"\"",
                nothing_meets(own, others)
            );
            mistakes.add(&format_args!("{}.{REQUIRED}", self.at), problem);
        }
    }

    /// Checks that the entry allows the cluster's `default`, if it has none of its own: no Pod could be created
    /// otherwise.
    fn check_allowed(&self, default: &Selector, on_node_affinity: OnNodeAffinity, mistakes: &mut Mistakes) {
        let Some(allowed) = &self.allowed else { return };
        if self.at.entry.default_node_selector.is_some() {
            return;
        }
        let required = self.required.iter().flat_map(Selector::requirements).cloned();
        let whitelist = Whitelist::new(allowed.clone(), required.collect());
        let is_known = |requirement: &&Requirement| {
            let own = allowed.on(requirement.key()).iter().flat_map(Requirement::values);
            !own.into_iter().any(|value| reference::stands_in(value))
        };
        let known = default.requirements().iter().filter(is_known);
        let mut refused = known.filter(|requirement| match requirement.only_value() {
            Some(value) => !whitelist.allows_value(requirement.key(), value),
            None => on_node_affinity == OnNodeAffinity::Check && !whitelist.allows(requirement),
        });
        if let Some(refused) = refused.next() {
            let problem = format!(
                "does not allow {}, which {CLUSTER_DEFAULT} adds to Pods, so that none can be created; allow it, or use \
                 {DEFAULT}: \"\"",
                quote(&refused.to_string())
            );
            mistakes.add(&format_args!("{}.allowedNodeSelector", self.at), problem);
        }
    }

    /// Whether a label stands in any of them.
    fn name_any_label(&self) -> bool {
        [&self.required, &self.default, &self.allowed].into_iter().flatten().any(|selector| !selector.is_empty())
    }
}

fn check_entry_tolerations(at: EntryAt<'_>, cluster_defaults: Option<&[Toleration]>, mistakes: &mut Mistakes) {
    let NamespaceEntry { default_tolerations, allowed_tolerations, forbidden_tolerations, .. } = at.entry;
    let lists = [
        ("defaultTolerations", default_tolerations),
        ("allowedTolerations", allowed_tolerations),
        ("forbiddenTolerations", forbidden_tolerations),
    ];
    for (field, list) in lists {
        if let Some(list) = list {
            check_with_references(&format!("{at}.{field}"), list, mistakes);
        }
    }
    let Some(forbidden) = forbidden_tolerations else { return };
    let path = format!("{at}.forbiddenTolerations");
    for (position, toleration) in forbidden.iter().enumerate() {
        if is_key_alone(toleration) {
            mistakes.add(&format_args!("{path}[{position}]"), KEY_ALONE);
        }
    }
    let (source, defaults) = match (default_tolerations, cluster_defaults) {
        (Some(own), _) => (format!("{at}.defaultTolerations"), own.as_slice()),
        (None, Some(cluster)) => (CLUSTER_DEFAULT_TOLERATIONS.to_owned(), cluster),
        (None, None) => return,
    };
    // A default that something forbidden overlaps would have every Pod rejected.
    for default in defaults {
        if let Some(forbidding) = forbidden.iter().find(|forbidding| forbidding.overlaps(default)) {
            let problem = format!(
                "forbids {}, which {source} adds to Pods: {} overlaps it; change one of the two",
                quote(&default.to_string()),
                quote(&forbidding.to_string())
            );
            mistakes.add(&path, problem);
        }
    }
}

const KEY_ALONE: &str = "a key alone forbids only the empty value; add operator: Exists to forbid every value, or \
                         operator: Equal if only that one is meant";

fn is_key_alone(toleration: &Toleration) -> bool {
    !toleration.key.is_empty() && toleration.operator == Operator::Omitted && toleration.value.is_empty()
}

/// Checks tolerations of an entry, whose values may have references.
fn check_with_references(path: &str, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        let path = format!("{path}[{position}]");
        let text = &toleration.value;
        let mut filled = Toleration { value: String::new(), ..toleration.clone() };
        match reference::with_stand_ins(text) {
            Ok(value) => filled.value = value.into_owned(),
            Err(problem) => mistakes.add(&format_args!("{path}.value"), problem),
        }
        for invalid in filled.check() {
            let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
            mistakes.add(&format_args!("{path}.{}", invalid.field), reference::name_again(text, &problem));
        }
    }
}

fn check_preferred(at: EntryAt<'_>, mistakes: &mut Mistakes) {
    let all = &at.entry.preferred_node_selector;
    for (position, preferred) in all.iter().enumerate() {
        let path = format!("{at}.preferredNodeSelector[{position}]");
        if !(1..=100).contains(&preferred.weight) {
            mistakes.add(&format_args!("{path}.weight"), format!("expected 1 to 100, found {}", preferred.weight));
        }
        let selector_path = format!("{path}.selector");
        if let Some(selector) = consistent_with_references(&selector_path, Some(&preferred.selector), mistakes)
            && selector.is_empty()
        {
            mistakes.add(&selector_path, NOTHING_DEMANDED);
        }
        if all.iter().take(position).any(|earlier| earlier == preferred) {
            mistakes.add(&path, "an earlier element is the same; remove one of them");
        }
    }
}

fn check_guarded_labels(placement: &Placement, mistakes: &mut Mistakes) {
    let path = format!("{PLACEMENT}.guardedNodeLabels");
    if placement.on_nodes == OnNodes::Ignore && !placement.guarded_node_labels.is_empty() {
        mistakes.add(&path, "with onNodes: Ignore, they are not guarded; use RejectChanges or Reject");
    }
    for (position, label) in placement.guarded_node_labels.iter().enumerate() {
        if let Err(problem) = KeyPattern::new(label).check(TargetKind::Label) {
            mistakes.add(&format_args!("{path}[{position}]"), problem);
        }
    }
}

/// The controllers that make Pods from everybody's templates.
const CONTROLLERS: [&str; 7] = [
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemon-set-controller",
    "job-controller",
    "cronjob-controller",
    "replication-controller",
];

/// Whoever has not told who they are.
const ANONYMOUS: &str = "system:anonymous";

fn check_usernames(usernames: &[String], mistakes: &mut Mistakes) {
    let mut earlier = BTreeSet::new();
    for (position, username) in usernames.iter().enumerate() {
        let path = format!("{PLACEMENT}.exemptUsernames[{position}]");
        let controller = username.strip_prefix("system:serviceaccount:kube-system:");
        let is_controller =
            username == "system:kube-controller-manager" || controller.is_some_and(|name| CONTROLLERS.contains(&name));
        if username.is_empty() {
            mistakes.add(&path, "expected the full name of a user, found nothing");
        } else if username.contains('*') || username == ANONYMOUS {
            mistakes.add(&path, format!("expected the full name of one user, found {}", quote(username)));
        } else if !earlier.insert(username.clone()) {
            mistakes.add(&path, format!("{} is listed twice; remove one of them", quote(username)));
        } else if is_controller {
            let problem = "creates the Pods of all users, so that all users would be exempt; remove it";
            mistakes.add(&path, format!("{} {problem}", quote(username)));
        }
    }
}

/// Checks what the API server would refuse in a Pod.
pub(super) fn check_tolerations(path: &str, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        for invalid in toleration.check() {
            let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
            mistakes.add(&format_args!("{path}[{position}].{}", invalid.field), problem);
        }
    }
}
