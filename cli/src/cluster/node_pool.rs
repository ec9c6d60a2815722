//! Karpenter's NodePools, as far as a verdict depends on them.

use std::collections::BTreeMap;

use k8s_openapi::{
    ClusterResourceScope, Resource,
    api::core::v1,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use serde::Deserialize;

/// An object of `karpenter.sh/v1`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodePool {
    /// Its name, and whether it is being deleted.
    pub metadata: ObjectMeta,
    /// The nodes that it creates.
    #[serde(default)]
    pub spec: NodePoolSpec,
    /// Whether it is ready.
    pub status: Option<NodePoolStatus>,
}

/// The nodes that a NodePool creates.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodePoolSpec {
    /// The template of its nodes.
    #[serde(default)]
    pub template: NodeClaimTemplate,
    /// The number of nodes of a static NodePool.
    pub replicas: Option<i64>,
    /// The most that its nodes may have in all.
    pub limits: Option<BTreeMap<String, Quantity>>,
}

/// The conditions of a NodePool.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodePoolStatus {
    /// One of them is `Ready`.
    pub conditions: Option<Vec<v1::NodeCondition>>,
}

/// The template of the nodes of a NodePool.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodeClaimTemplate {
    /// Their labels.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Their requirements and taints.
    #[serde(default)]
    pub spec: NodeClaimSpec,
}

/// The requirements and taints of nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimSpec {
    /// The object of the provider that says how to create them.
    pub node_class_ref: Option<NodeClassReference>,
    /// Which values of labels they can have.
    pub requirements: Option<Vec<NodePoolRequirement>>,
    /// Their taints, without `startupTaints`, which pass.
    pub taints: Option<Vec<v1::Taint>>,
}

/// A reference to an object of the provider.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct NodeClassReference {
    /// Its API group.
    #[serde(default)]
    pub group: String,
}

/// A requirement, as in node affinity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolRequirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, or one that could not be evaluated.
    pub operator: String,
    /// Its values.
    pub values: Option<Vec<String>>,
    /// The number of values that must be left for a node that is created.
    pub min_values: Option<usize>,
}

impl Resource for NodePool {
    const API_VERSION: &'static str = "karpenter.sh/v1";
    const GROUP: &'static str = "karpenter.sh";
    const KIND: &'static str = "NodePool";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "nodepools";
    type Scope = ClusterResourceScope;
}
