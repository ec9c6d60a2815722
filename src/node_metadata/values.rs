//! What is to be written: the values of all entries, in order, within bounds.

use super::node_source;
use super::propagation::{Fallback, Propagation, Propagations};
use crate::cluster::{Node, NodeLookup};
use crate::decision::{CauseKind, Decision, Rejection};
use crate::message::{quote, shorten};
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::syntax;
use crate::settings::OnLookupFailure;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata::{MOST_WRITTEN, NodeSource, Target, place};

/// What is to be written for a Pod that is created with a node, or bound to it; nothing, if no Node was needed.
///
/// # Errors
/// The Node could not be read, unless that is ignored; or it lacks something required.
pub fn required_of(
    propagations: &Propagations,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Result<Option<LabelsAndAnnotations<'static>>, Rejection> {
    match collect(propagations, node, decision) {
        (_, Some(problem)) => Err(problem),
        (values, None) => Ok(values),
    }
}

/// The same for a Pod that runs already: what can't be read or is lacking may be there next time.
pub fn available_of(
    propagations: &Propagations,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Option<LabelsAndAnnotations<'static>> {
    let (values, problem) = collect(propagations, node, decision);
    if let Some(unreadable) = problem.filter(|problem| !problem.is_forbidden()) {
        decision.warn_instead(&unreadable);
    }
    values
}

/// The values, and why the Pod must not have them: the Node could not be read, or lacks something required. Where it is
/// ignored that it could not be read, there are only defaults.
fn collect(
    propagations: &Propagations,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> (Option<LabelsAndAnnotations<'static>>, Option<Rejection>) {
    let node = match node {
        NodeLookup::NotNeeded => return (None, None),
        NodeLookup::Failed(error) if propagations.on_lookup_failure == OnLookupFailure::Reject => {
            return (None, Some(Rejection::internal(&error.message)));
        }
        NodeLookup::Failed(error) => {
            decision.warn(&error.message);
            None
        }
        NodeLookup::Found(node) => Some(node),
    };
    let mut collected = Collected { reserved: propagations.size_of_defaults(), ..Collected::default() };
    let mut lacking = None;
    for (position, entry) in propagations.entries.iter().enumerate() {
        for target in &entry.targets {
            collected.reserved -= entry.size_of_default(target);
            let mut is_written = false;
            for (rest, value) in node.map(|node| node_source::values(&entry.source, node)).unwrap_or_default() {
                let key = target.key.with_rest(rest);
                // What an entry names itself is not for one with `*`.
                if !target.key.is_prefix() || !propagations.name(target.kind, &key) {
                    is_written |= collected.add(target.kind, key, &value, decision);
                }
            }
            match (&entry.fallback, node) {
                _ if is_written => {}
                (Fallback::Default(default), _) => {
                    collected.add(target.kind, target.key.with_rest(""), default, decision);
                }
                (Fallback::Required, Some(node)) if lacking.is_none() => {
                    lacking = Some(lacks((position, entry), target, node));
                }
                (Fallback::Required | Fallback::Skip, _) => {}
            }
        }
    }
    (Some(collected.values), lacking)
}

/// What was collected so far.
#[derive(Debug, Default)]
struct Collected {
    values: LabelsAndAnnotations<'static>,
    /// Of keys and values, in bytes.
    size: usize,
    /// Of the defaults of entries that are still to come, in bytes: they have their room whatever comes before.
    reserved: usize,
}

impl Collected {
    /// Adds a value, unless it can't be written, or there would be too much. Returns whether it was added.
    fn add(&mut self, kind: TargetKind, key: String, value: &str, decision: &mut Decision<'_>) -> bool {
        if let Some(problem) = unusable(kind, &key) {
            decision.warn(&format!("{} is not written: {problem}", quote(&key)));
            return false;
        }
        // An annotation of the Node that is no label value counts as absent where a label is to be written: no warning,
        // or there would be one for every Pod.
        if kind == TargetKind::Label && syntax::label_value(value).is_err() {
            return false;
        }
        let values = self.values.of_mut(kind);
        let replaced = values.get(key.as_str()).map_or(0, |old| key.len() + old.len());
        let size = self.size - replaced + key.len() + value.len();
        if size + self.reserved > MOST_WRITTEN {
            decision.warn(&format!(
                "{} is not written: with its {} bytes it would be more than {MOST_WRITTEN} in all",
                shorten(&key),
                value.len()
            ));
            return false;
        }
        self.size = size;
        values.insert(key.into(), value.into());
        true
    }
}

/// Why `key` can't be written; nothing, if it can. Nothing on a Binding is validated after the policy.
fn unusable(kind: TargetKind, key: &str) -> Option<String> {
    match kind.check(key) {
        Err(problem) => Some(problem),
        Ok(()) => kind.refuses(key).map(str::to_owned),
    }
}

fn lacks((position, entry): (usize, &Propagation), target: &Target, node: &Node<'_>) -> Rejection {
    let explanation = format!(
        "Node {} lacks a usable {}, which is required for the Pod's {} {}; add it to the Node, or give the entry of \
         nodeMetadata.propagate a default",
        quote(node.name.as_str()),
        node_source::describe(&entry.source),
        target.kind.name(),
        target.key.with_rest("*"),
    );
    let rejection = Rejection::forbidden(CauseKind::Metadata, explanation).by_setting(&place(position));
    match &entry.source {
        NodeSource::Label(key) => rejection.about_label(&key.with_rest("*")),
        NodeSource::Annotation(_) | NodeSource::Field(_) => rejection,
    }
}
