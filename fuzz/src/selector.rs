//! The selector language: what parses prints, and what is printed parses to the same.

use node_placement_policy::selector::{Selector, Whitelist, parse, parse_pairs};

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match parse(text) {
        Ok(selector) => is_sound(text, &selector),
        Err(error) => is_a_reason(&error.to_string()),
    }
    match parse_pairs(text) {
        Ok(pairs) => {
            // The short language is part of the long one.
            is_sound(text, &pairs);
            assert_eq!(parse_pairs(&pairs.to_string()).as_ref(), Ok(&pairs), "{text:?}");
        }
        Err(error) => is_a_reason(&error.to_string()),
    }
}

fn is_a_reason(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}

fn is_sound(text: &str, selector: &Selector) {
    let printed = selector.to_string();
    assert_eq!(parse(&printed).as_ref(), Ok(selector), "{text:?} is printed as {printed:?}");
    contradicts_only_where_no_node_is_right(selector);
    sameness_is_meaning(selector);
    allows_what_it_states(selector);
}

fn contradicts_only_where_no_node_is_right(selector: &Selector) {
    let Some(found) = selector.contradiction(selector) else { return };
    for value in [None, Some(found.one), Some(found.other), Some("")] {
        let is_right = selector.on(found.key).iter().all(|requirement| requirement.accepts(value));
        assert!(!is_right, "{found:?} and yet {value:?} is right");
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
    let Some(whitelist) = Whitelist::new(selector.clone()) else { return assert!(selector.is_empty()) };
    for requirement in selector.requirements() {
        assert!(whitelist.allows(requirement), "{selector} states {requirement}");
        for value in requirement.values() {
            let accepted = selector.on(requirement.key()).iter().all(|own| own.accepts(Some(value)));
            assert_eq!(whitelist.allows_value(requirement.key(), value), accepted, "{selector}: {value}");
        }
    }
}
