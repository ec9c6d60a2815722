//! What is to be written: the values of all entries, in order, within bounds.

use super::{Marks, source};
use crate::cluster::{Found, LookupError};
use crate::decision::Rejection;
use crate::selector::syntax;
use crate::settings::{Fallback, KeyPattern, NodeMetadata, OnLookupFailure, Propagate, TargetKind};
use crate::text::quote;

/// The most that is written, in bytes of keys and values. A Pod may hold 256 KiB of annotations, and a Binding does not
/// show what it holds already.
const MOST: usize = 16 * 1024;

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What is written.
    pub marks: Marks<'static>,
    /// What the requester should know.
    pub warnings: Vec<String>,
    /// Whether managed keys that are not in the plan go away. Not if the Node could not be read: what stands there may
    /// be right.
    pub removes_others: bool,
    size: usize,
}

/// What the settings want written for `node`.
///
/// # Errors
/// The Node could not be read, or lacks something required; unless the settings, or `lenient`, forgive that.
pub fn plan(settings: &NodeMetadata, node: Result<&Found<'_>, &LookupError>, lenient: bool) -> Result<Plan, Rejection> {
    let mut plan = Plan { removes_others: node.is_ok(), ..Plan::default() };
    if let Err(error) = node {
        if settings.on_lookup_failure == OnLookupFailure::Reject && !lenient {
            return Err(Rejection::internal(error.message()));
        }
        plan.warnings.push(error.message().to_owned());
        // Defaults would stay for good where the next update can still learn the truth.
        if settings.on_lookup_failure == OnLookupFailure::Reject {
            return Ok(plan);
        }
    }
    for entry in &settings.propagate {
        for target in &entry.targets {
            let written = node.is_ok_and(|node| plan.add_values(entry, target, node));
            match &entry.fallback {
                _ if written => {}
                Fallback::Default(default) => {
                    plan.add(target.0, &target.1.with_rest(""), default);
                }
                Fallback::Required if !lenient && let Ok(node) = node => return Err(lacks(entry, target, node)),
                Fallback::Required | Fallback::Skip => {}
            }
        }
    }
    Ok(plan)
}

impl Plan {
    /// Adds what `node` has for one target of `entry`. Returns whether that was anything.
    fn add_values(&mut self, entry: &Propagate, (kind, pattern): &(TargetKind, KeyPattern), node: &Found<'_>) -> bool {
        let mut written = false;
        for (rest, value) in source::values(&entry.source, node) {
            let key = pattern.with_rest(&rest);
            if let Some(problem) = kind.check(&key).err().or_else(|| kind.refuses(&key).map(str::to_owned)) {
                self.warnings.push(format!("{} of Node {} is not copied: {problem}", quote(&key), quote(node.name)));
            } else if *kind == TargetKind::Annotation || syntax::label_value(&value).is_ok() {
                written |= self.add(*kind, &key, &value);
            }
        }
        written
    }

    /// Adds a value, unless there would be too much. Returns whether it was added.
    fn add(&mut self, kind: TargetKind, key: &str, value: &str) -> bool {
        let replaced = self.marks.get(kind, key).map_or(0, |old| key.len().saturating_add(old.len()));
        let size = self.size.saturating_sub(replaced).saturating_add(key.len()).saturating_add(value.len());
        if size > MOST {
            self.warnings.push(format!(
                "{key} is not written: with its {} bytes it would be more than {MOST} in all",
                value.len()
            ));
            return false;
        }
        self.size = size;
        self.marks.set(kind, key.to_owned(), value.to_owned());
        true
    }
}

fn lacks(entry: &Propagate, (kind, pattern): &(TargetKind, KeyPattern), node: &Found<'_>) -> Rejection {
    let kind = match kind {
        TargetKind::Annotation => "annotation",
        TargetKind::Label => "label",
    };
    Rejection::forbidden(format!(
        "Node {} lacks a usable {}, which is required for the Pod's {kind} {}; add it to the Node, or give the entry of nodeMetadata.propagate a default",
        quote(node.name),
        source::describe(&entry.source),
        pattern.with_rest("*"),
    ))
}
