//! The language of node selectors: parse, print, match, conflict, allow. It knows no Kubernetes object.
//!
//! A [`NodeSelector`] is what `k8s.io/apimachinery/pkg/labels` calls a `Selector`: requirements on labels,
//! all of which must hold. There are two ways to write one: [`parse`] reads the whole language,
//! [`parse_pairs`] the `key=value` list that the in-tree `PodNodeSelector` plugin understands. One that
//! exists is valid.

mod allow;
mod error;
mod lexer;
mod pairs;
mod parse;
mod print;
mod requirement;
pub mod syntax;

pub use allow::Allowance;
pub use error::ParseError;
pub use pairs::parse_pairs;
pub use parse::parse;
pub use requirement::{Operator, Requirement};

/// Requirements on a node's labels, all of which must hold; sorted by key, as in Kubernetes. Without any, every
/// node is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelector {
    requirements: Vec<Requirement>,
}

/// Two requirements that demand different values of one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction<'a> {
    /// The label.
    pub key: &'a str,
    /// What one requirement demands.
    pub one: &'a str,
    /// What the other demands.
    pub other: &'a str,
}

impl NodeSelector {
    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self { requirements }
    }

    /// Whether every node is selected.
    pub const fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether labels are selected, of which `label` tells the value by key (`labels.Selector.Matches`).
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.accepts(label(requirement.key())))
    }

    /// The pairs that belong into a Pod's `spec.nodeSelector`: of every requirement that demands one value.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requirements.iter().filter_map(|requirement| Some((requirement.key(), requirement.only_value()?)))
    }

    /// The requirements that no nodeSelector can express, and node affinity must.
    pub fn expressions(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|requirement| requirement.only_value().is_none())
    }

    /// The requirements on `key`.
    pub fn on<'s>(&'s self, key: &str) -> impl Iterator<Item = &'s Requirement> {
        self.requirements.iter().filter(move |requirement| requirement.key() == key)
    }

    /// Where this selector contradicts `other`, or itself.
    pub fn contradiction<'s>(&'s self, other: &'s Self) -> Option<Contradiction<'s>> {
        self.pairs().find_map(|(key, one)| {
            other.pairs().find(|(also, value)| *also == key && *value != one).map(|(_, other)| Contradiction {
                key,
                one,
                other,
            })
        })
    }
}
