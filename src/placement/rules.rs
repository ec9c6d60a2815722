//! All that is demanded of Pods and templates of a namespace, by who asks for them.

use super::holding_entry::HoldingEntry;
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::toleration_rules::TolerationRules;
use crate::decision::Rejection;
use crate::request::Requester;

/// What is demanded of nodes and of tolerations.
#[derive(Debug)]
pub struct Rules<'s> {
    /// Of nodes.
    pub nodes: NodeRules<'s>,
    /// Of tolerations.
    pub tolerations: TolerationRules<'s>,
}

impl<'s> Rules<'s> {
    /// What holds, before it is known what a Pod chooses. Exempt users are held to no whitelist, and to nothing
    /// forbidden.
    ///
    /// # Errors
    /// An annotation is malformed; demands contradict each other; a reference can't be resolved; the settings have a
    /// mistake.
    pub fn of(holding: &HoldingEntry<'s>, requester: &Requester) -> Result<Self, Rejection> {
        let mut nodes = NodeRules::of(holding, true)?;
        let mut tolerations = TolerationRules::of(holding)?;
        nodes.is_limited |= tolerations.judge_anything();
        if requester.is_among(&holding.settings.exempt_usernames) {
            nodes.whitelist = None;
            tolerations = tolerations.without_judgement();
        }
        Ok(Self { nodes, tolerations })
    }

    /// What holds for a Pod with this `selection`.
    pub fn for_pod(self, selection: &NodeSelection<'_>) -> Self {
        Self { nodes: self.nodes.yielding_to(selection), ..self }
    }
}
