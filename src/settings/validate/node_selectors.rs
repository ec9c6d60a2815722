//! Checks the node selectors of an entry.

use super::mistakes::Mistakes;
use super::placement::CLUSTER_DEFAULT;
use super::selector::{consistent_with_references, contradiction, demanding, have_references, known};
use crate::message::quote;
use crate::selector::{Selector, Whitelist};
use crate::settings::source::EntryAt;
use crate::settings::{NamespaceEntry, OnNodeAffinity};

const REQUIRED: &str = "requiredNodeSelector";
const DEFAULT: &str = "defaultNodeSelector";
const ALLOWED: &str = "allowedNodeSelector";

/// Those that have no mistake by themselves.
#[derive(Debug)]
pub struct NodeSelectors<'s> {
    at: EntryAt<'s>,
    required: Option<Selector>,
    default: Option<Selector>,
    allowed: Option<Selector>,
}

impl<'s> NodeSelectors<'s> {
    /// Checks each by itself.
    pub fn of(at: EntryAt<'s>, mistakes: &mut Mistakes) -> Self {
        let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = at.entry;
        let mut check = |field, selector: Option<_>| mistakes.check(&format_args!("{at}.{field}"), selector?);
        Self {
            at,
            required: check(REQUIRED, required_node_selector.as_deref().map(demanding)),
            default: check(DEFAULT, default_node_selector.as_deref().map(consistent_with_references)),
            allowed: check(ALLOWED, allowed_node_selector.as_deref().map(consistent_with_references)),
        }
    }

    /// Checks what is required against what holds with it where no annotation is present: the entry's own default, or
    /// the cluster's, if that holds here.
    pub fn check_required(&self, cluster_default: Option<&Selector>, mistakes: &mut Mistakes) {
        let Some(required) = self.required.as_ref().map(known) else { return };
        if let Some(default) = &self.default
            && let Some(reason) = contradiction(&known(default), &required)
        {
            mistakes.add(&format_args!("{}.{DEFAULT}", self.at), format!("contradicts {REQUIRED}: {reason}"));
        }
        if let Some(reason) = cluster_default.and_then(|default| contradiction(&required, default)) {
            let problem =
                format!("contradicts {CLUSTER_DEFAULT}: {reason}; to switch it off here, use {DEFAULT}: \"\"");
            mistakes.add(&format_args!("{}.{REQUIRED}", self.at), problem);
        }
    }

    /// Checks that the cluster's default is allowed, which holds here: no Pod could be created otherwise.
    pub fn check_allowed(&self, default: &Selector, on_node_affinity: OnNodeAffinity, mistakes: &mut Mistakes) {
        let Some(allowed) = &self.allowed else { return };
        let required = self.required.iter().flat_map(Selector::requirements).cloned();
        let whitelist = Whitelist::new(allowed.clone(), required.collect());
        for requirement in default.requirements() {
            let is_allowed = match requirement.only_value() {
                Some(value) => whitelist.allows_value(requirement.key(), value),
                None => on_node_affinity == OnNodeAffinity::Ignore || whitelist.allows(requirement),
            };
            if !is_allowed && !have_references(allowed.on(requirement.key())) {
                let problem = format!(
                    "does not allow {}, which {CLUSTER_DEFAULT} adds to Pods, so that none can be created; allow it, or \
                     use {DEFAULT}: \"\"",
                    quote(&requirement.to_string())
                );
                return mistakes.add(&format_args!("{}.{ALLOWED}", self.at), problem);
            }
        }
    }

    /// Whether a label stands in any of them.
    pub fn name_any_label(&self) -> bool {
        [&self.required, &self.default, &self.allowed].into_iter().flatten().any(|selector| !selector.is_empty())
    }
}

/// Checks what Pods prefer.
pub fn check_preferred(at: EntryAt<'_>, mistakes: &mut Mistakes) {
    let all = &at.entry.preferred_node_selector;
    for (position, preferred) in all.iter().enumerate() {
        let path = format!("{at}.preferredNodeSelector[{position}]");
        if !(1..=100).contains(&preferred.weight) {
            mistakes.add(&format_args!("{path}.weight"), format!("expected 1 to 100, found {}", preferred.weight));
        }
        mistakes.check(&format_args!("{path}.selector"), demanding(&preferred.selector));
        if all.iter().take(position).any(|earlier| earlier == preferred) {
            mistakes.add(&path, "an earlier element is the same; remove one of them");
        }
    }
}
