//! Strings by key.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use json::{Object, Outline, StringMap};
use rstest::rstest;

#[rstest]
#[case::in_order(&[("a", "1"), ("b", "2"), ("c", "3")], &[("a", "1"), ("b", "2"), ("c", "3")])]
#[case::in_no_order(&[("c", "1"), ("b", "2"), ("a", "3")], &[("a", "3"), ("b", "2"), ("c", "1")])]
#[case::the_last_counts(&[("b", "1"), ("a", "2"), ("b", "3"), ("a", "4"), ("b", "5")], &[("a", "4"), ("b", "5")])]
#[case::the_last_of_two(&[("a", "1"), ("a", "2")], &[("a", "2")])]
#[case::the_last_of_two_before_another(&[("a", "1"), ("a", "2"), ("b", "3")], &[("a", "2"), ("b", "3")])]
#[case::none(&[], &[])]
fn keys_are_in_order_and_the_last_value_counts(#[case] pairs: &[(&str, &str)], #[case] expected: &[(&str, &str)]) {
    let members: Vec<String> = pairs.iter().map(|(key, value)| format!("\"{key}\":\"{value}\"")).collect();
    let object = Object::parse(format!("{{{}}}", members.join(",")), &Outline::FLAT).unwrap();
    let read = object.to_string_map().unwrap();
    let made: StringMap = pairs.iter().copied().collect();
    for map in [&read, &made] {
        assert!(map.iter().eq(expected.iter().copied()));
        assert_eq!((map.len(), map.is_empty()), (expected.len(), expected.is_empty()));
        for (key, value) in expected {
            assert_eq!(map.get(key), Some(*value));
            assert!(map.contains_key(key));
        }
        assert!(map.get("d").is_none() && !map.contains_key(""));
    }
    assert_eq!(read, made);
}

#[test]
fn values_are_put_and_taken() {
    let mut map: StringMap = [("b", "1"), ("d", "2")].into_iter().collect();
    for (key, value) in [("a", "3"), ("c", "4"), ("e", "5"), ("b", "6")] {
        map.insert(key, value);
    }
    assert!(map.iter().eq([("a", "3"), ("b", "6"), ("c", "4"), ("d", "2"), ("e", "5")]));
    map.retain(|key, value| key > "b" && value != "4");
    assert!(map.iter().eq([("d", "2"), ("e", "5")]));
}

#[test]
fn keys_and_values_are_unescaped_and_null_is_empty() {
    let object = Object::parse(r#"{"m":{"\u0061":"\n","b":null}}"#, &Outline::FLAT).unwrap();
    let map = object.string_map("m").unwrap();
    assert!(map.iter().eq([("a", "\n"), ("b", "")]));
}

#[rstest]
#[case::the_same(r#"{"a":"1","b":"2"}"#, true)]
#[case::in_another_order(r#"{"b":"2","a":"1"}"#, true)]
#[case::spelled_otherwise(r#"{"\u0061":"1","b":"2"}"#, true)]
#[case::another_value(r#"{"a":"1","b":"3"}"#, false)]
#[case::another_key(r#"{"a":"1","c":"2"}"#, false)]
#[case::one_less(r#"{"a":"1"}"#, false)]
fn maps_are_equal_that_say_the_same(#[case] other: &str, #[case] are_equal: bool) {
    let [one, other] = [r#"{"a":"1","b":"2"}"#, other]
        .map(|text| Object::parse(text, &Outline::FLAT).unwrap().to_string_map().unwrap());
    assert_eq!(one == other, are_equal);
}
