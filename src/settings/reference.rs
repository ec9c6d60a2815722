//! References to labels of the Namespace, `$(KEY)`, in the selectors of an entry and in the values of its tolerations.
//! `placement::resolve` fills in the labels of a Namespace.

use std::borrow::Cow;

use crate::message::quote;
use crate::selector::syntax;

const OPEN: &str = "$(";

/// The label that has the name of the Namespace as its value. The API server sets it.
pub const NAME: &str = "kubernetes.io/metadata.name";

/// Returns whether there is a reference in `text`.
pub fn is_in(text: &str) -> bool {
    text.contains(OPEN)
}

/// Returns the problem of a `text` with a reference, in a setting that can't have one.
pub fn not_possible(text: &str) -> String {
    format!("expected a text without $(KEY), found {}: labels of namespaces can't be referred to here", quote(text))
}

/// Returns the keys that `text` refers to, in order. An unclosed `$(` is not a reference.
pub fn keys(text: &str) -> impl Iterator<Item = &str> {
    text.split(OPEN).skip(1).filter_map(|rest| rest.split_once(')')).map(|(key, _)| key)
}

/// Replaces each reference in `text` by what `value_of` returns for its key.
///
/// # Errors
/// `value_of` returns an error.
pub fn fill_in<'t, 'v, E>(
    text: &'t str,
    value_of: impl Fn(&str) -> Result<Cow<'v, str>, E>,
) -> Result<Cow<'t, str>, E> {
    let mut parts = text.split(OPEN);
    let first = parts.next().unwrap_or_default();
    let mut filled = Cow::Borrowed(first);
    for part in parts {
        let filled = filled.to_mut();
        if let Some((key, rest)) = part.split_once(')') {
            filled.push_str(&value_of(key)?);
            filled.push_str(rest);
        } else {
            filled.push_str(OPEN);
            filled.push_str(part);
        }
    }
    Ok(filled)
}

/// Two sets of stand-ins. What they make a difference to has a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIns {
    /// The stand-ins that messages replace by the references.
    Usual,
    /// Other ones.
    Other,
}

impl StandIns {
    /// Returns the stand-in of the reference at `position`. None is the beginning of another one.
    fn at(self, position: usize) -> String {
        let beginning = if self == Self::Usual { "7305814962" } else { "8305814962" };
        format!("{beginning}{position:05}")
    }
}

/// Replaces each reference in `text` by a stand-in, so that settings can be validated without a Namespace. A stand-in is
/// an integer that nobody writes, another one for each key. So it is also a label value.
///
/// # Errors
/// A reference names no label key.
pub fn with_stand_ins(text: &str, stand_ins: StandIns) -> Result<Cow<'_, str>, String> {
    let all: Vec<&str> = keys(text).collect();
    fill_in(text, |key| match syntax::label_key(key) {
        Err(expected) => {
            Err(format!("{} does not refer to a label key, expected {expected}", quote(&format!("$({key})"))))
        }
        Ok(()) => Ok(Cow::Owned(stand_ins.at(all.iter().position(|other| *other == key).unwrap_or_default()))),
    })
}

/// Replaces the usual stand-ins in `message` by the references of `text`.
pub fn with_references(text: &str, message: &str) -> String {
    let mut message = message.to_owned();
    for (position, key) in keys(text).enumerate() {
        message = message.replace(&StandIns::Usual.at(position), &format!("$({key})"));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_reference_is_restored_like_the_others() {
        let text = (0..12).map(|at| format!("$(k{at})")).collect::<Vec<_>>().join(",");
        let filled = with_stand_ins(&text, StandIns::Usual).unwrap();
        assert_eq!(with_references(&text, &filled), text);
    }
}
