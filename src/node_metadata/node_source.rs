//! Reads what the settings name from a Node.

use serde_json::value::RawValue;

use crate::json::read::read;
use crate::json::{Raw, list};
use crate::settings::field_path::{FieldPath, Step};
use crate::settings::node_metadata::NodeSource;

/// What messages call `source`: `label topology.kubernetes.io/zone`.
pub fn describe(source: &NodeSource) -> String {
    match source {
        NodeSource::Label(key) => format!("label {}", key.with_rest("*")),
        NodeSource::Annotation(key) => format!("annotation {}", key.with_rest("*")),
        NodeSource::Field(path) => format!("field {}", path.text()),
    }
}

/// The string, number or boolean at the end of `path` in the JSON `text` of a Node.
pub fn field(path: &FieldPath, text: &str) -> Option<String> {
    let mut value: Raw<'_> = read(text).ok()?;
    for step in path.steps() {
        value = take(&value, step)?;
    }
    scalar(&value)
}

fn take<'n>(value: &Raw<'n>, step: &Step) -> Option<Raw<'n>> {
    match (step, value) {
        (Step::Member(name), value) => value.object().ok()?.member(name).cloned(),
        (Step::Element { key, value: wanted }, Raw::Text(text)) => {
            let mut found = None;
            let mut take = |element: &'n RawValue| {
                if found.is_none() && is_wanted(element, key, wanted) {
                    found = Some(Raw::Text(element));
                }
            };
            list::for_each(text.get(), &mut take).ok()?;
            found
        }
        _ => None,
    }
}

/// Whether the member `key` of `element` is `wanted`.
fn is_wanted(element: &RawValue, key: &str, wanted: &str) -> bool {
    let Ok(element) = read::<Raw<'_>>(element.get()) else { return false };
    let Ok(object) = element.object() else { return false };
    object.member(key).and_then(scalar).is_some_and(|value| value == wanted)
}

/// The value as text, unless it is an object, a list or null.
fn scalar(value: &Raw<'_>) -> Option<String> {
    match value.kind() {
        "a string" => read(value.text()?).ok(),
        "a number" | "a boolean" => value.text().map(str::to_owned),
        _ => None,
    }
}
