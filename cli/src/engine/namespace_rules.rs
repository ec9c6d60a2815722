//! What holds in a namespace, from the policy's own code.

use std::{collections::BTreeMap, ptr};

use anyhow::{Result, anyhow};
use node_placement_policy::{
    placement::toleration_rules::DEFAULTS_ANNOTATION,
    selector::Selector,
    settings::{Enforcement, EntryAt, NamespaceEntry, OnDaemonSets, Settings, reference},
    toleration::Toleration,
};
use serde_json::Value;

use crate::{
    demands::{self, DemandKind, Demands, Mismatch},
    input::{
        json::{members, text},
        settings::{ManagedKeys, entries},
        settings_file::SettingsFile,
    },
    requests::{delivery::delivery, plain_pod},
};

/// What holds in a namespace: what the policies that are asked about its Pods say of it together.
#[derive(Clone, Debug, Default)]
pub struct NamespaceRules<'s> {
    /// The entries that hold, at most one of each policy.
    pub held: Vec<EntryAt<'s>>,
    /// Whether one of them only warns.
    pub warns: bool,
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

/// A node selector that is demanded.
#[derive(Clone, Debug)]
pub struct Demand {
    /// As text, with references filled in.
    pub text: String,
    /// As messages name where it is demanded.
    pub source: String,
    /// The path of the setting; nothing for an annotation.
    pub path: Option<String>,
    /// The selector, if it can be read.
    pub selector: Option<Selector>,
}

impl<'s> NamespaceRules<'s> {
    /// What holds in the namespace of this name.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn of(files: &'s [SettingsFile], name: &'s str, namespace: Option<&Value>) -> Result<Self> {
        let mut rules = Self::default();
        for file in asked_about(files, name, namespace) {
            rules.add(&file.typed, name, namespace)?;
        }
        Ok(rules)
    }

    fn add(&mut self, settings: &'s Settings, name: &'s str, namespace: Option<&Value>) -> Result<()> {
        let mut labels = strings(namespace, "labels");
        let found = explanation(settings, name, namespace)?;
        self.lacking.extend(found.passed_over.iter().filter_map(|(at, mismatch)| match mismatch {
            Mismatch::Label { asked, found: None } if !asked.accepts(None) => Some((*at, asked.key().to_owned())),
            _ => None,
        }));
        let selectors = found.demands.iter().filter(|demand| demand.kind == DemandKind::Required);
        self.demands.extend(selectors.map(Demand::read));
        self.matching.extend(entries_that_match(settings, name, &labels));
        if let Some(at) = found.entry {
            self.held.push(at);
            self.warns |= at.entry.enforcement == Enforcement::Warn;
            self.called = self.called.take().or_else(|| called(at.entry, &labels));
        }
        let on_daemon_sets = settings.placement.as_ref().map(|placement| placement.on_daemon_sets);
        self.on_daemon_sets = self.on_daemon_sets.or(on_daemon_sets);
        if let Some(placement) = &settings.placement {
            let is_annotated = || strings(namespace, "annotations").contains_key(DEFAULTS_ANNOTATION);
            self.annotates_tolerations |= placement.honors_toleration_annotations() && is_annotated();
            self.cluster_default_tolerations = placement.cluster_default_tolerations.as_deref().unwrap_or_default();
        }
        labels.insert(reference::NAME.to_owned(), name.to_owned());
        self.labels = labels;
        Ok(())
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

impl Demand {
    /// Its requirements, one by one, as text.
    pub fn requirements(&self) -> Vec<String> {
        let all = self.selector.iter().flat_map(|selector| selector.requirements());
        all.map(ToString::to_string).collect()
    }

    fn read(demand: &demands::Demand<'_>) -> Self {
        let selector = demand.problem.is_none().then(|| demand.selector.clone());
        let path = demand.source.path();
        let source = demand.source.to_string();
        let is_setting = path.starts_with("placement") || path.starts_with("podNodeSelectorPluginConfig");
        Self { text: demand.text.clone(), path: is_setting.then_some(path), source, selector }
    }
}

/// What the policy itself says of the namespace of this name.
///
/// # Errors
/// The settings have a mistake: they were not validated.
pub fn explanation<'s>(settings: &'s Settings, name: &'s str, namespace: Option<&Value>) -> Result<Demands<'s>> {
    let (labels, annotations) = (strings(namespace, "labels"), strings(namespace, "annotations"));
    Demands::of(settings, name, &labels, &annotations).map_err(|error| anyhow!("{error}"))
}

/// The policies that place Pods and are asked about those of a namespace; all that place, if none is asked.
pub fn asked_about<'f>(files: &'f [SettingsFile], name: &str, namespace: Option<&Value>) -> Vec<&'f SettingsFile> {
    let placing: Vec<&SettingsFile> = files.iter().filter(|file| file.places()).collect();
    let pod = plain_pod::creation(name);
    let is_asked = |file: &&SettingsFile| {
        file.policy.as_ref().is_none_or(|policy| delivery(policy, &pod, namespace).kept_away().is_none())
    };
    let asked: Vec<&SettingsFile> = placing.iter().copied().filter(is_asked).collect();
    if asked.is_empty() { placing } else { asked }
}

/// The keys of Pods that a deployment manages.
pub fn managed_keys(files: &[SettingsFile]) -> ManagedKeys {
    let about = files.iter().map(|file| &file.typed).find(|settings| settings.node_metadata.is_some());
    about.map_or_else(ManagedKeys::default, ManagedKeys::of)
}

fn strings(namespace: Option<&Value>, field: &str) -> BTreeMap<String, String> {
    let metadata = namespace.map(|namespace| &namespace["metadata"][field]);
    metadata.into_iter().flat_map(members).map(|(key, value)| (key.clone(), text(value).to_owned())).collect()
}

/// `tenant=blue`: by the first label that the entry refers to, or selects by.
fn called(entry: &NamespaceEntry, labels: &BTreeMap<String, String>) -> Option<String> {
    let referred = entry.node_selectors().flat_map(|(_, text)| reference::keys(text));
    let selector =
        entry.namespace_selector.as_deref().and_then(|text| node_placement_policy::selector::parse(text).ok());
    let selected: Vec<String> =
        selector.iter().flat_map(Selector::requirements).map(|one| one.key().to_owned()).collect();
    let keys = referred.map(str::to_owned).chain(selected);
    keys.filter(|key| key != reference::NAME).find_map(|key| Some(format!("{key}={}", labels.get(&key)?)))
}

/// All entries that match a namespace, whether they hold or not.
fn entries_that_match<'s>(settings: &'s Settings, name: &str, labels: &BTreeMap<String, String>) -> Vec<EntryAt<'s>> {
    let selects = |entry: &NamespaceEntry| {
        let Some(text) = &entry.namespace_selector else { return true };
        let label = |key: &str| if key == reference::NAME { Some(name) } else { labels.get(key).map(String::as_str) };
        node_placement_policy::selector::parse(text).is_ok_and(|selector| selector.matches(label))
    };
    let all = entries(settings).iter().enumerate().map(|(position, entry)| EntryAt { position, entry });
    all.filter(|at| at.entry.name_fits(name) && selects(at.entry)).collect()
}
