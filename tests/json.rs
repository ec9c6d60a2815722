//! JSON: objects of which rules read and change a few members, and errors that say where in a text they are.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "these are tests"
)]

use std::collections::BTreeMap;

use node_placement_policy::json::read::read;
use node_placement_policy::json::{Bounded, Pairs, Raw, RawObject, ReadError, Text, Within};
use rstest::rstest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// `text`, which is an object.
fn object(text: &str) -> RawObject<'_> {
    read(text).unwrap()
}

fn written(object: &RawObject<'_>) -> String {
    serde_json::to_string(object).unwrap()
}

#[rstest]
#[case::text(r#"{"a":"x"}"#, Some(r#""x""#))]
#[case::among_others(r#"{"b":1,"a":2,"c":3}"#, Some("2"))]
#[case::spelling_is_kept(r#"{"a": 1.50e+3 }"#, Some("1.50e+3"))]
#[case::spaces_are_kept_within(r#"{"a": [ 1 ,2 ] }"#, Some("[ 1 ,2 ]"))]
#[case::escapes_are_kept(r#"{"a":"\u0041\/"}"#, Some(r#""\u0041\/""#))]
#[case::key_with_escapes(r#"{"\u0061":1}"#, Some("1"))]
#[case::the_last_of_repeated(r#"{"a":1,"b":2,"a":3}"#, Some("3"))]
#[case::the_last_of_repeated_with_escapes(r#"{"a":1,"\u0061":3}"#, Some("3"))]
#[case::null(r#"{"a":null}"#, None)]
#[case::null_with_spaces("{\"a\" : null\n}", None)]
#[case::null_after_something(r#"{"a":1,"a":null}"#, None)]
#[case::something_after_null(r#"{"a":null,"a":1}"#, Some("1"))]
#[case::absent("{}", None)]
#[case::another_case(r#"{"A":1}"#, None)]
#[case::below(r#"{"b":{"a":1}}"#, None)]
#[case::half_a_character(r#"{"a":"\ud800"}"#, Some(r#""\ud800""#))]
#[case::more_than_a_number_can_hold(r#"{"a":1e999}"#, Some("1e999"))]
fn a_member_is_found_as_it_came(#[case] text: &str, #[case] expected: Option<&str>) {
    let object = object(text);
    assert_eq!(object.member("a").and_then(Raw::text), expected);
    assert_eq!(object.get::<&RawValue>("a").unwrap().map(RawValue::get), expected);
}

#[test]
fn members_are_read_as_what_a_rule_needs() {
    let object = object(r#"{"s":"x","n":-5,"l":["a","b\n"],"m":{"a":"b"},"null":null,"b":true}"#);
    assert_eq!(object.string("s").unwrap(), "x");
    assert_eq!(object.string("absent").unwrap(), "");
    assert_eq!(object.string("null").unwrap(), "");
    assert_eq!(object.get::<i64>("n").unwrap(), Some(-5));
    assert_eq!(object.get::<bool>("b").unwrap(), Some(true));
    assert_eq!(object.get::<Vec<String>>("l").unwrap().unwrap(), ["a", "b\n"]);
    let map: Pairs<'_> = object.get("m").unwrap().unwrap();
    assert_eq!(map.get("a"), Some("b"));
    assert_eq!(object.get::<i64>("null").unwrap(), None);
}

/// What rules are sure to look into is taken apart as it is read; the rest where somebody asks.
#[test]
fn objects_are_found_at_the_end_of_a_path() {
    let text = r#"{"metadata":{"spec":{"a":1}},"spec":{"affinity":{"nodeAffinity":{}},"other":{}},"template":[{"spec":{}}],"status":{}}"#;
    let object = object(text);
    assert_eq!(object.object_at(&["metadata", "spec"]).unwrap().unwrap().get::<i64>("a"), Ok(Some(1)));
    assert!(object.object_at(&["spec", "affinity", "nodeAffinity"]).unwrap().is_some());
    assert!(object.object_at(&["spec", "absent", "nodeAffinity"]).unwrap().is_none());
    assert!(object.object_at(&["status"]).unwrap().is_some());
    assert!(object.object_at(&["spec", "other", "absent"]).unwrap().is_none());
    assert_eq!(object.member("status").and_then(Raw::text), Some("{}"));
    assert_eq!(object.object_at(&["spec"]).unwrap().unwrap().member("other").and_then(Raw::text), Some("{}"));
    assert_eq!(written(&object), text);
}

#[rstest]
#[case::string(r#"{"spec":"x"}"#, "spec: expected an object, found a string")]
#[case::number(r#"{"spec":-1}"#, "spec: expected an object, found a number")]
#[case::boolean(r#"{"spec":false}"#, "spec: expected an object, found a boolean")]
#[case::list(r#"{"spec":[{}]}"#, "spec: expected an object, found a list")]
#[case::further_down(r#"{"spec":{"template":1}}"#, "spec.template: expected an object, found a number")]
#[case::at_the_end(
    r#"{"spec":{"template":{"metadata":[]}}}"#,
    "spec.template.metadata: expected an object, found a list"
)]
fn what_is_no_object_is_told_with_its_path(#[case] text: &str, #[case] expected: &str) {
    let path = ["spec", "template", "metadata"];
    assert_eq!(object(text).object_at(&path).unwrap_err().to_string(), expected);
    assert_eq!(object(text).object_mut_at(&path).unwrap_err().to_string(), expected);
    assert_eq!(written(&object(text)), text, "it goes back as it came");
}

#[rstest]
#[case::object(r#"{"env":{}}"#, "env: expected a list, found an object")]
#[case::string(r#"{"env":"[]"}"#, "env: expected a list, found a string")]
fn what_is_no_list_is_told_with_its_path(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(object(text).list_mut("env").unwrap_err().to_string(), expected);
    assert_eq!(object(text).first::<&RawValue>("env", 1).unwrap_err().to_string(), expected);
}

#[test]
fn a_member_that_is_taken_is_gone() {
    let mut object = object(r#"{"b":1,"a":[2],"c":null}"#);
    assert_eq!(object.take("a").as_ref().and_then(Raw::text), Some("[2]"));
    assert!(object.take("a").is_none() && object.take("c").is_none() && object.take("absent").is_none());
    assert_eq!(serde_json::from_str::<Value>(&written(&object)).unwrap()["b"], 1);
}

/// What stands beside an edit, and what it has never heard of, goes back as it was written.
#[rstest]
#[case::numbers(r#""n":1.0,"m":-0,"k":1e3,"h":123456789012345678901234567890"#)]
#[case::escapes(r#""\u0041":"\u0042\/\ud83d\ude00","\"":"\\""#)]
#[case::spaces("\"x\":[ 1,\n{ } ]")]
#[case::nulls(r#""null":null,"list":[null],"empty":{},"none":[]"#)]
#[case::repeated(r#""x":1,"x":2,"y":{"z":1,"z":2}"#)]
#[case::what_can_not_be_a_value(r#""x":"\ud800","y":1e999"#)]
fn an_edit_leaves_all_else_as_it_was(#[case] rest: &str) {
    let text = format!(r#"{{{rest},"spec":{{{rest}}}}}"#);
    let mut edited = object(&text);
    edited.object_mut("spec").unwrap().set("new", &json!({"a": [1]})).unwrap();
    let expected = format!(r#"{{{rest},"spec":{{{rest},"new":{{"a":[1]}}}}}}"#);
    assert_eq!(written(&edited), written(&object(&expected)));
}

#[rstest]
#[case::at_the_end(r#"{"b":0,"c":1,"c":2,"a":{}}"#)]
#[case::in_front(r#"{"a":{},"b":0,"c":1,"c":2}"#)]
#[case::between(r#"{"c":1,"a":{},"b":0,"c":2}"#)]
#[case::repeated_itself(r#"{"a":1,"c":1,"c":2,"a":{},"b":0}"#)]
#[case::null(r#"{"a":null,"c":1,"b":0,"c":2}"#)]
#[case::absent(r#"{"c":1,"b":0,"c":2}"#)]
fn the_last_of_repeated_members_still_counts_after_an_edit_of_another(#[case] text: &str) {
    let expected = json!({"a": {"x": 1}, "b": 0, "c": 2});
    let mut edited = object(text);
    edited.object_mut("a").unwrap().set("x", &1).unwrap();
    assert_eq!(edited.get::<i64>("c").unwrap(), Some(2));
    assert_eq!(serde_json::from_str::<Value>(&written(&edited)).unwrap(), expected);
}

#[rstest]
#[case::repeated(r#"{"a":1,"a":2,"b":3}"#)]
#[case::null_at_last(r#"{"a":1,"b":3,"a":null}"#)]
fn a_repeated_member_that_is_taken_is_gone(#[case] text: &str) {
    let mut object = object(text);
    let _ = object.take("a");
    assert_eq!(object.member("a"), None);
    assert_eq!(serde_json::from_str::<Value>(&written(&object)).unwrap(), json!({"b": 3}));
}

#[rstest]
#[case::absent("{}", r#"{"spec":{"template":{"a":1}}}"#)]
#[case::null(r#"{"spec":null}"#, r#"{"spec":{"template":{"a":1}}}"#)]
#[case::null_below(r#"{"spec":{"template":null,"b":2}}"#, r#"{"spec":{"b":2,"template":{"a":1}}}"#)]
#[case::set_before(r#"{"spec":{"template":{"a":0,"b":2}}}"#, r#"{"spec":{"template":{"b":2,"a":1}}}"#)]
#[case::not_looked_into_before(
    r#"{"spec":{"template":{"x":{"spec":1}}}}"#,
    r#"{"spec":{"template":{"x":{"spec":1},"a":1}}}"#
)]
fn objects_are_made_where_there_are_none(#[case] text: &str, #[case] expected: &str) {
    let mut edited = object(text);
    edited.object_mut_at(&["spec", "template"]).unwrap().set("a", &1).unwrap();
    assert_eq!(written(&edited), expected);
}

#[rstest]
#[case::absent("{}", r#"{"l":["new"]}"#)]
#[case::null(r#"{"l":null}"#, r#"{"l":["new"]}"#)]
#[case::empty(r#"{"l":[ ]}"#, r#"{"l":["new"]}"#)]
#[case::some(
    r#"{"l":[1.0, {"a" : null,"a":1}, "\u0041", null]}"#,
    r#"{"l":[1.0,{"a" : null,"a":1},"\u0041",null,"new"]}"#
)]
fn a_list_is_appended_to(#[case] text: &str, #[case] expected: &str) {
    let mut edited = object(text);
    edited.list_mut("l").unwrap().push(Raw::written(&"new").unwrap());
    assert_eq!(written(&edited), expected);
}

/// Of a long list no more is kept than somebody needs, and what follows must still be JSON.
#[rstest]
#[case::fewer(r#"{"l":[1,2]}"#, &[1, 2], false)]
#[case::as_many(r#"{"l":[1,2,3]}"#, &[1, 2, 3], false)]
#[case::more(r#"{"l":[1,2,3,"x",{}]}"#, &[1, 2, 3], true)]
#[case::none(r#"{"l":[]}"#, &[], false)]
fn a_list_is_read_up_to_a_bound(#[case] text: &str, #[case] elements: &[i64], #[case] has_more: bool) {
    let list: Bounded<i64> = object(text).first("l", 3).unwrap();
    assert_eq!((list.elements.as_slice(), list.has_more), (elements, has_more));
    assert_eq!(list.count(), elements.len() + usize::from(has_more));
    assert!(Bounded::<i64>::read("[1,2,3,]", 3).is_err());
}

/// Pairs are found wherever they stand, whether they came in order or not.
#[rstest]
#[case::few(3, false)]
#[case::few_in_disorder(3, true)]
#[case::many(5_000, false)]
#[case::many_in_disorder(5_000, true)]
fn pairs_are_found(#[case] count: usize, #[case] is_reversed: bool) {
    let mut pairs: Vec<String> = (0..count).map(|at| format!(r#""k{at:06}":"{at}""#)).collect();
    if is_reversed {
        pairs.reverse();
    }
    let text = format!("{{{}}}", pairs.join(","));
    let pairs: Pairs<'_> = read(&text).unwrap();
    assert_eq!(pairs.len(), count);
    for at in [0, 1, count / 2, count - 1] {
        assert_eq!(pairs.get(&format!("k{at:06}")), Some(at.to_string().as_str()));
    }
    assert_eq!((pairs.get("k"), pairs.get("k0000015"), pairs.get("l")), (None, None, None));
}

/// API servers write them in order; others may not, and may repeat some.
#[test]
fn pairs_are_in_order_however_they_came() {
    const COUNT: usize = 4_001;
    let pair = |at: usize, value: &str| (Text::from(format!("k{at:06}")), Text::from(value));
    let ordered: Pairs<'_> = (0..COUNT).map(|at| pair(at, "new")).collect();
    // 1,009 and 4,001 have no common divisor: each comes once.
    let mixed = || (0..COUNT).map(|at| at * 1_009 % COUNT);
    let mut repeated: Pairs<'_> = mixed().map(|at| pair(at, "old")).collect();
    assert_ne!(repeated, ordered);
    mixed().for_each(|at| repeated.insert(pair(at, "").0, "new".into()));
    assert!(repeated.keys().is_sorted());
    assert_eq!((repeated.len(), &repeated), (COUNT, &ordered));
}

#[test]
fn of_equal_keys_the_last_counts() {
    let pairs: Pairs<'_> = read(r#"{"a":"1","b":"2","a":"3"}"#).unwrap();
    assert_eq!((pairs.get("a"), pairs.get("b")), (Some("3"), Some("2")));
}

#[rstest]
#[case::kept_and_added(r#"{"m":{"a":"1","b":"2"},"x":1}"#, r#"{"x":1,"m":{"a":"1","c":"3"}}"#)]
#[case::absent("{}", r#"{"m":{"c":"3"}}"#)]
#[case::null(r#"{"m":null}"#, r#"{"m":{"c":"3"}}"#)]
fn pairs_are_written_anew(#[case] text: &str, #[case] expected: &str) {
    let mut edited = object(text);
    edited.rewrite("m", &|key, _| key != "b", &mut [("c", "3")].into_iter()).unwrap();
    assert_eq!(written(&edited), expected);
    assert!(object(r#"{"m":["a"]}"#).rewrite("m", &|_, _| true, &mut [].into_iter()).is_err());
}

/// A change that is not read again shows where it was made: nothing reads it for what stood there before.
#[test]
fn what_was_set_is_not_read_for_what_was_there() {
    let mut object = object(r#"{"a":"old","spec":{"a":1}}"#);
    object.set("a", &"new").unwrap();
    assert_eq!(object.member("a").and_then(Raw::text), Some(r#""new""#));
    assert!(object.get::<String>("a").is_err(), "it is not what came");
    assert!(object.get::<BTreeMap<String, i64>>("spec").is_err(), "nor is what was taken apart");
}

#[rstest]
#[case::the_same(r#"{"a":1,"spec":{"b":[1]}}"#, r#"{"a":1,"spec":{"b":[1]}}"#, true)]
#[case::spaces_around(r#"{"a":1,"spec":{"b":[1]}}"#, "{ \"a\" : 1 ,\n\"spec\":{ \"b\":[1] } }", true)]
#[case::escapes_in_a_key(r#"{"a":1}"#, r#"{"\u0061":1}"#, true)]
#[case::another_value(r#"{"spec":{"b":[1]}}"#, r#"{"spec":{"b":[2]}}"#, false)]
#[case::more(r#"{"spec":{}}"#, r#"{"spec":{"a":1}}"#, false)]
#[case::null(r#"{"spec":{}}"#, r#"{"spec":null}"#, false)]
#[case::more_elements(r#"{"env":[1]}"#, r#"{"env":[1,1]}"#, false)]
#[case::another_kind(r#"{"spec":{}}"#, r#"{"spec":"{}"}"#, false)]
fn objects_are_equal_if_their_members_are(#[case] left: &str, #[case] right: &str, #[case] expected: bool) {
    assert_eq!(object(left) == object(right), expected);
    assert_eq!(object(right) == object(left), expected);
}

/// However deep what nobody looks into is nested, it stays text.
#[test]
fn what_nobody_looks_into_may_be_nested_as_deep_as_it_likes() {
    let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
    let text = format!(r#"{{"deep":{deep},"spec":{{"deep":{deep}}}}}"#);
    let mut edited = object(&text);
    edited.object_mut("spec").unwrap().set("a", &1).unwrap();
    assert_eq!(written(&edited), format!(r#"{{"deep":{deep},"spec":{{"deep":{deep},"a":1}}}}"#));
    assert!(object(&text).list_mut("deep").is_ok());
    let looked_into = [r#"{"spec":"#.repeat(100_000), "1".to_owned(), "}".repeat(100_000)].concat();
    assert!(read::<Raw<'_>>(&looked_into).is_err());
}

#[test]
fn a_text_borrows_what_has_no_escapes() {
    let source = r#"["plain","\u0041\n"]"#;
    let texts: Vec<Text<'_>> = read(source).unwrap();
    let range = source.as_bytes().as_ptr_range();
    let borrows: Vec<bool> = texts.iter().map(|text| range.contains(&text.as_ptr())).collect();
    assert_eq!(borrows, [true, false]);
    assert_eq!(texts, [Text::from("plain"), Text::from("A\n")]);
    assert_eq!(serde_json::to_string(&texts).unwrap(), r#"["plain","A\n"]"#);
}

#[rstest]
#[case::nowhere("", "spec", "spec")]
#[case::below("a", "spec", "spec.a")]
#[case::an_element("[1].a", "spec", "spec[1].a")]
#[case::below_nothing("a", "", "a")]
fn a_path_grows_in_front(#[case] path: &str, #[case] parent: &str, #[case] expected: &str) {
    let error = ReadError::new("broken").within(path);
    assert_eq!(error.clone().within(parent).path(), expected);
    assert_eq!(error.within(parent).problem(), "broken");
}

/// Every kind of value, in every place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "it is read, and no more")]
struct Thing {
    text: Option<String>,
    number: Option<i64>,
    flag: Option<bool>,
    texts: Option<Vec<String>>,
    grid: Option<Vec<Vec<i64>>>,
    map: Option<BTreeMap<String, String>>,
    inner: Option<Box<Thing>>,
    things: Option<Vec<Thing>>,
    named: Option<BTreeMap<String, Thing>>,
    needed: Option<Needed>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is read, and no more")]
struct Needed {
    key: String,
}

const FIELDS: &str = "text, number, flag, texts, grid, map, inner, things, named, needed";

#[rstest]
#[case::whole("5", "expected an object, found a number")]
#[case::whole_text("\"x\"", "expected an object, found a string")]
#[case::first(r#"{"text":5,"number":1}"#, "text: expected a string, found a number")]
#[case::middle(r#"{"text":"x","number":"1","flag":true}"#, "number: expected an integer, found a string")]
#[case::last(r#"{"text":"x","number":1,"flag":{"a":1}}"#, "flag: expected a boolean, found an object")]
#[case::fraction(r#"{"number":1.5}"#, "number: expected an integer, found a number")]
#[case::too_large(r#"{"number":9223372036854775808}"#, "number: ")]
#[case::list_for_a_text(r#"{"text":["x"]}"#, "text: expected a string, found a list")]
#[case::object_for_a_list(r#"{"texts":{"a":[]}}"#, "texts: expected a list, found an object")]
#[case::list_for_a_map(r#"{"map":[["a","b"]]}"#, "map: expected an object, found a list")]
#[case::first_element(r#"{"texts":[5,"a"]}"#, "texts[0]: expected a string, found a number")]
#[case::first_element_that_is_a_list(r#"{"texts":[["a"]]}"#, "texts[0]: expected a string, found a list")]
#[case::first_element_that_is_an_object(r#"{"texts":[{"a":"b"}]}"#, "texts[0]: expected a string, found an object")]
#[case::last_element(r#"{"texts":["a","b",null]}"#, "texts[2]: expected a string, found null")]
#[case::element_that_is_an_object(r#"{"texts":["a", {}, "b"]}"#, "texts[1]: expected a string, found an object")]
#[case::element_of_an_element(r#"{"grid":[[1],[],[2,3,"4"]]}"#, "grid[2][2]: expected an integer, found a string")]
#[case::element_that_is_no_list(r#"{"grid":[[1],{}]}"#, "grid[1]: expected a list, found an object")]
#[case::value_of_a_map(r#"{"map":{"a":"b","c":{}}}"#, "map.c: expected a string, found an object")]
#[case::value_of_a_map_under_a_key_with_other_signs(
    r#"{"map":{"a":"b","example.com/c d":null}}"#,
    r#"map["example.com/c d"]: expected a string, found null"#
)]
#[case::value_of_a_map_under_a_key_with_escapes(
    r#"{"map":{"a\u0022":1}}"#,
    r#"map["a\""]: expected a string, found a number"#
)]
#[case::value_of_a_map_under_no_key(r#"{"map":{"":1}}"#, r#"map[""]: expected a string, found a number"#)]
#[case::object_in_a_list_in_an_object(
    r#"{"inner":{"things":[{},{"inner":{"things":[{"flag":1}]}}]}}"#,
    "inner.things[1].inner.things[0].flag: expected a boolean, found a number"
)]
#[case::missing_field(r#"{"needed":{}}"#, "needed.key: expected a value, found nothing")]
#[case::missing_field_among_others(
    r#"{"things":[{},{"needed":{"kez":1}}]}"#,
    "things[1].needed.key: expected a value, found nothing"
)]
#[case::missing_field_and_more_to_come(r#"{"needed":{},"text":5}"#, "needed.key: expected a value, found nothing")]
#[case::unknown_field(r#"{"things":[{"txt":1}]}"#, r#"things[0]: unknown field "txt", did you mean text?"#)]
#[case::unknown_field_like_none(r#"{"inner":{"anything":1}}"#, &format!(r#"inner: unknown field "anything", expected one of {FIELDS}"#))]
#[case::unknown_field_with_other_signs(
    r#"{"inner":{"te_xt":1}}"#,
    r#"inner: unknown field "te_xt", did you mean text?"#
)]
#[case::unknown_field_that_is_empty(r#"{"inner":{"":1}}"#, &format!(r#"inner: unknown field "", expected one of {FIELDS}"#))]
#[case::several_lines(
    "{\n  \"things\": [\n    {},\n    {\n      \"flag\": 0\n    }\n  ]\n}",
    "things[1].flag: expected a boolean, found a number"
)]
#[case::on_a_line_of_its_own(
    "{\n  \"texts\": [\n    \"a\",\n    []\n  ]\n}",
    "texts[1]: expected a string, found a list"
)]
#[case::after_signs_of_several_bytes("{\"map\":{\"ä\":\"\u{1F600}\",\"b\":\"ü\n\"}}", "map.b: ")]
#[case::no_json(r#"{"texts":["a",]}"#, "texts")]
#[case::half_a_character(r#"{"texts":["a","\ud800"]}"#, "texts[1]: ")]
#[case::cut_off(r#"{"inner":{"texts":["a""#, "inner.texts")]
fn what_can_not_be_read_is_told_with_its_path(#[case] text: &str, #[case] expected: &str) {
    let found = read::<Thing>(text).unwrap_err().to_string();
    // Of what serde says of numbers and of JSON, only the path is ours.
    let is_whole = expected.contains(", ");
    assert!(if is_whole { found == expected } else { found.starts_with(expected) }, "{found}");
    assert!(!found.contains("line") && !found.contains("column"), "{found}");
    let wrapped = format!(r#"{{"a":1,"thing": {text} }}"#);
    if let Ok(wrapped) = read::<RawObject<'_>>(&wrapped) {
        let within = wrapped.get::<Thing>("thing").unwrap_err().to_string();
        let dot = if found.starts_with("expected") { ": " } else { "." };
        assert_eq!(within, format!("thing{dot}{found}"));
    }
}

/// What nobody looks into may be nested as deep as it likes, and then break.
#[test]
fn a_path_has_no_more_steps_than_are_read() {
    let text = format!(r#"{{"other":{}"#, "[".repeat(300_000));
    let error = read::<Needed>(&text).unwrap_err();
    assert_eq!(error.path(), format!("other{}", "[0]".repeat(127)));
}

/// The key of a member, the step that its path gets, and what writes its value.
type Member = (&'static str, &'static str, fn(&mut Breaker));

/// Builds texts of a [`Thing`], and breaks one value of it. It knows where that is.
struct Breaker {
    state: u64,
    text: String,
    path: String,
    /// How many values there were that can be broken, and which of them is.
    passed: usize,
    broken: usize,
    expected: Option<String>,
}

impl Breaker {
    fn new(seed: u64, broken: usize) -> Self {
        let (text, path, expected) = (String::new(), String::new(), None);
        Self { state: seed, text, path, passed: 0, broken, expected }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        let choice = self.below(choices.len() as u64);
        choices[usize::try_from(choice).unwrap()]
    }

    fn space(&mut self) {
        let space = self.pick(&["", "", "", " ", "\n", "\n  ", "\r\n\t"]);
        self.text.push_str(space);
    }

    /// Whether the value that comes is the one to break.
    fn breaks(&mut self) -> bool {
        self.passed += 1;
        self.expected.is_none() && self.passed > self.broken
    }

    fn record(&mut self, problem: &str) {
        let path = self.path.trim_start_matches('.');
        let colon = if path.is_empty() { "" } else { ": " };
        self.expected = Some(format!("{path}{colon}{problem}"));
    }

    /// Writes `good`, or one of `bad`, which are no `kind`.
    fn value(&mut self, kind: &str, good: &'static str, bad: &[&'static str]) {
        if !self.breaks() {
            return self.text.push_str(good);
        }
        let wrong = self.pick(bad);
        let found = match wrong.as_bytes()[0] {
            b'"' => "a string",
            b'[' => "a list",
            b'{' => "an object",
            b't' => "a boolean",
            b'n' => "null",
            _ => "a number",
        };
        self.record(&format!("expected {kind}, found {found}"));
        self.text.push_str(wrong);
    }

    fn string(&mut self, is_optional: bool) {
        let good = self.pick(&[r#""""#, r#""x""#, r#""\u0041\n""#, r#""[{,""#, "\"\u{e4}\u{1F600}\""]);
        let bad = ["5", "-0.5", "true", "[]", "[\"x\"]", "{}", "{\"x\":[1]}", "null"];
        self.value("a string", good, if is_optional { &bad[..7] } else { &bad });
    }

    fn integer(&mut self) {
        self.value("an integer", "-12", &["1.5", "\"1\"", "true", "[1]", "{}"]);
    }

    fn list(&mut self, element: fn(&mut Self)) {
        if self.below(8) == 0 {
            return self.value("a list", "[ ]", &["{}", "{\"0\":1}", "\"[]\"", "0", "true"]);
        }
        self.text.push('[');
        for position in 0..self.below(4) {
            if position > 0 {
                self.text.push(',');
            }
            self.space();
            self.step(&format!("[{position}]"), element);
            self.space();
        }
        self.text.push(']');
    }

    fn map(&mut self, value: fn(&mut Self)) {
        if self.below(8) == 0 {
            return self.value("an object", "{ }", &["[]", "[[]]", "\"{}\"", "0", "true"]);
        }
        let keys = [("a", ".a"), ("b c", r#"["b c"]"#), ("x.io/y", r#"["x.io/y"]"#), ("\u{e4}", "[\"\u{e4}\"]")];
        let count = usize::try_from(self.below(4)).unwrap();
        let members: Vec<Member> = keys[..count].iter().map(|(key, step)| (*key, *step, value)).collect();
        self.object(&members);
    }

    fn object(&mut self, members: &[Member]) {
        self.text.push('{');
        for (position, (key, step, value)) in members.iter().enumerate() {
            if position > 0 {
                self.text.push(',');
            }
            self.space();
            self.text.extend(["\"", key, "\""]);
            self.space();
            self.text.push(':');
            self.space();
            self.step(step, *value);
            self.space();
        }
        self.text.push('}');
    }

    fn step(&mut self, step: &str, value: fn(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        value(self);
        self.path.truncate(length);
    }

    fn needed(&mut self) {
        if self.breaks() {
            self.step(".key", |breaker| breaker.record("expected a value, found nothing"));
            return self.text.push_str(r#"{"other":[{}]}"#);
        }
        self.object(&[("key", ".key", |breaker| breaker.string(false))]);
    }

    fn thing(&mut self) {
        // A derived struct takes a list for its fields: that is not what is tried here.
        if self.below(10) == 0 {
            return self.value("an object", "{}", &["0", "-1.5", "\"{}\"", "true"]);
        }
        if self.below(4) == 0 && self.breaks() {
            self.record(r#"unknown field "numer", did you mean number?"#);
            return self.text.push_str(r#"{ "flag":false,"numer":[1] }"#);
        }
        let all: [Member; 10] = [
            ("text", ".text", |breaker| breaker.string(true)),
            ("number", ".number", Self::integer),
            ("flag", ".flag", |breaker| breaker.value("a boolean", "true", &["1", "\"true\"", "[true]", "{}"])),
            ("texts", ".texts", |breaker| breaker.list(|breaker| breaker.string(false))),
            ("grid", ".grid", |breaker| breaker.list(|breaker| breaker.list(Self::integer))),
            ("map", ".map", |breaker| breaker.map(|breaker| breaker.string(false))),
            ("needed", ".needed", Self::needed),
            ("inner", ".inner", Self::thing),
            ("things", ".things", |breaker| breaker.list(Self::thing)),
            ("named", ".named", |breaker| breaker.map(Self::thing)),
        ];
        let is_large = self.text.len() > 200;
        let known = if is_large { &all[..7] } else { &all };
        let members: Vec<Member> = known.iter().filter(|_| self.below(3) == 0).copied().collect();
        self.object(&members);
    }
}

#[test]
fn errors_are_where_something_was_broken() {
    let mut count = 0;
    for seed in 0..600 {
        let mut whole = Breaker::new(seed, usize::MAX);
        whole.thing();
        assert!(read::<Thing>(&whole.text).is_ok(), "{}", whole.text);
        for broken in 0..whole.passed {
            let mut breaker = Breaker::new(seed, broken);
            breaker.space();
            breaker.thing();
            let Some(expected) = &breaker.expected else { continue };
            let found = read::<Thing>(&breaker.text).unwrap_err();
            assert_eq!(found.to_string(), *expected, "{}", breaker.text);
            count += 1;
        }
    }
    assert!(count > 3_000, "only {count} texts");
}

/// Wherever a text ends too early, or has a byte too much, that is an error with some path, and never a trap.
#[test]
fn no_text_is_too_broken_for_an_error() {
    let mut breaker = Breaker::new(5, usize::MAX);
    while breaker.text.len() < 1_000 {
        breaker.text.clear();
        breaker.list(Breaker::thing);
    }
    let text = breaker.text;
    for (end, _) in text.char_indices() {
        assert!(read::<Vec<Thing>>(&text[..end]).is_err());
        for extra in ["\0", "\n", "{", "]", "\"", "\\", "\u{1F600}"] {
            let _ = read::<Vec<Thing>>(&[&text[..end], extra, &text[end..]].concat());
        }
    }
}
