//! The properties of nodes that decide on Bindings.

use std::collections::BTreeSet;

use node_placement_policy::settings::OnBindings;

use super::conditions::Condition;
use crate::webhook::settings_file::SettingsFile;

/// The properties of a node that decide whether a Binding to it is refused.
#[derive(Clone, Debug, Default)]
pub struct BindingRules {
    /// The keys of labels that a node must have.
    pub labels: BTreeSet<String>,
    /// Whether a node must have more: annotations and fields, of which each node has its own.
    pub is_of_each_node: bool,
    /// Whether a condition of a policy reads the node of a Binding, and may keep some Bindings away.
    pub reads_target: bool,
    /// Whether the node must match the selectors that the namespace requires.
    verifies: bool,
}

impl BindingRules {
    /// Returns what these settings require.
    pub fn new(files: &[SettingsFile]) -> Self {
        let mut rules = Self::default();
        for file in files {
            let mut conditions = file.policy.iter().flat_map(|policy| &policy.match_conditions);
            rules.reads_target |= conditions.any(Condition::reads_target);
            rules.verifies |= file.typed.placement.as_ref().is_some_and(|it| it.on_bindings == OnBindings::Verify);
            let entries = file.typed.node_metadata.iter().flat_map(|block| &block.propagate);
            for entry in entries.filter(|entry| entry.required) {
                let label = entry.node_label.clone().filter(|key| !key.ends_with('*'));
                rules.is_of_each_node |= label.is_none();
                rules.labels.extend(label);
            }
        }
        rules
    }

    /// Returns whether a Binding may be refused since the node lacks something that node metadata requires.
    pub fn require_metadata(&self) -> bool {
        !self.labels.is_empty() || self.is_of_each_node
    }

    /// Returns whether a Binding may be refused at all.
    pub fn may_refuse(&self) -> bool {
        self.require_metadata() || self.verifies
    }
}
