//! Finds all mistakes in the block `nodeMetadata`.

use std::collections::BTreeSet;

use super::Mistakes;
use super::amounts::excess;
use crate::limits::{MOST_VARIABLES, MOST_WRITTEN};
use crate::message::quote;
use crate::selector::syntax;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata_block::{NodeSource, Target, place};
use crate::settings::{NodeMetadata, OnLookupFailure, Propagate, reference};

/// Finds all mistakes in the block.
pub fn check(settings: &NodeMetadata, mistakes: &mut Mistakes) {
    let path = "nodeMetadata.propagate";
    if settings.propagate.is_empty() {
        mistakes.add(&path, &"expected at least one entry");
    }
    let mut targets = BTreeSet::new();
    let mut variables = BTreeSet::new();
    let mut size_of_defaults = 0;
    for (position, entry) in settings.propagate.iter().enumerate() {
        let place = place(position);
        for target in check_entry(entry, position, mistakes) {
            let key = target.key.text();
            size_of_defaults += entry.default.as_ref().map_or(0, |default| key.len() + default.len());
            if !targets.insert((target.kind, target.key.clone())) {
                mistakes.add(&place, &format_args!("{} is the target of an earlier entry", quote(key)));
            }
        }
        if entry.required && settings.on_lookup_failure == OnLookupFailure::Ignore {
            let problem = "with onLookupFailure: Ignore, Pods are bound without it; use Reject, or default instead";
            mistakes.add(&format_args!("{place}.required"), &problem);
        }
        check_env(entry, &place, &mut variables, mistakes);
    }
    mistakes.add_if_some(&path, excess(variables.len(), MOST_VARIABLES, "variables"));
    if size_of_defaults > MOST_WRITTEN {
        let problem = format!(
            "the defaults have {size_of_defaults} bytes with their keys, expected at most {MOST_WRITTEN}; shorten them"
        );
        mistakes.add(&path, &problem);
    }
}

/// Checks the name of the environment variable; `earlier` are those of the entries before.
fn check_env<'s>(entry: &'s Propagate, place: &str, earlier: &mut BTreeSet<&'s str>, mistakes: &mut Mistakes) {
    let Some(name) = &entry.env else { return };
    let path = format!("{place}.env");
    if !is_variable(name) {
        let expected = "expected letters, digits and '_', not beginning with a digit";
        mistakes.add(&path, &format_args!("{} is not the name of an environment variable, {expected}", quote(name)));
    }
    let keys = [&entry.node_label, &entry.node_annotation, &entry.pod_annotation, &entry.pod_label];
    if keys.into_iter().flatten().any(|key| key.ends_with('*')) {
        mistakes.add(&path, &"a variable has one value, and the entry ends with '*'");
    }
    if !earlier.insert(name) {
        mistakes.add(&path, &format_args!("{} is the variable of an earlier entry", quote(name)));
    }
}

/// Returns whether `name` is `[A-Za-z_][A-Za-z0-9_]*`.
fn is_variable(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_inner) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Finds all mistakes in an entry. Returns its targets.
fn check_entry(entry: &Propagate, position: usize, mistakes: &mut Mistakes) -> Vec<Target> {
    let place = place(position);
    let source = mistakes.ok_or_record(entry.source(position));
    if let Some(NodeSource::Label(key)) = &source {
        mistakes.check(&format_args!("{place}.nodeLabel"), key.check(TargetKind::Label));
    }
    if let Some(NodeSource::Annotation(key)) = &source {
        mistakes.check(&format_args!("{place}.nodeAnnotation"), key.check(TargetKind::Annotation));
    }
    if let Some(NodeSource::Field(field)) = &source
        && entry.required
        && field.names_object_or_list()
    {
        let problem = format!(
            "{} is an object or a list of Nodes, and only texts, numbers and booleans are copied: no Pod could be bound; \
             name a field within it",
            field.text()
        );
        mistakes.add(&format_args!("{place}.nodeField"), &problem);
    }
    let targets = source.as_ref().and_then(|source| mistakes.ok_or_record(entry.targets(source, position)));
    let mut targets = targets.unwrap_or_default();
    let is_prefix = source.as_ref().is_some_and(NodeSource::is_prefix);
    targets.retain(|target| check_target(target, entry, is_prefix, &place, mistakes));
    check_default(entry, is_prefix, &targets, &place, mistakes);
    targets
}

/// Checks a target of an entry. `is_prefix` is whether the source is a prefix. Returns whether the key is valid.
fn check_target(target: &Target, entry: &Propagate, is_prefix: bool, place: &str, mistakes: &mut Mistakes) -> bool {
    let is_named = entry.pod_annotation.is_some() || entry.pod_label.is_some();
    let path = match target.kind {
        _ if !is_named => place.to_owned(),
        TargetKind::Annotation => format!("{place}.podAnnotation"),
        TargetKind::Label => format!("{place}.podLabel"),
    };
    if is_named && mistakes.check(&path, target.key.check(target.kind)).is_none() {
        return false;
    }
    if let Some(reason) = target.kind.refuses(target.key.text()) {
        mistakes.add(&path, &format_args!("{} can't be a target: {reason}", quote(target.key.text())));
    } else if is_prefix != target.key.is_prefix() {
        mistakes.add(&path, &"source and target must both end with '*', or neither");
    }
    true
}

fn check_default(entry: &Propagate, is_prefix: bool, targets: &[Target], place: &str, mistakes: &mut Mistakes) {
    let Some(default) = &entry.default else { return };
    let path = format!("{place}.default");
    if entry.required {
        mistakes.add(&path, &"a default is never used where required is true; remove one of them");
    }
    if reference::is_in(default) {
        mistakes.add(&path, &reference::not_possible(default));
    }
    if is_prefix {
        mistakes.add(&path, &"a default needs a single key to be written to, and the source ends with '*'");
    }
    if targets.iter().any(|target| target.kind == TargetKind::Label)
        && let Err(expected) = syntax::label_value(default)
    {
        let default = quote(default);
        mistakes.add(&path, &format_args!("{default} can't be the value of a podLabel, expected {expected}"));
    }
}
