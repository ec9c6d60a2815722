//! Scalars, as kubectl reads them: YAML 1.1, as far as `go-yaml` implements it.

use k8s_openapi::ByteString;
use serde_json::{Number, Value};

/// Returns what a scalar without quotes says.
///
/// # Errors
/// It is a number that JSON does not have.
pub fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => true.into(),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => false.into(),
        _ if is_infinite(text) => return Err(format!("expected a number that JSON has; found {text}")),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    })
}

/// Returns what a scalar with a tag says, such as `!!str 1`; `None` if the tag says nothing about it.
///
/// # Errors
/// The scalar is none of that kind.
pub fn tagged(tag: &str, text: &str) -> Option<Result<Value, String>> {
    let kind = tag.strip_prefix("tag:yaml.org,2002:").unwrap_or(tag);
    let is_of_kind: fn(&Value) -> bool = match kind {
        "str" | "timestamp" | "!" => return Some(Ok(text.into())),
        "binary" => return Some(decoded(text)),
        "int" => |value| value.is_i64() || value.is_u64(),
        "float" => Value::is_number,
        "bool" => Value::is_boolean,
        "null" => Value::is_null,
        _ => return None,
    };
    let value = plain(text).ok().filter(is_of_kind);
    Some(value.ok_or_else(|| format!("expected what the tag !!{kind} says; found {text:?}")))
}

/// Returns whether readers of YAML 1.1 would take a text for something else if it had no quotes: true or false, nothing,
/// a number, a date, a key that merges.
pub fn needs_quotes(text: &str) -> bool {
    let begins_with_digit = text.trim_start_matches(['+', '-', '.']).starts_with(|first: char| first.is_ascii_digit());
    let is_in_numbers = |character: char| character.is_ascii_alphanumeric() || "+-._:".contains(character);
    let is_like_a_number = begins_with_digit && text.chars().all(is_in_numbers);
    is_like_a_number || ["<<", "="].contains(&text) || !plain(text).is_ok_and(|value| value.is_string())
}

fn decoded(text: &str) -> Result<Value, String> {
    let digits: String = text.split_whitespace().collect();
    let bytes: Option<ByteString> = serde_json::from_value(digits.into()).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.0).ok());
    text.map(Value::from).ok_or_else(|| "expected a text in base64, as the tag !!binary says".to_owned())
}

fn is_infinite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    [".inf", ".Inf", ".INF"].contains(&unsigned) || [".nan", ".NaN", ".NAN"].contains(&text)
}

/// Reads a number. Underscores anywhere in it are dropped.
///
/// Upstream: `resolve` of `gopkg.in/yaml.v2`.
fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return None;
    }
    let digits = text.replace('_', "");
    if let Some(integer) = integer(&digits) {
        return Number::from_i128(integer);
    }
    let is_in_floats = |character: char| character.is_ascii_digit() || "+-.eE".contains(character);
    let float: f64 = digits.chars().all(is_in_floats).then(|| digits.parse().ok())??;
    // What is whole is an integer for the API server.
    let whole = if float.fract() == 0.0 { format!("{float:.0}").parse::<i64>().ok() } else { None };
    whole.map(Number::from).or_else(|| Number::from_f64(float))
}

/// Reads an integer of at most 64 bits: `0400` and `0o400` are octal.
///
/// Upstream: `ParseInt` of `strconv`, with base 0.
fn integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let radix = |prefix: &str| match prefix.to_ascii_lowercase().as_str() {
        "0x" => Some(16),
        "0o" => Some(8),
        "0b" => Some(2),
        _ => None,
    };
    let (radix, digits) = match digits.split_at_checked(2).map(|(prefix, rest)| (radix(prefix), rest)) {
        Some((Some(radix), rest)) => (radix, rest),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let integer = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let integer = if is_negative { -integer } else { integer };
    (integer >= i128::from(i64::MIN)).then_some(integer)
}
