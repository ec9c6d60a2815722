//! Reads all settings, and finds every mistake in them at once.

use std::collections::BTreeSet;

use json::{Kind, Object, Outline, Value};

use super::fields::{Fields, Place};
use super::mistake::Mistakes;
use super::placement_block::{
    self, ALLOWED, ANNOTATIONS, BLOCK, CLUSTER_DEFAULT, DEFAULT, NAME, NAMESPACES, PLUGIN_BLOCK, REQUIRED,
};
use super::{
    Demand, Mistake, Mode, NamespaceEntry, NodeMetadataBlock, OnNodeAffinity, Placement, TargetKind,
    node_metadata_block, validate_node_metadata,
};
use crate::message::quote;
use crate::selector::{Selector, Whitelist};

/// Every mistake in `text`, the settings as JSON; none, if they are valid.
pub fn mistakes(text: &str) -> Vec<Mistake> {
    let mut mistakes = Mistakes::default();
    match Value::parse(text, &Outline::FLAT) {
        Err(error) => mistakes.add(Mistake::new(&"", &format!("the settings are not JSON: {error}"))),
        Ok(value) if value.kind() == Kind::Null => check(&Object::new(), &mut mistakes),
        Ok(value) => match value.object() {
            Ok(settings) => check(settings, &mut mistakes),
            Err(mismatch) => mistakes.add(Mistake::mismatch(&"", mismatch)),
        },
    }
    mistakes.into_vec()
}

fn check(settings: &Object, mistakes: &mut Mistakes) {
    let whole = Fields::whole(settings);
    let blocks = [BLOCK, PLUGIN_BLOCK, node_metadata_block::BLOCK];
    let [placement, plugin, node_metadata] = blocks.map(|name| whole.block(name));
    whole.reject_unknown(mistakes);
    if !blocks.iter().any(|name| whole.has(name)) {
        let problem = format!("expected at least one of {}", blocks.join(", "));
        mistakes.add(Mistake::new(&"", &problem));
    }
    if whole.has(BLOCK) && whole.has(PLUGIN_BLOCK) {
        mistakes.add(placement_block::both_blocks());
    }
    if let Some(Some(fields)) = mistakes.unless(placement) {
        check_placement(&Placement::new(Mode::Placement, fields), mistakes);
    }
    if let Some(Some(fields)) = mistakes.unless(plugin) {
        check_plugin_config(&Placement::new(Mode::Plugin, fields), mistakes);
    }
    if let Some(Some(fields)) = mistakes.unless(node_metadata) {
        validate_node_metadata::check(&NodeMetadataBlock::new(fields), mistakes);
    }
}

fn check_placement(placement: &Placement<'_>, mistakes: &mut Mistakes) {
    let fields = &placement.fields;
    consistent(fields, CLUSTER_DEFAULT, placement.cluster_default(), mistakes);
    check_annotations(fields, mistakes);
    let entries = fields.elements(NAMESPACES, mistakes);
    let on_node_affinity = mistakes.unless(placement.on_node_affinity()).unwrap_or_default();
    mistakes.unless(placement.on_node_name());
    mistakes.unless(placement.on_workloads());
    mistakes.unless(placement.on_daemon_sets());
    mistakes.unless(placement.on_namespaces());
    mistakes.unless(placement.on_bindings());
    fields.reject_unknown(mistakes);

    let mut names = BTreeSet::new();
    for entry in entries.into_iter().map(NamespaceEntry::new) {
        check_name(&entry, &mut names, mistakes);
        check_selectors(&entry, on_node_affinity, mistakes);
        entry.fields.reject_unknown(mistakes);
    }
}

fn check_plugin_config(placement: &Placement<'_>, mistakes: &mut Mistakes) {
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

fn check_name(entry: &NamespaceEntry<'_>, names: &mut BTreeSet<String>, mistakes: &mut Mistakes) {
    let Some(name) = mistakes.unless(entry.name()) else { return };
    let problem = if name.is_empty() {
        "expected the name of a namespace, or the beginning of names and '*'".to_owned()
    } else if name.strip_suffix('*').unwrap_or(&name).contains('*') {
        format!("{} has a '*' elsewhere than at its end", quote(&name))
    } else if names.contains(name.as_ref()) {
        format!("{} is the name of an earlier entry, which wins; make one of the two", quote(&name))
    } else {
        names.insert(name.into_owned());
        return;
    };
    mistakes.add(entry.fields.mistake(NAME, &problem));
}

fn check_selectors(entry: &NamespaceEntry<'_>, on_node_affinity: OnNodeAffinity, mistakes: &mut Mistakes) {
    let fields = &entry.fields;
    let required = consistent(fields, REQUIRED, entry.required(), mistakes);
    let default = consistent(fields, DEFAULT, entry.default(), mistakes);
    let allowed = consistent(fields, ALLOWED, placement_block::selector_of(Mode::Placement, fields, ALLOWED), mistakes);
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
    let Some(allowed) = allowed.and_then(|allowed| Whitelist::new(allowed.selector)) else { return };
    for Demand { selector, origin } in [required, default].into_iter().flatten() {
        if let Some(forbidden) = forbidden(&allowed, &selector, on_node_affinity) {
            let whitelist = quote(&allowed.selector().to_string());
            let problem = format!("{} is not allowed by {ALLOWED} {whitelist}", quote(&forbidden));
            mistakes.add(Mistake::new(&origin, &problem));
        }
    }
}

/// The first thing that `selector` would add to Pods and `allowed` forbids.
fn forbidden(allowed: &Whitelist, selector: &Selector, on_node_affinity: OnNodeAffinity) -> Option<String> {
    let mut requirements = selector.requirements().iter();
    let found = requirements.find(|requirement| match requirement.only_value() {
        Some(value) => !allowed.allows_value(requirement.key(), value),
        None => on_node_affinity == OnNodeAffinity::Check && !allowed.allows(requirement),
    });
    found.map(ToString::to_string)
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
