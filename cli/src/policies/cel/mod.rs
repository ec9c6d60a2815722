//! Writes CEL: the expressions of the admission policies that the API server evaluates itself. The
//! [backstop](super::backstop) and the [twin](super::twin) consist of them.
//!
//! | modules | what they write |
//! |---|---|
//! | [`entries`] | which entry of the settings applies to a Pod |
//! | [`references`] | values with references to labels of the Namespace |
//! | [`requirements`] | the requirements of a node selector |

pub mod entries;
pub mod references;
pub mod requirements;

use anyhow::{Result, ensure};

/// The longest expression that CEL compiles, in characters (`expressionSizeCodePointLimit` of cel-go).
const LONGEST_EXPRESSION: usize = 100_000;

/// Returns a text literal: `'blue'`.
pub fn text(text: &str) -> String {
    format!("'{}'", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('\'', r"\'")
}

/// Returns a list of expressions: `['a', 'b']`.
pub fn list(expressions: &[String]) -> String {
    format!("[{}]", expressions.join(", "))
}

/// Returns a list with one element on each line.
pub fn long_list(elements: &[String]) -> String {
    format!("[\n  {}\n]", elements.join(",\n").replace('\n', "\n  "))
}

/// Returns a map with members of different types: `{'key': dyn('pool'), 'values': dyn(['blue'])}`. An API server compiles
/// a literal only if all its members have the same type.
pub fn map(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}: dyn({value})", text(name))).collect();
    format!("{{{}}}", members.join(", "))
}

/// Returns whether an expression is an integer of at most 18 digits beside leading zeros. CEL's 64 bits hold any such.
pub fn is_integer(expression: &str) -> String {
    format!("{expression}.matches('^0*[0-9]{{1,18}}$')")
}

/// Returns the expression, unless it is too long for an API server.
///
/// # Errors
/// It is.
pub fn short_enough(expression: String) -> Result<String> {
    ensure!(
        expression.chars().count() <= LONGEST_EXPRESSION,
        "an expression has more than the {LONGEST_EXPRESSION} characters that an API server reads: name fewer values in \
         the selectors"
    );
    Ok(expression)
}
