//! CEL, the language of a ValidatingAdmissionPolicy's expressions: one function for each construct that the backstop
//! uses.

use std::{borrow::Cow, convert::Infallible};

use node_placement_policy::settings::reference;

const LONGEST_LABEL_VALUE: usize = 63;

/// A text: `'blue'`.
pub fn text(text: &str) -> String {
    format!("'{}'", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('\'', r"\'")
}

/// A list of expressions: `['a', 'b']`.
pub fn list(expressions: &[String]) -> String {
    format!("[{}]", expressions.join(", "))
}

/// A list of expressions, with a line for each.
pub fn lines(expressions: &[String]) -> String {
    format!("[\n  {}\n]", expressions.join(",\n  "))
}

/// The value of a label of the Namespace; empty, if it lacks the label.
pub fn namespace_label(key: &str) -> String {
    match key {
        reference::NAME => "request.namespace".to_owned(),
        key => format!("variables.labels[?{}].orValue('')", text(key)),
    }
}

/// A text with its references filled in: `team-$(tenant)` is `'team-' + variables.labels[?'tenant'].orValue('')`.
pub fn filled_in(template: &str) -> String {
    if !reference::is_in(template) {
        return text(template);
    }
    let splice = |key: &str| Ok::<_, Infallible>(Cow::Owned(format!("' + {} + '", namespace_label(key))));
    let template = escaped(template);
    let Ok(spliced) = reference::fill_in(&template, splice);
    // Nothing stands before the first reference, after the last, or between two.
    let spliced = format!("'{spliced}'").replace(" + ''", "");
    spliced.strip_prefix("'' + ").map_or(spliced.clone(), str::to_owned)
}

/// Whether a text is an integer, of at most 18 digits beside leading zeros: any such fits into CEL's 64 bits.
pub fn is_integer(expression: &str) -> String {
    format!("{}.matches('^0*[0-9]{{1,18}}$')", operand(expression))
}

/// Whether a text can be the value of a label, as far as its length tells.
pub fn is_short_enough(expression: &str) -> String {
    format!("{}.size() <= {LONGEST_LABEL_VALUE}", operand(expression))
}

/// In parentheses, if that makes a difference.
fn operand(expression: &str) -> String {
    if expression.contains(" + ") { format!("({expression})") } else { expression.to_owned() }
}

/// Whether a list has these elements and no others, in whatever order, and however often.
pub fn has_exactly(list: &str, elements: &[String]) -> String {
    match elements {
        [only] => format!("{only} in {list} && {list}.all(v, v == {only})"),
        all => {
            let all = self::list(all);
            format!("{all}.all(v, v in {list}) && {list}.all(v, v in {all})")
        }
    }
}

/// The position of the first of `count` elements that holds in a list, else -1. Not a chain of `?` and `:`, of which parsers
/// follow only so many.
pub fn first_that_holds(list: &str, count: usize) -> String {
    let positions: Vec<String> = (0..count).map(|position| position.to_string()).collect();
    format!("({}.filter(i, {list}[i]) + [-1])[0]", self::list(&positions))
}
