//! Finds every mistake in the block `nodeMetadata`.

use std::collections::BTreeSet;

use super::fields::Fields;
use super::mistake::Mistakes;
use super::node_metadata_block::{
    DEFAULT, ENV, NODE_ANNOTATION, NODE_LABEL, POD_ANNOTATION, POD_LABEL, PROPAGATE, REQUIRED, own_target,
    read_default, read_required, read_source, read_target, target_field,
};
use super::{MOST_WRITTEN, Mistake, NodeMetadataBlock, OnLookupFailure, Propagate, Source, Target, TargetKind};
use crate::message::quote;
use crate::selector::syntax;

/// Finds every mistake in the block.
pub(super) fn check(block: &NodeMetadataBlock<'_>, mistakes: &mut Mistakes) {
    let before = mistakes.len();
    let entries = block.fields.elements(PROPAGATE, mistakes);
    if entries.is_empty() && mistakes.len() == before {
        mistakes.add(block.fields.mistake(PROPAGATE, "expected at least one entry"));
    }
    let on_lookup_failure = mistakes.unless(block.on_lookup_failure());
    let mut targets = BTreeSet::new();
    let mut variables = BTreeSet::new();
    for fields in entries {
        for target in check_entry(&fields, mistakes) {
            let key = quote(target.key.text());
            if !targets.insert((target.kind, target.key)) {
                mistakes.add(Mistake::new(&fields.place, &format!("{key} is the target of an earlier entry")));
            }
        }
        check_env(&fields, &mut variables, mistakes);
        if on_lookup_failure == Some(OnLookupFailure::Ignore) && read_required(&fields) == Ok(true) {
            let problem =
                "Pods are bound without it where onLookupFailure is Ignore; say Reject there, or give a default";
            mistakes.add(fields.mistake(REQUIRED, problem));
        }
        fields.reject_unknown(mistakes);
    }
    check_size_of_defaults(block, mistakes);
    mistakes.unless(block.protect());
    block.fields.reject_unknown(mistakes);
}

/// Checks that all defaults together can be written.
fn check_size_of_defaults(block: &NodeMetadataBlock<'_>, mistakes: &mut Mistakes) {
    let Ok(propagate) = block.propagate() else { return };
    let size: usize = propagate.iter().map(Propagate::size_of_defaults).sum();
    if size > MOST_WRITTEN {
        let problem =
            format!("the defaults have {size} bytes with their keys, expected at most {MOST_WRITTEN}; shorten them");
        mistakes.add(block.fields.mistake(PROPAGATE, &problem));
    }
}

/// Checks the name of the environment variable; `earlier` are those of the entries before.
fn check_env(fields: &Fields<'_>, earlier: &mut BTreeSet<String>, mistakes: &mut Mistakes) {
    let Some(Some(name)) = mistakes.unless(fields.string(ENV)) else { return };
    if !is_variable(&name) {
        let problem = format!(
            "{} is no name of an environment variable, expected letters, digits and '_', not beginning with a digit",
            quote(&name)
        );
        mistakes.add(fields.mistake(ENV, &problem));
    }
    let sources = [NODE_LABEL, NODE_ANNOTATION, POD_ANNOTATION, POD_LABEL];
    if sources.iter().any(|name| matches!(fields.string(name), Ok(Some(key)) if key.ends_with('*'))) {
        mistakes.add(fields.mistake(ENV, "a variable has one value, and the entry ends with '*'"));
    }
    if !earlier.insert(name.clone().into_owned()) {
        let problem = format!("{} is the variable of an earlier entry", quote(&name));
        mistakes.add(fields.mistake(ENV, &problem));
    }
}

/// Whether `name` is `[A-Za-z_][A-Za-z0-9_]*`.
fn is_variable(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_inner) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Finds every mistake in an entry. Returns its targets.
fn check_entry(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Vec<Target> {
    let source = mistakes.unless(read_source(fields));
    let checked = match &source {
        Some(Source::Label(key)) => Some((NODE_LABEL, key.check(TargetKind::Label))),
        Some(Source::Annotation(key)) => Some((NODE_ANNOTATION, key.check(TargetKind::Annotation))),
        Some(Source::Field(_)) | None => None,
    };
    if let Some((name, Err(problem))) = checked {
        mistakes.add(fields.mistake(name, &problem));
    }
    let targets = check_targets(fields, source.as_ref(), mistakes);
    check_default(fields, source.as_ref(), &targets, mistakes);
    targets
}

fn check_targets(fields: &Fields<'_>, source: Option<&Source>, mistakes: &mut Mistakes) -> Vec<Target> {
    let mut targets = Vec::new();
    for kind in [TargetKind::Annotation, TargetKind::Label] {
        let Some(Some(target)) = mistakes.unless(read_target(fields, kind)) else { continue };
        if let Err(problem) = target.key.check(kind) {
            mistakes.add(fields.mistake(target_field(kind), &problem));
            continue;
        }
        if let Some(problem) = target.problem(source) {
            mistakes.add(fields.mistake(target_field(kind), &problem));
        }
        targets.push(target);
    }
    if let Some(source) = source
        && !fields.has(POD_ANNOTATION)
        && !fields.has(POD_LABEL)
        && let Some(target) = mistakes.unless(own_target(fields, source))
    {
        if let Some(problem) = target.problem(Some(source)) {
            mistakes.add(Mistake::new(&fields.place, &problem));
        }
        targets.push(target);
    }
    targets
}

fn check_default(fields: &Fields<'_>, source: Option<&Source>, targets: &[Target], mistakes: &mut Mistakes) {
    let is_required = mistakes.unless(read_required(fields)) == Some(true);
    let Some(Some(default)) = mistakes.unless(read_default(fields)) else { return };
    if is_required {
        let problem = format!("a default is never used where {REQUIRED} is true; remove one of them");
        mistakes.add(fields.mistake(DEFAULT, &problem));
    }
    if source.is_some_and(Source::is_prefix) {
        let problem = "a default needs a single key to be written to, and the source ends with '*'";
        mistakes.add(fields.mistake(DEFAULT, problem));
    }
    if targets.iter().any(|target| target.kind == TargetKind::Label)
        && let Err(expected) = syntax::label_value(&default)
    {
        let problem = format!("{} can't be the value of a {POD_LABEL}, expected {expected}", quote(&default));
        mistakes.add(fields.mistake(DEFAULT, &problem));
    }
}

impl Target {
    /// Why nothing from `source` may be written there, if so.
    fn problem(&self, source: Option<&Source>) -> Option<String> {
        if let Some(reason) = self.kind.refuses(self.key.text()) {
            return Some(format!("{} can't be a target: {reason}", quote(self.key.text())));
        }
        if source.is_some_and(|source| source.is_prefix() != self.key.is_prefix()) {
            return Some("source and target must both end with '*', or neither".to_owned());
        }
        None
    }
}
