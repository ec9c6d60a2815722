//! Paths to a field of a Node: `status.addresses[type=InternalIP].address`, `status.capacity['nvidia.com/gpu']`.

use crate::field_masks::FieldMasks;
use crate::message::quote;

/// A path to a field; at least one step, the first of which is a plain name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the member of this name.
    Member(String),
    /// To the first element of a list whose member `key` is `value`.
    Element {
        /// The member.
        key: String,
        /// Its value, as text.
        value: String,
    },
}

const GRAMMAR: &str =
    "a path such as spec.providerID, status.addresses[type=InternalIP].address or status.capacity['nvidia.com/gpu']";

impl FieldPath {
    /// Reads `text` as a path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let (first, mut rest) = name(text);
        let mut step = plain(first);
        while let Some(found) = step {
            steps.push(found);
            (step, rest) = match rest.strip_prefix('.') {
                None if rest.is_empty() => return Ok(Self { text: text.to_owned(), steps }),
                None => bracketed(rest),
                Some(after) => {
                    let (next, rest) = name(after);
                    (plain(next), rest)
                }
            };
        }
        Err(format!("{} is not a field path, expected {GRAMMAR}", quote(text)))
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds to `masks` the host's field masks for what this path reads.
    ///
    /// A mask has no notion of a name with dots: there the parent is read whole.
    pub fn add_masks(&self, masks: &mut FieldMasks) {
        let mut mask = String::new();
        for step in &self.steps {
            match step {
                Step::Member(name) if name.contains('.') => break,
                Step::Member(name) if mask.is_empty() => mask.push_str(name),
                Step::Member(name) => mask = format!("{mask}.{name}"),
                Step::Element { key, .. } => {
                    masks.add(&format!("{mask}.{key}"));
                }
            }
        }
        masks.add(&mask);
    }
}

/// A name at the beginning of `text`, and what follows.
fn name(text: &str) -> (&str, &str) {
    let end = text.find(['.', '[', ']']).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn plain(name: &str) -> Option<Step> {
    (!name.is_empty() && !name.contains(['\'', '"', '='])).then(|| Step::Member(name.to_owned()))
}

/// A step in brackets at the beginning of `text`, and what follows.
fn bracketed(text: &str) -> (Option<Step>, &str) {
    let inner = text.strip_prefix('[').unwrap_or_default();
    if let Some(quoted) = inner.strip_prefix('\'') {
        let step = quoted.split_once('\'').and_then(|(name, rest)| Some((name, rest.strip_prefix(']')?)));
        return match step.filter(|(name, _)| !name.is_empty()) {
            Some((name, rest)) => (Some(Step::Member(name.to_owned())), rest),
            None => (None, ""),
        };
    }
    let Some((selector, rest)) = inner.split_once(']') else {
        return (None, "");
    };
    let element = selector.split_once('=').filter(|(key, _)| plain(key).is_some() && !key.contains('.'));
    (element.map(|(key, value)| Step::Element { key: key.to_owned(), value: value.to_owned() }), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(text: &str) -> Vec<String> {
        let mut masks = FieldMasks::default();
        FieldPath::parse(text).unwrap().add_masks(&mut masks);
        masks.into_paths().into_iter().collect()
    }

    #[test]
    fn paths_become_masks() {
        assert_eq!(masks("spec.providerID"), ["spec.providerID"]);
        assert_eq!(
            masks("status.addresses[type=InternalIP].address"),
            ["status.addresses.address", "status.addresses.type"]
        );
        assert_eq!(masks("status.capacity['nvidia.com/gpu']"), ["status.capacity"]);
        assert_eq!(masks("status.nodeInfo['osImage']"), ["status.nodeInfo.osImage"]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            "", ".", ".spec", "spec.", "spec..a", "a[", "a[b", "a[b]", "a[=b]", "a[0]", "a['b", "a['']", "['a.b']",
            "a]", "a[b=c]d", "a'b",
        ] {
            let error = FieldPath::parse(text).unwrap_err();
            assert!(error.contains("is not a field path"), "{text}: {error}");
        }
    }
}
