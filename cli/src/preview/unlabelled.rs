//! Namespaces that seem to lack a label: an entry selects it, and holds for none.

use std::collections::BTreeMap;

use super::{Preview, tally::Tally};
use crate::{engine::native::parse_selector, input::settings::entries};

/// A namespace that an entry seems to be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlabelled {
    /// That of the entry.
    pub position: usize,
    /// `tenant=green`
    pub label: String,
}

impl Preview<'_> {
    /// By namespace. An entry that holds for no namespace seems to be about those without an entry that lack its label,
    /// and have the label's value in their name.
    pub(super) fn unlabelled(&self, tally: &Tally) -> BTreeMap<String, Unlabelled> {
        let mut found = BTreeMap::new();
        for position in tally.entries.iter().filter(|entry| entry.namespaces.is_empty()).map(|entry| entry.position) {
            let Some(entry) = entries(self.typed).get(position) else { continue };
            let selector = entry.namespace_selector.as_deref().and_then(|selector| parse_selector(selector).ok());
            let Some(selector) = selector else { continue };
            let [requirement] = selector.requirements() else { continue };
            let Some(value) = requirement.only_value() else { continue };
            let label = format!("{}={value}", requirement.key());
            for (name, _) in tally.without_entry.iter().filter(|(_, keys)| keys.contains(requirement.key())) {
                if entry.name_fits(name) && has_word(name, value) {
                    found.entry(name.clone()).or_insert_with(|| Unlabelled { position, label: label.clone() });
                }
            }
        }
        found
    }
}

/// Whether a name has a word: `green` in `team-green`, but not `a` in `data`.
fn has_word(name: &str, word: &str) -> bool {
    format!("-{name}-").contains(&format!("-{word}-"))
}
