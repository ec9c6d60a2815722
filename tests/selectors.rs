//! The selector language, against what `labels.Parse` and `labels.ConvertSelectorToLabelsMap` answer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, clippy::format_collect, reason = "they read better so")]

use std::collections::BTreeMap;

use node_placement_policy::selector::{Operator, Selector, parse, parse_pairs};
use serde::Deserialize;

use crate::common::vectors;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    id: u32,
    selector: String,
    parse: Parsed,
    to_labels_map: LabelsMap,
    #[serde(default)]
    matches: Vec<Match>,
}

#[derive(Deserialize)]
struct Parsed {
    ok: bool,
    #[serde(default)]
    requirements: Vec<Requirement>,
    #[serde(default)]
    canonical: String,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Requirement {
    key: String,
    operator: String,
    values: Vec<String>,
}

#[derive(Deserialize)]
struct LabelsMap {
    ok: bool,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Match {
    labels: BTreeMap<String, String>,
    #[serde(rename = "match")]
    matches: bool,
}

fn upstream_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Exists => "exists",
        Operator::DoesNotExist => "!",
        Operator::Equals => "=",
        Operator::DoubleEquals => "==",
        Operator::NotEquals => "!=",
        Operator::In => "in",
        Operator::NotIn => "notin",
        Operator::GreaterThan => "gt",
        Operator::LessThan => "lt",
    }
}

fn requirements(selector: &Selector) -> Vec<Requirement> {
    let requirements = selector.requirements().iter().map(|requirement| Requirement {
        key: requirement.key().to_owned(),
        operator: upstream_name(requirement.operator()).to_owned(),
        values: requirement.values().to_vec(),
    });
    requirements.collect()
}

#[test]
fn selectors_parse_print_and_match_as_upstream() {
    let vectors: Vec<Vector> = crate::common::vectors("selectors.jsonl");
    assert_eq!(vectors.len(), 1472);
    let (mut valid, mut judged, mut contradictions) = (0, 0, 0);
    for Vector { id, selector, parse: expected, matches, .. } in vectors {
        let parsed = parse(&selector);
        assert_eq!(parsed.is_ok(), expected.ok, "line {id}: {selector:?} gives {parsed:?}");
        let Ok(parsed) = parsed else { continue };
        assert_eq!(requirements(&parsed), expected.requirements, "line {id}: {selector:?}");
        assert_eq!(parsed.to_string(), expected.canonical, "line {id}: {selector:?}");
        let again = parse(&expected.canonical).unwrap();
        assert_eq!(again, parsed, "line {id}: what is printed parses to the same");
        valid += 1;
        let contradicts = parsed.contradiction().is_some();
        contradictions += usize::from(contradicts);
        for Match { labels, matches } in matches {
            let found = parsed.matches(|key| labels.get(key).map(String::as_str));
            assert!(!(found && contradicts), "line {id}: {selector:?} contradicts itself, and yet matches {labels:?}");
            assert_eq!(found, matches, "line {id}: {selector:?} on {labels:?}");
            judged += 1;
        }
    }
    assert_eq!((valid, judged), (763, 2090), "selectors, and labels they were tried on");
    assert_eq!(contradictions, 62, "selectors that nothing meets");
}

#[test]
fn pairs_parse_as_upstream() {
    let mut valid = 0;
    for Vector { id, selector, to_labels_map: expected, .. } in vectors::<Vector>("selectors.jsonl") {
        let parsed = parse_pairs(&selector);
        assert_eq!(parsed.is_ok(), expected.ok, "line {id}: {selector:?} gives {parsed:?}");
        if let Ok(parsed) = parsed {
            let requirements = parsed.requirements().iter();
            let pairs: BTreeMap<String, String> = requirements
                .map(|pair| (pair.key().to_owned(), pair.only_value().expect("a pair").to_owned()))
                .collect();
            assert_eq!(pairs, expected.labels, "line {id}: {selector:?}");
            valid += 1;
        }
    }
    assert_eq!(valid, 630, "lists of pairs");
}

#[rstest::rstest]
#[case::missing_operator(
    "env production",
    r#"found "production" at position 5, expected an operator: =, ==, !=, in, notin, > or <"#
)]
#[case::missing_value_list("env in production", r#"found "production" at position 8, expected '('"#)]
#[case::open_list("env in (a", "found nothing at position 10, expected ',' or ')'")]
#[case::trailing_comma("a,", "found nothing at position 3, expected a key or '!'")]
#[case::bad_key("-a=b", r#""-a" at position 1 is not a label key, expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"#)]
#[case::bad_prefix(
    "A/a=b",
    r#""A/a" at position 1 is not a label key, expected a lowercase DNS name of at most 253 bytes before the '/'"#
)]
#[case::two_slashes("a/b/c=d", r#""a/b/c" at position 1 is not a label key, expected a key with at most one '/'"#)]
#[case::bad_value("a=b,c=-d", r#""-d" at position 7 is not a valid value, expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"#)]
#[case::no_integer("cpu>many", r#""many" at position 5 is not a valid value, expected an integer of 64 bits"#)]
#[case::two_requirements_without_comma("a=b c", r#"found "c" at position 5, expected ',' or the end"#)]
fn errors_say_what_was_found_where_and_what_was_expected(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse(text).unwrap_err(), message);
}

#[rstest::rstest]
#[case::no_pair("a=b,c", r#"found "c" at position 5, expected key=value"#)]
#[case::only_spaces(" ", r#"found " " at position 1, expected key=value"#)]
#[case::trailing_comma("a=b,", "found nothing at position 5, expected key=value")]
#[case::two_equal_signs("a==b", r#"found "a==b" at position 1, expected key=value"#)]
fn pair_errors_say_the_same(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse_pairs(text).unwrap_err(), message);
}

/// The recorded answers have no NUL bytes. `labels.Lexer` takes one for the end of a word, and of the text where a word
/// would begin.
#[rstest::rstest]
#[case::after_a_word("a\0,b", "a,b")]
#[case::after_an_operator("a=\0b", "a=b")]
#[case::in_the_place_of_a_word("a \0,b", "a")]
#[case::at_the_beginning("\0a", "")]
fn a_nul_byte_ends_what_it_ends_upstream(#[case] text: &str, #[case] canonical: &str) {
    assert_eq!(parse(text).unwrap().to_string(), canonical);
}

#[rstest::rstest]
#[case::two_values("a=1,a=2", true)]
#[case::two_spellings_of_one_value("a=1,a==1,a in (1)", false)]
#[case::there_and_not_there("a,!a", true)]
#[case::a_value_of_what_is_not_there("!a,a=x", true)]
#[case::not_there_is_no_other_value("!a,a!=x,a notin (y)", false)]
#[case::all_values_are_excluded("a in (x,y),a notin (x,y)", true)]
#[case::all_values_are_excluded_one_by_one("a in (x,y),a!=x,a!=y", true)]
#[case::a_value_is_left("a in (x,y),a notin (x)", false)]
#[case::lists_in_pairs_but_not_together("a in (x,y),a in (y,z),a in (x,z)", true)]
#[case::any_text_is_left("a,a notin (x,y,z)", false)]
#[case::no_integer_between("n>4,n<5", true)]
#[case::one_integer_between_which_can_be_spelled_otherwise("n>4,n<6,n!=5", false)]
#[case::the_integer_between_among_others("n>4,n<6,n in (4,05,6)", false)]
#[case::the_integer_between_is_excluded_as_it_is_spelled("n>4,n<6,n in (4,5,6),n!=5", true)]
#[case::no_integer("n>4,n=x", true)]
#[case::an_integer_is_there("n>4,!n", true)]
#[case::no_integer_is_above("n>9223372036854775807", true)]
#[case::one_integer_is_above("n>9223372036854775806", false)]
#[case::bounds_far_apart("n>0,n<9223372036854775807", false)]
#[case::bounds_the_wrong_way("n>5,n<3", true)]
#[case::more_than_64_bits("n>4,n=9223372036854775808", true)]
#[case::different_labels("a=1,b=2,!c", false)]
#[case::nothing("", false)]
fn contradictions_are_what_nothing_meets(#[case] text: &str, #[case] contradicts: bool) {
    assert_eq!(parse(text).unwrap().contradiction().is_some(), contradicts);
}

/// No label value begins with a sign, but a label that has one is read as upstream reads it, and any text counts.
#[rstest::rstest]
#[case::below_everything_else("n<0")]
#[case::spelled_with_a_sign("n>8,n<10,n!=9,n!=09")]
fn any_text_counts(#[case] text: &str) {
    assert_eq!(parse(text).unwrap().contradiction(), None);
}

#[test]
fn a_contradiction_is_told_with_all_that_is_said_of_its_label() {
    let selector = parse("a=1,b in (x,y),c,b!=x,b!=y").unwrap();
    let found = selector.contradiction().unwrap();
    assert_eq!(node_placement_policy::selector::text(found), "b in (x,y),b!=x,b!=y");
}
