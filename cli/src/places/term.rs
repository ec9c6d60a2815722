//! Terms that select nodes: of a Pod's required node affinity, and of a PersistentVolume's.

use k8s_openapi::api::core::v1;
use node_placement_policy::{placement::node_affinity::operator_named, selector::Requirement};

use super::node::Node;

/// The only field of a Node that a term can match.
const NODE_NAME: &str = "metadata.name";

/// One of the ORed terms of a `NodeSelector` that can match a node: it has expressions, and all are valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// What labels must be, by key.
    pub labels: Vec<Requirement>,
    /// What the node's name must be.
    pub names: Vec<NameRule>,
}

/// What a term says of a node's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameRule {
    /// It must be this one.
    Is(String),
    /// It must be another one.
    IsNot(String),
}

impl Term {
    /// Reads the terms that can match a node.
    ///
    /// Upstream: `NewLazyErrorNodeSelector` of `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`.
    pub fn all(selector: &v1::NodeSelector) -> Vec<Self> {
        selector.node_selector_terms.iter().filter_map(Self::read).collect()
    }

    fn read(term: &v1::NodeSelectorTerm) -> Option<Self> {
        let (expressions, fields) = (term.match_expressions.iter().flatten(), term.match_fields.iter().flatten());
        let mut labels: Vec<Requirement> = expressions.map(requirement).collect::<Option<_>>()?;
        labels.sort();
        let names: Vec<NameRule> = fields.map(name_rule).collect::<Option<_>>()?;
        (!labels.is_empty() || !names.is_empty()).then_some(Self { labels, names })
    }

    /// Returns whether a node matches.
    ///
    /// Upstream: `nodeSelectorTerm.match` of the same package.
    pub fn matches(&self, node: &Node) -> bool {
        self.first_unmet(node).is_none() && self.names.iter().all(|rule| rule.accepts(&node.name))
    }

    /// Returns the first requirement that the labels of a node do not meet.
    pub fn first_unmet(&self, node: &Node) -> Option<&Requirement> {
        self.labels.iter().find(|requirement| !requirement.accepts(node.label(requirement.key())))
    }
}

impl NameRule {
    /// Returns the name that it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Is(name) | Self::IsNot(name) => name,
        }
    }

    fn accepts(&self, name: &str) -> bool {
        match self {
            Self::Is(only) => only == name,
            Self::IsNot(other) => other != name,
        }
    }
}

/// Reads an expression; `None` if it is not valid.
pub fn requirement(expression: &v1::NodeSelectorRequirement) -> Option<Requirement> {
    let operator = operator_named(&expression.operator)?;
    Requirement::new(expression.key.clone(), operator, expression.values.clone().unwrap_or_default()).ok()
}

fn name_rule(field: &v1::NodeSelectorRequirement) -> Option<NameRule> {
    let [name] = field.values.as_deref()? else { return None };
    match (field.key.as_str(), field.operator.as_str()) {
        (NODE_NAME, "In") => Some(NameRule::Is(name.clone())),
        (NODE_NAME, "NotIn") => Some(NameRule::IsNot(name.clone())),
        _ => None,
    }
}
