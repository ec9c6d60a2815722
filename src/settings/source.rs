//! Names the places in the settings or on a Namespace that require something.

use std::fmt;
use std::ops::Deref;

use super::placement_block::{NamespaceEntry, Placement};
use super::setting::{PLACEMENT, Setting, SettingPath};
use crate::message::quote;

/// The place that requires something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source<'s> {
    /// A field of the block `placement`.
    Placement(Setting),
    /// A field of an entry of `placement.namespaces`.
    Entry(EntryAt<'s>, Setting),
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

/// An entry of `placement.namespaces`, and its position there, counted from zero. Two of the same settings are equal if
/// their positions are.
#[derive(Clone, Copy, Debug)]
pub struct EntryAt<'s> {
    /// Its position.
    pub position: usize,
    /// The entry.
    pub entry: &'s NamespaceEntry,
}

impl<'s> EntryAt<'s> {
    /// Returns all entries of `settings`, in order.
    pub fn all(settings: &'s Placement) -> impl Iterator<Item = Self> {
        settings.namespaces.iter().enumerate().map(|(position, entry)| Self { position, entry })
    }

    /// Returns the path of a setting of the entry.
    pub const fn path(&self, setting: Setting) -> SettingPath {
        SettingPath::Entry(self.position, setting)
    }
}

impl Deref for EntryAt<'_> {
    type Target = NamespaceEntry;

    fn deref(&self) -> &NamespaceEntry {
        self.entry
    }
}

impl PartialEq for EntryAt<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Source<'_> {
    /// Returns whether this is a node selector that holds where no annotation is present.
    pub fn is_default(&self) -> bool {
        use Setting::{ClusterDefaultNodeSelector, DefaultNodeSelector};
        matches!(self, Self::Entry(_, DefaultNodeSelector) | Self::Placement(ClusterDefaultNodeSelector))
    }

    /// Returns whether this is an annotation.
    pub const fn is_annotation(&self) -> bool {
        matches!(self, Self::Annotation { .. })
    }

    /// Returns the path of the setting, or `None` for an annotation.
    pub fn setting(&self) -> Option<SettingPath> {
        match *self {
            Self::Placement(setting) => Some(SettingPath::Placement(setting)),
            Self::Entry(entry, setting) => Some(entry.path(setting)),
            Self::PluginConfig(namespace) => Some(SettingPath::PluginConfig(namespace.to_owned())),
            Self::Annotation { .. } => None,
        }
    }

    /// Returns the key of the annotation, or `None` for a setting.
    pub fn annotation(&self) -> Option<String> {
        if let Self::Annotation { key, .. } = *self { Some(key.to_owned()) } else { None }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Annotation { key, namespace } = self {
            return write!(f, "annotation {key} of namespace {}", quote(namespace));
        }
        if let Some(path) = self.setting() {
            path.fmt(f)?;
        }
        let Self::Entry(at, _) = self else { return Ok(()) };
        // Its name too: a position is hard to find in a long list.
        match (&at.entry.name, &at.entry.namespace_selector) {
            (Some(name), _) => write!(f, " (name {}", quote(name))?,
            (None, Some(selector)) => write!(f, " (namespaceSelector {}", quote(selector))?,
            (None, None) => return Ok(()),
        }
        if let Some(selector) = &at.entry.pod_selector {
            write!(f, ", podSelector {}", quote(selector))?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for EntryAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PLACEMENT}.namespaces[{}]", self.position)
    }
}
