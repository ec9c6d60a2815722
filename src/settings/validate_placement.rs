//! Finds every mistake in the placement blocks.

use std::collections::BTreeSet;

use super::choice::Choice;
use super::contradictions::{check_required, consistent};
use super::earlier_entries::EarlierEntries;
use super::fields::{Fields, Place};
use super::mistake::Mistakes;
use super::namespace_entry::{
    ALLOWED, ALLOWED_TOLERATIONS, DEFAULT, DEFAULT_TOLERATIONS, FORBIDDEN_TOLERATIONS, NAME, NAMESPACE_SELECTOR,
    NamespaceEntry, REQUIRED,
};
use super::placement_block::{ANNOTATIONS, CLUSTER_DEFAULT, CLUSTER_DEFAULT_TOLERATIONS, NAMESPACES};
use super::validate_tolerations::{check_defaults_against_forbidden, check_list};
use super::{
    Demand, Mistake, NamePattern, OnDaemonSets, OnNodeAffinity, OnNodes, Placement, TargetKind, TolerationList,
};
use crate::message::quote;
use crate::selector::Requirement;

/// Finds every mistake in the block `placement`.
pub(super) fn check(placement: &Placement<'_>, mistakes: &mut Mistakes) {
    let fields = &placement.fields;
    let cluster_default = consistent(fields, CLUSTER_DEFAULT, placement.cluster_default(), mistakes);
    let cluster_defaults = check_list(fields, CLUSTER_DEFAULT_TOLERATIONS, mistakes);
    check_annotations(fields, mistakes);
    let entries = fields.elements(NAMESPACES, mistakes);
    let on_node_affinity = mistakes.unless(placement.on_node_affinity());
    mistakes.unless(placement.on_node_name());
    mistakes.unless(placement.on_toleration_annotations());
    mistakes.unless(placement.on_extended_resources());
    mistakes.unless(placement.on_workloads());
    let on_daemon_sets = mistakes.unless(placement.on_daemon_sets());
    mistakes.unless(placement.on_namespaces());
    mistakes.unless(placement.on_bindings());
    let on_nodes = mistakes.unless(placement.on_nodes());
    fields.reject_unknown(mistakes);

    let entries: Vec<NamespaceEntry<'_>> = entries.into_iter().map(NamespaceEntry::new).collect();
    if let Some(on_daemon_sets @ (OnDaemonSets::Warn | OnDaemonSets::Ignore)) = on_daemon_sets
        && on_node_affinity == Some(OnNodeAffinity::Check)
    {
        check_daemon_sets(fields, on_daemon_sets, &entries, mistakes);
    }
    if on_nodes.is_some_and(|on_nodes| on_nodes != OnNodes::Ignore)
        && placement.selected_node_labels().is_ok_and(|labels| labels.is_empty())
    {
        let problem = "there is no label to guard: no node selector of the settings names one; add one, or say Ignore";
        mistakes.add(fields.mistake(OnNodes::FIELD, problem));
    }
    let sure_default = cluster_default.as_ref().filter(|_| placement.annotations().is_ok_and(|keys| keys.is_empty()));

    let mut earlier = Earlier::default();
    for entry in entries {
        check_whom(&entry, &mut earlier, mistakes);
        check_selectors(&entry, cluster_default.as_ref(), mistakes);
        if let (Some(default), Some(on_node_affinity)) = (sure_default, on_node_affinity) {
            check_allowed(&entry, default, on_node_affinity, mistakes);
        }
        check_tolerations(&entry, cluster_defaults.as_ref(), mistakes);
        entry.fields.reject_unknown(mistakes);
    }
}

/// Finds every mistake in the block `podNodeSelectorPluginConfig`.
pub(super) fn check_plugin_config(placement: &Placement<'_>, mistakes: &mut Mistakes) {
    for namespace in placement.fields.keys() {
        // The cluster's default is read the same way.
        mistakes.unless(placement.plugin_whitelist(&namespace));
    }
}

fn check_annotations(fields: &Fields<'_>, mistakes: &mut Mistakes) {
    let Some(Some(keys)) = mistakes.unless(fields.list(ANNOTATIONS)) else { return };
    let Place::Block(block) = fields.place else { return };
    for (position, key) in keys.iter().enumerate() {
        let place = Place::Element { block, list: ANNOTATIONS, position };
        match key.string() {
            Err(mismatch) => mistakes.add(Mistake::mismatch(&place, mismatch)),
            Ok(key) => {
                if let Err(problem) = TargetKind::Annotation.check(&key) {
                    mistakes.add(Mistake::new(&place, &problem));
                }
            }
        }
    }
}

/// Checks which namespaces the entry is about; `earlier` are the entries before.
fn check_whom(entry: &NamespaceEntry<'_>, earlier: &mut Earlier, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let selector = consistent(fields, NAMESPACE_SELECTOR, entry.namespace_selector(), mistakes);
    check_not_empty(fields, NAMESPACE_SELECTOR, selector.as_ref(), mistakes);
    let is_by_labels = fields.is_written(NAMESPACE_SELECTOR);
    let Some(name) = mistakes.unless(entry.name()) else { return };
    let name = match name.map(|name| NamePattern::parse(&name)) {
        Some(Ok(name)) => Some(name),
        Some(Err(problem)) => return mistakes.add(fields.mistake(NAME, &problem)),
        None if is_by_labels => None,
        None => return mistakes.add(fields.mistake(NAME, EXPECTED_NAME)),
    };
    if let Some(reason) = earlier.by_name.reason_never_reached(name.as_ref()) {
        return mistakes.add(fields.mistake(NAME, &reason));
    }
    match (&name, selector) {
        (_, Some(selector)) => {
            let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
            if !earlier.by_labels.insert(format!("{name} {}", selector.selector)) {
                let problem = "an earlier entry is about the same namespaces, and wins; make one of the two";
                mistakes.add(fields.mistake(NAMESPACE_SELECTOR, problem));
            }
        }
        (Some(name), None) if !is_by_labels => earlier.by_name.add(name, fields.place),
        _ => {}
    }
}

/// The entries before one.
#[derive(Default)]
struct Earlier {
    by_name: EarlierEntries,
    /// Of those by labels, the name and the namespaceSelector.
    by_labels: BTreeSet<String>,
}

const EXPECTED_NAME: &str =
    "expected the name of a namespace, or the beginning of names and '*'; or a namespaceSelector";

/// The controller of DaemonSets replaces the node affinity of their Pods, so only their templates show what they ask for.
fn check_daemon_sets(
    fields: &Fields<'_>,
    on_daemon_sets: OnDaemonSets,
    entries: &[NamespaceEntry<'_>],
    mistakes: &mut Mistakes,
) {
    let Some(entry) = entries.iter().find(|entry| entry.limits_nodes()) else { return };
    let problem = format!(
        "{on_daemon_sets:?} lets DaemonSets past {}: the node affinity of their Pods is their controller's; say Inject or \
         Reject, or onNodeAffinity: Ignore",
        entry.fields.place.field(ALLOWED)
    );
    mistakes.add(fields.mistake(OnDaemonSets::FIELD, &problem));
}

/// Checks that the entry allows the cluster's `default`, where nothing replaces that: no Pod could be created otherwise.
fn check_allowed(
    entry: &NamespaceEntry<'_>,
    default: &Demand,
    on_node_affinity: OnNodeAffinity,
    mistakes: &mut Mistakes,
) {
    let fields = &entry.fields;
    let Ok(Some((whitelist, _))) = entry.allowed() else { return };
    if fields.has(DEFAULT) {
        return;
    }
    let is_allowed = |requirement: &Requirement| match requirement.only_value() {
        Some(value) => whitelist.allows_value(requirement.key(), value),
        None => on_node_affinity == OnNodeAffinity::Ignore || whitelist.allows(requirement),
    };
    if let Some(refused) = default.selector.requirements().iter().find(|requirement| !is_allowed(requirement)) {
        let problem = format!(
            "does not allow {}, which {} adds to Pods, so that none can be created; allow it, or say {DEFAULT}: \"\"",
            quote(&refused.to_string()),
            default.origin
        );
        mistakes.add(fields.mistake(ALLOWED, &problem));
    }
}

/// Where a template renders to nothing, that must not take a fence away: what is written under `name` demands something.
fn check_not_empty(fields: &Fields<'_>, name: &'static str, demand: Option<&Demand>, mistakes: &mut Mistakes) {
    let is_null = !fields.has(name) && fields.is_written(name);
    if is_null || demand.is_some_and(|demand| demand.selector.is_empty()) {
        let problem = "expected at least one requirement on labels; leave it out to demand nothing";
        mistakes.add(fields.mistake(name, problem));
    }
}

fn check_selectors(entry: &NamespaceEntry<'_>, cluster_default: Option<&Demand>, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let required = consistent(fields, REQUIRED, entry.required(), mistakes);
    let default = consistent(fields, DEFAULT, entry.default(), mistakes);
    check_not_empty(fields, REQUIRED, required.as_ref(), mistakes);
    consistent(fields, ALLOWED, entry.allowed_selector(), mistakes);
    if let Some(required) = &required {
        check_required(fields, required, default.as_ref(), cluster_default, mistakes);
    }
}

fn check_tolerations(entry: &NamespaceEntry<'_>, cluster: Option<&TolerationList>, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let default = check_list(fields, DEFAULT_TOLERATIONS, mistakes);
    check_list(fields, ALLOWED_TOLERATIONS, mistakes);
    let forbidden = check_list(fields, FORBIDDEN_TOLERATIONS, mistakes);
    let default = if fields.has(DEFAULT_TOLERATIONS) { default.as_ref() } else { cluster };
    if let (Some(default), Some(forbidden)) = (default, &forbidden) {
        check_defaults_against_forbidden(fields, default, forbidden, mistakes);
    }
}
