//! The entries of `placement.namespaces`.

use std::borrow::Cow;

use json::StringMap;

use super::fields::{Fields, Place};
use super::placement_block::{selector_of, tolerations_of};
use super::{Demand, Mistake, Mode, Origin, TolerationList};
use crate::selector::Whitelist;

pub(super) const NAME: &str = "name";
pub(super) const NAMESPACE_SELECTOR: &str = "namespaceSelector";
pub(super) const REQUIRED: &str = "requiredNodeSelector";
pub(super) const DEFAULT: &str = "defaultNodeSelector";
pub(super) const ALLOWED: &str = "allowedNodeSelector";
pub(super) const DEFAULT_TOLERATIONS: &str = "defaultTolerations";
pub(super) const ALLOWED_TOLERATIONS: &str = "allowedTolerations";
pub(super) const FORBIDDEN_TOLERATIONS: &str = "forbiddenTolerations";

/// An entry of `namespaces`: what holds for the namespaces that it is about. Each setting is read when it is asked for.
///
/// A new one has its name and its reader here, is checked in `validate_placement`, and stands in one of the functions at
/// the end: by them is told whether it can make a difference which entry holds, and so whether labels are looked up.
#[derive(Debug)]
pub struct NamespaceEntry<'s> {
    pub(super) fields: Fields<'s>,
}

impl<'s> NamespaceEntry<'s> {
    pub(super) const fn new(fields: Fields<'s>) -> Self {
        Self { fields }
    }

    /// Where it stands.
    pub const fn place(&self) -> Place {
        self.fields.place
    }

    /// `name`: that of the namespace, or its beginning and `*`.
    pub fn name(&self) -> Result<Option<Cow<'s, str>>, Mistake> {
        self.fields.string(NAME)
    }

    /// `namespaceSelector`: by the labels of the Namespace.
    pub fn namespace_selector(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, NAMESPACE_SELECTOR)
    }

    /// Whether the labels of the Namespace decide whether this is about it.
    pub fn needs_labels(&self) -> bool {
        self.fields.has(NAMESPACE_SELECTOR)
    }

    /// Whether this is about a Namespace with these labels, whose name matches.
    ///
    /// # Errors
    /// The namespaceSelector has a mistake.
    pub fn matches(&self, labels: &StringMap) -> Result<bool, Mistake> {
        match self.namespace_selector()? {
            Some(demand) => Ok(demand.selector.matches(|key| labels.get(key))),
            None => Ok(true),
        }
    }

    /// `requiredNodeSelector`: what always holds.
    pub fn required(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, REQUIRED)
    }

    /// `defaultNodeSelector`: what holds where no annotation is present.
    pub fn default(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, DEFAULT)
    }

    /// Whether this is about namespaces by their labels alone.
    pub(super) fn is_by_labels_only(&self) -> bool {
        !self.fields.has(NAME) && self.needs_labels()
    }

    /// `allowedNodeSelector`, as a selector.
    pub fn allowed_selector(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, ALLOWED)
    }

    /// `allowedNodeSelector`: the whitelist, and who says so. What this entry itself demands is always allowed.
    pub fn allowed(&self) -> Result<Option<(Whitelist, Origin)>, Mistake> {
        let Some(Demand { selector, origin }) = self.allowed_selector()? else { return Ok(None) };
        let mut own = Vec::new();
        for demand in [self.required()?, self.default()?].into_iter().flatten() {
            own.extend_from_slice(demand.selector.requirements());
        }
        Ok(Some((Whitelist::new(selector, own), origin)))
    }

    /// `defaultTolerations`: what is added to Pods.
    pub fn default_tolerations(&self) -> Result<Option<TolerationList>, Mistake> {
        tolerations_of(&self.fields, DEFAULT_TOLERATIONS)
    }

    /// `allowedTolerations`: what Pods may tolerate.
    pub fn allowed_tolerations(&self) -> Result<Option<TolerationList>, Mistake> {
        tolerations_of(&self.fields, ALLOWED_TOLERATIONS)
    }

    /// `forbiddenTolerations`: what Pods must not tolerate.
    pub fn forbidden_tolerations(&self) -> Result<Option<TolerationList>, Mistake> {
        tolerations_of(&self.fields, FORBIDDEN_TOLERATIONS)
    }

    /// Whether this says what is added to Pods, or that nothing is.
    pub fn adds_anything(&self) -> bool {
        [REQUIRED, DEFAULT, DEFAULT_TOLERATIONS].into_iter().any(|name| self.fields.has(name))
    }

    /// Whether this says for which nodes Pods may ask.
    pub fn limits_nodes(&self) -> bool {
        self.fields.has(ALLOWED)
    }

    /// Whether this says what Pods may or must not tolerate.
    pub fn judges_tolerations(&self) -> bool {
        self.fields.has(ALLOWED_TOLERATIONS) || self.fields.has(FORBIDDEN_TOLERATIONS)
    }
}
