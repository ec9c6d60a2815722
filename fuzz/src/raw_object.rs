//! Objects whose members stay text: they say the same as `serde_json` reads in them, before and after each edit, and what
//! no edit was about is written as it came. The same edits are made to a `serde_json::Value`.

use std::fmt::Write;

use arbitrary::{Result, Unstructured};
use node_placement_policy::json::read::read;
use node_placement_policy::json::{Raw, RawObject};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{is_json, pick};

/// Keys: names that rules look into, and others.
const KEYS: [&str; 9] = ["spec", "metadata", "template", "matchExpressions", "env", "labels", "a", "", "\"\u{e9}\n"];

/// Values without parts; those that a `Value` can't hold are apart.
const SCALARS: [&str; 22] = [
    "null",
    "true",
    "0",
    "-0",
    "1.0",
    "1e2",
    "1.0e+2",
    "18446744073709551616",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "1.7976931348623157e308",
    "2.2250738585072011e-308",
    "1e-400",
    // What serde_json reads in it, it writes, and reads as another number.
    "339901763e-26",
    "-1",
    r#""""#,
    r#""a""#,
    r#""\u0061\/\ud83d\ude00""#,
    r#""{\"spec\":[\"""#,
    "\"\u{2028}\u{e9}\"",
    "{ }",
    "[\n]",
];

const SPACES: [&str; 6] = ["", "", "", "", " ", "\n\t"];

/// How deep what nobody looks into may be nested, with what stands around it: `serde_json` reads 127 levels into a `Value`.
const DEEP: usize = 100;

/// What `serde_json` takes for something else, where it reads a `Value`.
const PRIVATE: &str = "$serde_json::private";

pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        reads_as_known(text);
    }
    let mut input = Unstructured::new(input);
    let mut text = String::new();
    // With no more input the text ends as it must.
    write_object(&mut input, &mut text, 3);
    reads_as_known(&text);
    let _ = says_the_same_after_edits(&mut input, &text);
}

/// Any text: what a `Value` can be read from, an object can, and says the same; it knows no JSON that is none.
fn reads_as_known(text: &str) {
    if text.contains(PRIVATE) {
        return;
    }
    let found = read::<Raw<'_>>(text);
    match (&found, serde_json::from_str::<Value>(text)) {
        (Ok(raw), Ok(known)) => says(raw, &known),
        (Err(error), Ok(_)) => panic!("{error}: {text}"),
        // More than a number can hold, half of a character, too many levels: nobody looked there.
        (Ok(raw), Err(_)) => assert!(is_json(text.as_bytes()) && is_json(written(raw).as_bytes()), "{text}"),
        (Err(error), Err(_)) => assert!(!error.problem().is_empty()),
    }
    // What came is written as it came, less the spaces around members that were looked into.
    if let Ok(raw) = found {
        let again = written(&raw);
        if has_fractions(text) {
            return;
        }
        assert_eq!(read::<Raw<'_>>(&again).as_ref(), Ok(&raw), "{text}");
        assert_eq!(written(&read::<Raw<'_>>(&again).expect("it was read before")), again, "{text}");
    }
}

fn written(raw: &Raw<'_>) -> String {
    serde_json::to_string(raw).expect("it can be written")
}

fn says(raw: &Raw<'_>, known: &Value) {
    let written = written(raw);
    let found = serde_json::from_str::<Value>(&written).expect("what a Value can be read from is written as such");
    assert!(is_same(&found, known), "{found} instead of {known}: {written}");
    reads_as(raw, known);
}

/// The same values. A number that stands where an object or a list is looked for is read, and written anew: `serde_json`
/// may read that text as another number, in the last digit. In what API servers send none stands there.
fn is_same(found: &Value, known: &Value) -> bool {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => {
            let is_known = |(key, value): (&String, &Value)| known.get(key).is_some_and(|known| is_same(value, known));
            found.len() == known.len() && found.iter().all(is_known)
        }
        (Value::Array(found), Value::Array(known)) => {
            found.len() == known.len() && found.iter().zip(known).all(|(found, known)| is_same(found, known))
        }
        (Value::Number(number), Value::Number(other)) if number.is_f64() && other.is_f64() => {
            let (number, other) = (number.as_f64().unwrap_or(f64::NAN), other.as_f64().unwrap_or(f64::NAN));
            (number - other).abs() <= number.abs() * 4.0 * f64::EPSILON
        }
        _ => found == known,
    }
}

/// Whether there may be a number that is not read as it is written.
fn has_fractions(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(2).any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'.' | b'e' | b'E'))
}

fn reads_as(raw: &Raw<'_>, known: &Value) {
    assert_eq!(raw.is_null(), known.is_null());
    let kind = match known {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    assert_eq!(raw.kind(), kind, "{raw:?}");
    match (raw, known) {
        (Raw::Object(object), Value::Object(known)) => object_reads_as(object, known),
        (Raw::List(list), Value::Array(known)) => {
            assert_eq!(list.len(), known.len());
            list.iter().zip(known).for_each(|(element, known)| reads_as(element, known));
        }
        (Raw::Text(_), known) => assert!(raw.get::<Value>().is_ok_and(|found| is_same(&found, known)), "{raw:?}"),
        _ => {}
    }
}

fn object_reads_as(object: &RawObject<'_>, known: &Map<String, Value>) {
    let absent = KEYS.into_iter().filter(|key| !known.contains_key(*key));
    for key in known.keys().map(String::as_str).chain(absent) {
        let value = known.get(key).filter(|value| !value.is_null());
        match (object.member(key), value) {
            (Some(member), Some(value)) => {
                reads_as(member, value);
                // What was set is not read again.
                if !matches!(member, Raw::Written(_)) {
                    assert_eq!(object.object(key).is_ok(), value.is_object(), "{member:?}");
                }
                if let Raw::Text(_) = member {
                    let count = object.first::<&RawValue>(key, usize::MAX).ok().map(|list| list.elements.len());
                    assert_eq!(count, value.as_array().map(Vec::len), "{member:?}");
                }
            }
            (None, None) => assert!(object.object(key) == Ok(None) && object.first::<&RawValue>(key, 1).is_ok()),
            (found, expected) => panic!("{key:?} is {found:?}, expected {expected:?}"),
        }
    }
}

/// Edits an object, and a `Value` in the same way.
fn says_the_same_after_edits(input: &mut Unstructured<'_>, text: &str) -> Result<()> {
    let Ok(Raw::Object(mut object)) = read(text) else { panic!("{text} is no object") };
    let mut known: Map<String, Value> = serde_json::from_str(text).expect("a Value can hold it");
    for _ in 0..input.int_in_range(0..=6)? {
        let steps = input.int_in_range(0..=2)?;
        let path: Vec<&str> = (0..steps).map(|_| *pick(input, &KEYS)).collect();
        // What was set is there to be written, and nobody edits it further.
        if leads_to_what_was_set(&object, &path) {
            continue;
        }
        let inner = (object.object_mut_at(&path), known_object(&mut known, &path));
        match inner {
            (Ok(object), Some(known)) => edit(input, object, known)?,
            (Err(error), None) => assert!(error.problem().starts_with("expected an object, found "), "{error}"),
            (found, expected) => panic!("{path:?} is {found:?}, expected {expected:?} in {text}"),
        }
        says(&Raw::Object(object.clone()), &Value::Object(known.clone()));
    }
    Ok(())
}

fn leads_to_what_was_set(object: &RawObject<'_>, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    match object.member(first) {
        Some(Raw::Written(_)) => true,
        Some(Raw::Object(inner)) => leads_to_what_was_set(inner, rest),
        _ => false,
    }
}

/// The object at the end of `path`, which is made where there is nothing.
fn known_object<'v>(mut object: &'v mut Map<String, Value>, path: &[&str]) -> Option<&'v mut Map<String, Value>> {
    for step in path {
        let member = object.entry(*step).or_insert(Value::Null);
        if member.is_null() {
            *member = json!({});
        }
        object = member.as_object_mut()?;
    }
    Some(object)
}

/// One edit of a member.
fn edit(input: &mut Unstructured<'_>, object: &mut RawObject<'_>, known: &mut Map<String, Value>) -> Result<()> {
    let key = *pick(input, &KEYS);
    match input.int_in_range(0..=3)? {
        0 => {
            let value = value(input)?;
            object.set(key, &value).expect("a Value can be written");
            known.insert(key.to_owned(), as_read(&value));
        }
        1 => {
            let taken = object.take(key);
            let expected = known.remove(key).filter(|value| !value.is_null());
            assert_eq!(taken.is_some(), expected.is_some(), "{key:?}");
            if let (Some(taken), Some(expected)) = (taken, expected) {
                says(&taken, &expected);
            }
        }
        _ if leads_to_what_was_set(object, &[key]) => {}
        2 => {
            let (list, known) = (object.list_mut(key), known_list(known, key));
            let (Ok(list), Some(known)) = (list, known) else { return Ok(()) };
            edit_list(input, list, known)?;
        }
        _ => {
            let (list, known) = (object.list_mut(key), known_list(known, key));
            let (Ok(list), Some(known)) = (list, known) else { return Ok(()) };
            edit_element(input, list, known)?;
        }
    }
    Ok(())
}

fn known_list<'v>(object: &'v mut Map<String, Value>, key: &str) -> Option<&'v mut Vec<Value>> {
    let member = object.entry(key).or_insert(Value::Null);
    if member.is_null() {
        *member = json!([]);
    }
    member.as_array_mut()
}

fn edit_list(input: &mut Unstructured<'_>, list: &mut Vec<Raw<'_>>, known: &mut Vec<Value>) -> Result<()> {
    assert_eq!(list.len(), known.len());
    match input.int_in_range(0..=2)? {
        0 => {
            let value = value(input)?;
            let position = input.int_in_range(0..=list.len())?;
            list.insert(position, Raw::written(&value).expect("a Value can be written"));
            known.insert(position, as_read(&value));
        }
        1 => {
            list.retain(|element| !element.is_null());
            known.retain(|element| !element.is_null());
        }
        _ => {
            let count = input.int_in_range(0..=list.len())?;
            list.truncate(count);
            known.truncate(count);
        }
    }
    Ok(())
}

/// Changes an element, if it is an object.
fn edit_element(input: &mut Unstructured<'_>, list: &mut [Raw<'_>], known: &mut [Value]) -> Result<()> {
    assert_eq!(list.len(), known.len());
    if list.is_empty() {
        return Ok(());
    }
    let position = input.choose_index(list.len())?;
    let was_set = matches!(list[position], Raw::Written(_));
    if let (Ok(element), Some(known)) = (list[position].object_mut(), known[position].as_object_mut()) {
        element.set("a", &1).expect("a number can be written");
        known.insert("a".to_owned(), json!(1));
    } else {
        assert!(was_set || !known[position].is_object(), "{known:?}");
    }
    Ok(())
}

fn value(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut text = String::new();
    let levels = input.int_in_range(0..=1)?;
    write_value(input, &mut text, levels);
    Ok(serde_json::from_str(&text).expect("a Value can hold it"))
}

/// A value as the host knows it: it reads the text of the answer, and a number may be another one then.
fn as_read(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).expect("what was written can be read")
}

fn write_value(input: &mut Unstructured<'_>, text: &mut String, levels: usize) {
    match input.int_in_range(0..=6) {
        Ok(1 | 2) if levels > 0 => write_object(input, text, levels - 1),
        Ok(3 | 4) if levels > 0 => write_list(input, text, levels - 1),
        Ok(5) if levels > 0 => {
            let (open, close) = *pick(input, &[("[", "]"), (r#"{"a":"#, "}"), (r#"{"spec":"#, "}"), ("[ null,", "]")]);
            text.extend([&open.repeat(DEEP), *pick(input, &SCALARS), &close.repeat(DEEP)]);
        }
        _ => text.push_str(pick::<&str>(input, &SCALARS)),
    }
}

fn write_object(input: &mut Unstructured<'_>, text: &mut String, levels: usize) {
    text.push('{');
    for position in 0..input.int_in_range(0..=5).unwrap_or(0) {
        text.push_str(if position > 0 { "," } else { "" });
        text.push_str(pick::<&str>(input, &SPACES));
        write_key(input, text);
        text.push_str(pick::<&str>(input, &SPACES));
        text.push(':');
        text.push_str(pick::<&str>(input, &SPACES));
        write_value(input, text, levels);
        text.push_str(pick::<&str>(input, &SPACES));
    }
    text.push('}');
}

/// A key, perhaps with escapes where none is needed.
fn write_key(input: &mut Unstructured<'_>, text: &mut String) {
    let key = *pick(input, &KEYS);
    if input.ratio(3, 4) != Ok(false) {
        text.push_str(&Value::from(key).to_string());
        return;
    }
    text.push('"');
    for unit in key.encode_utf16() {
        write!(text, "\\u{unit:04x}").expect("a String takes it");
    }
    text.push('"');
}

fn write_list(input: &mut Unstructured<'_>, text: &mut String, levels: usize) {
    text.push('[');
    for position in 0..input.int_in_range(0..=3).unwrap_or(0) {
        text.push_str(if position > 0 { "," } else { "" });
        text.push_str(pick::<&str>(input, &SPACES));
        write_value(input, text, levels);
        text.push_str(pick::<&str>(input, &SPACES));
    }
    text.push(']');
}
