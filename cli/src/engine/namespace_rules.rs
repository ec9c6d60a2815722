//! What holds in a namespace, from the policy's own code.

use std::{collections::BTreeMap, sync::LazyLock};

use anyhow::{Result, anyhow};
use node_placement_policy::{
    placement::toleration_rules::DEFAULTS_ANNOTATION,
    selector::Selector,
    settings::{Enforcement, NamespaceEntry, Placement, Settings, reference},
};
use serde_json::Value;

use crate::{
    demands::{self, DemandKind, Demands, Mismatch},
    input::{
        json::{members, text},
        settings::{ManagedKeys, entries},
        settings_file::SettingsFile,
    },
};

/// What holds in a namespace.
#[derive(Clone, Debug, Default)]
pub struct NamespaceRules {
    /// The position of the entry that holds.
    pub entry: Option<usize>,
    /// Whether that only warns.
    pub warns: bool,
    /// The node selectors that hold, in the order in which they are decided.
    pub demands: Vec<Demand>,
    /// Entries before the one that holds, for which the Namespace lacks a label: their positions, and the label.
    pub lacking: Vec<(usize, String)>,
    /// Entries that match, whether they hold or not.
    pub matching: Vec<usize>,
    /// What tells the namespace from others of its entry: `tenant=blue`.
    pub called: Option<String>,
    /// The labels of the Namespace, with its name.
    pub labels: BTreeMap<String, String>,
    /// Whether an annotation of the Namespace says what is added to the tolerations of Pods.
    pub annotates_tolerations: bool,
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

impl NamespaceRules {
    /// What holds in the namespace of this name.
    ///
    /// # Errors
    /// The settings have a mistake: they were not validated.
    pub fn of(settings: &Settings, name: &str, namespace: Option<&Value>) -> Result<Self> {
        let mut labels = strings(namespace, "labels");
        let found = explanation(settings, name, namespace)?;
        let is_honored = settings.placement.as_ref().is_some_and(Placement::honors_toleration_annotations);
        let annotates_tolerations = is_honored && strings(namespace, "annotations").contains_key(DEFAULTS_ANNOTATION);
        let matching = entries_that_match(settings, name, &labels);
        let rules = Self::read(&found, &labels);
        labels.insert(reference::NAME.to_owned(), name.to_owned());
        Ok(Self { matching, labels, annotates_tolerations, ..rules })
    }

    fn read(found: &Demands<'_>, labels: &BTreeMap<String, String>) -> Self {
        let entry = found.entry;
        let lacking = found.passed_over.iter().filter_map(|(at, mismatch)| match mismatch {
            Mismatch::Label { asked, found: None } if !asked.accepts(None) => {
                Some((at.position, asked.key().to_owned()))
            }
            _ => None,
        });
        let selectors = found.demands.iter().filter(|demand| demand.kind == DemandKind::Required);
        Self {
            entry: entry.map(|at| at.position),
            warns: entry.is_some_and(|at| at.entry.enforcement == Enforcement::Warn),
            demands: selectors.map(Demand::read).collect(),
            lacking: lacking.collect(),
            matching: vec![],
            called: entry.and_then(|at| called(at.entry, labels)),
            ..Self::default()
        }
    }

    /// All node selectors that hold, as one text.
    pub fn selector(&self) -> String {
        let texts = self.demands.iter().map(|demand| demand.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(",")
    }
}

impl Demand {
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

/// The settings of a deployment that place Pods: those of the document that is not about Nodes alone.
pub fn placing(files: &[SettingsFile]) -> &Settings {
    static NONE: LazyLock<Settings> = LazyLock::new(Settings::default);
    let places = |file: &&SettingsFile| {
        let is_about_nodes = file.policy.as_ref().is_some_and(|policy| policy.is_about_nodes());
        let settings = &file.typed;
        !is_about_nodes && (settings.placement.is_some() || settings.pod_node_selector_plugin_config.is_some())
    };
    files.iter().find(places).map_or(&NONE, |file| &file.typed)
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

/// What an entry is for: `the entry for team-*`, `the entry for tenant=blue`.
pub fn entry_name(entry: &NamespaceEntry) -> String {
    match (&entry.name, &entry.namespace_selector) {
        (Some(name), None) if name == "*" => "the entry for the rest".to_owned(),
        (Some(name), None) => format!("the entry for {name}"),
        (None, Some(selector)) => format!("the entry for {selector}"),
        (Some(name), Some(selector)) => format!("the entry for {name} with {selector}"),
        (None, None) => "an entry".to_owned(),
    }
}

/// Whether an entry is for what the others leave: `*`, or what lacks a label.
pub fn is_for_the_rest(entry: &NamespaceEntry) -> bool {
    match &entry.namespace_selector {
        None => entry.name.as_deref() == Some("*"),
        Some(selector) => selector.trim_start().starts_with('!'),
    }
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

/// The positions of all entries that match a namespace, whether they hold or not.
fn entries_that_match(settings: &Settings, name: &str, labels: &BTreeMap<String, String>) -> Vec<usize> {
    let selects = |entry: &NamespaceEntry| {
        let Some(text) = &entry.namespace_selector else { return true };
        let label = |key: &str| if key == reference::NAME { Some(name) } else { labels.get(key).map(String::as_str) };
        node_placement_policy::selector::parse(text).is_ok_and(|selector| selector.matches(label))
    };
    let matches = |entry: &NamespaceEntry| entry.name_fits(name) && selects(entry);
    entries(settings).iter().enumerate().filter(|(_, entry)| matches(entry)).map(|(position, _)| position).collect()
}
