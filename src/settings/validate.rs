//! Reads all settings, and finds every mistake in them at once.

use std::collections::BTreeSet;
use std::fmt;

use json::{Json, Object};

use super::choice::Choice;
use super::mistake::{Element, elements, unknown_fields};
use super::placement::{
    self, ALLOWED, ANNOTATIONS, BLOCK, CLUSTER_DEFAULT, DEFAULT, NAME, NAMESPACES, PLUGIN_BLOCK, REQUIRED,
};
use super::{
    Demand, Dialect, Mistake, NodeMetadata, OnBindings, OnDaemonSets, OnNamespaces, OnNodeAffinity, OnNodeName,
    OnWorkloads, TargetKind, node_metadata,
};
use crate::selector::{Allowance, NodeSelector};
use crate::text::quote;

/// Every mistake in `text`, the settings as JSON; none, if they are valid.
pub fn mistakes(text: &str) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let settings = match Json::parse(text) {
        Err(error) => return vec![Mistake::new(&"", &format!("the settings are not JSON: {error}"))],
        Ok(settings) if settings.is_null() => Object::default(),
        Ok(settings) => match settings.object() {
            Err(mismatch) => return vec![Mistake::of(&"", mismatch)],
            Ok(settings) => settings,
        },
    };
    let blocks = [BLOCK, PLUGIN_BLOCK, node_metadata::BLOCK];
    unknown_fields(&settings, &"", &blocks, &mut mistakes);
    if blocks.iter().all(|block| settings.get(block).is_none()) {
        let problem = format!("expected at least one of {}", blocks.join(", "));
        mistakes.push(Mistake::new(&"", &problem));
    }
    if settings.get(BLOCK).is_some() && settings.get(PLUGIN_BLOCK).is_some() {
        mistakes.push(placement::both_blocks());
    }
    if let Some(block) = block(&settings, BLOCK, &mut mistakes) {
        check_pod_node_selector(&block, &mut mistakes);
    }
    if let Some(block) = block(&settings, PLUGIN_BLOCK, &mut mistakes) {
        for (key, _) in block.members() {
            selector(&block, &PLUGIN_BLOCK, &key, Dialect::InTree, &mut mistakes);
        }
    }
    if let Some(block) = block(&settings, node_metadata::BLOCK, &mut mistakes) {
        NodeMetadata::read(&block, &mut mistakes);
    }
    mistakes
}

fn block<'a>(settings: &Object<'a>, name: &str, mistakes: &mut Vec<Mistake>) -> Option<Object<'a>> {
    settings.object(name).unwrap_or_else(|mismatch| {
        mistakes.push(Mistake::of(&"", mismatch));
        None
    })
}

fn check_pod_node_selector(block: &Object<'_>, mistakes: &mut Vec<Mistake>) {
    let known = [
        CLUSTER_DEFAULT,
        ANNOTATIONS,
        NAMESPACES,
        OnNodeAffinity::FIELD,
        OnNodeName::FIELD,
        OnWorkloads::FIELD,
        OnDaemonSets::FIELD,
        OnNamespaces::FIELD,
        OnBindings::FIELD,
    ];
    unknown_fields(block, &BLOCK, &known, mistakes);
    selector(block, &BLOCK, CLUSTER_DEFAULT, Dialect::Full, mistakes);
    check_annotations(block, mistakes);
    let choices = [
        OnNodeName::read(block, BLOCK).err(),
        OnWorkloads::read(block, BLOCK).err(),
        OnDaemonSets::read(block, BLOCK).err(),
        OnNamespaces::read(block, BLOCK).err(),
        OnBindings::read(block, BLOCK).err(),
    ];
    mistakes.extend(choices.into_iter().flatten());
    let on_node_affinity = OnNodeAffinity::read(block, BLOCK).unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        OnNodeAffinity::default()
    });

    let mut names = BTreeSet::new();
    for (place, entry) in elements(block, BLOCK, NAMESPACES, json::Element::object, mistakes) {
        unknown_fields(&entry, &place, &[NAME, REQUIRED, DEFAULT, ALLOWED], mistakes);
        check_name(&entry, place, &mut names, mistakes);
        check_selectors(&entry, place, on_node_affinity, mistakes);
    }
}

fn check_annotations(block: &Object<'_>, mistakes: &mut Vec<Mistake>) {
    for (place, key) in elements(block, BLOCK, ANNOTATIONS, |key| key.json.string(), mistakes) {
        if let Err(problem) = TargetKind::Annotation.check(&key) {
            mistakes.push(Mistake::new(&place, &problem));
        }
    }
}

fn check_name(entry: &Object<'_>, place: Element, names: &mut BTreeSet<String>, mistakes: &mut Vec<Mistake>) {
    let name = match entry.string(NAME) {
        Ok(name) => name,
        Err(mismatch) => return mistakes.push(Mistake::of(&place, mismatch)),
    };
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
    mistakes.push(Mistake::new(&format_args!("{place}.{NAME}"), &problem));
}

fn check_selectors(entry: &Object<'_>, place: Element, on_node_affinity: OnNodeAffinity, mistakes: &mut Vec<Mistake>) {
    let required = selector(entry, &place, REQUIRED, Dialect::Full, mistakes);
    let default = selector(entry, &place, DEFAULT, Dialect::Full, mistakes);
    let allowed = selector(entry, &place, ALLOWED, Dialect::Full, mistakes);
    if let (Some(required), Some(default)) = (&required, &default)
        && let Some(found) = required.selector.contradiction(&default.selector)
    {
        let problem = format!(
            "contradicts {REQUIRED}: {} can't be both {} and {}",
            quote(found.key),
            quote(found.other),
            quote(found.one)
        );
        mistakes.push(Mistake::new(&default.source, &problem));
    }
    let Some(allowed) = allowed.and_then(|allowed| Allowance::new(allowed.selector)) else { return };
    for Demand { selector, source } in [required, default].into_iter().flatten() {
        if let Some(forbidden) = forbidden(&allowed, &selector, on_node_affinity) {
            let problem =
                format!("{} is not allowed by {ALLOWED} {}", quote(&forbidden), quote(&allowed.selector().to_string()));
            mistakes.push(Mistake::new(&source, &problem));
        }
    }
}

/// The first thing that `selector` would add to Pods and `allowed` forbids.
fn forbidden(allowed: &Allowance, selector: &NodeSelector, on_node_affinity: OnNodeAffinity) -> Option<String> {
    let mut requirements = selector.requirements().iter();
    let found = requirements.find(|requirement| match requirement.only_value() {
        Some(value) => !allowed.allows_value(requirement.key(), value),
        None => on_node_affinity == OnNodeAffinity::Check && !allowed.allows(requirement),
    });
    found.map(ToString::to_string)
}

/// The selector under `key` of `object`, if it is there, parses, and does not contradict itself.
fn selector(
    object: &Object<'_>,
    path: &dyn fmt::Display,
    key: &str,
    dialect: Dialect,
    mistakes: &mut Vec<Mistake>,
) -> Option<Demand> {
    let text = object.get(key)?;
    let demand =
        placement::demand(dialect, text, format!("{path}.{key}")).map_err(|mistake| mistakes.push(mistake)).ok()?;
    if let Some(found) = demand.selector.contradiction(&demand.selector) {
        let problem = format!(
            "contradicts itself: {} can't be both {} and {}",
            quote(found.key),
            quote(found.one),
            quote(found.other)
        );
        mistakes.push(Mistake::new(&demand.source, &problem));
        return None;
    }
    Some(demand)
}
