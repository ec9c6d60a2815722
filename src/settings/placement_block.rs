//! The placement blocks: `placement`, and `podNodeSelectorPluginConfig` of the in-tree plugin.

use std::borrow::Cow;
use std::fmt;

use json::Outline;

use super::choice::Choice;
use super::fields::{Fields, Place};
use super::{Mistake, OnBindings, OnDaemonSets, OnNamespaces, OnNodeAffinity, OnNodeName, OnWorkloads};
use crate::message::quote;
use crate::selector::{self, ParseError, Selector, Whitelist};

pub(super) const BLOCK: &str = "placement";
pub(super) const PLUGIN_BLOCK: &str = "podNodeSelectorPluginConfig";

pub(super) const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";
pub(super) const ANNOTATIONS: &str = "namespaceAnnotations";
pub(super) const NAMESPACES: &str = "namespaces";
pub(super) const NAME: &str = "name";
pub(super) const REQUIRED: &str = "requiredNodeSelector";
pub(super) const DEFAULT: &str = "defaultNodeSelector";
pub(super) const ALLOWED: &str = "allowedNodeSelector";

/// What of the block is taken apart while the request is read: of a thousand entries only those that can match.
pub(super) const OUTLINE: Outline = Outline::Object(&[(NAMESPACES, Outline::ListBy(NAME))]);

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// As which of the two the policy behaves and speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All rules, and the whole language of selectors.
    Placement,
    /// The in-tree plugin.
    Plugin,
}

impl Mode {
    /// Parses `text` as a selector.
    ///
    /// # Errors
    /// What was found where, and what was expected.
    pub fn parse(self, text: &str) -> Result<Selector, ParseError> {
        match self {
            Self::Plugin => selector::parse_pairs(text),
            Self::Placement => selector::parse(text),
        }
    }
}

/// Who demands something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A setting: `placement.clusterDefaultNodeSelector`.
    Setting(Place, &'static str),
    /// The in-tree plugin's configuration for a namespace.
    PluginConfig(String),
    /// An annotation of a Namespace.
    Annotation {
        /// Its key.
        key: String,
        /// The namespace.
        namespace: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(place, name) => f.write_str(&place.field(name)),
            Self::PluginConfig(namespace) => write!(f, "{PLUGIN_BLOCK}.{namespace}"),
            Self::Annotation { key, namespace } => write!(f, "annotation {key} of namespace {}", quote(namespace)),
        }
    }
}

/// A node selector that somebody demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// What is demanded.
    pub selector: Selector,
    /// Who demands it.
    pub origin: Origin,
}

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

    /// `namespaceAnnotations`: the annotations of namespaces that hold selectors.
    pub fn annotations(&self) -> Result<Vec<Cow<'s, str>>, Mistake> {
        match self.fields.list(ANNOTATIONS) {
            Ok(Some(keys)) if self.mode == Mode::Placement => {
                let keys: Result<_, _> = keys.strings().collect();
                keys.map_err(|mismatch| Mistake::mismatch(&self.fields.place.field(ANNOTATIONS), mismatch))
            }
            Err(mistake) if self.mode == Mode::Placement => Err(mistake),
            _ => Ok(vec![Cow::Borrowed(IN_TREE_ANNOTATION)]),
        }
    }

    /// The first entry of `namespaces` whose name matches `namespace`. Entries that are none can't match.
    pub fn entry(&self, namespace: &str) -> Result<Option<NamespaceEntry<'s>>, Mistake> {
        if self.mode == Mode::Plugin {
            return Ok(None);
        }
        let Some(entries) = self.fields.list(NAMESPACES)? else { return Ok(None) };
        for (position, (name, entry)) in entries.by(NAME).enumerate() {
            if name.is_some_and(|name| names(&name, namespace)) {
                return self.fields.element(NAMESPACES, position, entry).map(NamespaceEntry::new).map(Some);
            }
        }
        Ok(None)
    }

    /// The whitelist that the in-tree plugin's configuration has for `namespace`; none, if it is empty.
    pub fn plugin_whitelist(&self, namespace: &str) -> Result<Option<(Whitelist, Origin)>, Mistake> {
        if self.mode == Mode::Placement {
            return Ok(None);
        }
        let Some(text) = self.fields.string_by_key(namespace)? else { return Ok(None) };
        match self.mode.parse(&text) {
            Ok(selector) => Ok(Whitelist::new(selector).map(|list| (list, Origin::PluginConfig(namespace.to_owned())))),
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

    /// As the settings have it; the in-tree plugin does nothing of the kind.
    fn choice<T: Choice>(&self, of_plugin: T) -> Result<T, Mistake> {
        match self.mode {
            Mode::Plugin => Ok(of_plugin),
            Mode::Placement => T::read(&self.fields),
        }
    }
}

/// An entry of `namespaces`.
#[derive(Debug)]
pub struct NamespaceEntry<'s> {
    pub(super) fields: Fields<'s>,
}

impl<'s> NamespaceEntry<'s> {
    pub(super) const fn new(fields: Fields<'s>) -> Self {
        Self { fields }
    }

    /// `name`: that of the namespace, or its beginning and `*`; absent is empty.
    pub fn name(&self) -> Result<Cow<'s, str>, Mistake> {
        self.fields.string(NAME).map(Option::unwrap_or_default)
    }

    /// `requiredNodeSelector`: what always holds.
    pub fn required(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, REQUIRED)
    }

    /// `defaultNodeSelector`: what holds where no annotation is present.
    pub fn default(&self) -> Result<Option<Demand>, Mistake> {
        selector_of(Mode::Placement, &self.fields, DEFAULT)
    }

    /// `allowedNodeSelector`: the whitelist; none, if it is empty.
    pub fn allowed(&self) -> Result<Option<(Whitelist, Origin)>, Mistake> {
        let Some(Demand { selector, origin }) = selector_of(Mode::Placement, &self.fields, ALLOWED)? else {
            return Ok(None);
        };
        Ok(Whitelist::new(selector).map(|whitelist| (whitelist, origin)))
    }
}

/// The selector under `name`, if it is there.
pub(super) fn selector_of(mode: Mode, fields: &Fields<'_>, name: &'static str) -> Result<Option<Demand>, Mistake> {
    let Some(text) = fields.string(name)? else { return Ok(None) };
    match mode.parse(&text) {
        Ok(selector) => Ok(Some(Demand { selector, origin: Origin::Setting(fields.place, name) })),
        Err(error) => Err(fields.mistake(name, &error.to_string())),
    }
}

/// Whether `name`, of an entry, is that of `namespace`, or its beginning and `*`.
fn names(name: &str, namespace: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => namespace.starts_with(prefix),
        None => !name.is_empty() && name == namespace,
    }
}

pub(super) fn both_blocks() -> Mistake {
    Mistake::new(&"", &format!("{BLOCK} and {PLUGIN_BLOCK} exclude each other; keep one of them"))
}
