//! What holds in a namespace by all policies of a deployment.

use std::ptr;

use anyhow::Result;
use node_placement_policy::{
    placement::entry::MatchedEntry,
    selector::{Selector, parse},
    settings::{Enforcement, EntryAt, NamespaceEntry, reference},
};
use serde_json::Value;

use crate::{
    demands::{Demand, DemandKind, Demands, WhyNot, asked_about},
    webhook::settings_file::SettingsFile,
};

/// What holds in a namespace.
#[derive(Debug, Default)]
pub struct NamespaceRules<'s> {
    /// What each policy demands that is asked about Pods of the namespace.
    policies: Vec<Demands<'s>>,
    /// The entries of the others that hold: these may be asked about some of its Pods.
    partial: Vec<EntryAt<'s>>,
}

impl<'s> NamespaceRules<'s> {
    /// Returns what holds in the namespace of this name.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn new(files: &'s [SettingsFile], name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        let mut rules = Self::default();
        let asked = asked_about(files, name, namespace);
        for file in files.iter().filter(|file| file.places_pods()) {
            let demands = Demands::new(&file.typed, name, namespace)?;
            if asked.iter().any(|asked| ptr::eq(*asked, file)) {
                rules.policies.push(demands);
            } else {
                rules.partial.extend(demands.entry());
            }
        }
        Ok(rules)
    }

    /// Returns the entries that hold, at most one of each policy.
    pub fn held(&self) -> impl Iterator<Item = EntryAt<'s>> {
        self.policies.iter().filter_map(Demands::entry)
    }

    /// Returns the block `placement` with the first entry that holds, or without one; nothing, if there is no such
    /// block.
    pub fn placement(&self) -> Option<&MatchedEntry<'s>> {
        let mut placements = self.policies.iter().filter_map(|policy| policy.matched.as_ref());
        placements.clone().find(|matched| matched.entry.is_some()).or_else(|| placements.next())
    }

    /// Returns whether one of the entries only warns.
    pub fn warns(&self) -> bool {
        self.held().any(|at| at.entry.enforcement == Enforcement::Warn)
    }

    /// Returns whether placement demands or adds anything that is not only warned of; with `warned`, or that is.
    pub fn demands_anything(&self, warned: bool) -> bool {
        let counts = |at: EntryAt<'_>| warned || at.entry.enforcement != Enforcement::Warn;
        let mut policies = self.policies.iter().filter(|policy| !policy.demands.is_empty());
        policies.any(|policy| policy.entry().is_none_or(counts)) || self.partial.iter().copied().any(counts)
    }

    /// Returns whether one does that may hold for some Pods of the namespace only.
    pub fn may_warn(&self) -> bool {
        self.warns() || self.partial.iter().any(|at| at.entry.enforcement == Enforcement::Warn)
    }

    /// Returns the node selectors that hold, in the order in which they are decided.
    pub fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.policies.iter().flat_map(|policy| &policy.demands).filter(|demand| demand.kind == DemandKind::Required)
    }

    /// Returns all node selectors that hold, as one text.
    pub fn selector(&self) -> String {
        let texts = self.demands().map(|demand| demand.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(",")
    }

    /// Entries before those that hold, for which the Namespace lacks a label: that label.
    pub fn lacking(&self) -> impl Iterator<Item = (EntryAt<'s>, &str)> {
        self.others().filter_map(|(at, why_not)| match why_not {
            WhyNot::Label { asked, found: None } if !asked.accepts(None) => Some((*at, asked.key())),
            _ => None,
        })
    }

    /// Returns whether an entry matches, whether it holds or not.
    pub fn matches(&self, entry: &NamespaceEntry) -> bool {
        let mut held = self.held().chain(self.partial.iter().copied());
        held.any(|at| ptr::eq(at.entry, entry)) || self.above(entry).is_some()
    }

    /// Returns the entry that holds and has this setting. Several policies may have an entry at the same position: then
    /// that which demands this.
    pub fn demanding(&self, path: &str, demanded: &str) -> Option<EntryAt<'s>> {
        let is_it = |demand: &Demand| demand.path.as_deref() == Some(path) && demand.text == demanded;
        let policies = self.policies.iter().filter_map(|policy| Some((policy.entry()?, &policy.demands)));
        let of_path = policies.filter(|(at, _)| path.starts_with(&at.to_string()));
        of_path.max_by_key(|(_, demands)| demands.iter().any(is_it)).map(|(at, _)| at)
    }

    /// Returns the entry that holds instead of one that matches, too.
    pub fn above(&self, entry: &NamespaceEntry) -> Option<EntryAt<'s>> {
        self.others().find_map(|(at, why_not)| match why_not {
            WhyNot::EntryAbove(above) if ptr::eq(at.entry, entry) => Some(*above),
            _ => None,
        })
    }

    /// Returns the label by which the namespace differs from others of its entry, `tenant=blue`: the first that the
    /// entry refers to, or selects by.
    pub fn tenant(&self) -> Option<String> {
        self.policies.iter().find_map(|policy| {
            let MatchedEntry { entry, found, .. } = policy.matched.as_ref()?;
            let entry = entry.as_ref()?.entry;
            let selector = entry.namespace_selector.as_deref().and_then(|text| parse(text).ok());
            let selected = selector.iter().flat_map(Selector::requirements).map(|one| one.key());
            let referred = entry.node_selectors().flat_map(|(_, text)| reference::keys(text));
            let mut keys = referred.chain(selected).filter(|key| *key != reference::NAME);
            keys.find_map(|key| Some(format!("{key}={}", found.labels.get(key)?)))
        })
    }

    fn others(&self) -> impl Iterator<Item = &(EntryAt<'s>, WhyNot<'s>)> {
        self.policies.iter().flat_map(|policy| &policy.others)
    }
}
