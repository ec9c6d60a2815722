//! JSON that is cut into pieces: the same texts are JSON as for `serde_json`, every piece is what `serde_json` reads,
//! and what nobody changed is written as it came.

use std::borrow::Cow;
use std::collections::BTreeMap;

use node_placement_policy::json::{Json, Object, Outline};
use serde_json::Value;

use super::{DEEPEST, compact, depth, is_json};

/// Objects under these keys are cut on the way.
const CUT: Outline = Outline::Object(&[
    ("a", Outline::Object(&[("a", Outline::FLAT), ("b", Outline::List)])),
    ("b", Outline::List),
    ("metadata", INNER),
    ("request", INNER),
]);
const INNER: Outline = Outline::Object(&[("a", Outline::FLAT), ("object", Outline::FLAT), ("labels", Outline::List)]);

/// A key that is new to any object of the input.
const NEW: &str = "a key that no input has";

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let parsed = Json::parse(text);
    if parsed.is_ok() != is_json(input) {
        assert!(parsed.is_err() && depth(input) > DEEPEST, "{parsed:?}");
    }
    let Ok(json) = parsed else { return };
    assert_eq!(json.text(), text.trim_matches([' ', '\t', '\r', '\n']));
    is_written_as_it_came(json);
    // It reads less: no numbers beyond a double's, no halves of characters, nothing nested deeper.
    if let Ok(value) = serde_json::from_str(text) {
        is_read_as(json, &value);
        keeps_all_but_what_is_set(json, text);
    }
}

fn is_read_as(json: Json<'_>, value: &Value) {
    assert_eq!(json.is_null(), value.is_null());
    assert_eq!(json.boolean().ok(), value.as_bool());
    assert_eq!(json.string().ok().as_deref(), value.as_str());
    assert_eq!(json.object().is_ok(), value.is_object());
    assert_eq!(json.list().is_ok(), value.is_array());
    match value {
        Value::Number(_) => assert_eq!(serde_json::from_str::<Value>(json.text()).ok().as_ref(), Some(value)),
        Value::Array(list) => {
            let elements = json.list().unwrap();
            assert_eq!(elements.len(), list.len());
            elements.iter().zip(list).for_each(|(element, value)| is_read_as(element.json, value));
        }
        Value::Object(map) => {
            let object = json.object().unwrap();
            // Of equal keys the last counts, here as there.
            let members: BTreeMap<Cow<'_, str>, Json<'_>> = object.members().collect();
            assert!(members.keys().eq(map.keys()), "{members:?} and {map:?}");
            for (key, value) in map {
                let member = members[key.as_str()];
                is_read_as(member, value);
                if let (Some(inner), Ok(cut)) = (value.as_object(), member.object()) {
                    let are_strings = inner.values().all(|value| value.is_string() || value.is_null());
                    // Of what an earlier member of the same key has, nothing is said.
                    if inner.len() == cut.members().count() {
                        assert_eq!(object.string_map(key).is_ok(), are_strings);
                    }
                }
                assert_eq!(object.get(key), Some(members[key.as_str()]).filter(|_| !value.is_null()));
            }
        }
        _ => {}
    }
}

fn is_written_as_it_came(json: Json<'_>) {
    for outline in [&Outline::FLAT, &CUT] {
        let Ok(object) = Object::parse(json.text(), outline) else {
            return assert!(!json.text().starts_with('{'), "{} is an object", json.text());
        };
        assert!(!object.is_changed());
        assert_eq!(compact(&object.to_string()), compact(json.text()));
        for (key, value) in object.members() {
            assert_eq!(object.object(&key).is_ok_and(|inner| inner.is_some()), object.get(&key).is_some_and(is_object));
            assert!(json.text().contains(value.text()));
            if let Some(last) = object.get(&key) {
                assert_eq!(object.list(&key).ok(), last.list().ok(), "cut on the way, and when asked for");
            }
        }
    }
}

fn is_object(json: Json<'_>) -> bool {
    json.object().is_ok()
}

fn keeps_all_but_what_is_set(json: Json<'_>, text: &str) {
    let Ok(object) = json.object() else { return };
    if text.contains(NEW) {
        return;
    }
    let without_new = |written: &str| {
        let member = format!(r#""{NEW}":"x""#);
        let written = written.replacen(&format!(",{member}"), "", 1);
        compact(&written.replacen(&member, "", 1))
    };
    let mut whole = object.clone();
    whole.set_string(NEW, "x");
    assert_eq!(without_new(&whole.to_string()), compact(text));
    for (key, _) in object.members() {
        if let Ok(Some(mut inner)) = object.object(&key) {
            inner.set_string(NEW, "x");
            let mut whole = object.clone();
            whole.set_object(&key, inner);
            assert!(whole.to_string().contains(NEW));
            assert_eq!(without_new(&whole.to_string()), compact(text));
        }
    }
}
