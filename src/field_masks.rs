//! Which fields of an object are asked for.

use std::collections::BTreeSet;

/// Paths of the fields that are needed of an object, such as `metadata.labels`; none of them lies below another: the
/// host takes one below another for all that is asked of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldMasks(BTreeSet<String>);

impl FieldMasks {
    /// The labels.
    pub const LABELS: &'static str = "metadata.labels";

    /// The annotations.
    pub const ANNOTATIONS: &'static str = "metadata.annotations";

    /// The taints of a Node.
    pub const TAINTS: &'static str = "spec.taints";

    /// How much a Node has of each resource for Pods.
    pub const ALLOCATABLE: &'static str = "status.allocatable";

    /// Just this field.
    pub fn of(path: &str) -> Self {
        let mut masks = Self::default();
        masks.add(path);
        masks
    }

    /// Asks for the field at `path` too.
    pub fn add(&mut self, path: &str) {
        if !self.0.iter().any(|own| is_within(path, own)) {
            self.0.retain(|own| !is_within(own, path));
            self.0.insert(path.to_owned());
        }
    }

    /// Asks for all that `other` asks for, too.
    pub fn extend(&mut self, other: &Self) {
        for path in &other.0 {
            self.add(path);
        }
    }

    /// Whether the field at `path` is asked for, by itself or with what it lies in.
    pub fn ask_for(&self, path: &str) -> bool {
        self.0.iter().any(|own| is_within(path, own))
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths, in order.
    pub fn into_paths(self) -> BTreeSet<String> {
        self.0
    }
}

/// Whether the field at `path` is the one at `outer`, or lies below it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::apart(&["spec.a", "metadata.labels"], &["metadata.labels", "spec.a"])]
    #[case::twice(&["spec.a", "spec.a"], &["spec.a"])]
    #[case::below_one(&["spec", "spec.a"], &["spec"])]
    #[case::above_two(&["spec.a", "spec.b.c", "spec"], &["spec"])]
    #[case::alike(&["spec", "specs.a"], &["spec", "specs.a"])]
    fn none_is_below_another(#[case] added: &[&str], #[case] expected: &[&str]) {
        let mut masks = FieldMasks::default();
        for path in added {
            masks.add(path);
        }
        assert_eq!(masks.into_paths().iter().collect::<Vec<_>>(), expected);
    }
}
