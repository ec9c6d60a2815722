//! Reads what the settings name from a Node.

use std::borrow::Cow;

use json::{Kind, List, StringMap, Value};

use super::NodeMetadata;
use crate::cluster::Node;
use crate::field_masks::FieldMasks;
use crate::settings::{FieldPath, KeyPattern, Source, Step};

/// What follows the prefix of the source in a key, and the value of that key.
pub type RestAndValue<'n> = (Cow<'n, str>, Cow<'n, str>);

/// The host's field masks for what the settings read of a Node.
pub fn field_masks(settings: &NodeMetadata) -> FieldMasks {
    let mut masks = FieldMasks::default();
    for entry in &settings.propagate {
        match &entry.source {
            Source::Label(_) => masks.add(FieldMasks::LABELS),
            Source::Annotation(_) => masks.add(FieldMasks::ANNOTATIONS),
            Source::Field(path) => path.add_masks(&mut masks),
        }
    }
    masks
}

/// What `node` has under `source`; several values only for a prefix.
pub fn values<'n>(source: &Source, node: &'n Node) -> Vec<RestAndValue<'n>> {
    match source {
        Source::Label(key) => by_key(key, &node.labels),
        Source::Annotation(key) => by_key(key, &node.annotations),
        Source::Field(path) => match field(path, node) {
            Some(value) => vec![(Cow::Borrowed(""), value)],
            None => Vec::new(),
        },
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

fn by_key<'n>(pattern: &KeyPattern, map: &'n StringMap) -> Vec<RestAndValue<'n>> {
    let mut found = Vec::new();
    match pattern {
        KeyPattern::Key(key) => {
            if let Some(value) = map.get(key) {
                found.push((Cow::Borrowed(""), Cow::Borrowed(value)));
            }
        }
        KeyPattern::Prefix(prefix) => {
            for (key, value) in map.iter() {
                if let Some(rest) = key.strip_prefix(prefix.as_str()) {
                    found.push((Cow::Borrowed(rest), Cow::Borrowed(value)));
                }
            }
        }
    }
    found
}

/// The string, number or boolean at the end of `path`.
fn field<'n>(path: &FieldPath, node: &'n Node) -> Option<Cow<'n, str>> {
    let mut steps = path.steps().iter();
    let mut value = match steps.next()? {
        Step::Member(name) => node.object.get(name)?,
        Step::Element { .. } => return None,
    };
    for step in steps {
        value = match step {
            Step::Member(name) => value.object().ok()?.get(name)?,
            Step::Element { key, value: wanted } => element(value.list().ok()?, key, wanted)?,
        };
    }
    scalar(value)
}

/// The first element of `list` whose member `key` is `wanted`.
fn element<'n>(list: &'n List, key: &str, wanted: &str) -> Option<&'n Value> {
    list.iter().find(|element| {
        let member = element.object().ok().and_then(|object| object.get(key));
        member.and_then(scalar).is_some_and(|value| value == wanted)
    })
}

/// The value as text, unless it is an object, a list or null.
fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => value.string().ok(),
        Kind::Number | Kind::Boolean => Some(value.text()),
        Kind::Object | Kind::List | Kind::Null => None,
    }
}
