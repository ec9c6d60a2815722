//! The language of label selectors: parse, print, match, contradict, allow. It knows no Kubernetes object.
//!
//! A [`Selector`] is what `k8s.io/apimachinery/pkg/labels` calls a `Selector`: requirements on labels,
//! all of which must hold. There are two ways to write one: [`parse`] reads the whole language,
//! [`parse_pairs`] the `key=value` list that the in-tree `PodNodeSelector` plugin understands. One that
//! exists is valid.

mod parse;
mod requirement;
pub mod syntax;
mod values;
mod whitelist;

use std::fmt;

pub use parse::{ParseError, parse, parse_pairs};
pub use requirement::{Operator, Requirement};
pub use values::PossibleValues;
pub use whitelist::Whitelist;

/// Requirements on labels, all of which must hold; sorted by key, as in Kubernetes. Without any,
/// everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// All of `requirements`.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|before, after| before.key().cmp(after.key()));
        Self { requirements }
    }

    /// Whether everything is selected.
    pub const fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether labels are selected, of which `label` tells the value by key (`labels.Selector.Matches`).
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.first_unmet(label).is_none()
    }

    /// The first requirement that labels don't meet, of which `label` tells the value by key.
    pub fn first_unmet<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.accepts(label(requirement.key())))
    }

    /// The requirements, those on the same label together.
    pub fn by_label(&self) -> impl Iterator<Item = &[Requirement]> {
        self.requirements.chunk_by(|before, after| before.key() == after.key())
    }

    /// The requirements on `key`.
    pub fn on(&self, key: &str) -> &[Requirement] {
        let from = self.requirements.partition_point(|requirement| requirement.key() < key);
        let to = self.requirements.partition_point(|requirement| requirement.key() <= key);
        self.requirements.get(from..to).unwrap_or_default()
    }
}

/// `requirements` as a selector's text.
pub fn text(requirements: &[Requirement]) -> String {
    let texts: Vec<String> = requirements.iter().map(ToString::to_string).collect();
    texts.join(",")
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&self.requirements))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, between, after) = match self.operator() {
            Operator::Exists => ("", "", ""),
            Operator::DoesNotExist => ("!", "", ""),
            Operator::Equals => ("", "=", ""),
            Operator::DoubleEquals => ("", "==", ""),
            Operator::NotEquals => ("", "!=", ""),
            Operator::GreaterThan => ("", ">", ""),
            Operator::LessThan => ("", "<", ""),
            Operator::In => ("", " in (", ")"),
            Operator::NotIn => ("", " notin (", ")"),
        };
        write!(f, "{before}{}{between}{}{after}", self.key(), self.values().join(","))
    }
}
