//! Reads what the settings name from a Node.

use std::borrow::Cow;
use std::collections::BTreeSet;

use json::{Json, StringMap};

use crate::cluster::{ANNOTATIONS, Found, LABELS};
use crate::settings::{FieldPath, KeyPattern, NodeMetadata, Source, Step};

/// A value of a Node, and what follows the prefix of the source in its key.
pub type Value<'n> = (Cow<'n, str>, Cow<'n, str>);

/// The host's field masks for what the settings read of a Node.
pub fn masks(settings: &NodeMetadata) -> BTreeSet<String> {
    let mut masks = BTreeSet::new();
    for entry in &settings.propagate {
        match &entry.source {
            Source::Label(_) => drop(masks.insert(LABELS.to_owned())),
            Source::Annotation(_) => drop(masks.insert(ANNOTATIONS.to_owned())),
            Source::Field(path) => path.add_masks(&mut masks),
        }
    }
    // The host takes a mask below another for all that is asked of it.
    let is_above = |mask: &str, at| mask.get(..at).is_some_and(|above| masks.contains(above));
    let mut outermost = BTreeSet::new();
    for mask in &masks {
        if !mask.match_indices('.').any(|(at, _)| is_above(mask, at)) {
            outermost.insert(mask.clone());
        }
    }
    outermost
}

/// What `node` has under `source`; several values only for a prefix.
pub fn values<'n>(source: &Source, node: &'n Found<'_>) -> Vec<Value<'n>> {
    match source {
        Source::Label(pattern) => by_key(pattern, &node.labels),
        Source::Annotation(pattern) => by_key(pattern, &node.annotations),
        Source::Field(path) => field(path, node).map(|value| (Cow::Borrowed(""), value)).into_iter().collect(),
    }
}

/// What messages call `source`: `label topology.kubernetes.io/zone`.
pub fn describe(source: &Source) -> String {
    let pattern = |pattern: &KeyPattern| match pattern {
        KeyPattern::Key(key) => key.clone(),
        KeyPattern::Prefix(prefix) => format!("{prefix}*"),
    };
    match source {
        Source::Label(key) => format!("label {}", pattern(key)),
        Source::Annotation(key) => format!("annotation {}", pattern(key)),
        Source::Field(path) => format!("field {}", path.text()),
    }
}

fn by_key<'n>(pattern: &KeyPattern, map: &'n StringMap<'_>) -> Vec<Value<'n>> {
    let named = map.iter().filter_map(|(key, value)| Some((Cow::Borrowed(pattern.rest(key)?), Cow::Borrowed(value))));
    named.collect()
}

/// The string, number or boolean at the end of `path`.
fn field<'n>(path: &FieldPath, node: &'n Found<'_>) -> Option<Cow<'n, str>> {
    let mut steps = path.steps().iter();
    let mut value = match steps.next()? {
        Step::Member(name) => node.root.get(name)?,
        Step::Element { .. } => return None,
    };
    for step in steps {
        value = match step {
            Step::Member(name) => value.object().ok()?.get(name)?,
            Step::Element { key, value: wanted } => element(value, key, wanted)?,
        };
    }
    scalar(value)
}

fn element<'n>(list: Json<'n>, key: &str, wanted: &str) -> Option<Json<'n>> {
    let list = list.list().ok()?;
    let found = list.iter().find(|element| {
        let member = element.object().ok().and_then(|object| object.get(key));
        member.and_then(scalar).is_some_and(|value| value == wanted)
    });
    found.map(|element| element.json)
}

/// The value as text, unless it is an object, a list or null.
fn scalar(value: Json<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        "a string" => value.string().ok(),
        "a number" | "a boolean" => Some(Cow::Borrowed(value.text())),
        _ => None,
    }
}
