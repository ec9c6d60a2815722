//! What Pods can run on.

use anyhow::Result;
use k8s_openapi::api::core::v1;

use super::{
    constraints::Constraints,
    node::Node,
    node_pool::{NodePool, NodePoolObject},
};
use crate::input::manifests::Manifests;

/// The Nodes and the NodePools of a cluster that take Pods, at once or when a condition passes.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The Nodes.
    pub nodes: Vec<Node>,
    /// The NodePools.
    pub node_pools: Vec<NodePool>,
    /// The others, and why: `Node n1 is being deleted`.
    pub left_out: Vec<String>,
}

impl Places {
    /// Those of a cluster.
    ///
    /// # Errors
    /// A Node or a NodePool can't be read: which, and where.
    pub fn of(cluster: &Manifests) -> Result<Self> {
        let mut places = Self::default();
        for node in cluster.all::<v1::Node>() {
            let node = node?;
            match node.metadata.deletion_timestamp {
                Some(_) => {
                    let name = node.metadata.name.unwrap_or_default();
                    places.left_out.push(format!("Node {name} is being deleted"));
                }
                None => places.nodes.push(Node::from(&node)),
            }
        }
        for object in cluster.all::<NodePoolObject>() {
            let object = object?;
            let node_pool = NodePool::read(&object)?;
            match object.obstacle() {
                Some(obstacle) => places.left_out.push(format!("NodePool {} {obstacle}", node_pool.name)),
                None => places.node_pools.push(node_pool),
            }
        }
        Ok(places)
    }

    /// The names of those that take a Pod.
    pub fn that_take(&self, pod: &Constraints) -> Vec<String> {
        let nodes = self.nodes.iter().filter(|node| pod.excluded_from(node).is_none()).map(|node| &node.name);
        let node_pools = self.node_pools.iter().filter(|pool| pool.excludes(pod).is_none()).map(|pool| &pool.name);
        nodes.chain(node_pools).cloned().collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.node_pools.is_empty()
    }
}
