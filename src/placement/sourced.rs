//! What is demanded, and where.

use std::borrow::Cow;

use crate::decision::Rejection;
use crate::selector::{Requirement, Selector, Whitelist};
use crate::settings::Source;
use crate::toleration::Toleration;

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
