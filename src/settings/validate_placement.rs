//! Finds every mistake in the placement blocks.

use std::collections::BTreeSet;

use super::fields::{Fields, Place};
use super::mistake::Mistakes;
use super::namespace_entry::{
    ALLOWED, ALLOWED_TOLERATIONS, DEFAULT, DEFAULT_TOLERATIONS, FORBIDDEN_TOLERATIONS, NAME, NAMESPACE_SELECTOR,
    NamespaceEntry, REQUIRED,
};
use super::placement_block::{ANNOTATIONS, CLUSTER_DEFAULT, CLUSTER_DEFAULT_TOLERATIONS, NAMESPACES};
use super::validate_tolerations::{check_defaults_against_forbidden, check_list};
use super::{Demand, Mistake, Placement, TargetKind, TolerationList};
use crate::message::quote;

/// Finds every mistake in the block `placement`.
pub(super) fn check(placement: &Placement<'_>, mistakes: &mut Mistakes) {
    let fields = &placement.fields;
    consistent(fields, CLUSTER_DEFAULT, placement.cluster_default(), mistakes);
    let cluster_defaults =
        check_list(fields, CLUSTER_DEFAULT_TOLERATIONS, placement.cluster_default_tolerations(), mistakes);
    check_annotations(fields, mistakes);
    let entries = fields.elements(NAMESPACES, mistakes);
    mistakes.unless(placement.on_node_affinity());
    mistakes.unless(placement.on_node_name());
    mistakes.unless(placement.on_toleration_annotations());
    mistakes.unless(placement.on_extended_resources());
    mistakes.unless(placement.on_workloads());
    mistakes.unless(placement.on_daemon_sets());
    mistakes.unless(placement.on_namespaces());
    mistakes.unless(placement.on_bindings());
    mistakes.unless(placement.on_nodes());
    fields.reject_unknown(mistakes);

    let mut earlier = BTreeSet::new();
    for entry in entries.into_iter().map(NamespaceEntry::new) {
        check_whom(&entry, &mut earlier, mistakes);
        check_selectors(&entry, mistakes);
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

/// Checks which namespaces the entry is about; `earlier` are those of the entries before.
fn check_whom(entry: &NamespaceEntry<'_>, earlier: &mut BTreeSet<String>, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let name = mistakes.unless(entry.name());
    let selector = consistent(fields, NAMESPACE_SELECTOR, entry.namespace_selector(), mistakes);
    if entry.needs_labels() && selector.as_ref().is_some_and(|demand| demand.selector.is_empty()) {
        let problem = "expected requirements on the labels of namespaces; leave it away for all of that name";
        mistakes.add(fields.mistake(NAMESPACE_SELECTOR, problem));
    }
    let Some(name) = name else { return };
    let name = match name {
        None if entry.needs_labels() => None,
        None => return mistakes.add(fields.mistake(NAME, EXPECTED_NAME)),
        Some(name) if name.is_empty() => return mistakes.add(fields.mistake(NAME, EXPECTED_NAME)),
        Some(name) if name.strip_suffix('*').unwrap_or(&name).contains('*') => {
            let problem = format!("{} has a '*' elsewhere than at its end", quote(&name));
            return mistakes.add(fields.mistake(NAME, &problem));
        }
        Some(name) => Some(name),
    };
    let selector = selector.map(|demand| demand.selector.to_string());
    if !earlier.insert(format!("{name:?} {selector:?}")) {
        let problem = match name {
            Some(name) => format!("{} is the name of an earlier entry, which wins; make one of the two", quote(&name)),
            None => "an earlier entry is about the same namespaces, and wins; make one of the two".to_owned(),
        };
        mistakes.add(fields.mistake(NAME, &problem));
    }
}

const EXPECTED_NAME: &str =
    "expected the name of a namespace, or the beginning of names and '*'; or a namespaceSelector";

fn check_selectors(entry: &NamespaceEntry<'_>, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let required = consistent(fields, REQUIRED, entry.required(), mistakes);
    let default = consistent(fields, DEFAULT, entry.default(), mistakes);
    consistent(fields, ALLOWED, entry.allowed_selector(), mistakes);
    if let (Some(required), Some(default)) = (&required, &default)
        && let Some(found) = required.selector.contradiction(&default.selector)
    {
        let problem = format!(
            "contradicts {REQUIRED}: {} can't be both {} and {}",
            quote(found.key),
            quote(found.other),
            quote(found.one)
        );
        mistakes.add(fields.mistake(DEFAULT, &problem));
    }
}

fn check_tolerations(entry: &NamespaceEntry<'_>, cluster: Option<&TolerationList>, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let default = check_list(fields, DEFAULT_TOLERATIONS, entry.default_tolerations(), mistakes);
    check_list(fields, ALLOWED_TOLERATIONS, entry.allowed_tolerations(), mistakes);
    let forbidden = check_list(fields, FORBIDDEN_TOLERATIONS, entry.forbidden_tolerations(), mistakes);
    let default = if fields.has(DEFAULT_TOLERATIONS) { default.as_ref() } else { cluster };
    if let (Some(default), Some(forbidden)) = (default, &forbidden) {
        check_defaults_against_forbidden(fields, default, forbidden, mistakes);
    }
}

/// What is demanded under `name`, if it is there, parses, and does not contradict itself.
fn consistent(
    fields: &Fields<'_>,
    name: &'static str,
    demand: Result<Option<Demand>, Mistake>,
    mistakes: &mut Mistakes,
) -> Option<Demand> {
    let demand = mistakes.unless(demand)??;
    if let Some(found) = demand.selector.contradiction(&demand.selector) {
        let problem = format!(
            "contradicts itself: {} can't be both {} and {}",
            quote(found.key),
            quote(found.one),
            quote(found.other)
        );
        mistakes.add(fields.mistake(name, &problem));
        return None;
    }
    Some(demand)
}
