//! The names of the entries of `namespaces`: that of one namespace, or the beginning of names and `*`.

use crate::message::quote;
use crate::selector::syntax;

/// What namespaces can be called.
const NAME: &str = "at most 63 lowercase letters, digits and '-', beginning and ending with a letter or digit";

/// Checks that there can be namespaces that `pattern` is about.
///
/// # Errors
/// What is wrong with it, and what is expected.
pub fn check(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("expected the name of a namespace, or the beginning of names and '*'".to_owned());
    }
    let beginning = pattern.strip_suffix('*').unwrap_or(pattern);
    if beginning.contains('*') {
        return Err(format!("{} has a '*' elsewhere than at its end", quote(pattern)));
    }
    if syntax::is_dns_label(beginning) {
        return Ok(());
    }
    if beginning == pattern {
        return Err(format!("no namespace can be called {}, expected {NAME}", quote(pattern)));
    }
    // It may become a name with a letter more.
    if syntax::is_dns_label(&format!("{beginning}x")) {
        return Ok(());
    }
    Err(format!("no namespace's name can begin with {}, expected {NAME}", quote(beginning)))
}

/// Whether `pattern`, which requests do not check anew, is about the namespace of this name.
pub fn matches(pattern: &str, namespace: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => namespace.starts_with(beginning),
        None => !pattern.is_empty() && pattern == namespace,
    }
}
