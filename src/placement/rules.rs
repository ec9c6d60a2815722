//! All that is demanded of Pods and templates of a namespace, by who asks for them.

use super::entry::MatchedEntry;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::decision::Rejection;
use crate::request::User;

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
    pub fn of(matched: &MatchedEntry<'s>, user: &User) -> Result<Self, Rejection> {
        let mut nodes = NodeRules::of(matched, true)?;
        let mut tolerations = TolerationRules::of(matched)?;
        nodes.is_limited |= tolerations.validates_anything();
        if user.is_among(&matched.settings.exempt_usernames) {
            nodes.whitelist = None;
            tolerations = tolerations.without_validation();
        }
        Ok(Self { nodes, tolerations })
    }

    /// Whether anything depends on what a Pod asks for.
    pub fn validates_anything(&self) -> bool {
        !self.nodes.selects_every_node() || self.nodes.whitelist.is_some() || self.tolerations.validates_anything()
    }
}
