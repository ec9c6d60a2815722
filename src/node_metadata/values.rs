//! Collects the values that are written: those of all entries, in order, within limits.

use super::propagation::{Managed, Propagation, Propagations};
use crate::cluster::{Node, NodeLookup};
use crate::decision::{Cause, CauseKind, Decision, Rejection, Status};
use crate::limits::{MOST_NODE_KEYS, MOST_WRITTEN};
use crate::message::{quote, shorten};
use crate::selector::syntax;
use crate::settings::field_path;
use crate::settings::key::TargetKind;
use crate::settings::node_metadata_block::{NodeSource, Target};
use crate::settings::{OnLookupFailure, SettingPath};

/// The values that are written.
#[derive(Debug, Default)]
struct Values {
    pairs: Managed<'static>,
    /// The size of their keys and values, in bytes.
    size: usize,
    /// The bytes that are reserved for defaults of later entries, so that earlier values cannot use up the limit.
    reserved: usize,
}

/// Returns the values for a Pod that is bound to a node, or created with one. Returns `None` if no Node was looked up.
///
/// # Errors
/// The Node could not be read, unless that is ignored, or it lacks something required.
pub fn required_of(
    propagations: &Propagations<'_>,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Result<Option<Managed<'static>>, Rejection> {
    match collect(propagations, node, decision) {
        (_, Some(problem)) => Err(problem),
        (values, None) => Ok(values),
    }
}

/// Returns the values for a Pod that runs already. It is not rejected if the Node can't be read, or lacks something
/// required.
pub fn available_of(
    propagations: &Propagations<'_>,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> Option<Managed<'static>> {
    let (values, problem) = collect(propagations, node, decision);
    if let Some(unreadable) = problem.filter(|problem| problem.status() != Status::Forbidden) {
        decision.warn_instead(&unreadable);
    }
    values
}

/// Collects the values. If the Node could not be read, or lacks something required, also returns the rejection, which
/// callers may ignore. If the settings ignore that the Node could not be read, the values are the defaults.
fn collect(
    propagations: &Propagations<'_>,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) -> (Option<Managed<'static>>, Option<Rejection>) {
    let node = match node {
        NodeLookup::NotNeeded => return (None, None),
        NodeLookup::Failed(error) if propagations.settings.on_lookup_failure == OnLookupFailure::Reject => {
            return (None, Some(Rejection::internal(&error.message)));
        }
        NodeLookup::Failed(error) => {
            decision.warn(&error.message);
            None
        }
        NodeLookup::Found(node) => Some(node),
    };
    let fields = node.map(|node| field_path::read_fields(&propagations.fields(), node.text)).unwrap_or_default();
    let mut values = Values { reserved: propagations.size_of_defaults(), ..Values::default() };
    let mut keys_left = MOST_NODE_KEYS;
    let mut lacking = None;
    for (position, propagation) in propagations.entries.iter().enumerate() {
        let Propagation { entry, source, targets } = propagation;
        let mut skipped = Skipped::default();
        let field = fields.get(position).and_then(Option::as_deref);
        let found = node.map(|node| values_at(source, node, field, &mut keys_left, &mut skipped)).unwrap_or_default();
        for target in targets {
            values.reserved -= propagation.size_of_default(target);
            let mut is_written = false;
            for (rest, value) in &found {
                is_written |= values.add(target, rest, value, propagations, &mut skipped);
            }
            if is_written {
                continue;
            }
            if let Some(default) = &entry.default {
                values.add(target, "", default, propagations, &mut skipped);
            } else if let Some(node) = node.filter(|_| entry.required && lacking.is_none()) {
                lacking = Some(lacks(source, position, target, node));
            }
        }
        skipped.warn(decision);
    }
    (Some(values.pairs), lacking)
}

/// The keys of an entry that are not written. There is one warning for all of them, because a kubelet can give its Node
/// 100,000 labels.
#[derive(Debug, Default)]
struct Skipped {
    /// The first key, and what is wrong with it.
    first: Option<(String, String)>,
    others: usize,
}

impl Skipped {
    fn add(&mut self, key: &str, problem: impl FnOnce() -> String) {
        match &self.first {
            None => self.first = Some((key.to_owned(), problem())),
            Some((first, _)) if first == key => {}
            Some(_) => self.others += 1,
        }
    }

    fn warn(&self, decision: &mut Decision<'_>) {
        let Some((key, problem)) = &self.first else { return };
        let others = match self.others {
            0 => String::new(),
            1 => ", nor is 1 other".to_owned(),
            others => format!(", nor are {others} others"),
        };
        decision.warn(&format!("{key} is not written{others}: {problem}"));
    }
}

impl Values {
    /// Adds a value at `target`, with `rest` after its prefix, unless it can't be written or is too large. Returns whether
    /// it was added.
    fn add(
        &mut self,
        target: &Target,
        rest: &str,
        value: &str,
        propagations: &Propagations<'_>,
        skipped: &mut Skipped,
    ) -> bool {
        let Target { kind, key: ref pattern } = *target;
        // The cheapest test comes first. An annotation of the Node that is not a valid label value counts as missing if it
        // goes to a label. A warning would repeat for every Pod.
        if kind == TargetKind::Label && syntax::label_value(value).is_err() {
            return false;
        }
        // Counts keys that can't be written, and does not build them.
        let has_room = self.has_room_for(pattern.text().len() + rest.len() + value.len());
        if pattern.is_prefix() && skipped.first.is_some() && (!has_room || !syntax::is_name(rest)) {
            skipped.others += 1;
            return false;
        }
        let key = pattern.with_rest(rest);
        // An entry with `*` does not write a key that another entry names.
        if pattern.is_prefix() && propagations.names(kind, &key) {
            return false;
        }
        // The API server does not validate a Binding.
        let problem = kind.check(&key).err().or_else(|| kind.refuses(&key).map(str::to_owned));
        if let Some(problem) = problem {
            skipped.add(&quote(&key), || problem);
            return false;
        }
        let replaced = self.pairs.of(kind).get(&key).map_or(0, |old| key.len() + old.len());
        self.size -= replaced;
        if !self.has_room_for(key.len() + value.len()) {
            self.size += replaced;
            skipped.add(&shorten(&key), || {
                format!("with its {} bytes it would be more than {MOST_WRITTEN} in all", value.len())
            });
            return false;
        }
        self.size += key.len() + value.len();
        self.pairs.of_mut(kind).insert(key.into(), value.into());
        true
    }

    const fn has_room_for(&self, size: usize) -> bool {
        self.size + self.reserved + size <= MOST_WRITTEN
    }
}

/// Returns the pairs of `node` that `source` names: the rest of the key after the prefix, and the value. For a field, the
/// value is `field`. Returns at most `keys_left` pairs with a prefix, and counts the others as skipped.
fn values_at<'n>(
    source: &'n NodeSource,
    node: &'n Node<'_>,
    field: Option<&'n str>,
    keys_left: &mut usize,
    skipped: &mut Skipped,
) -> Vec<(&'n str, &'n str)> {
    let (pairs, pattern) = match source {
        NodeSource::Label(pattern) => (&node.labels, pattern),
        NodeSource::Annotation(pattern) => (&node.annotations, pattern),
        NodeSource::Field(_) => return field.into_iter().map(|value| ("", value)).collect(),
    };
    if !pattern.is_prefix() {
        return pairs.get(pattern.text()).into_iter().map(|value| ("", value)).collect();
    }
    let mut matching = pairs.with_prefix(pattern.text());
    let matched = matching.by_ref().take(*keys_left).filter_map(|(key, value)| Some((pattern.rest(key)?, value)));
    let found: Vec<_> = matched.collect();
    *keys_left -= found.len();
    if let Some((key, _)) = matching.next() {
        let problem = || format!("at most {MOST_NODE_KEYS} keys of a Node are read for entries with '*'");
        skipped.add(&quote(key), problem);
        skipped.others += matching.count();
    }
    found
}

/// Rejects a Node that lacks a required value.
fn lacks(source: &NodeSource, position: usize, target: &Target, node: &Node<'_>) -> Rejection {
    let explanation = format!(
        "Node {} lacks a usable {}, which is required for the Pod's {} {}; add it to the Node, or give the entry of \
         nodeMetadata.propagate a default",
        quote(node.name.as_str()),
        describe(source),
        target.kind.name(),
        target.key.with_rest("*"),
    );
    let mut cause = Cause::new(CauseKind::Metadata).setting(SettingPath::Propagation(position));
    if let NodeSource::Label(key) = source {
        cause = cause.label(&key.with_rest("*"));
    }
    Rejection::forbidden(cause, explanation)
}

/// Names `source` in messages: `label topology.kubernetes.io/zone`.
fn describe(source: &NodeSource) -> String {
    match source {
        NodeSource::Label(key) => format!("label {}", key.with_rest("*")),
        NodeSource::Annotation(key) => format!("annotation {}", key.with_rest("*")),
        NodeSource::Field(path) => format!("field {}", path.text()),
    }
}
