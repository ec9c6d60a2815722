//! Values by themselves: what they are, and how they are read and made.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use json::{Kind, List, Mismatch, Object, Outline, Value, Within};
use rstest::rstest;

fn value(text: &str) -> Value {
    Value::parse(text, &Outline::Whole).unwrap()
}

#[rstest]
#[case("{}", Kind::Object, "an object")]
#[case("[]", Kind::List, "a list")]
#[case(r#""""#, Kind::String, "a string")]
#[case("true", Kind::Boolean, "a boolean")]
#[case("false", Kind::Boolean, "a boolean")]
#[case("null", Kind::Null, "null")]
#[case("0", Kind::Number, "a number")]
#[case("-1", Kind::Number, "a number")]
fn a_value_is_read_as_what_it_is(#[case] text: &str, #[case] kind: Kind, #[case] name: &str) {
    let mut value = value(text);
    assert_eq!(value.kind(), kind);
    assert_eq!(kind.to_string(), name);
    assert_eq!(value.object().is_ok(), kind == Kind::Object);
    assert_eq!(value.object_mut().is_ok(), kind == Kind::Object);
    assert_eq!(value.list().is_ok(), kind == Kind::List);
    assert_eq!(value.list_mut().is_ok(), kind == Kind::List);
    assert_eq!(value.string().is_ok(), kind == Kind::String);
    assert_eq!(value.boolean().ok(), (kind == Kind::Boolean).then_some(text == "true"));
    assert_eq!(value.integer().is_ok(), kind == Kind::Number);
    assert_eq!(value.is_null(), kind == Kind::Null);
    assert!(!value.is_changed());
    assert_eq!((value.text().as_ref(), value.text_len()), (text, text.len()));
}

#[rstest]
#[case::plain(r#""plain""#)]
#[case::empty(r#""""#)]
#[case::every_short_escape(r#""\"\\\/\b\f\n\r\t""#)]
#[case::a_pair_of_surrogates(r#""\u00e9\ud83d\ude00x""#)]
#[case::half_a_pair(r#""\ud83d""#)]
#[case::half_a_pair_before_text(r#""\ud83dx""#)]
#[case::half_a_pair_before_an_escape(r#""\ud83d\n""#)]
#[case::half_a_pair_before_another_character(r#""\ud83d\u0041""#)]
#[case::the_second_half(r#""\ude00""#)]
#[case::beyond_ascii(r#""ü\u0000""#)]
fn strings_are_read_as_serde_json_reads_them(#[case] text: &str) {
    let expected = serde_json::from_str::<String>(text).map_err(drop);
    let read = value(text);
    assert_eq!(read.string().map(String::from).map_err(drop), expected);
    let map = Object::parse(format!(r#"{{"m":{{"a":{text}}}}}"#), &Outline::FLAT).unwrap();
    assert_eq!(map.string_map("m").map(|map| map.get("a").unwrap().to_owned()).map_err(drop), expected);
}

#[test]
fn half_a_surrogate_pair_is_told_as_such() {
    let mismatch = value(r#""\ud83d""#).string().unwrap_err();
    assert_eq!(mismatch.to_string(), "expected a string, found half of a surrogate pair");
}

/// As Go's `encoding/json` reads an `int64`.
#[rstest]
#[case("0", Some(0))]
#[case("-0", Some(0))]
#[case("300", Some(300))]
#[case("9223372036854775807", Some(i64::MAX))]
#[case("-9223372036854775808", Some(i64::MIN))]
#[case("9223372036854775808", None)]
#[case("5.0", None)]
#[case("1e3", None)]
#[case(r#""5""#, None)]
fn whole_numbers_are_those_of_go(#[case] text: &str, #[case] expected: Option<i64>) {
    assert_eq!(value(text).integer().ok(), expected);
}

#[rstest]
#[case(Value::null(), "null")]
#[case(true.into(), "true")]
#[case(false.into(), "false")]
#[case((-7).into(), "-7")]
#[case("a \"b\"\n\u{1}ü".into(), "\"a \\\"b\\\"\\n\\u0001ü\"")]
#[case(Object::new().into(), "{}")]
#[case(List::new().into(), "[]")]
#[case(["a", "b"].into_iter().collect::<List>().into(), r#"["a","b"]"#)]
fn what_is_made_is_read_like_what_came(#[case] made: Value, #[case] text: &str) {
    assert_eq!(made.to_string(), text);
    assert_eq!(made.text_len(), text.len());
    assert_eq!(made.kind(), value(text).kind());
    assert_eq!(made, value(text));
    assert_eq!(made.string().ok(), value(text).string().ok());
    assert_eq!(made.boolean().ok(), value(text).boolean().ok());
    assert_eq!(made.integer().ok(), value(text).integer().ok());
    assert_eq!(made.object().ok(), value(text).object().ok());
    assert_eq!(made.list().ok(), value(text).list().ok());
}

#[test]
fn a_value_is_edited_without_anything_around_it() {
    let mut whole = value(r#" {"a": [1, {"b" : 2}]} "#);
    let before = whole.clone();
    let list = whole.object_mut().unwrap().list_mut("a").unwrap();
    list.object_mut(1).unwrap().set("c", 3);
    assert!(whole.is_changed() && !before.is_changed());
    assert_eq!(whole.text(), r#"{"a":[1,{"b":2,"c":3}]}"#);
    assert_eq!(before.text(), r#"{"a": [1, {"b" : 2}]}"#);
    assert_ne!(whole, before);
}

#[rstest]
#[case::the_value_itself(Mismatch::new("a", "b"), "expected a, found b")]
#[case::a_member(Mismatch::new("a", "b").within("x"), "x: expected a, found b")]
#[case::a_path(Mismatch::new("a", "b").within("y").within("x"), "x.y: expected a, found b")]
#[case::an_element(Mismatch::new("a", "b").at(3).within("x"), "x[3]: expected a, found b")]
#[case::in_an_element(Mismatch::new("a", "b").within("y").at(3).within("x"), "x[3].y: expected a, found b")]
#[case::in_no_further_path(Mismatch::new("a", "b").within("x").within(""), "x: expected a, found b")]
fn a_mismatch_says_where_and_what(#[case] mismatch: Mismatch, #[case] told: &str) {
    assert_eq!(mismatch.to_string(), told);
    assert_eq!(mismatch.path(), told.split_once(": ").map_or("", |(path, _)| path));
    for result in [Ok(1), Err(mismatch.clone())] {
        assert_eq!(result.clone().within("w").at(2), result.map_err(|own| own.within("w").at(2)));
    }
}
