//! Checks which namespaces entries are about. The first entry that matches wins, so that a later one may never be
//! reached.

use std::collections::{BTreeMap, BTreeSet};

use super::mistakes::Mistakes;
use super::selector::{NOTHING_DEMANDED, consistent};
use crate::message::quote;
use crate::selector::Selector;
use crate::settings::{EntryAt, NamespaceEntry, name_pattern};

const EXPECTED_NAME: &str =
    "expected the name of a namespace, or the beginning of names and '*'; or a namespaceSelector";

/// The entries before one.
#[derive(Debug, Default)]
pub struct EarlierEntries {
    /// The paths of those that match by their name alone, by that: each wins for all namespaces that its name covers.
    by_name: BTreeMap<String, String>,
    /// Of those by labels, the name and the namespaceSelector.
    by_labels: BTreeSet<String>,
}

impl EarlierEntries {
    /// Checks which namespaces the next entry is about.
    pub fn check(&mut self, at: EntryAt<'_>, mistakes: &mut Mistakes) {
        let NamespaceEntry { name, namespace_selector, .. } = at.entry;
        let path = format!("{at}.namespaceSelector");
        let selector = namespace_selector.as_ref().and_then(|text| mistakes.check(&path, consistent(text)));
        if selector.as_ref().is_some_and(Selector::is_empty) {
            mistakes.add(&path, NOTHING_DEMANDED);
        }
        let checked = match name {
            Some(name) => name_pattern::check(name),
            None if namespace_selector.is_none() => Err(EXPECTED_NAME.to_owned()),
            None => Ok(()),
        };
        let name = name.as_deref().unwrap_or_default();
        if mistakes.check(&format_args!("{at}.name"), checked.and_then(|()| self.let_through(name))).is_none() {
            return;
        }
        if let Some(selector) = selector {
            if !self.by_labels.insert(format!("{name} {selector}")) {
                mistakes.add(&path, "an earlier entry has the same name and namespaceSelector; merge the two");
            }
        } else if namespace_selector.is_none() {
            self.by_name.insert(name.to_owned(), at.to_string());
        }
    }

    /// Checks that no earlier entry wins for all namespaces of this name; for all that there are, if it is empty.
    ///
    /// This costs at most 64 look-ups, one for each beginning of the name.
    fn let_through(&self, name: &str) -> Result<(), String> {
        let beginning = name.trim_end_matches('*');
        let beginnings = (0..=beginning.len()).filter_map(|length| beginning.get(..length));
        let mut covering: Vec<String> = beginnings.map(|beginning| format!("{beginning}*")).collect();
        covering.push(name.to_owned());
        let winner = covering.iter().find_map(|name| self.by_name.get_key_value(name));
        let Some((winner, at)) = winner else { return Ok(()) };
        let own = if name.is_empty() { "an entry without a name".to_owned() } else { quote(name) };
        let problem = format!("{own} is never reached: {at}, {}, comes before and wins", quote(winner));
        Err(format!("{problem}; swap the two, or remove one"))
    }
}
