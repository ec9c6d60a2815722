//! What nodes are told apart by.

use std::collections::BTreeSet;

use super::constraints::Constraints;

/// The labels and the names that count where nodes are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Keys of labels.
    pub labels: BTreeSet<String>,
    /// Names of nodes, of which each is a node apart: Pods name it.
    pub nodes: BTreeSet<String>,
}

impl Keys {
    /// These labels count.
    pub fn of_labels<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self { labels: keys.into_iter().map(Into::into).collect(), nodes: BTreeSet::new() }
    }

    /// What a Pod names counts as well.
    pub fn add(&mut self, constraints: &Constraints) {
        self.labels.extend(constraints.label_keys().map(str::to_owned));
        self.nodes.extend(constraints.node_names().map(str::to_owned));
    }
}
