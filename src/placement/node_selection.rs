//! What of a Pod decides on which nodes it may run: `nodeSelector` and required node affinity.

use std::collections::BTreeMap;

use super::node_affinity::Term;
use crate::json::read::read;
use crate::json::{Raw, RawObject, ReadError, StringMap, Within};

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
    pub node_selector: StringMap<'a>,
    /// The terms of required node affinity, of which one must match; nothing, if there is no such affinity.
    pub terms: Option<Vec<Term>>,
}

impl<'a> NodeSelection<'a> {
    /// Reads that of `spec`, a PodSpec.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(spec: &RawObject<'a>) -> Result<Self, ReadError> {
        let node_selector = spec.get(NODE_SELECTOR)?.unwrap_or_default();
        let required = spec.object_at(&REQUIRED_AFFINITY)?;
        let terms = required.map(read_terms).transpose().within(&REQUIRED_AFFINITY.join("."))?;
        Ok(Self { node_selector, terms })
    }

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
    /// It can't be read.
    pub fn parse(spec: &'a str) -> Result<Self, ReadError> {
        Self::read(read::<Raw<'a>>(spec)?.object()?)
    }

    /// The same with these pairs, where it does not have their keys.
    pub fn with_pairs(mut self, pairs: &BTreeMap<String, String>) -> Self {
        for (key, value) in pairs {
            if !self.node_selector.contains_key(key.as_str()) {
                self.node_selector.insert(key.as_str().into(), value.as_str().into());
            }
        }
        self
    }

    /// Whether a node with this name, of which `label` tells the labels, is one that the Pod may run on.
    ///
    /// Upstream: `RequiredNodeAffinity.Match` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn matches_node<'l>(&self, node: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.node_selector.iter().all(|(key, value)| label(key) == Some(&**value))
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node, &label)))
    }

    /// Whether a node with this name and these labels is one that the Pod may run on.
    pub fn matches(&self, node: &str, labels: &StringMap<'_>) -> bool {
        self.matches_node(node, |key| labels.get(key).map(|value| &**value))
    }
}

fn read_terms(required: &RawObject<'_>) -> Result<Vec<Term>, ReadError> {
    let list = required.list(TERMS)?;
    let mut terms = Vec::with_capacity(list.len());
    for (position, term) in list.iter().enumerate() {
        terms.push(Term::read(term).at(position).within(TERMS)?);
    }
    Ok(terms)
}
