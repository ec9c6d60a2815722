//! What is JSON, and what is told of what is not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use json::{Object, Outline, Value};
use rstest::rstest;
use serde::de::IgnoredAny;

/// Texts with everything that JSON has, and the corners of its grammar.
const TEXTS: [&str; 14] = [
    r#"{"a":1,"b":{"c":[true,false,null,{}],"d":""},"e":[[],[{}]],"":0}"#,
    r#"{"e":[{"a":"1","b":{"a":2}},{"b":"3"},[],"4",null,{"\u0061":5,"a":"\u0036"}],"b":{"c":[{"a":1},2]}}"#,
    " {\t\"a\" :\r\n 1 , \"b\" : { \"c\" : [ 1 , 2 ] } , \"e\" : [ { \"a\" : \"b\" } , { } ] } ",
    "[0,-0,10,-1.5,0.25e10,1E+2,2e-3,123456789012345678901234567890]",
    r#"["\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00","\ud83d"]"#,
    r#"{"more than eight bytes, and more than sixteen":1,"exactly8":2,"seven77":3,"quote at nine\"":4,"ü":5}"#,
    "[\"ü\",\"日本語日本語\",\"\u{7f}\u{80}\u{10ffff}\"]",
    "\"text\"",
    "null",
    "-1",
    "[\"a\u{1f}b\"]",
    "[\"12345678\u{0}\"]",
    r#"{"12345678\u0000":{"b":1}}"#,
    r#"[01,1.,.5,+1,1e,--1,tru,nulll,truefalse,1"a",1 2,'a',"\x","\u12g4",{a:1},{"a"},{"a":},[1,],{"a":1,},{,},[,]]"#,
];

const OUTLINES: [Outline; 6] = [
    Outline::Whole,
    Outline::FLAT,
    Outline::List(&Outline::Whole),
    Outline::OBJECTS,
    Outline::ListBy("a"),
    Outline::Object(&[
        ("b", Outline::Object(&[("c", Outline::OBJECTS)])),
        ("e", Outline::ListBy("a")),
        ("exactly8", Outline::FLAT),
    ]),
];

fn agrees(text: &str) {
    let known = serde_json::from_str::<IgnoredAny>(text);
    for outline in &OUTLINES {
        match (Value::parse(text, outline), &known) {
            (Ok(value), Ok(_)) => assert_eq!(value.text(), text.trim_matches([' ', '\n', '\r', '\t'])),
            (Err(error), Err(known)) => assert_eq!(error.to_string(), known.to_string(), "{text:?}, {outline:?}"),
            (parsed, _) => assert!(known.is_ok() == parsed.is_ok(), "{text:?}, {outline:?}: {parsed:?}"),
        }
    }
}

#[test]
fn what_is_json_is_what_serde_json_takes_for_it() {
    for text in TEXTS {
        agrees(text);
        for (at, character) in text.char_indices() {
            let (before, from) = text.split_at(at);
            let (_, after) = text.split_at(at + character.len_utf8());
            agrees(before);
            agrees(from);
            for odd in ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", " ", "\u{1}", "ü", "t"] {
                agrees(&format!("{before}{odd}{after}"));
                agrees(&format!("{before}{odd}{from}"));
            }
        }
    }
    for piece in TEXTS[13].trim_matches(['[', ']']).split(',') {
        agrees(piece);
        agrees(&format!("[{piece}]"));
        agrees(&format!("{{\"b\":{piece},\"e\":[{piece}]}}"));
    }
}

#[test]
fn every_byte_of_a_string_is_looked_at() {
    for length in 0..40 {
        for at in 0..length {
            for odd in ["\"", "\\", "\u{1f}", "\u{0}", "é", "\u{7f}", " ", "!"] {
                let string = format!("\"{}{odd}{}\"", "x".repeat(at), "x".repeat(length - at));
                agrees(&string);
                agrees(&format!("{{{string}:1}}"));
            }
        }
    }
}

#[rstest]
#[case::nothing("", "EOF while parsing a value at line 1 column 0")]
#[case::an_object_without_end(r#"{"a":1"#, "EOF while parsing an object at line 1 column 6")]
#[case::no_colon(r#"{"a" 1}"#, "expected `:` at line 1 column 6")]
#[case::a_comma_too_many("[1,]", "expected value at line 1 column 4")]
#[case::two_values("{}\n {}", "trailing characters at line 2 column 2")]
#[case::two_values_in_one("truefalse", "trailing characters at line 1 column 5")]
#[case::a_word_that_is_none("[nil]", "expected ident at line 1 column 3")]
fn what_is_no_json_is_told_with_its_place(#[case] text: &str, #[case] told: &str) {
    assert_eq!(Object::parse(text, &Outline::FLAT).unwrap_err().to_string(), told);
    assert_eq!(Value::parse(text, &Outline::OBJECTS).unwrap_err().to_string(), told);
}

#[rstest]
#[case::a_list("[1]", "expected an object, found a list")]
#[case::null(" null ", "expected an object, found null")]
fn what_is_no_object_is_told_as_such(#[case] text: &str, #[case] told: &str) {
    assert_eq!(Object::parse(text, &Outline::FLAT).unwrap_err().to_string(), told);
}

#[rstest]
#[case::lists("[", "]")]
#[case::objects(r#"{"a":"#, "}")]
#[case::both(r#"[{"a":"#, "}]")]
fn nesting_has_no_limit_where_nobody_looks(#[case] open: &str, #[case] close: &str) {
    let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for outline in &OUTLINES {
        let value = Value::parse(deep.as_str(), outline).unwrap();
        assert_eq!(value.text(), deep);
        let mut whole = Object::new();
        whole.set("deep", value.clone());
        assert_eq!(whole.to_string(), format!(r#"{{"deep":{deep}}}"#));
        assert!(Value::parse(open.repeat(100_000), outline).is_err());
        if let Ok(list) = value.list() {
            assert_eq!(list.len(), 1);
        }
    }
}
