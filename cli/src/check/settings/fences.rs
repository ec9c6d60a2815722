//! What lets others' Pods onto the nodes that a fence (`requiredNodeSelector`) is to keep for some: namespaces that no
//! entry is for, labels that kubelets may set, Bindings that nobody verifies.

use std::collections::BTreeSet;

use node_placement_policy::{
    selector::{Operator, Requirement, Selector},
    settings::{OnBindings, OnDefaultConflict, OnNodes, Placement, reference},
};

use super::entries::{Entry, entries};
use crate::{
    check::finding::Finding,
    input::settings::{Enforcement, is_for_the_rest},
};

/// So many ways not to be selected are tried. Settings with more are not judged.
const MOST_TRIES: usize = 10_000;

/// Entries for the rest that do not keep its Pods off the nodes of others; and namespaces that no entry is for, where an
/// entry has a fence.
pub fn unfenced_rest(placement: &Placement) -> Vec<Finding> {
    let entries = entries(placement);
    let fenced: Vec<(&Entry<'_>, Selector)> =
        entries.iter().filter_map(|entry| Some((entry, entry.fence()?))).collect();
    if fenced.is_empty() {
        return vec![];
    }
    let mut findings: Vec<Finding> = entries
        .iter()
        .filter(|entry| is_for_the_rest(entry.written))
        .filter_map(|entry| open_rest(entry, &fenced))
        .collect();
    // It holds for the rest, unless Pods may ask for something else.
    let has_default = placement.cluster_default_node_selector.as_deref().is_some_and(|text| !text.is_empty());
    if !has_default || placement.on_default_conflict == OnDefaultConflict::Yield {
        findings.extend(fenced.first().and_then(|(_, fence)| without_entry(&entries, fence)));
    }
    findings
}

/// One, if the last entry is for the rest and only warns, while an entry with a fence is enforced.
pub fn warned_rest(placement: &Placement) -> Option<Finding> {
    let entries = entries(placement);
    let (rest, others) = entries.split_last()?;
    let is_fenced = |entry: &&Entry<'_>, how| entry.written.enforcement == how && entry.fence().is_some();
    let other = others.iter().find(|other| is_fenced(other, Enforcement::Enforce))?;
    let rest = Some(rest).filter(|rest| is_for_the_rest(rest.written) && is_fenced(rest, Enforcement::Warn))?;
    let text = format!(
        "Warn, so other namespaces may run Pods on the nodes of {} until it is enforced; remove it when their workloads are \
         ready",
        other.named()
    );
    Some(Finding::new(format!("{}.enforcement", rest.path()), text))
}

fn excludes(own: &Selector, fence: &Selector) -> bool {
    own.contradiction_with(fence).is_some()
}

fn accepts_absence(selector: &Selector) -> bool {
    selector.requirements().iter().all(|requirement| requirement.accepts(None))
}

/// What an entry for the rest lacks. One that asks for a label of its own nodes has these, and is not judged.
fn open_rest(rest: &Entry<'_>, fenced: &[(&Entry<'_>, Selector)]) -> Option<Finding> {
    let own = rest.fence();
    if own.as_ref().is_some_and(|own| !accepts_absence(own)) {
        return None;
    }
    let is_open = |fence: &Selector| own.as_ref().is_none_or(|own| !excludes(own, fence));
    let (other, fence) = fenced.iter().find(|(other, fence)| other.position != rest.position && is_open(fence))?;
    let text = format!(
        "{} does not keep Pods off the nodes of {}, {}; {} \"{}\"",
        rest.named(),
        other.named(),
        other.path(),
        if own.is_some() { "add to requiredNodeSelector:" } else { "add requiredNodeSelector:" },
        absent(fence)
    );
    Some(Finding::new(rest.path(), text))
}

/// What excludes the nodes of a fence: `!tenant`.
fn absent(fence: &Selector) -> String {
    let keys: BTreeSet<&str> = fence.requirements().iter().map(Requirement::key).collect();
    keys.into_iter().map(|key| format!("!{key}")).collect::<Vec<_>>().join(",")
}

fn without_entry(entries: &[Entry<'_>], fence: &Selector) -> Option<Finding> {
    let selectors: Vec<&Selector> =
        entries.iter().filter(|entry| entry.is_for_any_name()).map(|entry| &entry.selector).collect();
    let mut tries = MOST_TRIES;
    let namespaces = in_words(&not_selected(&selectors, Selector::default(), &mut tries)?);
    let text = format!(
        "{namespaces} have no entry, so their Pods may run on the nodes of others; add a last entry for the rest, such as \
         {{name: \"*\", requiredNodeSelector: \"{}\"}}",
        absent(fence)
    );
    Some(Finding::new("placement.namespaces", text))
}

/// What namespaces meet that none of the selectors selects: of each, they do not meet some requirement.
fn not_selected(selectors: &[&Selector], met: Selector, tries: &mut usize) -> Option<Selector> {
    let Some((first, rest)) = selectors.split_first() else { return Some(met) };
    first.requirements().iter().find_map(|requirement| {
        *tries = tries.checked_sub(1)?;
        let more = met.requirements().iter().cloned().chain([opposite(requirement)?]);
        let more = Selector::new(more.collect());
        if more.contradiction().is_some() { None } else { not_selected(rest, more, tries) }
    })
}

/// What a label meets that does not meet the requirement. Of comparisons, that is no requirement; and every namespace
/// has the label of its name.
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

fn in_words(met: &Selector) -> String {
    let word = |requirements: &[Requirement]| {
        let key = requirements.first().map(Requirement::key).unwrap_or_default();
        let is_met_by = |value: &&String| requirements.iter().all(|own| own.accepts(Some(value)));
        match requirements.iter().flat_map(Requirement::values).find(is_met_by) {
            _ if key != reference::NAME && requirements.iter().all(|own| own.accepts(None)) => format!("without {key}"),
            Some(value) => format!("with {key}={value}"),
            None => format!("with another value of {key}"),
        }
    };
    let words: Vec<String> = met.by_label().map(word).collect();
    if words.is_empty() { "other namespaces".to_owned() } else { format!("namespaces {}", words.join(", ")) }
}

/// Upstream: `kubeletLabels` of `k8s.io/kubelet/pkg/apis`.
const LISTED: [&str; 10] = [
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
const LISTED_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// One for each such label, where it is demanded first.
pub fn labels_of_kubelets(placement: &Placement, deployment: &[&Placement]) -> Vec<Finding> {
    if deployment.iter().any(|placement| placement.on_nodes != OnNodes::Ignore) {
        return vec![];
    }
    let mut said = BTreeSet::new();
    let mut findings = vec![];
    for entry in entries(placement) {
        for requirement in entry.fence().iter().flat_map(|fence| fence.requirements()) {
            let key = requirement.key();
            if may_be_set_by_kubelets(key) && said.insert(key.to_owned()) {
                let text = format!(
                    "every kubelet may set the label {key} of its own Node, and so get Pods that are not for it; use a label \
                     below node-restriction.kubernetes.io/, or set onNodes"
                );
                findings.push(Finding::new(format!("{}.requiredNodeSelector", entry.path()), text));
            }
        }
    }
    findings
}

/// What the admission plugin NodeRestriction lets a kubelet do.
///
/// Upstream: `getModifiedLabels` and `getForbiddenUpdateLabels` of `plugin/pkg/admission/noderestriction`.
fn may_be_set_by_kubelets(key: &str) -> bool {
    let is_within = |prefix: &str, domain: &str| {
        prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let Some((prefix, _)) = key.split_once('/') else { return true };
    let is_of_kubernetes = is_within(prefix, "kubernetes.io") || is_within(prefix, "k8s.io");
    !is_of_kubernetes || LISTED.contains(&key) || LISTED_PREFIXES.iter().any(|listed| is_within(prefix, listed))
}

/// One, if there is a fence, and no Binding is verified.
pub fn unverified_bindings(placement: &Placement, deployment: &[&Placement]) -> Option<Finding> {
    let are_verified = deployment.iter().any(|placement| placement.on_bindings == OnBindings::Verify);
    let entries = entries(placement);
    let fenced = entries.iter().find(|entry: &&Entry<'_>| entry.fence().is_some()).filter(|_| !are_verified)?;
    let text = format!(
        "Ignore, so whoever may create Bindings can bind a Pod to any node, past {}.requiredNodeSelector; set Verify",
        fenced.path()
    );
    Some(Finding::new("placement.onBindings", text))
}
