//! Pools: nodes that are alike, and NodePools.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use k8s_openapi::api::core::v1;
use node_placement_policy::toleration::Taint;

use super::{
    constraints::{Constraints, Exclusion},
    node::Node,
    node_pool::{NODE_POOL_LABEL, NodePool, NodePoolObject},
};
use crate::input::manifests::Manifests;

/// Nodes that are alike in all that counts; or what a NodePool would create, with its nodes that are like it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// What a person calls it; no two have the same: `pool=blue`, `NodePool blue`, `other nodes`.
    pub name: String,
    /// The labels that count, as far as its nodes have them. Of a NodePool, those of one value.
    pub labels: BTreeMap<String, String>,
    /// The lasting taints of its nodes, sorted.
    pub taints: Vec<Taint>,
    /// Its nodes that are there, by name.
    pub nodes: Vec<Node>,
    /// The name of the NodePool that its nodes belong to, if the cluster has it.
    pub node_pool: Option<String>,
    /// That NodePool, where this pool stands for it.
    pub creates: Option<NodePool>,
}

impl Pool {
    /// The first thing that excludes a Pod from this pool; nothing, if the pool takes it: its nodes do, or Karpenter would
    /// create one that does.
    pub fn excludes(&self, pod: &Constraints) -> Option<Exclusion> {
        let Some(node_pool) = &self.creates else { return self.nodes_exclude(pod) };
        let excluded = node_pool.excludes(pod)?;
        if self.nodes.is_empty() { Some(excluded) } else { self.nodes_exclude(pod).map(|_| excluded) }
    }

    /// The first thing that excludes a Pod from the nodes that are there; nothing, if they take it, or there are none.
    pub fn nodes_exclude(&self, pod: &Constraints) -> Option<Exclusion> {
        pod.excluded_from(self.nodes.first()?)
    }

    /// Whether Karpenter would create a node for the Pod, of whatever size it needs.
    pub fn would_create(&self, pod: &Constraints) -> bool {
        self.creates.as_ref().is_some_and(|node_pool| node_pool.excludes(pod).is_none())
    }

    /// What a sentence about it calls it: a `node`, or a `NodePool`.
    pub const fn target(&self) -> &'static str {
        if self.creates.is_some() { "NodePool" } else { "node" }
    }

    /// The pool that stands for a NodePool, with those of its labels that count.
    fn of_node_pool(node_pool: NodePool, counted: &BTreeSet<String>) -> Self {
        let labels = node_pool.known_labels().filter(|(key, _)| counted.contains(*key));
        Self {
            labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            taints: node_pool.taints.clone(),
            creates: Some(node_pool),
            ..Self::default()
        }
    }
}

/// All pools of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    /// The largest first, NodePools without nodes last; those of one size by name.
    pub pools: Vec<Pool>,
    /// The position of each node's pool.
    positions: HashMap<String, usize>,
    /// The Nodes and NodePools that are in no pool, and why.
    pub left_out: Vec<String>,
}

/// What nodes of one pool have in common: the labels that count, their lasting taints, and the name of a node that Pods
/// name.
type Likeness = (BTreeMap<String, String>, Vec<String>, Option<String>);

impl Pools {
    /// Sorts the Nodes and NodePools of a cluster into pools: by these `labels`, and by the labels and nodes that `pods`
    /// name.
    ///
    /// # Errors
    /// A Node or a NodePool can't be read: which, and where.
    pub fn read<'p>(
        cluster: &Manifests,
        mut labels: BTreeSet<String>,
        pods: impl IntoIterator<Item = &'p Constraints>,
    ) -> Result<Self> {
        let mut left_out = vec![];
        let nodes = read_nodes(cluster, &mut left_out)?;
        let node_pools = read_node_pools(cluster, &mut left_out)?;
        let mut names = BTreeSet::new();
        for pod in pods {
            labels.extend(pod.label_keys().map(str::to_owned));
            names.extend(pod.node_names());
        }
        if !node_pools.is_empty() {
            labels.insert(NODE_POOL_LABEL.to_owned());
        }
        let known: BTreeSet<String> = node_pools.iter().map(|node_pool| node_pool.name.clone()).collect();
        let nodes_of =
            |pool: &NodePool| nodes.iter().filter(|node| node.labels.get(NODE_POOL_LABEL) == Some(&pool.name)).count();
        // A static NodePool counts by its Nodes, unless some are not there.
        let creating = node_pools.into_iter().filter(|it| it.replicas.is_none_or(|all| nodes_of(it) < all));
        let mut pools: Vec<Pool> = creating.map(|it| Pool::of_node_pool(it, &labels)).collect();
        sort_into(&mut pools, nodes, &labels, &names);
        for pool in &mut pools {
            pool.nodes.sort_by(|one, other| one.name.cmp(&other.name));
            pool.node_pool = pool.labels.get(NODE_POOL_LABEL).filter(|name| known.contains(*name)).cloned();
        }
        give_names(&mut pools);
        pools.sort_by(|one, other| other.nodes.len().cmp(&one.nodes.len()).then_with(|| one.name.cmp(&other.name)));
        let mut positions = HashMap::new();
        for (position, pool) in pools.iter().enumerate() {
            positions.extend(pool.nodes.iter().map(|node| (node.name.clone(), position)));
        }
        Ok(Self { pools, positions, left_out })
    }

    /// The names of the Nodes, then of the NodePools, that take a Pod, whatever labels tell the pools apart.
    pub fn takers(&self, pod: &Constraints) -> Vec<String> {
        let nodes = self.pools.iter().flat_map(|pool| &pool.nodes).filter(|node| pod.excluded_from(node).is_none());
        let mut nodes: Vec<String> = nodes.map(|node| node.name.clone()).collect();
        nodes.sort();
        let creating = self.pools.iter().filter(|pool| pool.would_create(pod));
        nodes.into_iter().chain(creating.filter_map(|pool| pool.node_pool.clone())).collect()
    }

    /// The position of the pool that a node is in.
    pub fn position_of(&self, node: &str) -> Option<usize> {
        self.positions.get(node).copied()
    }
}

/// The Nodes that take Pods, at once or when a condition passes; why not, of each other one.
fn read_nodes(cluster: &Manifests, left_out: &mut Vec<String>) -> Result<Vec<Node>> {
    let mut nodes = vec![];
    for node in cluster.all::<v1::Node>() {
        let node = node?;
        match node.metadata.deletion_timestamp {
            Some(_) => left_out.push(format!("Node {} is being deleted", node.metadata.name.unwrap_or_default())),
            None => nodes.push(Node::from(node)),
        }
    }
    Ok(nodes)
}

/// The NodePools of which Karpenter creates nodes; why not, of each other one.
fn read_node_pools(cluster: &Manifests, left_out: &mut Vec<String>) -> Result<Vec<NodePool>> {
    let mut node_pools = vec![];
    for object in cluster.all::<NodePoolObject>() {
        let object = object?;
        let obstacle = object.obstacle();
        let node_pool = NodePool::read(object)?;
        match obstacle {
            Some(obstacle) => left_out.push(format!("NodePool {} {obstacle}", node_pool.name)),
            None => node_pools.push(node_pool),
        }
    }
    Ok(node_pools)
}

/// Puts each node into the pool of those that are like it, which may be a new one.
fn sort_into(pools: &mut Vec<Pool>, nodes: Vec<Node>, labels: &BTreeSet<String>, names: &BTreeSet<&str>) {
    let likeness = |pool: &Pool| (pool.labels.clone(), texts(&pool.taints), None);
    let mut positions: HashMap<Likeness, usize> = pools.iter().map(likeness).zip(0..).collect();
    for node in nodes {
        let label = |key: &String| Some((key.clone(), node.labels.get(key)?.clone()));
        let name = names.contains(node.name.as_str()).then(|| node.name.clone());
        let likeness = (labels.iter().filter_map(label).collect(), texts(&node.lasting_taints), name);
        let position = *positions.entry(likeness).or_insert_with_key(|(labels, ..)| {
            let (labels, taints) = (labels.clone(), node.lasting_taints.clone());
            pools.push(Pool { labels, taints, ..Pool::default() });
            pools.len() - 1
        });
        if let Some(pool) = pools.get_mut(position) {
            pool.nodes.push(node);
        }
    }
}

fn texts(taints: &[Taint]) -> Vec<String> {
    taints.iter().map(ToString::to_string).collect()
}

/// Gives each pool a name of its own: its labels; with its taints, or its first node, where there are several.
fn give_names(pools: &mut [Pool]) {
    for name in [by_labels, by_taints, by_first_node] {
        let known: Vec<String> = pools.iter().map(|pool| pool.name.clone()).collect();
        for pool in pools.iter_mut() {
            if pool.name.is_empty() || known.iter().filter(|known| **known == pool.name).count() > 1 {
                pool.name = name(pool);
            }
        }
    }
}

fn by_labels(pool: &Pool) -> String {
    if let Some(node_pool) = &pool.creates {
        return format!("NodePool {}", node_pool.name);
    }
    let labels: Vec<String> = pool.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if labels.is_empty() { "other nodes".to_owned() } else { labels.join(", ") }
}

fn by_taints(pool: &Pool) -> String {
    let taints = texts(&pool.taints);
    if taints.is_empty() { pool.name.clone() } else { format!("{} ({})", pool.name, taints.join(", ")) }
}

fn by_first_node(pool: &Pool) -> String {
    let node = pool.nodes.first().map(|node| node.name.as_str()).unwrap_or_default();
    format!("{} ({node})", pool.name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, labels: Value, taints: Value) -> Value {
        let metadata = json!({ "name": name, "labels": labels });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": { "taints": taints } })
    }

    fn taint(key: &str) -> Value {
        json!([{ "key": key, "effect": "NoSchedule" }])
    }

    fn node_pool(name: &str, labels: Value, requirements: Value) -> Value {
        let template = json!({ "metadata": { "labels": labels }, "spec": { "requirements": requirements } });
        let metadata = json!({ "name": name });
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": { "template": template },
        })
    }

    fn pools(nodes: Vec<Value>, node_pools: Vec<Value>, labels: &[&str], pods: &[Constraints]) -> Pools {
        let labels = labels.iter().map(ToString::to_string).collect();
        Pools::read(&nodes.into_iter().chain(node_pools).collect(), labels, pods).unwrap()
    }

    fn names(pools: &Pools) -> Vec<(&str, Vec<&str>)> {
        pools
            .pools
            .iter()
            .map(|pool| (pool.name.as_str(), pool.nodes.iter().map(|node| node.name.as_str()).collect()))
            .collect()
    }

    fn pod(spec: Value) -> Constraints {
        Constraints::read(&spec, &Manifests::default()).unwrap()
    }

    #[test]
    fn nodes_are_told_apart_by_the_labels_that_count_and_by_lasting_taints() {
        let nodes = vec![
            node("a", json!({ "pool": "blue", "disk": "ssd" }), json!([])),
            node("b", json!({ "pool": "blue" }), taint("node.kubernetes.io/unreachable")),
            node("c", json!({ "pool": "blue" }), taint("dedicated")),
            node("d", json!({}), json!([])),
        ];
        let by_label = pools(nodes.clone(), vec![], &["pool"], &[]);
        let expected = [
            ("pool=blue", vec!["a", "b"]),
            ("other nodes", vec!["d"]),
            ("pool=blue (dedicated:NoSchedule)", vec!["c"]),
        ];
        assert_eq!(names(&by_label), expected);

        let classes = pools(nodes, vec![], &["pool"], &[pod(json!({ "nodeSelector": { "disk": "ssd" } }))]);
        assert!(names(&classes).contains(&("disk=ssd, pool=blue", vec!["a"])), "a Pod tells it from b: {classes:?}");
    }

    #[test]
    fn a_node_that_pods_name_is_a_class_of_its_own() {
        let nodes = vec![node("a", json!({}), json!([])), node("b", json!({}), json!([]))];
        let named = pod(json!({ "nodeName": "a" }));
        let classes = pools(nodes, vec![], &[], std::slice::from_ref(&named));
        assert_eq!(classes.pools.len(), 2);
        let taken: Vec<bool> = classes.pools.iter().map(|pool| pool.excludes(&named).is_none()).collect();
        assert_eq!(taken, [true, false]);
    }

    #[test]
    fn a_node_pool_is_a_pool_with_its_nodes_that_are_like_it() {
        let zones = json!([{ "key": "zone", "operator": "In", "values": ["a", "b"] }]);
        let of_pool = |name: &str, labels: Value| {
            let mut labels = labels;
            labels[NODE_POOL_LABEL] = "blue".into();
            node(name, labels, json!([]))
        };
        let nodes = vec![
            of_pool("like", json!({ "team": "blue" })),
            of_pool("unlike", json!({ "team": "blue", "zone": "a" })),
            node("foreign", json!({ "team": "blue", NODE_POOL_LABEL: "gone" }), json!([])),
        ];
        let node_pools =
            vec![node_pool("blue", json!({ "team": "blue" }), zones), node_pool("empty", json!({}), json!([]))];
        let pools = pools(nodes, node_pools, &["team", "zone"], &[]);
        let expected = [
            ("NodePool blue", vec!["like"]),
            ("karpenter.sh/nodepool=blue, team=blue, zone=a", vec!["unlike"]),
            ("karpenter.sh/nodepool=gone, team=blue", vec!["foreign"]),
            ("NodePool empty", vec![]),
        ];
        assert_eq!(names(&pools), expected);
        let node_pools: Vec<_> = pools.pools.iter().map(|pool| pool.node_pool.as_deref()).collect();
        assert_eq!(node_pools, [Some("blue"), Some("blue"), None, Some("empty")]);
    }

    #[test]
    fn a_pool_takes_what_its_nodes_take_or_karpenter_would_create() {
        let nodes = vec![node("a", json!({ "team": "blue", NODE_POOL_LABEL: "blue" }), json!([]))];
        let pools = pools(nodes, vec![node_pool("blue", json!({ "team": "blue" }), json!([]))], &[], &[]);
        let [pool] = pools.pools.as_slice() else { panic!("{pools:?}") };
        assert_eq!(pool.excludes(&pod(json!({ "nodeSelector": { "team": "blue" } }))), None);
        assert_eq!(pool.excludes(&pod(json!({ "nodeSelector": { "kubernetes.io/os": "linux" } }))), None);
        assert!(pool.nodes_exclude(&pod(json!({ "nodeSelector": { "kubernetes.io/os": "linux" } }))).is_some());
        assert!(pool.excludes(&pod(json!({ "nodeSelector": { "team": "red" } }))).is_some());
    }
}
