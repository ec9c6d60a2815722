//! Answers questions about settings: which are set at a path, which keys of Pods are managed, and how entries of
//! `placement.namespaces` compare. The policy's own types have the fields and their defaults.

use std::collections::BTreeSet;

pub use node_placement_policy::settings::{Enforcement, NODE_METADATA, NamespaceEntry, PLACEMENT, Placement, Settings};
use node_placement_policy::{
    node_metadata::propagation::Propagations,
    selector::{Operator, Requirement, Selector, parse},
    settings::{
        EntryAt,
        key::{KeyPattern, TargetKind},
        reference::{self, StandIns},
    },
};
use serde_json::Value;

/// Settings as the policy reads them. Those that it can't read say nothing: it tells what is wrong with them.
pub fn read(settings: &Value) -> Settings {
    Settings::read(Some(&settings.to_string())).unwrap_or_default()
}

/// Returns what stands at a path such as `placement.namespaces[].name`; without what is null, which is absent.
fn values_at<'v>(settings: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![settings];
    for step in path.split('.') {
        found = match step.strip_suffix("[]") {
            Some(list) => found.iter().filter_map(|value| value[list].as_array()).flatten().collect(),
            None => found.iter().filter_map(|value| value.get(step)).collect(),
        };
        found.retain(|value| !value.is_null());
    }
    found
}

/// Returns whether there is something at a path.
pub fn is_set(settings: &Value, path: &str) -> bool {
    !values_at(settings, path).is_empty()
}

/// Returns whether a choice is in effect: `placement.onBindings` is `Verify`.
pub fn is_set_to(settings: &Value, path: &str, choice: &str) -> bool {
    values_at(settings, path).into_iter().any(|value| match value {
        Value::Bool(value) => choice == value.to_string(),
        value => value == choice,
    })
}

/// Returns whether placement depends on a Namespace's labels or annotations.
pub fn read_namespaces(placement: &Placement) -> bool {
    placement.reads_annotations() || placement.namespaces.iter().any(NamespaceEntry::reads_labels)
}

/// Returns the labels of nodes that the settings name.
pub fn label_keys_of_settings(settings: &Settings) -> BTreeSet<String> {
    let mut texts: Vec<&String> = vec![];
    for entry in entries(settings) {
        texts.extend(entry.node_selectors().map(|(_, text)| text));
        texts.extend(entry.preferred_node_selector.iter().map(|preferred| &preferred.selector));
    }
    texts.extend(settings.placement.iter().filter_map(|placement| placement.cluster_default_node_selector.as_ref()));
    texts.extend(settings.pod_node_selector_plugin_config.iter().flat_map(|config| config.values().flatten()));
    let selectors = texts.into_iter().filter_map(|text| node_selector(text));
    selectors.flat_map(|selector| selector.requirements().to_vec()).map(|own| own.key().to_owned()).collect()
}

/// Returns a node selector of the settings, with placeholders for its references; `None` if it can't be read.
pub fn node_selector(text: &str) -> Option<Selector> {
    parse(&reference::with_stand_ins(text, StandIns::Usual).ok()?).ok()
}

/// The keys of Pods that node metadata is written to.
#[derive(Clone, Debug, Default)]
pub struct ManagedKeys(Vec<(TargetKind, KeyPattern)>);

impl ManagedKeys {
    /// Returns no keys.
    pub const fn none() -> Self {
        Self(vec![])
    }

    /// Returns those of all entries of `nodeMetadata.propagate`, labels first.
    pub fn from_settings(settings: &Settings) -> Self {
        let propagations = Propagations::of(settings).ok().flatten();
        let targets = propagations.into_iter().flat_map(|all| all.entries).flat_map(|entry| entry.targets);
        let mut keys: Vec<_> = targets.map(|target| (target.kind, target.key)).collect();
        keys.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
        keys.dedup();
        Self(keys)
    }

    /// Words the keys: `label example.com/rack`.
    pub fn named(&self) -> Vec<String> {
        let star = |key: &KeyPattern| if key.is_prefix() { "*" } else { "" };
        self.0.iter().map(|(kind, key)| format!("{} {}{}", kind.name(), key.text(), star(key))).collect()
    }

    /// Returns whether a key of Pods is one.
    pub fn has(&self, kind: TargetKind, key: &str) -> bool {
        self.0.iter().any(|(own, pattern)| *own == kind && pattern.rest(key).is_some())
    }

    /// Returns a key of this kind that is managed, if one is.
    pub fn one(&self, kind: TargetKind) -> Option<String> {
        self.0.iter().find(|(own, _)| *own == kind).map(|(_, key)| key.with_rest("a"))
    }
}

/// Joins the keys of several policies.
impl FromIterator<Self> for ManagedKeys {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        Self(all.into_iter().flat_map(|keys| keys.0).collect())
    }
}

/// Returns the entries of `placement.namespaces`.
pub fn entries(settings: &Settings) -> &[NamespaceEntry] {
    settings.placement.as_ref().map(|placement| placement.namespaces.as_slice()).unwrap_or_default()
}

/// Returns the entries of `placement.namespaces`, with their positions.
pub fn entries_at(placement: &Placement) -> impl Iterator<Item = EntryAt<'_>> {
    placement.namespaces.iter().enumerate().map(|(position, entry)| EntryAt { position, entry })
}

/// Returns what an entry is called: `the entry for team-*`, `the entry for tenant=blue`.
pub fn entry_name(entry: &NamespaceEntry) -> String {
    if let Some(pods) = &entry.pod_selector {
        let of_all = NamespaceEntry { pod_selector: None, ..entry.clone() };
        return format!("{}, Pods with {pods}", entry_name(&of_all));
    }
    match (&entry.name, &entry.namespace_selector) {
        (Some(name), None) if name == "*" => "the entry for the rest".to_owned(),
        (Some(name), None) => format!("the entry for {name}"),
        (None, Some(selector)) => format!("the entry for {selector}"),
        (Some(name), Some(selector)) => format!("the entry for {name} with {selector}"),
        (None, None) => "an entry".to_owned(),
    }
}

/// Returns the labels that an entry asks of a Namespace. The label of its name is among them, if the entry is for one
/// namespace.
pub fn namespace_selector(entry: &NamespaceEntry) -> Selector {
    let selector = parse(entry.namespace_selector.as_deref().unwrap_or_default()).unwrap_or_default();
    let name = entry.name.as_deref().filter(|name| !name.ends_with('*'));
    let is_named =
        name.and_then(|name| Requirement::new(reference::NAME.into(), Operator::Equals, vec![name.to_owned()]).ok());
    Selector::new(selector.requirements().iter().cloned().chain(is_named).collect())
}

/// Returns the nodes that an entry fences off for its namespaces.
pub fn fence(entry: &NamespaceEntry) -> Option<Selector> {
    node_selector(entry.required_node_selector.as_deref()?)
}

/// Returns whether an entry is for namespaces of any name.
pub fn is_for_any_name(entry: &NamespaceEntry) -> bool {
    entry.name.as_deref().is_none_or(|name| name == "*")
}

/// Returns whether an entry is for whatever has no entry of its own: `*`, or namespaces without a label.
pub fn is_for_the_rest(entry: &NamespaceEntry) -> bool {
    entry.pod_selector.is_none() && is_for_any_name(entry) && accepts_absence(&namespace_selector(entry))
}

/// Returns whether what has none of the labels is selected.
pub fn accepts_absence(selector: &Selector) -> bool {
    selector.requirements().iter().all(|requirement| requirement.accepts(None))
}

/// Returns whether the name of an entry fits every namespace that the name of `other` fits.
pub fn covers_names(entry: &NamespaceEntry, other: &NamespaceEntry) -> bool {
    other.name.as_ref().map_or(is_for_any_name(entry), |pattern| entry.name_fits(pattern))
}

/// Returns whether an entry matches every namespace that `other` matches, for all of its Pods.
///
/// ```
/// use cli::input::settings::{NamespaceEntry, covers};
///
/// let tenants = NamespaceEntry { namespace_selector: Some("tenant".to_owned()), ..NamespaceEntry::default() };
/// let blue = NamespaceEntry { namespace_selector: Some("tenant=blue".to_owned()), ..NamespaceEntry::default() };
/// assert!(covers(&tenants, &blue) && !covers(&blue, &tenants));
/// ```
pub fn covers(entry: &NamespaceEntry, other: &NamespaceEntry) -> bool {
    entry.pod_selector.is_none()
        && covers_names(entry, other)
        && namespace_selector(other).implies(&namespace_selector(entry))
}
