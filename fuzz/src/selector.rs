//! The selector language: what parses prints, and what is printed parses to the same.

use arbitrary::Unstructured;
use node_placement_policy::selector::{PossibleValues, Requirement, Selector, Whitelist, parse, parse_pairs};

use super::pick;

pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        check_text(text);
    }
    let input = &mut Unstructured::new(input);
    let text = written(input);
    let selector = parse(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    is_sound(&text, &selector);
    overlaps_where_something_is_right(&selector, input.arbitrary().unwrap_or_default());
}

fn check_text(text: &str) {
    match parse(text) {
        Ok(selector) => is_sound(text, &selector),
        Err(error) => is_a_reason(&error),
    }
    match parse_pairs(text) {
        Ok(pairs) => {
            // The short language is part of the long one.
            is_sound(text, &pairs);
            assert_eq!(parse_pairs(&pairs.to_string()).as_ref(), Ok(&pairs), "{text:?}");
        }
        Err(error) => is_a_reason(&error),
    }
}

fn is_a_reason(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}

fn is_sound(text: &str, selector: &Selector) {
    let printed = selector.to_string();
    assert_eq!(parse(&printed).as_ref(), Ok(selector), "{text:?} is printed as {printed:?}");
    contradicts_exactly_where_nothing_is_right(selector);
    sameness_is_meaning(selector);
    allows_what_it_states(selector);
}

fn contradicts_exactly_where_nothing_is_right(selector: &Selector) {
    let mut contradicts = false;
    for requirements in selector.by_label() {
        let right = something_right(requirements);
        contradicts |= right.is_none();
        let possible = PossibleValues::of(requirements);
        assert_eq!(possible.is_empty(), right.is_none(), "{selector}: {right:?} of {possible:?}");
    }
    let found = selector.contradiction();
    assert_eq!(found.is_some(), contradicts, "{selector}: {found:?}");
}

/// Of two parts of a selector, on each label.
fn overlaps_where_something_is_right(selector: &Selector, parts: u64) {
    for requirements in selector.by_label() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for (position, requirement) in requirements.iter().enumerate() {
            if parts >> (position % 64) & 1 == 0 { one.push(requirement) } else { other.push(requirement) }
        }
        let [one, other] = [PossibleValues::of(one), PossibleValues::of(other)];
        let right = something_right(requirements);
        assert_eq!(one.overlaps(&other, &mut 0), right.is_some(), "{selector}: {right:?} of {one:?} and {other:?}");
        assert_eq!(other.overlaps(&one, &mut 0), right.is_some(), "{selector}: {right:?} of {other:?} and {one:?}");
    }
}

/// What meets all of the requirements, tried out: no value, each that is named, some that nobody names, and each integer
/// that is named, with its neighbours, as nobody spells it.
#[allow(clippy::option_option, reason = "the absence of a label is right or not, as any value is")]
fn something_right(requirements: &[Requirement]) -> Option<Option<String>> {
    let mut tried = vec![None, Some(String::new()), Some("nobody names this".to_owned())];
    for value in requirements.iter().flat_map(Requirement::values) {
        tried.push(Some(value.clone()));
        let Ok(number) = value.parse::<i64>() else { continue };
        let near = [number.checked_sub(1), Some(number), number.checked_add(1)];
        tried.extend(near.into_iter().flatten().map(|number| Some(format!("{number:070}"))));
    }
    let is_right = |value: &Option<String>| requirements.iter().all(|own| own.accepts(value.as_deref()));
    tried.into_iter().find(is_right)
}

const VALUES: &[&str] =
    &["", "x", "y", "0", "4", "04", "5", "05", "5e0", "6", "9223372036854775807", "9223372036854775808"];
const NUMBERS: &[&str] = &["0", "3", "4", "5", "05", "6", "9223372036854775806", "9223372036854775807"];

/// A selector that says much of few labels.
fn written(input: &mut Unstructured<'_>) -> String {
    let count = input.int_in_range(1..=6).unwrap_or(1);
    (0..count).map(|_| requirement(input)).collect::<Vec<_>>().join(",")
}

fn requirement(input: &mut Unstructured<'_>) -> String {
    let key = pick(input, &["n", "n", "example.com/m"]);
    let values = |input: &mut Unstructured<'_>| {
        let count = input.int_in_range(1..=4).unwrap_or(1);
        (0..count).map(|_| *pick(input, VALUES)).collect::<Vec<_>>().join(",")
    };
    match input.int_in_range(0..=9).unwrap_or(0) {
        0 => (*key).to_owned(),
        1 => format!("!{key}"),
        2 => format!("{key}={}", pick(input, VALUES)),
        3 => format!("{key}!={}", pick(input, VALUES)),
        4 | 5 => format!("{key} in ({})", values(input)),
        6 | 7 => format!("{key} notin ({})", values(input)),
        8 => format!("{key}>{}", pick(input, NUMBERS)),
        _ => format!("{key}<{}", pick(input, NUMBERS)),
    }
}

fn sameness_is_meaning(selector: &Selector) {
    for one in selector.requirements().iter().take(16) {
        for other in selector.on(one.key()).iter().take(16) {
            assert_eq!(one.same_as(other), one.identity() == other.identity(), "{one} and {other}");
            let values = one.values().iter().map(|value| Some(value.as_str()));
            for value in values.chain([None, Some(""), Some("x")]).filter(|_| one.same_as(other)) {
                assert_eq!(one.accepts(value), other.accepts(value), "{one} and {other} on {value:?}");
            }
        }
    }
}

fn allows_what_it_states(selector: &Selector) {
    let whitelist = Whitelist::new(selector.clone(), Vec::new());
    for requirement in selector.requirements() {
        assert!(whitelist.allows(requirement), "{selector} states {requirement}");
        for value in requirement.values() {
            let accepted = selector.on(requirement.key()).iter().all(|own| own.accepts(Some(value)));
            assert_eq!(whitelist.allows_value(requirement.key(), value), accepted, "{selector}: {value}");
        }
    }
}
