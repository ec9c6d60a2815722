//! JSON: the same texts are JSON as for `serde_json`, every value reads as `serde_json` reads it, whatever outline it
//! was read with, and what nobody changed is written as it came. What edits do is the law of [`edits`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use ::json::{Kind, List, Object, Outline, Value};
use serde::de::IgnoredAny;

#[path = "json_edits.rs"]
mod edits;

/// What may be taken apart while a text is read.
const OUTLINES: [Outline; 5] = [
    Outline::Whole,
    Outline::FLAT,
    Outline::OBJECTS,
    Outline::ListBy("a"),
    Outline::Object(&[
        ("a", Outline::Object(&[("a", Outline::FLAT), ("b", Outline::OBJECTS)])),
        ("b", Outline::ListBy("a")),
        ("metadata", INNER),
        ("request", INNER),
    ]),
];
const INNER: Outline =
    Outline::Object(&[("a", Outline::FLAT), ("object", Outline::FLAT), ("labels", Outline::List(&Outline::Whole))]);

/// What no key of the input is.
const NEW: &str = "a key that no input has";

/// Takes the input for a text, and for edits.
pub fn check(input: &[u8]) {
    edits::check(input);
    let Ok(text) = std::str::from_utf8(input) else { return };
    for outline in &OUTLINES {
        let parsed = Value::parse(text, outline);
        match (&parsed, serde_json::from_str::<IgnoredAny>(text)) {
            (Ok(value), Ok(_)) => is_read_and_written(value, text),
            (Err(error), Err(known)) => assert_eq!(error.to_string(), known.to_string()),
            (_, known) => assert!(parsed.is_ok() == known.is_ok(), "{parsed:?}"),
        }
    }
}

fn is_read_and_written(value: &Value, text: &str) {
    assert_eq!(value.text(), text.trim_matches([' ', '\t', '\r', '\n']));
    // It reads less: no numbers beyond a double's, no halves of characters, nothing nested deeper than 128 levels.
    if let Ok(known) = serde_json::from_str(text) {
        is_read_as(value, &known);
        assert_eq!(value.text(), text.trim_matches([' ', '\t', '\r', '\n']), "looked at");
        keeps_all_but_what_is_set(value, &known);
    }
}

fn is_read_as(value: &Value, known: &serde_json::Value) {
    assert!(!value.is_changed());
    assert_eq!(value.is_null(), known.is_null());
    assert_eq!(value.boolean().ok(), known.as_bool());
    assert_eq!(value.string().ok().as_deref(), known.as_str());
    // It takes -0 for a double.
    assert_eq!(value.integer().ok(), known.as_i64().or((value.text() == "-0").then_some(0)));
    assert_eq!(value.kind() == Kind::Number, known.is_number());
    assert_eq!(value.object().is_ok(), known.is_object());
    assert_eq!(value.list().is_ok(), known.is_array());
    match known {
        serde_json::Value::Array(elements) => is_list_read_as(value.list().unwrap(), elements),
        serde_json::Value::Object(members) => is_object_read_as(value.object().unwrap(), members),
        _ => {}
    }
}

fn is_list_read_as(list: &List, known: &[serde_json::Value]) {
    assert_eq!(list.len(), known.len());
    list.iter().zip(known).for_each(|(element, known)| is_read_as(element, known));
    for ((found, element), known) in list.by("a").zip(known) {
        assert_eq!(found.as_deref(), known.get("a").and_then(serde_json::Value::as_str), "{element}");
    }
}

fn is_object_read_as(object: &Object, known: &serde_json::Map<String, serde_json::Value>) {
    // Of equal keys the last counts, here as there.
    let members: BTreeMap<Cow<'_, str>, &Value> = object.members().collect();
    assert!(members.keys().eq(known.keys()), "{members:?} and {known:?}");
    for (key, known) in known {
        let member = members[key.as_str()];
        is_read_as(member, known);
        assert_eq!(object.get(key), Some(member).filter(|_| !known.is_null()));
        let inner = known.as_object();
        // Of what an earlier member of the same key has, nothing is said.
        if let Some(inner) = inner.filter(|inner| inner.len() == member.object().unwrap().members().count()) {
            let are_strings = inner.values().all(|value| value.is_string() || value.is_null());
            assert_eq!(object.string_map(key).is_ok(), are_strings);
        }
    }
}

fn keeps_all_but_what_is_set(value: &Value, known: &serde_json::Value) {
    let mut value = value.clone();
    let Ok(object) = value.object_mut() else { return };
    if object.get(NEW).is_some() {
        return;
    }
    let mut known = known.clone();
    known[NEW] = "x".into();
    object.set_string(NEW, "x");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&object.to_string()).unwrap(), known);
    assert!(object.remove(NEW));
    for (key, known) in known.as_object_mut().unwrap() {
        if let Some(known) = known.as_object_mut() {
            known.insert(NEW.to_owned(), "x".into());
            object.object_mut(key).unwrap().set(NEW, "x");
        }
    }
    known.as_object_mut().unwrap().remove(NEW);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&value.to_string()).unwrap(), known);
}
