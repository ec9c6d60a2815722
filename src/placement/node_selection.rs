//! What of a Pod decides on which nodes it may run: `nodeSelector` and required node affinity.

use std::collections::BTreeMap;

use super::node_affinity::Term;
use crate::decision::Rejection;
use crate::json::read::read;
use crate::json::{Pairs, Raw, RawObject, ReadError, Within};
use crate::limits::{MOST_EXPRESSIONS, MOST_TERMS};
use crate::object_meta::ObjectName;

/// The member of a PodSpec that holds the pairs.
pub const NODE_SELECTOR: &str = "nodeSelector";

/// Where in a PodSpec required node affinity stands.
pub const REQUIRED_AFFINITY: [&str; 3] = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

/// The member of required node affinity that holds its terms.
pub const TERMS: &str = "nodeSelectorTerms";

/// On which nodes a Pod may run, by its own account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSelection<'a> {
    /// `nodeSelector`
    pub node_selector: Pairs<'a>,
    /// The terms of required node affinity, of which one must match; nothing, if there is no such affinity, or no rule
    /// reads it.
    pub terms: Option<Vec<Term>>,
}

/// Why terms of node affinity are not read.
#[derive(Debug)]
pub enum TermsError {
    /// They can't be read.
    Malformed(ReadError),
    /// There are more than this, of what.
    TooMany(usize, &'static str),
}

impl<'a> NodeSelection<'a> {
    /// Reads that of `spec`, the JSON text of a PodSpec.
    ///
    /// ```
    /// use node_placement_policy::placement::node_selection::NodeSelection;
    ///
    /// let selection = NodeSelection::parse(r#"{"nodeSelector": {"pool": "blue"}}"#).unwrap();
    /// assert!(selection.matches_node("node-a", |key| if key == "pool" { Some("blue") } else { None }));
    /// assert!(!selection.matches_node("node-b", |_| None));
    /// ```
    ///
    /// # Errors
    /// It can't be read, or there is more of it than the policy reads.
    pub fn parse(spec: &'a str) -> Result<Self, ReadError> {
        let spec: Raw<'a> = read(spec)?;
        let spec = spec.object()?;
        let node_selector = spec.get(NODE_SELECTOR)?.unwrap_or_default();
        let terms = read_terms(&spec).map_err(|error| match error {
            TermsError::Malformed(error) => error,
            TermsError::TooMany(most, what) => {
                ReadError::new(format!("more than {most} {what}")).within(&REQUIRED_AFFINITY.join("."))
            }
        });
        Ok(Self { node_selector, terms: terms? })
    }

    /// The same with these pairs, where it does not have their keys.
    pub fn with_pairs(mut self, pairs: &BTreeMap<String, String>) -> Self {
        for (key, value) in pairs {
            if !self.node_selector.contains_key(key) {
                self.node_selector.insert(key.as_str().into(), value.as_str().into());
            }
        }
        self
    }

    /// Whether a node with this name, of which `label` tells the labels, is one that the Pod may run on.
    ///
    /// Upstream: `RequiredNodeAffinity.Match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches_node<'l>(&self, node: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.node_selector.iter().all(|(key, value)| label(key) == Some(value))
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node, &label)))
    }

    /// Whether a node with this name and these labels is one that the Pod may run on.
    pub fn matches(&self, node: &str, labels: &Pairs<'_>) -> bool {
        self.matches_node(node, |key| labels.get(key))
    }
}

/// The terms of required node affinity in `spec`, a PodSpec; nothing, if it has no such affinity.
///
/// # Errors
/// They can't be read, or there are too many.
pub fn read_terms(spec: &RawObject<'_>) -> Result<Option<Vec<Term>>, TermsError> {
    let Some(required) = spec.object_at(&REQUIRED_AFFINITY)? else { return Ok(None) };
    let path = REQUIRED_AFFINITY.join(".");
    let list = required.first(TERMS, MOST_TERMS).within(&path)?;
    if list.has_more {
        return Err(TermsError::TooMany(MOST_TERMS, "terms"));
    }
    let mut terms = Vec::with_capacity(list.elements.len());
    let mut size = 0;
    for (position, element) in list.elements.into_iter().enumerate() {
        let mut term = Term::default();
        // `null` is a term that matches no node.
        if element.get() != "null" {
            term = Term::read(element.get(), &mut size).at(position).within(TERMS).within(&path)?;
        }
        if size > MOST_EXPRESSIONS {
            return Err(TermsError::TooMany(MOST_EXPRESSIONS, "expressions and values"));
        }
        terms.push(term);
    }
    Ok(Some(terms))
}

impl TermsError {
    /// The rejection of what has such terms in its PodSpec at `path`.
    pub fn reject(self, name: &ObjectName, path: &str) -> Rejection {
        match self {
            Self::Malformed(error) => error.within(path).into(),
            Self::TooMany(most, what) => {
                Rejection::too_many(name, most, what, &format!("{path}.{}", REQUIRED_AFFINITY.join(".")))
            }
        }
    }
}

impl From<ReadError> for TermsError {
    fn from(error: ReadError) -> Self {
        Self::Malformed(error)
    }
}
