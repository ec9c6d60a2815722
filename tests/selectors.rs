//! The selector language, against what `labels.Parse` and `labels.ConvertSelectorToLabelsMap` answer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, clippy::format_collect, reason = "they read better so")]

mod common;

use std::collections::BTreeMap;

use node_placement_policy::selector::{Operator, Selector, parse, parse_pairs};
use serde::Deserialize;

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
    let vectors: Vec<Vector> = common::vectors("selectors.jsonl");
    assert_eq!(vectors.len(), 1472);
    let (mut valid, mut judged) = (0, 0);
    for Vector { id, selector, parse: expected, matches, .. } in vectors {
        let parsed = parse(&selector);
        assert_eq!(parsed.is_ok(), expected.ok, "line {id}: {selector:?} gives {parsed:?}");
        let Ok(parsed) = parsed else { continue };
        assert_eq!(requirements(&parsed), expected.requirements, "line {id}: {selector:?}");
        assert_eq!(parsed.to_string(), expected.canonical, "line {id}: {selector:?}");
        let again = parse(&expected.canonical).unwrap();
        assert_eq!(again, parsed, "line {id}: what is printed parses to the same");
        valid += 1;
        for Match { labels, matches } in matches {
            let found = parsed.matches(|key| labels.get(key).map(String::as_str));
            assert_eq!(found, matches, "line {id}: {selector:?} on {labels:?}");
            judged += 1;
        }
    }
    assert_eq!((valid, judged), (763, 2090), "selectors, and labels they were tried on");
}

#[test]
fn pairs_parse_as_upstream() {
    let mut valid = 0;
    for Vector { id, selector, to_labels_map: expected, .. } in common::vectors::<Vector>("selectors.jsonl") {
        let parsed = parse_pairs(&selector);
        assert_eq!(parsed.is_ok(), expected.ok, "line {id}: {selector:?} gives {parsed:?}");
        if let Ok(parsed) = parsed {
            let pairs: BTreeMap<String, String> =
                parsed.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
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
    assert_eq!(parse(text).unwrap_err().to_string(), message);
}

#[rstest::rstest]
#[case::no_pair("a=b,c", r#"found "c" at position 5, expected key=value"#)]
#[case::only_spaces(" ", r#"found " " at position 1, expected key=value"#)]
#[case::trailing_comma("a=b,", "found nothing at position 5, expected key=value")]
#[case::two_equal_signs("a==b", r#"found "a==b" at position 1, expected key=value"#)]
fn pair_errors_say_the_same(#[case] text: &str, #[case] message: &str) {
    assert_eq!(parse_pairs(text).unwrap_err().to_string(), message);
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
