//! All that is demanded of Pods and templates of a namespace, by who asks for them.

use super::entry::MatchedEntry;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::decision::Rejection;
use crate::request::User;
use crate::selector::{Requirement, Selector, Whitelist};
use crate::settings::Source;
use crate::toleration::Toleration;
use std::borrow::Cow;

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

/// A node selector, and where it is demanded.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedSelector<'s> {
    /// What is demanded.
    pub selector: Selector,
    /// Where.
    pub source: Source<'s>,
}

impl SourcedSelector<'_> {
    /// Its requirements, each with where it is demanded.
    pub fn requirements(&self) -> impl Iterator<Item = SourcedRequirement<'_>> {
        let Self { selector, source } = self;
        selector.requirements().iter().map(|requirement| SourcedRequirement { requirement, source: *source })
    }
}

/// One requirement that nodes must meet, and where it is demanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourcedRequirement<'r> {
    /// What is demanded.
    pub requirement: &'r Requirement,
    /// Where.
    pub source: Source<'r>,
}

/// A whitelist, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedWhitelist<'s> {
    /// What Pods may ask for.
    pub whitelist: Whitelist,
    /// Where that is said.
    pub source: Source<'s>,
    /// Why nobody knows what may be asked for, if so: then the whitelist is empty.
    pub unresolved: Option<Rejection>,
}

/// Tolerations, and where they are listed.
#[derive(Clone, Debug)]
pub struct TolerationList<'s> {
    /// In order.
    pub tolerations: Cow<'s, [Toleration]>,
    /// Where they are listed.
    pub source: Source<'s>,
    /// Why nobody knows what is listed, if so: then the list allows nothing, or forbids everything.
    pub unresolved: Option<Rejection>,
}
