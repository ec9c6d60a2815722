//! The placement blocks: `placement`, and the configuration of the in-tree plugin `PodNodeSelector`.

use std::borrow::Cow;

use json::{Outline, StringMap};

use super::choice::Choice;
use super::fields::Fields;
use super::name_pattern;
use super::namespace_entry::NAME;
use super::{
    Demand, Mistake, Mode, NamespaceEntry, OnBindings, OnDaemonSets, OnExtendedResources, OnNamespaces, OnNodeAffinity,
    OnNodeName, OnNodes, OnTolerationAnnotations, OnWorkloads, Origin, TolerationList,
};
use crate::selector::{Requirement, Whitelist};
use crate::toleration;

pub(super) const BLOCK: &str = "placement";
pub(super) const PLUGIN_BLOCK: &str = "podNodeSelectorPluginConfig";

pub(super) const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";
pub(super) const CLUSTER_DEFAULT_TOLERATIONS: &str = "clusterDefaultTolerations";
pub(super) const ANNOTATIONS: &str = "namespaceAnnotations";
pub(super) const NAMESPACES: &str = "namespaces";

/// What of the block is taken apart while the request is read: of a thousand entries only those that can match.
pub(super) const OUTLINE: Outline = Outline::Object(&[(NAMESPACES, Outline::ListBy(NAME))]);

/// Whoever writes an object where a selector belongs, needs to see one.
const EXAMPLE: &str = r#"a string such as "pool=a""#;

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// What the settings say about placement. Each setting is read when it is asked for.
#[derive(Debug)]
pub struct Placement<'s> {
    /// Whether these are the in-tree plugin's settings.
    pub mode: Mode,
    pub(super) fields: Fields<'s>,
}

impl<'s> Placement<'s> {
    pub(super) const fn new(mode: Mode, fields: Fields<'s>) -> Self {
        Self { mode, fields }
    }

    /// `clusterDefaultNodeSelector`: what holds for namespaces that have nothing else.
    pub fn cluster_default(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(self.mode, &self.fields, CLUSTER_DEFAULT)
    }

    /// `clusterDefaultTolerations`: what is added to the Pods of namespaces that have nothing else.
    pub fn cluster_default_tolerations(&self) -> Result<Option<TolerationList>, Mistake> {
        match self.mode {
            Mode::Placement => tolerations_of(&self.fields, CLUSTER_DEFAULT_TOLERATIONS),
            Mode::Plugin => Ok(None),
        }
    }

    /// `namespaceAnnotations`: the annotations of namespaces that hold selectors.
    pub fn annotations(&self) -> Result<Vec<Cow<'s, str>>, Mistake> {
        if self.mode == Mode::Plugin {
            return Ok(vec![Cow::Borrowed(IN_TREE_ANNOTATION)]);
        }
        let Some(keys) = self.fields.list(ANNOTATIONS)? else { return Ok(vec![Cow::Borrowed(IN_TREE_ANNOTATION)]) };
        let keys: Result<_, _> = keys.strings().collect();
        keys.map_err(|mismatch| Mistake::mismatch(&self.fields.place.field(ANNOTATIONS), mismatch))
    }

    /// The entries of `namespaces` one of which holds for `namespace`, by its name: the first that also matches by labels.
    /// None follows one that matches whatever the labels. Entries that are none can't match.
    pub fn candidates(&self, namespace: &str) -> Result<Vec<NamespaceEntry<'s>>, Mistake> {
        let mut candidates = Vec::new();
        if self.mode == Mode::Plugin {
            return Ok(candidates);
        }
        let Some(entries) = self.fields.list(NAMESPACES)? else { return Ok(candidates) };
        for (position, (name, value)) in entries.by(NAME).enumerate() {
            if name.as_ref().is_some_and(|name| !name_pattern::matches(name, namespace)) {
                continue;
            }
            let Ok(fields) = self.fields.element(NAMESPACES, position, value) else { continue };
            let entry = NamespaceEntry::new(fields);
            if name.is_none() && !entry.is_by_labels_only() {
                continue;
            }
            let needs_labels = entry.needs_labels();
            candidates.push(entry);
            if !needs_labels {
                break;
            }
        }
        Ok(candidates)
    }

    /// Every node label that a selector of these settings names.
    ///
    /// # Errors
    /// The first mistake in a selector.
    pub fn selected_node_labels(&self) -> Result<Vec<String>, Mistake> {
        let mut demands = vec![self.cluster_default()?];
        if let Some(entries) = self.fields.list(NAMESPACES)? {
            for (position, value) in entries.iter().enumerate() {
                let entry = NamespaceEntry::new(self.fields.element(NAMESPACES, position, value)?);
                demands.extend([entry.required()?, entry.default()?, entry.allowed_selector()?]);
            }
        }
        let selectors = demands.iter().flatten().map(|demand| &demand.selector);
        Ok(selectors
            .flat_map(|selector| selector.requirements().iter().map(Requirement::key))
            .map(str::to_owned)
            .collect())
    }

    /// The whitelist that the in-tree plugin's configuration has for `namespace`; none, if it is empty.
    pub fn plugin_whitelist(&self, namespace: &str) -> Result<Option<(Whitelist, Origin)>, Mistake> {
        if self.mode == Mode::Placement {
            return Ok(None);
        }
        let Some(text) = self.fields.string_by_key(namespace)? else { return Ok(None) };
        match self.mode.parse(&text) {
            Ok(selector) if selector.is_empty() => Ok(None),
            Ok(selector) => {
                Ok(Some((Whitelist::new(selector, Vec::new()), Origin::PluginConfig(namespace.to_owned()))))
            }
            Err(error) => Err(self.fields.mistake(namespace, &error.to_string())),
        }
    }

    /// `onNodeAffinity`
    pub fn on_node_affinity(&self) -> Result<OnNodeAffinity, Mistake> {
        self.choice(OnNodeAffinity::Ignore)
    }

    /// `onNodeName`
    pub fn on_node_name(&self) -> Result<OnNodeName, Mistake> {
        self.choice(OnNodeName::Ignore)
    }

    /// `onTolerationAnnotations`
    pub fn on_toleration_annotations(&self) -> Result<OnTolerationAnnotations, Mistake> {
        self.choice(OnTolerationAnnotations::Ignore)
    }

    /// `onExtendedResources`
    pub fn on_extended_resources(&self) -> Result<OnExtendedResources, Mistake> {
        self.choice(OnExtendedResources::Ignore)
    }

    /// `onWorkloads`
    pub fn on_workloads(&self) -> Result<OnWorkloads, Mistake> {
        self.choice(OnWorkloads::Ignore)
    }

    /// `onDaemonSets`
    pub fn on_daemon_sets(&self) -> Result<OnDaemonSets, Mistake> {
        self.choice(OnDaemonSets::Ignore)
    }

    /// `onNamespaces`
    pub fn on_namespaces(&self) -> Result<OnNamespaces, Mistake> {
        self.choice(OnNamespaces::Ignore)
    }

    /// `onBindings`
    pub fn on_bindings(&self) -> Result<OnBindings, Mistake> {
        self.choice(OnBindings::Ignore)
    }

    /// `onNodes`
    pub fn on_nodes(&self) -> Result<OnNodes, Mistake> {
        self.choice(OnNodes::Ignore)
    }

    /// As the settings have it; the in-tree plugin does nothing of the kind.
    fn choice<T: Choice>(&self, of_plugin: T) -> Result<T, Mistake> {
        match self.mode {
            Mode::Plugin => Ok(of_plugin),
            Mode::Placement => T::read(&self.fields),
        }
    }
}

/// The first of `candidates` that is about a Namespace with these labels.
///
/// # Errors
/// The namespaceSelector of one that comes first has a mistake.
pub fn first_matching<'s>(
    candidates: Vec<NamespaceEntry<'s>>,
    labels: &StringMap,
) -> Result<Option<NamespaceEntry<'s>>, Mistake> {
    for candidate in candidates {
        if candidate.matches(labels)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The selector under `name`, if it is there.
pub(super) fn selector_of(mode: Mode, fields: &Fields<'_>, name: &'static str) -> Result<Option<Demand>, Mistake> {
    let Some(text) = fields.string_such_as(EXAMPLE, name)? else { return Ok(None) };
    match mode.parse(&text) {
        Ok(selector) => Ok(Some(Demand { selector, origin: Origin::Setting(fields.place, name) })),
        Err(error) => Err(fields.mistake(name, &error.to_string())),
    }
}

/// The tolerations under `name`, if they are there.
pub(super) fn tolerations_of(fields: &Fields<'_>, name: &'static str) -> Result<Option<TolerationList>, Mistake> {
    let Some(value) = fields.value(name) else { return Ok(None) };
    match toleration::tolerations(value) {
        Ok(tolerations) => Ok(Some(TolerationList { tolerations, origin: Origin::Setting(fields.place, name) })),
        Err(mismatch) => Err(Mistake::mismatch(&fields.place.field(name), mismatch)),
    }
}
