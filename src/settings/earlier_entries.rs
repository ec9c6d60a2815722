//! Entries that are never reached, since the first that matches wins.

use std::collections::BTreeSet;

use super::name_pattern::NamePattern;
use super::source::EntryAt;
use crate::message::quote;

/// The entries before one, of those that match by their name alone: each wins for all namespaces that its name covers.
///
/// An entry costs at most 64 look-ups, one for each beginning of its name.
#[derive(Debug, Default)]
pub(super) struct EarlierEntries<'s> {
    names: BTreeSet<String>,
    entries: Vec<(String, EntryAt<'s>)>,
}

impl<'s> EarlierEntries<'s> {
    /// Adds the entry `at`, which has this name and no namespaceSelector.
    pub fn add(&mut self, name: &NamePattern, at: EntryAt<'s>) {
        if self.names.insert(name.to_string()) {
            self.entries.push((name.to_string(), at));
        }
    }

    /// Why an entry of this name, or of none, is never reached, if so.
    pub fn reason_never_reached(&self, name: Option<&NamePattern>) -> Option<String> {
        let own = name.map(ToString::to_string);
        let beginning = own.as_deref().map(|own| own.trim_end_matches('*')).unwrap_or_default();
        let beginnings = (0..=beginning.len()).filter_map(|length| beginning.get(..length));
        let mut covering: Vec<String> = beginnings.map(|beginning| format!("{beginning}*")).collect();
        covering.extend(own.clone());
        let winner = covering.iter().find(|name| self.names.contains(*name))?;
        let (_, at) = self.entries.iter().find(|(name, _)| name == winner)?;
        let own = own.map_or_else(|| "an entry without a name".to_owned(), |own| quote(&own));
        Some(format!(
            "{own} is never reached: {at}, {}, comes before and wins; swap the two, or remove one",
            quote(winner)
        ))
    }
}
