//! Where in the settings, or on a Namespace, something is demanded.

use super::placement::{CLUSTER_DEFAULT_NODE_SELECTOR, DEFAULT_NODE_SELECTOR, NamespaceEntry, PLACEMENT};
use crate::json::{ReadError, Within};
use crate::message::quote;
use std::fmt;

/// The block of the in-tree plugin.
pub(super) const NODE_SELECTOR_PLUGIN: &str = "podNodeSelectorPluginConfig";

/// Where something is demanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source<'s> {
    /// A field of the block `placement`.
    Placement(&'static str),
    /// A field of an entry of `placement.namespaces`.
    Entry(EntryAt<'s>, &'static str),
    /// The configuration of the in-tree plugin for a namespace.
    PluginConfig(&'s str),
    /// An annotation of a Namespace.
    Annotation {
        /// Its key.
        key: &'s str,
        /// The namespace.
        namespace: &'s str,
    },
}

/// An entry of `placement.namespaces`, and its position there, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryAt<'s> {
    /// Its position.
    pub position: usize,
    /// The entry.
    pub entry: &'s NamespaceEntry,
}

impl Source<'_> {
    /// Whether this is a node selector that holds where no annotation is present.
    pub fn is_default(&self) -> bool {
        matches!(self, Self::Entry(_, DEFAULT_NODE_SELECTOR) | Self::Placement(CLUSTER_DEFAULT_NODE_SELECTOR))
    }

    /// The path of the setting, without what else tells an entry from others. The key of an annotation is none.
    pub fn path(&self) -> String {
        match self {
            Self::Entry(at, field) => format!("{at}.{field}"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placement(field) => write!(f, "{PLACEMENT}.{field}"),
            Self::Entry(at, field) => {
                write!(f, "{at}.{field}")?;
                // Its name too: a position is hard to find in a long list.
                match (&at.entry.name, &at.entry.namespace_selector) {
                    (Some(name), _) => write!(f, " (name {})", quote(name)),
                    (None, Some(selector)) => write!(f, " (namespaceSelector {})", quote(selector)),
                    (None, None) => Ok(()),
                }
            }
            Self::PluginConfig(namespace) => write!(f, "{NODE_SELECTOR_PLUGIN}.{namespace}"),
            Self::Annotation { key, namespace } => write!(f, "annotation {key} of namespace {}", quote(namespace)),
        }
    }
}

impl fmt::Display for EntryAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PLACEMENT}.namespaces[{}]", self.position)
    }
}

/// What is wrong with one setting: its path, as in `placement.namespaces[1].allowedNodeSelector`, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub(super) ReadError);

impl SettingsError {
    /// `problem` at `path`; an empty path stands for the settings as a whole.
    pub fn new(path: &dyn fmt::Display, problem: impl Into<String>) -> Self {
        Self(ReadError::new(problem).within(&path.to_string()))
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
