//! The rules of a namespace, by all policies of a deployment.

use std::ptr;

use anyhow::Result;
use node_placement_policy::{
    placement::entry::MatchedEntry,
    selector::{Requirement, Selector, parse},
    settings::{Enforcement, EntryAt, NamespaceEntry, reference},
};
use serde_json::Value;

use super::{PolicyRules, Rule, RuleKind, WhyNot};
use crate::webhook::{delivery::delivery, pods::plain_pod_request, settings_file::SettingsFile};

/// The rules of a namespace.
#[derive(Debug, Default)]
pub struct NamespaceRules<'s> {
    /// The policies that are asked about Pods of the namespace, with their rules.
    policies: Vec<(&'s SettingsFile, PolicyRules<'s>)>,
    /// The entries of the other policies that apply: these may be asked about some of its Pods.
    partial: Vec<EntryAt<'s>>,
}

impl<'s> NamespaceRules<'s> {
    /// Returns the rules of the namespace of this name for a Pod without labels.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn new(files: &'s [SettingsFile], name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        Self::for_pod(files, name, namespace, None)
    }

    /// Returns the rules of the namespace of this name for `pod`, which is a Pod or the template of Pods.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn for_pod(
        files: &'s [SettingsFile],
        name: &'s str,
        namespace: Option<&Value>,
        pod: Option<&Value>,
    ) -> Result<Self> {
        let mut rules = Self::default();
        let asked = asked_about(files, name, namespace);
        for file in files.iter().filter(|file| file.places_pods()) {
            let of_policy = PolicyRules::for_pod(&file.typed, name, namespace, pod)?;
            if asked.iter().any(|asked| ptr::eq(*asked, file)) {
                rules.policies.push((file, of_policy));
            } else {
                rules.partial.extend(of_policy.entry());
            }
        }
        Ok(rules)
    }

    /// Returns the policies that are asked about Pods of the namespace, with their rules.
    pub fn policies(&self) -> &[(&'s SettingsFile, PolicyRules<'s>)] {
        &self.policies
    }

    /// Returns the entries that apply, at most one of each policy.
    pub fn held(&self) -> impl Iterator<Item = EntryAt<'s>> {
        self.policies.iter().filter_map(|(_, rules)| rules.entry())
    }

    /// Returns the block `placement` with the first entry that applies, or without one; `None` if there is no such block.
    pub fn placement(&self) -> Option<&MatchedEntry<'s>> {
        let mut placements = self.policies.iter().filter_map(|(_, rules)| rules.matched.as_ref());
        placements.clone().find(|matched| matched.entry.is_some()).or_else(|| placements.next())
    }

    /// Returns whether one of the entries only warns.
    pub fn warns(&self) -> bool {
        self.held().any(|at| at.entry.enforcement == Enforcement::Warn)
    }

    /// Returns whether there is a rule that is enforced; with `warned`, one that is enforced or warned of.
    pub fn has_any(&self, warned: bool) -> bool {
        let counts = |at: EntryAt<'_>| warned || at.entry.enforcement != Enforcement::Warn;
        let mut policies = self.policies.iter().filter(|(_, of_policy)| !of_policy.rules.is_empty());
        policies.any(|(_, rules)| rules.entry().is_none_or(counts)) || self.partial.iter().copied().any(counts)
    }

    /// Returns whether an entry only warns that applies to the namespace, or to some of its Pods.
    pub fn may_warn(&self) -> bool {
        self.warns() || self.partial.iter().any(|at| at.entry.enforcement == Enforcement::Warn)
    }

    /// Returns the required node selectors, in the order in which they are decided.
    pub fn required(&self) -> impl Iterator<Item = &Rule> {
        let rules = self.policies.iter().flat_map(|(_, of_policy)| &of_policy.rules);
        rules.filter(|rule| rule.kind == RuleKind::Required)
    }

    /// Returns what the required node selectors require of labels of nodes.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.required().flat_map(|rule| &rule.selector).flat_map(Selector::requirements).cloned().collect()
    }

    /// Returns all required node selectors as one text.
    pub fn selector(&self) -> String {
        let texts = self.required().map(|rule| rule.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(",")
    }

    /// Returns the entries before those that apply for which the Namespace lacks a label, each with that label.
    pub fn lacking(&self) -> impl Iterator<Item = (EntryAt<'s>, &str)> {
        self.others().filter_map(|(at, why_not)| match why_not {
            WhyNot::Label { unmet, found: None } if !unmet.accepts(None) => Some((*at, unmet.key())),
            _ => None,
        })
    }

    /// Returns whether an entry matches, even if another one applies.
    pub fn matches(&self, entry: &NamespaceEntry) -> bool {
        let mut held = self.held().chain(self.partial.iter().copied());
        held.any(|at| ptr::eq(at.entry, entry)) || self.above(entry).is_some()
    }

    /// Returns the entry that applies and has this setting. Of several policies with an entry at this position, it is that
    /// of the policy which requires `text`.
    pub fn requiring(&self, path: &str, text: &str) -> Option<EntryAt<'s>> {
        let is_it = |rule: &Rule| rule.path.as_deref() == Some(path) && rule.text == text;
        let policies = self.policies.iter().filter_map(|(_, of_policy)| Some((of_policy.entry()?, &of_policy.rules)));
        let of_path = policies.filter(|(at, _)| path.starts_with(&at.to_string()));
        of_path.max_by_key(|(_, rules)| rules.iter().any(is_it)).map(|(at, _)| at)
    }

    /// Returns the entry that applies instead of one that matches, too.
    pub fn above(&self, entry: &NamespaceEntry) -> Option<EntryAt<'s>> {
        self.others().find_map(|(at, why_not)| match why_not {
            WhyNot::EntryAbove(above) if ptr::eq(at.entry, entry) => Some(*above),
            _ => None,
        })
    }

    /// Returns the label by which the namespace differs from others of its entry, `tenant=blue`: the first that the
    /// entry refers to, or selects by.
    pub fn tenant(&self) -> Option<String> {
        self.policies.iter().find_map(|(_, rules)| {
            let MatchedEntry { entry, metadata, .. } = rules.matched.as_ref()?;
            let entry = entry.as_ref()?.entry;
            let selector = entry.namespace_selector.as_deref().and_then(|text| parse(text).ok());
            let selected = selector.iter().flat_map(Selector::requirements).map(|one| one.key());
            let referred = entry.node_selectors().flat_map(|(_, text)| reference::keys(text));
            let mut keys = referred.chain(selected).filter(|key| *key != reference::NAME);
            keys.find_map(|key| Some(format!("{key}={}", metadata.labels.get(key)?)))
        })
    }

    fn others(&self) -> impl Iterator<Item = &(EntryAt<'s>, WhyNot<'s>)> {
        self.policies.iter().flat_map(|(_, rules)| &rules.others)
    }
}

/// Returns the policies that place Pods and are asked about those of a namespace; all that place, if none is asked.
fn asked_about<'f>(files: &'f [SettingsFile], name: &str, namespace: Option<&Value>) -> Vec<&'f SettingsFile> {
    let placing: Vec<&SettingsFile> = files.iter().filter(|file| file.places_pods()).collect();
    let pod = plain_pod_request(name);
    let is_asked = |file: &&SettingsFile| {
        file.policy.as_ref().is_none_or(|policy| delivery(policy, &pod, namespace).kept_away().is_none())
    };
    let asked: Vec<&SettingsFile> = placing.iter().copied().filter(is_asked).collect();
    if asked.is_empty() { placing } else { asked }
}
