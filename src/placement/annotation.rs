//! What the annotations of Namespaces hold.

use std::fmt::Display;

use crate::decision::{CauseKind, Rejection};
use crate::json::StringMap;
use crate::message::{quote, shorten};
use crate::settings::Source;

/// The longest annotation that `placement` reads, in bytes. What it demands is added to every Pod of the namespace.
pub const LONGEST: usize = 16 * 1024;

/// `what` the annotation `key` holds, as `parse` reads it, and where it stands; nothing, if it is not there.
///
/// # Errors
/// It is malformed, or longer than `longest` bytes.
pub fn read<'s, T, E: Display>(
    (what, key): (&str, &'s str),
    namespace: &'s str,
    annotations: &StringMap<'_>,
    longest: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<(T, Source<'s>)>, Rejection> {
    let Some(text) = annotations.get(key) else { return Ok(None) };
    let source = Source::Annotation { key, namespace };
    let problem = if text.len() > longest {
        format!("it has {} bytes, expected at most {longest}", text.len())
    } else {
        match parse(text) {
            Ok(value) => return Ok(Some((value, source))),
            Err(error) => error.to_string(),
        }
    };
    let explanation = format!("{source} is not {what}: {problem}; correct the annotation {}", quote(text));
    Err(Rejection::forbidden(CauseKind::Annotation, explanation).demanded_at(source).asking_for(&shorten(text)))
}
