//! What lets others' Pods onto the nodes that a fence (`requiredNodeSelector`) is to keep for some: namespaces that no
//! entry is for, labels that kubelets may set, Bindings that nobody verifies.

use std::collections::BTreeSet;

use node_placement_policy::{
    selector::{Operator, Requirement, Selector},
    settings::{EntryAt, OnBindings, OnDefaultConflict, OnNodeName, OnNodes, Placement, reference},
};

use super::finding::Findings;
use crate::input::settings::{
    Enforcement, accepts_absence, entries_at, entry_name, fence, is_for_any_name, is_for_the_rest, namespace_selector,
};

/// At most this many ways not to be selected are tried. Settings with more are not judged.
const MOST_TRIES: usize = 10_000;

/// Adds remarks on a block `placement` that is one of those of a whole `deployment`.
pub fn find(placement: &Placement, deployment: &[&Placement], findings: &mut Findings) {
    let fenced: Vec<(EntryAt<'_>, Selector)> =
        entries_at(placement).filter_map(|at| Some((at, fence(at.entry)?))).collect();
    let Some((first, first_fence)) = fenced.first() else { return };
    for rest in entries_at(placement).filter(|at| is_for_the_rest(at.entry)) {
        if let Some(text) = open_rest(rest, &fenced) {
            findings.remark(rest.to_string(), text);
        }
    }
    // It holds for the rest, unless Pods may ask for something else.
    let has_default = placement.cluster_default_node_selector.as_deref().is_some_and(|text| !text.is_empty());
    if (!has_default || placement.on_default_conflict == OnDefaultConflict::Yield)
        && let Some(namespaces) = without_entry(placement)
    {
        let text = format!(
            "{namespaces} have no entry, so their Pods may run on the nodes of others; add a last entry for the rest, such \
             as {{name: \"*\", requiredNodeSelector: \"{}\"}}",
            absent(first_fence)
        );
        findings.remark("placement.namespaces", text);
    }
    find_rest_that_warns(placement, &fenced, findings);
    if deployment.iter().all(|placement| placement.on_nodes == OnNodes::Ignore) {
        find_labels_of_kubelets(&fenced, findings);
    }
    if deployment.iter().all(|placement| placement.on_bindings == OnBindings::Ignore) {
        let text = format!(
            "Ignore, so whoever may create Bindings can bind a Pod to any node, past {first}.requiredNodeSelector; set \
             Verify"
        );
        findings.remark("placement.onBindings", text);
    }
    if deployment.iter().all(|placement| placement.on_node_name == OnNodeName::Ignore) {
        let text = format!(
            "Ignore, so whoever may create Pods can write any node into spec.nodeName, past {first}.requiredNodeSelector; \
             set Verify"
        );
        findings.remark("placement.onNodeName", text);
    }
}

/// Returns what an entry for the rest lacks that is to keep its Pods off the nodes of others. One that asks for a label
/// of its own nodes has these, and is not judged.
fn open_rest(rest: EntryAt<'_>, fenced: &[(EntryAt<'_>, Selector)]) -> Option<String> {
    let own = fence(rest.entry);
    if own.as_ref().is_some_and(|own| !accepts_absence(own)) {
        return None;
    }
    let is_open = |fence: &Selector| own.as_ref().is_none_or(|own| own.contradiction_with(fence).is_none());
    let (other, fence) = fenced.iter().find(|(other, fence)| other.position != rest.position && is_open(fence))?;
    Some(format!(
        "{} does not keep Pods off the nodes of {}, {other}; {} \"{}\"",
        entry_name(rest.entry),
        entry_name(other.entry),
        if own.is_some() { "add to requiredNodeSelector:" } else { "add requiredNodeSelector:" },
        absent(fence)
    ))
}

/// Returns what excludes the nodes of a fence: `!tenant`.
fn absent(fence: &Selector) -> String {
    let keys = fence.by_label().filter_map(|requirements| Some(format!("!{}", requirements.first()?.key())));
    keys.collect::<Vec<_>>().join(",")
}

/// Adds one, if the last entry is for the rest and only warns, while an entry with a fence is enforced.
fn find_rest_that_warns(placement: &Placement, fenced: &[(EntryAt<'_>, Selector)], findings: &mut Findings) {
    let Some(((rest, _), others)) = fenced.split_last() else { return };
    let warns = rest.entry.enforcement == Enforcement::Warn && is_for_the_rest(rest.entry);
    let enforced = others.iter().find(|(other, _)| other.entry.enforcement == Enforcement::Enforce);
    if let Some((other, _)) = enforced.filter(|_| warns && rest.position + 1 == placement.namespaces.len()) {
        let text = format!(
            "Warn, so other namespaces may run Pods on the nodes of {} until it is enforced; remove it when their workloads \
             are ready",
            entry_name(other.entry)
        );
        findings.remark(format!("{rest}.enforcement"), text);
    }
}

/// Namespaces that no entry is for, in words.
fn without_entry(placement: &Placement) -> Option<String> {
    let entries = placement.namespaces.iter().filter(|entry| is_for_any_name(entry));
    let selectors: Vec<Selector> = entries.map(namespace_selector).collect();
    let mut tries = MOST_TRIES;
    Some(describe_namespaces(&not_selected(&selectors, Selector::default(), &mut tries)?))
}

/// Returns what namespaces meet that none of the selectors selects: of each, they do not meet some requirement.
fn not_selected(selectors: &[Selector], met: Selector, tries: &mut usize) -> Option<Selector> {
    let Some((first, others)) = selectors.split_first() else { return Some(met) };
    first.requirements().iter().find_map(|requirement| {
        *tries = tries.checked_sub(1)?;
        let more = met.requirements().iter().cloned().chain([opposite(requirement)?]);
        let more = Selector::new(more.collect());
        if more.contradiction().is_some() { None } else { not_selected(others, more, tries) }
    })
}

/// Returns the negation of a requirement. `None` for comparisons, and for the label of the name, which every namespace
/// has.
fn opposite(requirement: &Requirement) -> Option<Requirement> {
    let operator = match requirement.operator().as_set() {
        Operator::Exists if requirement.key() != reference::NAME => Operator::DoesNotExist,
        Operator::DoesNotExist => Operator::Exists,
        Operator::In => Operator::NotIn,
        Operator::NotIn => Operator::In,
        _ => return None,
    };
    Requirement::new(requirement.key().to_owned(), operator, requirement.values().to_vec()).ok()
}

/// Returns `namespaces without tenant, with tier=gold`.
fn describe_namespaces(met: &Selector) -> String {
    let word = |requirements: &[Requirement]| {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        let is_met_by = |value: Option<&str>| requirements.iter().all(|own| own.accepts(value));
        if key != reference::NAME && is_met_by(None) {
            return format!("without {key}");
        }
        match requirements.iter().flat_map(Requirement::values).find(|value| is_met_by(Some(value))) {
            Some(value) => format!("with {key}={value}"),
            None => format!("with another value of {key}"),
        }
    };
    let words: Vec<String> = met.by_label().map(word).collect();
    if words.is_empty() { "other namespaces".to_owned() } else { format!("namespaces {}", words.join(", ")) }
}

/// Labels of Kubernetes that kubelets may set.
///
/// Upstream: `kubeletLabels` of `k8s.io/kubelet/pkg/apis`.
const KUBELET_LABELS: [&str; 10] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Upstream: `kubeletLabelNamespaces` there.
const KUBELET_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// Adds one for each label that kubelets may set, where it is demanded first.
fn find_labels_of_kubelets(fenced: &[(EntryAt<'_>, Selector)], findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (at, fence) in fenced {
        for key in fence.requirements().iter().map(Requirement::key) {
            if may_be_set_by_kubelets(key) && seen.insert(key) {
                let text = format!(
                    "every kubelet may set the label {key} of its own Node, and so get Pods that are not for it; use a label \
                     below node-restriction.kubernetes.io/, or set onNodes"
                );
                findings.remark(format!("{at}.requiredNodeSelector"), text);
            }
        }
    }
}

/// Returns what the admission plugin NodeRestriction lets a kubelet do.
///
/// Upstream: `getModifiedLabels` and `getForbiddenUpdateLabels` of `plugin/pkg/admission/noderestriction`.
fn may_be_set_by_kubelets(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return true };
    let is_within =
        |domain: &&str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_of_kubernetes = ["kubernetes.io", "k8s.io"].iter().any(is_within);
    !is_of_kubernetes || KUBELET_LABELS.contains(&key) || KUBELET_PREFIXES.iter().any(is_within)
}
