//! Groups of objects, in words.

use super::tally::{Group, Kind, Members};
use crate::requests::resource::BINDING;

impl Members {
    /// `12 Pods of Deployments api, web`, `Deployment api`; more than `limit` owners are only counted.
    pub fn describe(&self, kind: &Kind, limit: usize) -> String {
        let Kind { kind, owner } = kind;
        let names = &self.names.first;
        let all_named = names.len() <= limit;
        let s = if self.count == 1 { "" } else { "s" };
        let list = || names.iter().cloned().collect::<Vec<_>>().join(", ");
        match owner {
            // Whose Pod it is for says little.
            _ if kind == BINDING.kind => format!("{} {kind}{s}", self.count),
            Some(owner) if names.len() == 1 => format!("{} {kind}{s} of {owner} {}", self.count, list()),
            Some(owner) if all_named => format!("{} {kind}{s} of {owner}s {}", self.count, list()),
            Some(owner) => format!("{} {kind}{s} of {} {owner}s", self.count, names.len()),
            None if self.count == names.len() => format!("{kind}{s} {}", list()),
            None => format!("{} {kind}{s} ({}, …)", self.count, list()),
        }
    }
}

impl Group {
    /// How many objects.
    pub fn size(&self) -> usize {
        self.members.values().map(|members| members.count).sum()
    }

    /// The sentence, with the name of the only object that it is about.
    pub fn named(&self, sentence: &str) -> String {
        let mut members = self.members.iter();
        match (members.next(), members.next()) {
            (Some((Kind { owner: None, .. }, members)), None) if members.count == 1 => {
                let name = members.names.first.first().cloned().unwrap_or_default();
                sentence.replace("\"…\"", &format!("\"{name}\""))
            }
            _ => sentence.to_owned(),
        }
    }
}

/// `1 request`, `2 requests`.
pub fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// `a, b and 3 more`
pub fn names<'n>(names: impl IntoIterator<Item = &'n String>, limit: usize) -> String {
    let mut names = names.into_iter();
    let shown: Vec<&str> = names.by_ref().take(limit).map(String::as_str).collect();
    match names.count() {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}
