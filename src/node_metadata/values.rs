//! What is to be written: the values of all entries, in order, within bounds.

use super::propagation::{ByKind, Fallback, Propagation, Propagations};
use crate::cluster::{Node, NodeLookup};
use crate::decision::{CauseKind, Decision, Rejection};
use crate::json::Pairs;
use crate::limits::MOST_WRITTEN;
use crate::message::{quote, shorten};
use crate::selector::syntax;
use crate::settings::OnLookupFailure;
use crate::settings::field_path;
use crate::settings::key::{KeyPattern, TargetKind};
use crate::settings::node_metadata::{NodeSource, Target, place};
use std::collections::BTreeMap;

/// What is to be written.
#[derive(Debug, Default)]
pub struct Values {
    pairs: ByKind<BTreeMap<String, String>>,
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
) -> Result<Option<Values>, Rejection> {
    match collect(propagations, node, decision) {
        (_, Some(problem)) => Err(problem),
        (values, None) => Ok(values),
    }
}

/// The same for a Pod that runs already: what can't be read or is lacking may be there next time.
pub fn available_of(propagations: &Propagations, node: &NodeLookup<'_>, decision: &mut Decision<'_>) -> Option<Values> {
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
) -> (Option<Values>, Option<Rejection>) {
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
    let fields = node.map(|node| field_path::read_fields(&propagations.fields(), node.text)).unwrap_or_default();
    let mut fields = fields.into_iter().peekable();
    let mut values = Values { reserved: propagations.size_of_defaults(), ..Values::default() };
    let mut lacking = None;
    for (position, entry) in propagations.entries.iter().enumerate() {
        let mut skipped = Skipped::default();
        let is_field = matches!(entry.source, NodeSource::Field(_));
        let field = fields.next_if(|_| is_field).flatten();
        let found = node.map_or(Found::Nothing, |node| Found::at(&entry.source, node, field.as_deref()));
        for target in &entry.targets {
            values.reserved -= entry.size_of_default(target);
            let is_written = match found {
                Found::Nothing => false,
                Found::One(value) => values.add(target.kind, target.key.with_rest(""), value, &mut skipped),
                Found::Many(pairs, prefix) => values.add_all(target, pairs, prefix, propagations, &mut skipped),
            };
            match (&entry.fallback, node) {
                _ if is_written => {}
                (Fallback::Default(default), _) => {
                    values.add(target.kind, target.key.with_rest(""), default, &mut skipped);
                }
                (Fallback::Required, Some(node)) if lacking.is_none() => {
                    lacking = Some(lacks((position, entry), target, node));
                }
                (Fallback::Required | Fallback::Skip, _) => {}
            }
        }
        skipped.warn(decision);
    }
    (Some(values), lacking)
}

/// Keys of an entry that are not written. A kubelet can give its Node 100,000 labels: the entry warns once.
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
    /// Those of one kind.
    pub const fn of(&self, kind: TargetKind) -> &BTreeMap<String, String> {
        self.pairs.of(kind)
    }

    /// Adds those of `pairs` that have the `prefix`, under that of `target`. Returns whether any was added.
    fn add_all(
        &mut self,
        target: &Target,
        pairs: &Pairs<'_>,
        prefix: &KeyPattern,
        propagations: &Propagations,
        skipped: &mut Skipped,
    ) -> bool {
        let mut is_written = false;
        for (key, value) in pairs.iter() {
            let Some(rest) = prefix.rest(key) else { continue };
            // There may be 100,000 keys: what can't be written is counted without being put together.
            let has_room = self.has_room_for(target.key.text().len() + rest.len() + value.len());
            if skipped.first.is_some() && (!has_room || !syntax::is_name(rest)) {
                skipped.others += 1;
                continue;
            }
            let key = target.key.with_rest(rest);
            // What an entry names itself is not for one with `*`.
            if !propagations.names(target.kind, &key) {
                is_written |= self.add(target.kind, key, value, skipped);
            }
        }
        is_written
    }

    /// Adds a value, unless it can't be written, or there would be too much. Returns whether it was added.
    fn add(&mut self, kind: TargetKind, key: String, value: &str, skipped: &mut Skipped) -> bool {
        // Nothing on a Binding is validated after the policy.
        let problem = kind.check(&key).err().or_else(|| kind.refuses(&key).map(str::to_owned));
        if let Some(problem) = problem {
            skipped.add(&quote(&key), || problem);
            return false;
        }
        // An annotation of the Node that is no label value counts as absent where a label is to be written: no warning,
        // or there would be one for every Pod.
        if kind == TargetKind::Label && syntax::label_value(value).is_err() {
            return false;
        }
        let replaced = self.of(kind).get(&key).map_or(0, |old| key.len() + old.len());
        self.size -= replaced;
        if !self.has_room_for(key.len() + value.len()) {
            self.size += replaced;
            skipped.add(&shorten(&key), || {
                format!("with its {} bytes it would be more than {MOST_WRITTEN} in all", value.len())
            });
            return false;
        }
        self.size += key.len() + value.len();
        self.pairs.of_mut(kind).insert(key, value.to_owned());
        true
    }

    const fn has_room_for(&self, size: usize) -> bool {
        self.size + self.reserved + size <= MOST_WRITTEN
    }
}

/// What a Node has for an entry.
#[derive(Clone, Copy)]
enum Found<'n> {
    Nothing,
    One(&'n str),
    /// Those of the pairs that have the prefix.
    Many(&'n Pairs<'n>, &'n KeyPattern),
}

impl<'n> Found<'n> {
    /// What `node` has at `source`. `field` is what was read, if that is a field.
    fn at(source: &'n NodeSource, node: &'n Node<'_>, field: Option<&'n str>) -> Self {
        let (pairs, pattern) = match source {
            NodeSource::Label(pattern) => (&node.labels, pattern),
            NodeSource::Annotation(pattern) => (&node.annotations, pattern),
            NodeSource::Field(_) => return field.map_or(Self::Nothing, Self::One),
        };
        match pattern {
            KeyPattern::Key(key) => pairs.get(key).map_or(Self::Nothing, Self::One),
            KeyPattern::Prefix(_) => Self::Many(pairs, pattern),
        }
    }
}

fn lacks((position, entry): (usize, &Propagation), target: &Target, node: &Node<'_>) -> Rejection {
    let explanation = format!(
        "Node {} lacks a usable {}, which is required for the Pod's {} {}; add it to the Node, or give the entry of \
         nodeMetadata.propagate a default",
        quote(node.name.as_str()),
        describe(&entry.source),
        target.kind.name(),
        target.key.with_rest("*"),
    );
    let rejection = Rejection::forbidden(CauseKind::Metadata, explanation).by_setting(&place(position));
    match &entry.source {
        NodeSource::Label(key) => rejection.about_label(&key.with_rest("*")),
        NodeSource::Annotation(_) | NodeSource::Field(_) => rejection,
    }
}

/// What messages call `source`: `label topology.kubernetes.io/zone`.
pub fn describe(source: &NodeSource) -> String {
    match source {
        NodeSource::Label(key) => format!("label {}", key.with_rest("*")),
        NodeSource::Annotation(key) => format!("annotation {}", key.with_rest("*")),
        NodeSource::Field(path) => format!("field {}", path.text()),
    }
}
