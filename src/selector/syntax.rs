//! Checks label keys, annotation keys, label values and names, as `k8s.io/apimachinery/pkg/util/validation` does.

/// The longest name part of a key, and the longest label value, in bytes.
const LONGEST_NAME: usize = 63;

/// The longest DNS name, in bytes: the prefix of a key, the name of a Node.
const LONGEST_SUBDOMAIN: usize = 253;

const NAME: &str = "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";

/// Checks a label key: an optional DNS prefix and a slash, then a name (`IsQualifiedName`).
///
/// # Errors
/// What is expected instead.
pub fn label_key(key: &str) -> Result<(), &'static str> {
    match key.split_once('/') {
        None => name(key),
        Some((_, rest)) if rest.contains('/') => Err("a key with at most one '/'"),
        Some((prefix, rest)) => key_prefix(prefix).and_then(|()| name(rest)),
    }
}

/// Checks an annotation key: a label key in which case does not matter (`ValidateAnnotations`).
///
/// # Errors
/// What is expected instead.
pub fn annotation_key(key: &str) -> Result<(), &'static str> {
    label_key(&key.to_ascii_lowercase())
}

/// Checks the part of a key before its slash (`IsDNS1123Subdomain`).
///
/// # Errors
/// What is expected instead.
pub fn key_prefix(prefix: &str) -> Result<(), &'static str> {
    if is_subdomain(prefix) { Ok(()) } else { Err("a lowercase DNS name of at most 253 bytes before the '/'") }
}

/// Returns whether `name` is an RFC 1123 subdomain, such as the name of a Node: labels of any length, joined by dots
/// (`IsDNS1123Subdomain`).
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= LONGEST_SUBDOMAIN && name.split('.').all(is_lowercase_label)
}

/// Returns whether `name` is an RFC 1123 label, such as the name of a Namespace (`IsDNS1123Label`).
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= LONGEST_NAME && is_lowercase_label(name)
}

fn is_lowercase_label(label: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_framed(label, edge, |byte| edge(byte) || byte == b'-')
}

/// Checks a label value, which may be empty (`IsValidLabelValue`).
///
/// # Errors
/// What is expected instead.
pub fn label_value(value: &str) -> Result<(), &'static str> {
    if value.is_empty() { Ok(()) } else { name(value) }
}

fn name(name: &str) -> Result<(), &'static str> {
    if is_name(name) { Ok(()) } else { Err(NAME) }
}

/// Returns whether `name` is valid after the slash of a key, or as a label value.
pub fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= LONGEST_NAME && is_framed(name, |byte| byte.is_ascii_alphanumeric(), inner)
}

/// Returns whether `text` is not empty, begins and ends with an `edge` byte, and has only `inner` bytes.
fn is_framed(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(&edge)
        && bytes.last().copied().is_some_and(&edge)
        && bytes.iter().copied().all(inner)
}
