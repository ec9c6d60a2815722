//! What holds in a namespace, from the policy's own code.

use std::{collections::BTreeMap, ptr};

use anyhow::Result;
use node_placement_policy::{
    placement::toleration_rules::DEFAULTS_ANNOTATION,
    selector::{Selector, parse},
    settings::{Enforcement, EntryAt, NamespaceEntry, OnDaemonSets, Settings, reference},
    toleration::Toleration,
};
use serde_json::Value;

use crate::{
    demands::{Demand, DemandKind, Demands, WhyNot, asked_about},
    input::settings_file::SettingsFile,
};

/// What holds in a namespace: what the policies that are asked about its Pods say of it together.
#[derive(Clone, Debug, Default)]
pub struct NamespaceRules<'s> {
    /// The entries that hold, at most one of each policy.
    pub held: Vec<EntryAt<'s>>,
    /// Whether one of them only warns.
    pub warns: bool,
    /// Whether one does of a policy that may be asked about some Pods of the namespace only.
    pub may_warn: bool,
    /// The node selectors that hold, in the order in which they are decided.
    pub demands: Vec<Demand>,
    /// Entries before those that hold, for which the Namespace lacks a label: that label.
    pub lacking: Vec<(EntryAt<'s>, String)>,
    /// Entries that match, whether they hold or not.
    matching: Vec<EntryAt<'s>>,
    /// What tells the namespace from others of its entry: `tenant=blue`.
    pub called: Option<String>,
    /// What is done about DaemonSets.
    pub on_daemon_sets: Option<OnDaemonSets>,
    /// The labels of the Namespace, with its name.
    pub labels: BTreeMap<String, String>,
    /// Whether an annotation of the Namespace says what is added to the tolerations of Pods.
    pub annotates_tolerations: bool,
    /// What Pods tolerate of whose namespace no entry says another list.
    pub cluster_default_tolerations: &'s [Toleration],
}

impl<'s> NamespaceRules<'s> {
    /// What holds in the namespace of this name.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn of(files: &'s [SettingsFile], name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        let mut rules = Self::default();
        let asked = asked_about(files, name, namespace);
        for file in files.iter().filter(|file| file.places_pods()) {
            let found = Demands::of(&file.typed, name, namespace)?;
            rules.may_warn |= found.entry.is_some_and(|at| at.entry.enforcement == Enforcement::Warn);
            rules.matching.extend(found.entry);
            if asked.iter().any(|asked| ptr::eq(*asked, file)) {
                rules.add(&file.typed, found, namespace);
            }
        }
        Ok(rules)
    }

    fn add(&mut self, settings: &'s Settings, found: Demands<'s>, namespace: Option<&Value>) {
        for (at, why_not) in found.others {
            match why_not {
                WhyNot::Label { asked, found: None } if !asked.accepts(None) => {
                    self.lacking.push((at, asked.key().to_owned()));
                }
                WhyNot::EntryAbove(_) => self.matching.push(at),
                WhyNot::Label { .. } | WhyNot::Name => {}
            }
        }
        self.demands.extend(found.demands.into_iter().filter(|demand| demand.kind == DemandKind::Required));
        if let Some(at) = found.entry {
            self.held.push(at);
            self.warns |= at.entry.enforcement == Enforcement::Warn;
            self.called = self.called.take().or_else(|| called(at.entry, &found.labels));
        }
        let on_daemon_sets = settings.placement.as_ref().map(|placement| placement.on_daemon_sets);
        self.on_daemon_sets = self.on_daemon_sets.or(on_daemon_sets);
        if let Some(placement) = &settings.placement {
            let annotated = namespace.and_then(|it| it["metadata"]["annotations"].get(DEFAULTS_ANNOTATION));
            self.annotates_tolerations |= placement.honors_toleration_annotations() && annotated.is_some();
            self.cluster_default_tolerations = placement.cluster_default_tolerations.as_deref().unwrap_or_default();
        }
        self.labels = found.labels;
    }

    /// Whether an entry matches, whether it holds or not.
    pub fn matches(&self, entry: &NamespaceEntry) -> bool {
        self.matching.iter().any(|at| ptr::eq(at.entry, entry))
    }

    /// All node selectors that hold, as one text.
    pub fn selector(&self) -> String {
        let texts = self.demands.iter().map(|demand| demand.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(",")
    }
}

/// `tenant=blue`: by the first label that the entry refers to, or selects by.
fn called(entry: &NamespaceEntry, labels: &BTreeMap<String, String>) -> Option<String> {
    let referred = entry.node_selectors().flat_map(|(_, text)| reference::keys(text));
    let selector = entry.namespace_selector.as_deref().and_then(|text| parse(text).ok());
    let selected: Vec<String> =
        selector.iter().flat_map(Selector::requirements).map(|one| one.key().to_owned()).collect();
    let keys = referred.map(str::to_owned).chain(selected);
    keys.filter(|key| key != reference::NAME).find_map(|key| Some(format!("{key}={}", labels.get(&key)?)))
}
