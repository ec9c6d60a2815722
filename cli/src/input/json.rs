//! Reading JSON values whose types nobody has checked: what is of another type is as if it were absent.

use serde_json::{Map, Value};

/// A text; of anything else, the empty text.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of a list; none of anything else.
pub fn list_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The members of an object; none of anything else.
pub fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().map(Map::iter).into_iter().flatten()
}

/// Removes members; an object that is empty then stays.
pub fn remove(object: &mut Value, names: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        names.iter().for_each(|name| drop(object.remove(*name)));
    }
}
