//! The placement blocks: `podNodeSelector`, and `podNodeSelectorPluginConfig` of the in-tree plugin.

use std::borrow::Cow;
use std::fmt;

use json::{Json, Object};

use super::choice::Choice;
use super::mistake::Element;
use super::{Mistake, OnBindings, OnDaemonSets, OnNamespaces, OnNodeAffinity, OnNodeName, OnWorkloads};
use crate::selector::{self, Allowance, NodeSelector, ParseError};

pub(super) const BLOCK: &str = "podNodeSelector";
pub(super) const PLUGIN_BLOCK: &str = "podNodeSelectorPluginConfig";

pub(super) const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";
pub(super) const ANNOTATIONS: &str = "namespaceAnnotations";
pub(super) const NAMESPACES: &str = "namespaces";
pub(super) const NAME: &str = "name";
pub(super) const REQUIRED: &str = "requiredNodeSelector";
pub(super) const DEFAULT: &str = "defaultNodeSelector";
pub(super) const ALLOWED: &str = "allowedNodeSelector";

/// The annotation that the in-tree plugin reads (`NamespaceNodeSelectors`).
const IN_TREE_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";

/// How selectors are written, and how the policy behaves and speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As the in-tree plugin does.
    InTree,
    /// The whole language and all rules.
    Full,
}

impl Dialect {
    /// Parses `text` as a selector.
    ///
    /// # Errors
    /// What was found where, and what was expected.
    pub fn parse(self, text: &str) -> Result<NodeSelector, ParseError> {
        match self {
            Self::InTree => selector::parse_pairs(text),
            Self::Full => selector::parse(text),
        }
    }
}

/// A node selector that somebody demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// What is demanded.
    pub selector: NodeSelector,
    /// Who demands it, as it stands in messages: `podNodeSelector.clusterDefaultNodeSelector`.
    pub source: String,
}

/// What the settings say about placement in one namespace. Each part is read when asked for.
#[derive(Clone, Debug)]
pub struct PodNodeSelector<'a> {
    dialect: Dialect,
    block: Object<'a>,
    namespace: String,
    entry: Option<Entry<'a>>,
}

/// The entry of `namespaces` that holds for the namespace.
#[derive(Clone, Debug)]
struct Entry<'a> {
    place: Element,
    fields: Object<'a>,
}

impl<'a> PodNodeSelector<'a> {
    /// The block `podNodeSelector`, for `namespace`.
    pub(super) fn full(block: Object<'a>, namespace: &str) -> Result<Self, Mistake> {
        let entry = find_entry(&block, namespace)?;
        Ok(Self { dialect: Dialect::Full, block, namespace: namespace.to_owned(), entry })
    }

    /// The block `podNodeSelectorPluginConfig`, for `namespace`.
    pub(super) fn in_tree(block: Object<'a>, namespace: &str) -> Self {
        Self { dialect: Dialect::InTree, block, namespace: namespace.to_owned(), entry: None }
    }

    /// How selectors are written.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The namespace that this is about.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What always holds.
    pub fn required(&self) -> Result<Option<Demand>, Mistake> {
        self.of_entry(REQUIRED)
    }

    /// What holds where no annotation is present.
    pub fn default(&self) -> Result<Option<Demand>, Mistake> {
        if let Some(default) = self.of_entry(DEFAULT)? {
            return Ok(Some(default));
        }
        self.demand(&self.block, &self.block_name(), CLUSTER_DEFAULT)
    }

    /// The whitelist; none, if it is empty.
    pub fn allowed(&self) -> Result<Option<(Allowance, String)>, Mistake> {
        let demand = match self.dialect {
            Dialect::InTree => self.demand(&self.block, &PLUGIN_BLOCK, &self.namespace)?,
            Dialect::Full => self.of_entry(ALLOWED)?,
        };
        Ok(demand.and_then(|demand| Allowance::new(demand.selector).map(|allowed| (allowed, demand.source))))
    }

    /// The keys of the namespace's annotations that hold selectors.
    pub fn annotations(&self) -> Result<Vec<Cow<'a, str>>, Mistake> {
        let list = self.block.get(ANNOTATIONS).filter(|_| self.dialect == Dialect::Full);
        list.map_or_else(
            || Ok(vec![Cow::Borrowed(IN_TREE_ANNOTATION)]),
            |list| list.strings().map_err(|mismatch| Mistake::of(&format_args!("{BLOCK}.{ANNOTATIONS}"), mismatch)),
        )
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

    fn choice<T: Choice>(&self, in_tree: T) -> Result<T, Mistake> {
        match self.dialect {
            Dialect::InTree => Ok(in_tree),
            Dialect::Full => T::read(&self.block, BLOCK),
        }
    }

    const fn block_name(&self) -> &'static str {
        match self.dialect {
            Dialect::InTree => PLUGIN_BLOCK,
            Dialect::Full => BLOCK,
        }
    }

    fn of_entry(&self, key: &str) -> Result<Option<Demand>, Mistake> {
        self.entry.as_ref().map_or(Ok(None), |entry| self.demand(&entry.fields, &entry.place, key))
    }

    fn demand(&self, object: &Object<'a>, path: &dyn fmt::Display, key: &str) -> Result<Option<Demand>, Mistake> {
        object.get(key).map(|text| demand(self.dialect, text, format!("{path}.{key}"))).transpose()
    }
}

/// The selector `text`, which stands at `path`.
pub(super) fn demand(dialect: Dialect, text: Json<'_>, path: String) -> Result<Demand, Mistake> {
    let text = text.string().map_err(|mismatch| Mistake::of(&path, mismatch))?;
    match dialect.parse(&text) {
        Ok(selector) => Ok(Demand { selector, source: path }),
        Err(error) => Err(Mistake::new(&path, &error.to_string())),
    }
}

/// The first entry whose name matches `namespace`. Entries that are none can't match.
fn find_entry<'a>(block: &Object<'a>, namespace: &str) -> Result<Option<Entry<'a>>, Mistake> {
    let entries = block.list_by(NAMESPACES, NAME).map_err(|mismatch| Mistake::of(&BLOCK, mismatch))?;
    for (at, entry) in entries.iter().enumerate() {
        if entry.name.as_ref().is_some_and(|name| names(name, namespace)) {
            let place = Element { block: BLOCK, list: NAMESPACES, at };
            let fields = entry.json.object().map_err(|mismatch| Mistake::of(&place, mismatch))?;
            return Ok(Some(Entry { place, fields }));
        }
    }
    Ok(None)
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
