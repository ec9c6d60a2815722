//! Paths to a field of a Node: `status.addresses[type=InternalIP].address`, `status.capacity['nvidia.com/gpu']`.

use crate::cluster::FieldMasks;
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
        match steps(text) {
            Some(steps) => Ok(Self { text: text.to_owned(), steps }),
            None => Err(format!("{} is not a field path, expected {GRAMMAR}", quote(text))),
        }
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
                Step::Element { key, .. } => masks.add(&format!("{mask}.{key}")),
            }
        }
        masks.add(&mask);
    }
}

/// The steps of the path `text`; nothing, if it is none.
fn steps(text: &str) -> Option<Vec<Step>> {
    let (first, mut rest) = member(text)?;
    let mut steps = vec![first];
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('.') {
            Some(next) => member(next)?,
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// The plain name at the beginning of `text`, and what follows.
fn member(text: &str) -> Option<(Step, &str)> {
    let (name, rest) = text.split_at_checked(text.find(['.', '[', ']']).unwrap_or(text.len()))?;
    if is_plain(name) { Some((Step::Member(name.to_owned()), rest)) } else { None }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\'', '"', '='])
}

/// The step that `text` begins with, after its opening bracket, and what follows the closing one.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let (name, rest) = quoted.split_once('\'')?;
        let rest = rest.strip_prefix(']')?;
        return if name.is_empty() { None } else { Some((Step::Member(name.to_owned()), rest)) };
    }
    let (selector, rest) = text.split_once(']')?;
    let (key, value) = selector.split_once('=')?;
    if !is_plain(key) || key.contains('.') {
        return None;
    }
    Some((Step::Element { key: key.to_owned(), value: value.to_owned() }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::names("spec.providerID", &["spec.providerID"])]
    #[case::an_element("status.addresses[type=InternalIP].address", &["status.addresses.address", "status.addresses.type"])]
    #[case::a_name_with_a_dot("status.capacity['nvidia.com/gpu']", &["status.capacity"])]
    #[case::a_name_in_quotes("status.nodeInfo['osImage']", &["status.nodeInfo.osImage"])]
    fn paths_become_masks(#[case] text: &str, #[case] expected: &[&str]) {
        let mut masks = FieldMasks::default();
        FieldPath::parse(text).unwrap().add_masks(&mut masks);
        assert_eq!(masks.into_paths().iter().collect::<Vec<_>>(), expected);
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
