//! Objects: members are read, set and removed, and all else is written as it came.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use json::{List, Object, Outline, StringMap, Value};
use rstest::rstest;

const DEEP: Outline = Outline::Object(&[("a", Outline::Object(&[("b", Outline::FLAT)])), ("d", Outline::FLAT)]);

fn object(text: &str) -> Object {
    Object::parse(text, &DEEP).unwrap()
}

const TEXT: &str = r#"{"a": 1.0e+02,"b":null,"c":[ ],"d":{"x" : "\u00e9"},"\u0065":"e"}"#;

/// Edits, and what is then written instead of a piece of the text; nothing else changes but space between the members.
#[rstest]
#[case::a_new_member(|whole: &mut Object| whole.set("f", 7), r#""e"}"#, r#""e","f":7}"#)]
#[case::one_that_is_pushed(|whole: &mut Object| whole.push("f", true), r#""e"}"#, r#""e","f":true}"#)]
#[case::one_that_is_there(|whole: &mut Object| whole.set("a", "x"), "1.0e+02", r#""x""#)]
#[case::one_whose_key_is_escaped(|whole: &mut Object| whole.set("e", 7), r#":"e""#, ":7")]
#[case::one_that_is_null(|whole: &mut Object| whole.set_string("b", ""), "null", r#""""#)]
#[case::another_string(|whole: &mut Object| whole.set_string("e", "f"), r#":"e""#, r#":"f""#)]
#[case::one_inside(|whole: &mut Object| whole.object_mut("d").unwrap().set("x", 1), r#""x" : "\u00e9""#, r#""x":1"#)]
#[case::one_that_is_removed(|whole: &mut Object| assert!(whole.remove("e")), r#","\u0065":"e""#, "")]
#[case::null_that_is_removed(|whole: &mut Object| assert!(whole.remove("b")), r#""b":null,"#, "")]
#[case::an_object_is_made(|whole: &mut Object| _ = whole.object_mut("f").unwrap(), r#""e"}"#, r#""e","f":{}}"#)]
#[case::an_object_for_null(|whole: &mut Object| whole.object_mut("b").unwrap().set("g", 1), "null", r#"{"g":1}"#)]
#[case::a_list_for_null(|whole: &mut Object| whole.list_mut("b").unwrap().push("g"), "null", r#"["g"]"#)]
#[case::a_list_is_filled(|whole: &mut Object| whole.list_mut("c").unwrap().push(1), "[ ]", "[1]")]
#[case::a_path_is_made(make_path, r#"{"x" : "\u00e9"}"#, r#"{"x":"\u00e9","y":{"z":{"g":1}}}"#)]
#[case::another_takes_its_place(replace, r#"{"x" : "\u00e9"}"#, r#"{"y" : 1}"#)]
fn what_nobody_touches_stays(#[case] edit: fn(&mut Object), #[case] piece: &str, #[case] new: &str) {
    let compact = TEXT.replacen(": ", ":", 1);
    assert_eq!(compact.matches(piece).count(), 1);
    let expected = compact.replace(piece, new);
    for outline in [&DEEP, &Outline::FLAT] {
        let mut whole = Object::parse(TEXT, outline).unwrap();
        edit(&mut whole);
        assert_eq!(whole.to_string(), expected);
        assert_eq!(whole.text_len(), expected.len());
        assert!(whole.is_changed());
        assert!(whole != object(TEXT) && whole == object(&expected));
        assert!(whole.members().eq(object(&expected).members()));
        for (key, value) in object(&expected).members() {
            assert_eq!(whole.get(&key), Some(value).filter(|value| !value.is_null()));
        }
    }
}

fn make_path(whole: &mut Object) {
    whole.object_mut_at(&["d", "y", "z"]).unwrap().set("g", 1);
}

fn replace(whole: &mut Object) {
    *whole.object_mut("d").unwrap() = object(r#"{"y" : 1}"#);
}

#[rstest]
#[case::looking(look)]
#[case::the_same_string(|whole: &mut Object| whole.set_string("e", "e"))]
#[case::the_same_string_inside(|whole: &mut Object| whole.object_mut("d").unwrap().set_string("x", "é"))]
#[case::the_same_list(|whole: &mut Object| whole.set("c", Value::parse("[ ]", &Outline::Whole).unwrap()))]
#[case::none_to_remove(|whole: &mut Object| assert!(!whole.remove("f")))]
#[case::all_are_kept(|whole: &mut Object| whole.retain(|_, _| true))]
fn what_changes_nothing_is_no_change(#[case] edit: fn(&mut Object)) {
    for outline in [&DEEP, &Outline::FLAT] {
        let mut whole = Object::parse(TEXT, outline).unwrap();
        edit(&mut whole);
        assert_eq!(whole.to_string(), TEXT);
        assert_eq!(whole.text_len(), TEXT.len());
        assert!(!whole.is_changed() && whole == object(TEXT));
    }
}

#[test]
fn some_members_are_kept() {
    let mut whole = object(TEXT);
    whole.retain(|key, value| key == "e" || value.is_null());
    assert_eq!(whole.to_string(), r#"{"b":null,"\u0065":"e"}"#);
}

fn look(whole: &mut Object) {
    whole.object_mut("d").unwrap();
    whole.list_mut("c").unwrap();
    whole.object_mut("a").unwrap_err();
}

#[test]
fn a_name_is_not_its_spelling() {
    let whole = object(r#"{"\\\"":"a","\"":"b","\u0061b":"c","\ud800":"d"}"#);
    assert_eq!(whole.string("\\\"").unwrap(), "a");
    assert_eq!(whole.string("\"").unwrap(), "b");
    assert_eq!(whole.string("ab").unwrap(), "c");
    let names: Vec<_> = whole.members().map(|(name, _)| name).collect();
    assert_eq!(names, ["\\\"", "\"", "ab", "\\ud800"]);
    let mut made = Object::new();
    made.set("\"", 1);
    assert_eq!(made.get("\""), Some(&1.into()));
    assert_eq!(made.to_string(), r#"{"\"":1}"#);
}

#[test]
fn of_equal_keys_the_last_counts() {
    let mut whole = object(r#"{"a":1,"b":2,"\u0061":3}"#);
    assert_eq!(whole.get("a"), Some(&3.into()));
    whole.set("a", 4);
    assert_eq!(whole.get("a"), Some(&4.into()));
    assert_eq!(whole.to_string(), r#"{"a":1,"b":2,"\u0061":4}"#);
    assert!(whole.remove("a"));
    assert_eq!(whole.get("a"), None);
    assert_eq!(whole.to_string(), r#"{"b":2}"#);
    assert_eq!(object(r#"{"a":1,"a":null}"#).get("a"), None);
}

#[rstest]
#[case::null(r#"{"a":null}"#)]
#[case::absent("{}")]
fn null_is_absent(#[case] text: &str) {
    let whole = object(text);
    assert_eq!(whole.get("a"), None);
    assert_eq!(whole.string("a").unwrap(), "");
    assert!(!whole.boolean("a").unwrap());
    assert_eq!(whole.integer("a").unwrap(), None);
    assert_eq!(whole.object("a").unwrap(), None);
    assert_eq!(whole.object_at(&["a", "b"]).unwrap(), None);
    assert_eq!(whole.list("a").unwrap(), None);
    assert!(whole.objects("a").unwrap().is_empty() && whole.strings("a").unwrap().is_empty());
    assert!(whole.string_map("a").unwrap().is_empty());
    for told in [
        whole.required("a").map(drop).unwrap_err(),
        whole.required_object("a").map(drop).unwrap_err(),
        whole.required_string("a").map(drop).unwrap_err(),
    ] {
        assert_eq!(told.to_string(), "a: expected a value, found nothing");
    }
}

#[test]
fn members_are_read_as_what_they_are() {
    let whole = object(r#"{"a":{"b":{"c":-1}},"s":"x","t":true,"f":false,"o":[{"i":1},{"i":2}],"l":["a","\u0062"]}"#);
    assert_eq!(whole.object_at(&["a", "b"]).unwrap().unwrap().integer("c").unwrap(), Some(-1));
    assert_eq!(whole.object_at(&[]).unwrap(), Some(&whole));
    assert_eq!(whole.required_object("a").unwrap().to_string(), r#"{"b":{"c":-1}}"#);
    assert_eq!(whole.required_string("s").unwrap(), "x");
    assert!(whole.boolean("t").unwrap() && !whole.boolean("f").unwrap());
    let numbers: Vec<_> = whole.objects("o").unwrap().iter().map(|object| object.integer("i").unwrap()).collect();
    assert_eq!(numbers, [Some(1), Some(2)]);
    assert_eq!(whole.strings("l").unwrap(), ["a", "b"]);
    assert_eq!(whole.list("l").unwrap().map(List::len), Some(2));
}

#[rstest]
#[case::a_string(|whole: &mut Object| whole.string("spec").map(drop), "spec: expected a string, found an object")]
#[case::a_needed_string(
    |whole: &mut Object| whole.required_string("spec").map(drop),
    "spec: expected a string, found an object"
)]
#[case::a_boolean(|whole: &mut Object| whole.boolean("spec").map(drop), "spec: expected true or false, found an object")]
#[case::a_number(|whole: &mut Object| whole.integer("spec").map(drop), "spec: expected a number, found an object")]
#[case::an_object(|whole: &mut Object| whole.object("l").map(drop), "l: expected an object, found a list")]
#[case::a_needed_object(
    |whole: &mut Object| whole.required_object("l").map(drop),
    "l: expected an object, found a list"
)]
#[case::a_list(|whole: &mut Object| whole.list("spec").map(drop), "spec: expected a list, found an object")]
#[case::a_path(
    |whole: &mut Object| whole.object_at(&["spec", "x", "y"]).map(drop),
    "spec.x: expected an object, found a boolean"
)]
#[case::a_path_to_edit(
    |whole: &mut Object| whole.object_mut_at(&["spec", "x", "y"]).map(drop),
    "spec.x: expected an object, found a boolean"
)]
#[case::an_object_to_edit(|whole: &mut Object| whole.object_mut("l").map(drop), "l: expected an object, found a list")]
#[case::a_list_to_edit(|whole: &mut Object| whole.list_mut("spec").map(drop), "spec: expected a list, found an object")]
#[case::objects(|whole: &mut Object| whole.objects("l").map(drop), "l[1]: expected an object, found null")]
#[case::strings(|whole: &mut Object| whole.strings("l").map(drop), "l[0]: expected a string, found an object")]
#[case::no_list_of_strings(
    |whole: &mut Object| whole.strings("spec").map(drop),
    "spec: expected a list, found an object"
)]
#[case::strings_by_key(
    |whole: &mut Object| whole.string_map("spec").map(drop),
    r#"spec["n\""]: expected a string, found a number"#
)]
#[case::no_strings_by_key(
    |whole: &mut Object| whole.string_map("l").map(drop),
    "l: expected an object of strings, found a list"
)]
#[case::assigned(
    |whole: &mut Object| whole.assign(&StringMap::new()),
    r#"["spec"]: expected a string, found an object"#
)]
fn what_is_not_as_expected_is_told_with_its_path(
    #[case] read: fn(&mut Object) -> Result<(), json::Mismatch>,
    #[case] told: &str,
) {
    let text = r#"{"spec":{"n\"":1,"x":true},"l":[{},null,1]}"#;
    let mut whole = object(text);
    assert_eq!(read(&mut whole).unwrap_err().to_string(), told);
    assert_eq!(whole.to_string(), text);
}

#[test]
fn strings_are_assigned() {
    let text = r#"{"a":"\u0031", "b":"2","c":null,"d":"4"}"#;
    let mut whole = object(text);
    let mut strings = whole.to_string_map().unwrap();
    whole.assign(&strings).unwrap();
    assert_eq!(whole.to_string(), text);
    strings.retain(|key, _| key != "b");
    strings.insert("d", "5");
    strings.insert("e", "6");
    whole.assign(&strings).unwrap();
    assert_eq!(whole.to_string(), r#"{"a":"\u0031","c":null,"d":"5","e":"6"}"#);
    assert_eq!(whole.to_string_map().unwrap(), strings);
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut whole = object(r#"{"a":{"b":{"c":1}}}"#);
    let mut copy = whole.clone();
    copy.object_mut_at(&["a", "b"]).unwrap().set("c", 2);
    whole.object_mut("a").unwrap().set("d", 3);
    assert_eq!(whole.to_string(), r#"{"a":{"b":{"c":1},"d":3}}"#);
    assert_eq!(copy.to_string(), r#"{"a":{"b":{"c":2}}}"#);
    // Moved from one to another, with its changes.
    whole.set("e", copy.get("a").unwrap().clone());
    assert_eq!(whole.object_at(&["e", "b"]).unwrap().unwrap().integer("c").unwrap(), Some(2));
    assert_eq!(whole.to_string(), r#"{"a":{"b":{"c":1},"d":3},"e":{"b":{"c":2}}}"#);
}

#[test]
fn what_was_made_is_edited_further() {
    let mut whole = Object::new();
    assert_eq!((whole.to_string().as_str(), whole.is_changed(), whole.text_len()), ("{}", true, 2));
    whole.set("v", Value::from(Object::new()));
    whole.object_mut("v").unwrap().list_mut("l").unwrap().push(Object::new());
    whole.object_mut("v").unwrap().list_mut("l").unwrap().object_mut(0).unwrap().push("k", "x");
    assert_eq!(whole.to_string(), r#"{"v":{"l":[{"k":"x"}]}}"#);
    assert_eq!(whole.text_len(), whole.to_string().len());
    assert_eq!(Object::default(), Object::new());
}

#[rstest::rstest]
#[case::nothing("{}", true)]
#[case::null(r#"{"a":null}"#, true)]
#[case::strings(r#"{"a":{"b":"c","d":null}}"#, true)]
#[case::half_of_a_pair(r#"{"a":{"b":"\ud800"}}"#, true)]
#[case::a_number(r#"{"a":{"b":"c","d":1}}"#, false)]
#[case::a_list(r#"{"a":["b"]}"#, false)]
fn strings_may_stand_under_a_key(#[case] text: &str, #[case] are_strings: bool) {
    assert_eq!(object(text).holds_strings("a"), are_strings);
}
