//! What is to be written: the values of all entries, in order, within bounds.

use super::node_source;
use super::propagation::{Fallback, Propagation, Propagations};
use crate::cluster::{Node, NodeLookup};
use crate::decision::{Decision, Rejection};
use crate::message::{quote, shorten};
use crate::object_meta::LabelsAndAnnotations;
use crate::selector::syntax;
use crate::settings::OnLookupFailure;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata::{MOST_WRITTEN, Target};

/// What a Node has for the managed keys.
#[derive(Debug, Default)]
struct NodeValues {
    values: LabelsAndAnnotations<'static>,
    /// Of keys and values, in bytes.
    size: usize,
    /// Of the defaults of entries that are still to come, in bytes: they have their room whatever comes before.
    reserved: usize,
}

/// What is to be written for a Pod that is created with a node, or bound to it; nothing, if no Node was needed.
///
/// # Errors
/// The Node could not be read, unless that is ignored; or it lacks something required.
pub fn required_of(
    propagations: &Propagations,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Result<Option<LabelsAndAnnotations<'static>>, Rejection> {
    match node {
        NodeLookup::NotNeeded => return Ok(None),
        NodeLookup::Failed(error) if propagations.on_lookup_failure == OnLookupFailure::Reject => {
            return Err(Rejection::internal(error.message()));
        }
        NodeLookup::Failed(_) | NodeLookup::Found(_) => {}
    }
    match NodeValues::collect(propagations, node, decision) {
        (_, Some(lacking)) => Err(lacking),
        (values, None) => Ok(Some(values)),
    }
}

/// The same for a Pod that runs already: what can't be read or is lacking may be there next time.
pub fn available_of(
    propagations: &Propagations,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Option<LabelsAndAnnotations<'static>> {
    match node {
        NodeLookup::NotNeeded => None,
        // Defaults would stay for good.
        NodeLookup::Failed(error) if propagations.on_lookup_failure == OnLookupFailure::Reject => {
            decision.warn(error.message());
            None
        }
        NodeLookup::Failed(_) | NodeLookup::Found(_) => Some(NodeValues::collect(propagations, node, decision).0),
    }
}

impl NodeValues {
    /// The values, and what is required and lacking. Of a Node that could not be read, there are only defaults.
    fn collect(
        propagations: &Propagations,
        node: &NodeLookup<'_>,
        decision: &mut Decision<'_>,
    ) -> (LabelsAndAnnotations<'static>, Option<Rejection>) {
        let mut values = Self { reserved: propagations.size_of_defaults(), ..Self::default() };
        let mut lacking = None;
        let node = match node {
            NodeLookup::Found(node) => Some(node),
            NodeLookup::Failed(error) => {
                decision.warn(error.message());
                None
            }
            NodeLookup::NotNeeded => None,
        };
        for entry in &propagations.entries {
            for target in &entry.targets {
                values.reserved -= entry.size_of_default(target);
                if node.is_some_and(|node| values.add_from(node, propagations, entry, target, decision)) {
                    continue;
                }
                match (&entry.fallback, node) {
                    (Fallback::Default(default), _) => values.add_default(target, default, decision),
                    (Fallback::Required, Some(node)) if lacking.is_none() => lacking = Some(lacks(entry, target, node)),
                    (Fallback::Required | Fallback::Skip, _) => {}
                }
            }
        }
        (values.values, lacking)
    }

    /// Adds what `node` has for one target of `entry`. Returns whether that was anything.
    fn add_from(
        &mut self,
        node: &Node<'_>,
        propagations: &Propagations,
        entry: &Propagation,
        target: &Target,
        decision: &mut Decision<'_>,
    ) -> bool {
        let mut is_written = false;
        for (rest, value) in node_source::values(&entry.source, node) {
            let key = target.key.with_rest(rest);
            if target.key.is_prefix() && propagations.name(target.kind, &key) {
                continue;
            }
            if let Some(problem) = unusable(target.kind, &key) {
                let node = quote(node.name.as_str());
                decision.warn(&format!("{} of Node {node} is not copied: {problem}", quote(&key)));
            } else if fits(target.kind, &value) {
                is_written |= self.add(target.kind, key, &value, decision);
            }
        }
        is_written
    }

    fn add_default(&mut self, target: &Target, default: &str, decision: &mut Decision<'_>) {
        let key = target.key.with_rest("");
        if let Some(problem) = unusable(target.kind, &key) {
            decision.warn(&format!("{} is not written: {problem}", quote(&key)));
        } else if fits(target.kind, default) {
            self.add(target.kind, key, default, decision);
        }
    }

    /// Adds a value, unless there would be too much. Returns whether it was added.
    fn add(&mut self, kind: TargetKind, key: String, value: &str, decision: &mut Decision<'_>) -> bool {
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

/// Whether there can be such a value. An annotation of the Node that is no label value counts as absent where a label
/// is to be written: no warning, or there would be one for every Pod.
fn fits(kind: TargetKind, value: &str) -> bool {
    kind == TargetKind::Annotation || syntax::label_value(value).is_ok()
}

fn lacks(entry: &Propagation, target: &Target, node: &Node<'_>) -> Rejection {
    Rejection::forbidden(format!(
        "Node {} lacks a usable {}, which is required for the Pod's {} {}; add it to the Node, or give the entry of \
         nodeMetadata.propagate a default",
        quote(node.name.as_str()),
        node_source::describe(&entry.source),
        target.kind.name(),
        target.key.with_rest("*"),
    ))
}
