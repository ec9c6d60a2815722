//! What somebody demands of Pods, who, and in which dialect.

use std::fmt;

use super::fields::Place;
use super::placement_block::PLUGIN_BLOCK;
use crate::message::quote;
use crate::selector::{self, ParseError, Selector};
use crate::toleration::Toleration;

/// As which of the two the policy behaves and speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All rules, and the whole language of selectors.
    Placement,
    /// The in-tree plugin `PodNodeSelector`.
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

/// Tolerations that somebody lists.
#[derive(Clone, Debug, PartialEq)]
pub struct TolerationList {
    /// In order.
    pub tolerations: Vec<Toleration>,
    /// Who lists them.
    pub origin: Origin,
}
