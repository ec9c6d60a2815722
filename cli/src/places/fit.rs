//! Whether a Pod can run in a place, and why not: as values. Sentences are worded from them elsewhere.

use node_placement_policy::{selector::Requirement, toleration::Taint};

use super::requests::Lack;
use crate::{cluster::Gap, webhook::deployment::Refusal};

/// Whether a Pod can run in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It can.
    Now,
    /// It could, but for taints that pass: the nodes are cordoned, not ready, or about to go.
    NotNow(Passing),
    /// No node is large enough for it alone.
    TooSmall(Vec<Lack>),
    /// Something excludes it.
    No(Exclusion),
    /// A policy refuses to bind it there.
    Unbindable(Refusal),
    /// It could not be evaluated.
    Unknown(Unevaluated),
}

impl Fit {
    /// Returns whether labels, lasting taints and names accept the Pod. Only time or size may keep it away.
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Now | Self::NotNow(_) | Self::TooSmall(_))
    }
}

/// Returns the best of some answers: one that says that the Pod can run now, if there is one; else later, else where nodes
/// are too small.
pub fn best<'f>(fits: impl IntoIterator<Item = &'f Fit>) -> Option<&'f Fit> {
    let order = |fit: &&Fit| match fit {
        Fit::Now => 0,
        Fit::Unknown(_) => 1,
        Fit::NotNow(_) => 2,
        Fit::TooSmall(_) => 3,
        Fit::Unbindable(_) => 4,
        Fit::No(_) => 5,
    };
    fits.into_iter().min_by_key(order)
}

/// Taints that keep a Pod away until a condition passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The taints, as the node has them.
    pub taints: Vec<Taint>,
}

/// The first thing that excludes a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// Where that is required.
    pub by: Spec,
    /// What excludes it.
    pub what: Obstacle,
}

/// Where something is required of nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spec {
    /// In the Pod.
    Pod,
    /// In the template of a DaemonSet, with which its controller compares nodes.
    Template,
    /// In the RuntimeClass of this name.
    RuntimeClass(String),
}

/// What excludes a Pod from a node, or from what a NodePool creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The Pod names another node, by `spec.nodeName` or by the field `metadata.name`; Karpenter creates no node for a Pod
    /// that names any.
    Name,
    /// A label.
    Label(LabelObstacle),
    /// Lasting taints that the Pod does not tolerate for good.
    Taints {
        /// All of them.
        taints: Vec<Taint>,
        /// Whether it tolerates each for some seconds, after which it is evicted.
        for_a_time: bool,
    },
    /// A volume of a Pod is reached from none of the places that accept it.
    Volume {
        /// The name of the Pod.
        pod: String,
        /// The name of the PersistentVolume.
        volume: String,
    },
    /// The Pod's required node affinity matches no node at all: it has no term, or only empty, invalid or contradictory
    /// ones.
    MatchesNothing,
}

/// A label that a node or a NodePool lacks, or has with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelObstacle {
    /// What the Pod requires of it: one requirement, of NodePools perhaps several.
    pub needs: Vec<Requirement>,
    /// What there is instead.
    pub has: Has,
    /// How many terms the node affinity has that requires it; 0 if the nodeSelector does.
    pub terms: usize,
}

impl LabelObstacle {
    /// Returns the key of the label.
    pub fn key(&self) -> &str {
        self.needs.first().map(Requirement::key).unwrap_or_default()
    }
}

/// What a node or a NodePool has of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Has {
    /// It has no such label.
    Nothing,
    /// A Node has this value.
    Value(String),
    /// The nodes of a NodePool have values that meet these requirements.
    Values {
        /// What its template and requirements say of the label.
        requirements: Vec<Requirement>,
        /// How many values must remain for the Pod; 0 if the NodePool does not say so.
        min_values: usize,
    },
}

/// Why it could not be evaluated whether a Pod can run in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unevaluated {
    /// Whether it may be bound there.
    Binding(Gap),
    /// It may not be bound to a node with what the NodePool says, but somebody else may add what that lacks.
    Created(Refusal),
    /// The NodePool has an operator on this label that is not evaluated: `Gt`, `Lt`, `Gte`, `Lte`.
    Operator {
        /// The name of the NodePool.
        node_pool: String,
        /// The key of the label.
        key: String,
    },
    /// No Node has a value of this well-known label that the Pod requires, and no NodePool names one.
    Value {
        /// The name of the NodePool.
        node_pool: String,
        /// What the Pod requires of the label.
        needs: Vec<Requirement>,
    },
}
