//! The nodes that Pods may run on.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1;
use serde_json::Value;

use super::asked::Asked;
use crate::{
    Evaluation, Manifests,
    requests::{runtime_class, template::creation_from},
    scheduling::{
        constraints::Constraints,
        node::Node,
        node_pool::{NodePool, NodePoolObject},
    },
};

/// What Pods can run on: the Nodes and the NodePools of a cluster.
#[derive(Debug, Default)]
pub struct Places {
    nodes: Vec<Node>,
    node_pools: Vec<NodePool>,
}

impl Places {
    /// Those of a cluster.
    ///
    /// # Errors
    /// One of them is none: which, and where.
    pub fn of(cluster: &Manifests) -> Result<Self> {
        Ok(Self {
            nodes: cluster.all::<v1::Node>().map(|node| Ok(Node::from(&node?))).collect::<Result<_>>()?,
            node_pools: cluster
                .all::<NodePoolObject>()
                .map(|object| NodePool::read(&object?))
                .collect::<Result<_>>()?,
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.node_pools.is_empty()
    }

    /// The names of those that take a Pod.
    fn that_take(&self, pod: &Constraints) -> Vec<String> {
        let nodes = self.nodes.iter().filter(|node| pod.excluded_from(node).is_none()).map(|node| &node.name);
        let node_pools = self.node_pools.iter().filter(|pool| pool.excludes(pod).is_none()).map(|pool| &pool.name);
        nodes.chain(node_pools).cloned().collect()
    }
}

/// The names of the nodes and NodePools that may run the Pod of a request, or the Pods of its workload; none, if these
/// are refused.
///
/// # Errors
/// What is asked for makes no Pods.
pub fn nodes(asked: &Asked<'_>, places: &Places, request: &Value, evaluation: &Evaluation) -> Result<Vec<String>> {
    let object = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]);
    let kind = object["kind"].as_str().unwrap_or("object");
    let creation = creation_from(object, asked.cluster);
    if kind != "Pod" {
        creation.as_ref().with_context(|| format!("a {kind} makes no Pods"))?;
    }
    if !evaluation.answer.accepted {
        return Ok(vec![]);
    }
    let mut pod = object.clone();
    if let Some(mut creation) = creation {
        let (evaluation, _) = asked.answer(&creation)?;
        if !evaluation.answer.accepted {
            return Ok(vec![]);
        }
        pod = evaluation.answer.mutated_object.unwrap_or_else(|| creation["object"].take());
    }
    let spec = &mut pod["spec"];
    runtime_class::merge(spec, asked.cluster);
    let class = runtime_class::class_of(spec, asked.cluster)?;
    Ok(places.that_take(&Constraints::read(spec, class.as_ref())?))
}
