//! Reads what the settings name from a Node.

use std::borrow::Cow;

use crate::cluster::Node;
use crate::json::read::read;
use crate::json::{Raw, StringMap};
use crate::settings::field_path::{FieldPath, Step};
use crate::settings::key::KeyPattern;
use crate::settings::node_metadata::NodeSource;

/// What follows the prefix of the source in a key, and the value of that key.
pub type RestAndValue<'n> = (&'n str, Cow<'n, str>);

/// What `node` has under `source`; several values only for a prefix.
pub fn values<'n>(source: &NodeSource, node: &'n Node<'_>) -> Vec<RestAndValue<'n>> {
    match source {
        NodeSource::Label(key) => by_key(key, &node.labels),
        NodeSource::Annotation(key) => by_key(key, &node.annotations),
        NodeSource::Field(path) => match field(path, node.text) {
            Some(value) => vec![("", Cow::Owned(value))],
            None => Vec::new(),
        },
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

fn by_key<'n>(pattern: &KeyPattern, map: &'n StringMap<'_>) -> Vec<RestAndValue<'n>> {
    let named = map.iter().filter_map(|(key, value)| Some((pattern.rest(key)?, Cow::Borrowed(&**value))));
    named.collect()
}

/// The string, number or boolean at the end of `path` in the JSON `text` of a Node.
fn field(path: &FieldPath, text: &str) -> Option<String> {
    let mut value: Raw<'_> = read(text).ok()?;
    for step in path.steps() {
        value = take(&value, step)?;
        value.take_apart().ok()?;
    }
    scalar(&value)
}

fn take<'n>(value: &Raw<'n>, step: &Step) -> Option<Raw<'n>> {
    match (step, value) {
        (Step::Member(name), Raw::Object(object)) => object.member(name).cloned(),
        (Step::Element { key, value: wanted }, Raw::List(elements)) => {
            let mut elements = elements.iter();
            elements.find(|element| is_wanted(element, key, wanted)).cloned()
        }
        _ => None,
    }
}

/// Whether the member `key` of `element` is `wanted`.
fn is_wanted(element: &Raw<'_>, key: &str, wanted: &str) -> bool {
    let member = element.object().ok().and_then(|object| object.member(key));
    member.and_then(scalar).is_some_and(|value| value == wanted)
}

/// The value as text, unless it is an object, a list or null.
fn scalar(value: &Raw<'_>) -> Option<String> {
    match value.kind() {
        "a string" => read(value.text()?).ok(),
        "a number" | "a boolean" => value.text().map(str::to_owned),
        _ => None,
    }
}
