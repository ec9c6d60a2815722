//! What is to be written: the values of all entries, in order, within bounds.

use super::{Marks, source};
use crate::cluster::{Found, LookupError};
use crate::decision::{Decision, Rejection};
use crate::selector::syntax;
use crate::settings::{Fallback, KeyPattern, NodeMetadata, OnLookupFailure, Propagate, TargetKind};
use crate::text::quote;

/// The most that is written, in bytes of keys and values. A Pod may hold 256 KiB of annotations, and a Binding does not
/// show what it holds already.
pub const MOST: usize = 16 * 1024;

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What is written.
    pub marks: Marks<'static>,
    size: usize,
}

/// What the settings want written for `node`.
///
/// # Errors
/// The Node could not be read, or lacks something required.
pub fn of(
    settings: &NodeMetadata,
    node: Result<&Found<'_>, &LookupError>,
    decision: &mut Decision<'_>,
) -> Result<Plan, Rejection> {
    match node {
        Err(error) if settings.on_lookup_failure == OnLookupFailure::Reject => {
            Err(Rejection::internal(error.message()))
        }
        _ => {
            let (plan, lacking) = Plan::make(settings, node, decision);
            lacking.map_or(Ok(plan), Err)
        }
    }
}

/// The same for a Pod that runs already: what can't be read or is lacking may be there next time.
pub fn lenient(settings: &NodeMetadata, node: Result<&Found<'_>, &LookupError>, decision: &mut Decision<'_>) -> Plan {
    match node {
        // Defaults would stay for good.
        Err(error) if settings.on_lookup_failure == OnLookupFailure::Reject => {
            decision.warn(error.message());
            Plan::default()
        }
        _ => Plan::make(settings, node, decision).0,
    }
}

impl Plan {
    /// The plan, and what is required and lacking. Without a Node, it has only defaults.
    fn make(
        settings: &NodeMetadata,
        node: Result<&Found<'_>, &LookupError>,
        decision: &mut Decision<'_>,
    ) -> (Self, Option<Rejection>) {
        let mut plan = Self::default();
        let mut lacking = None;
        if let Err(error) = node {
            decision.warn(error.message());
        }
        for entry in &settings.propagate {
            for target in &entry.targets {
                let written = node.is_ok_and(|node| plan.add_values(entry, target, node, decision));
                match (&entry.fallback, node) {
                    _ if written => {}
                    (Fallback::Default(default), _) => {
                        plan.add(target.0, &target.1.with_rest(""), default, decision);
                    }
                    (Fallback::Required, Ok(node)) => lacking = lacking.or_else(|| Some(lacks(entry, target, node))),
                    (Fallback::Required | Fallback::Skip, _) => {}
                }
            }
        }
        (plan, lacking)
    }

    /// Adds what `node` has for one target of `entry`. Returns whether that was anything.
    fn add_values(
        &mut self,
        entry: &Propagate,
        (kind, pattern): &(TargetKind, KeyPattern),
        node: &Found<'_>,
        decision: &mut Decision<'_>,
    ) -> bool {
        let mut written = false;
        for (rest, value) in source::values(&entry.source, node) {
            let key = pattern.with_rest(&rest);
            // A single key was checked with the settings.
            let checked = if pattern.is_prefix() { kind.check(&key) } else { Ok(()) };
            if let Some(problem) = checked.err().or_else(|| kind.refuses(&key).map(str::to_owned)) {
                decision.warn(&format!("{} of Node {} is not copied: {problem}", quote(&key), quote(node.name)));
            } else if *kind == TargetKind::Annotation || syntax::label_value(&value).is_ok() {
                written |= self.add(*kind, &key, &value, decision);
            }
        }
        written
    }

    /// Adds a value, unless there would be too much. Returns whether it was added.
    fn add(&mut self, kind: TargetKind, key: &str, value: &str, decision: &mut Decision<'_>) -> bool {
        let replaced = self.marks.get(kind, key).map_or(0, |old| key.len().saturating_add(old.len()));
        let size = self.size.saturating_sub(replaced).saturating_add(key.len()).saturating_add(value.len());
        if size > MOST {
            decision.warn(&format!(
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
