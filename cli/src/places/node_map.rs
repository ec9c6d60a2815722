//! The nodes of a cluster, in pools that are alike in all that counts.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use anyhow::Result;
use k8s_openapi::api::{core::v1, resource::v1::DeviceClass};
use node_placement_policy::toleration::Taint;

use super::{
    amount::Amount,
    fit::Fit,
    node::Node,
    node_pool::{self, KnownValues, LeftOut, NODE_POOL_LABEL, NodePool},
    pod::PodNeeds,
    requests::{Lack, is_enough},
};
use crate::cluster::{self, manifests::Manifests};

/// What a cluster has to run Pods on.
#[derive(Clone, Debug, Default)]
pub struct Machines {
    /// The Nodes.
    pub nodes: Vec<v1::Node>,
    /// The NodePools of Karpenter.
    pub node_pools: Vec<cluster::NodePool>,
    /// The classes of devices.
    pub device_classes: Vec<DeviceClass>,
}

impl Machines {
    /// Reads those of a cluster.
    ///
    /// # Errors
    /// An object is none of its kind: which, and where.
    pub fn read(cluster: &Manifests) -> Result<Self> {
        Ok(Self {
            nodes: cluster.all().collect::<Result<_>>()?,
            node_pools: cluster.all().collect::<Result<_>>()?,
            device_classes: cluster.all().collect::<Result<_>>()?,
        })
    }
}

/// What tells nodes apart, besides what Pods require of them.
#[derive(Clone, Debug, Default)]
pub struct NodeTraits {
    /// The keys of labels.
    pub labels: BTreeSet<String>,
    /// Whether each node is a pool of its own: it may have an answer of its own.
    pub each_node: bool,
}

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

/// Where a Pod can run. It holds the position of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the nodes of a pool that are there.
    Nodes(usize),
    /// On a node that Karpenter would create.
    NodePool(usize),
}

impl Place {
    /// Returns the position of the pool.
    pub const fn pool(self) -> usize {
        match self {
            Self::Nodes(pool) | Self::NodePool(pool) => pool,
        }
    }
}

/// All pools of a cluster.
#[derive(Clone, Debug, Default)]
pub struct NodeMap {
    /// The largest first, NodePools without nodes last; those of one size by name.
    pub pools: Vec<Pool>,
    /// The Nodes and NodePools that are in no pool, and why.
    pub left_out: Vec<(String, LeftOut)>,
    /// The extended resources that DeviceClasses stand for.
    pub devices: BTreeSet<String>,
    /// The position of each node's pool.
    positions: HashMap<String, usize>,
}

impl NodeMap {
    /// Sorts Nodes and NodePools into pools by these traits and by what `pods` require of nodes: each pool accepts each of
    /// the Pods with all its nodes, or with none.
    ///
    /// # Errors
    /// A NodePool can't be read.
    pub fn new<'p>(
        machines: Machines,
        traits: NodeTraits,
        pods: impl IntoIterator<Item = &'p PodNeeds>,
    ) -> Result<Self> {
        let Machines { nodes, node_pools, device_classes } = machines;
        let mut left_out = vec![];
        let nodes = usable_nodes(&nodes, &mut left_out);
        let node_pools = creating_node_pools(&node_pools, &nodes, &mut left_out)?;
        let likeness = Likeness::new(traits, !node_pools.is_empty(), pods);
        let mut pools: Vec<Pool> =
            node_pools.iter().filter(|it| !it.is_complete).map(|it| likeness.pool_of(&it.node_pool)).collect();
        likeness.sort_into(&mut pools, nodes);
        let known: BTreeSet<&String> = node_pools.iter().map(|it| &it.node_pool.name).collect();
        for pool in &mut pools {
            pool.nodes.sort_by(|one, other| one.name.cmp(&other.name));
            pool.node_pool = pool.labels.get(NODE_POOL_LABEL).filter(|name| known.contains(name)).cloned();
        }
        give_names(&mut pools);
        pools.sort_by(|one, other| other.nodes.len().cmp(&one.nodes.len()).then_with(|| one.name.cmp(&other.name)));
        let mut positions = HashMap::new();
        for (position, pool) in pools.iter().enumerate() {
            positions.extend(pool.nodes.iter().map(|node| (node.name.clone(), position)));
        }
        let devices = device_classes.iter().filter_map(|class| class.spec.extended_resource_name.clone()).collect();
        Ok(Self { pools, left_out, devices, positions })
    }

    /// Returns the position of the pool that a node is in.
    pub fn position_of(&self, node: &str) -> Option<usize> {
        self.positions.get(node).copied()
    }

    /// Returns a node by its name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        let pool = self.pools.get(self.position_of(name)?)?;
        pool.nodes.iter().find(|node| node.name == name)
    }

    /// Returns every place, and whether a Pod can run there.
    pub fn fits(&self, pod: &PodNeeds) -> Vec<(Place, Fit)> {
        let mut fits = vec![];
        for (position, pool) in self.pools.iter().enumerate() {
            fits.extend(pool.creates.as_ref().map(|creates| (Place::NodePool(position), creates.fit(pod))));
            fits.extend(self.fit_nodes(pool, pod).map(|fit| (Place::Nodes(position), fit)));
        }
        fits
    }

    /// Returns whether a pool accepts a Pod, by labels, lasting taints and names: with its nodes, or with those that
    /// Karpenter would create.
    pub fn accepts(&self, pool: &Pool, pod: &PodNeeds) -> bool {
        let created = pool.creates.as_ref().map(|creates| creates.fit(pod));
        [self.fit_nodes(pool, pod), created].iter().flatten().any(Fit::is_accepted)
    }

    /// Returns whether a Pod can run on the nodes of a pool that are there: the best answer of one of them, if it has any.
    pub fn fit_nodes(&self, pool: &Pool, pod: &PodNeeds) -> Option<Fit> {
        let mut best = None;
        for node in &pool.nodes {
            best = Some(match (best, pod.fit(node, &self.devices)) {
                (_, Fit::Now) => return Some(Fit::Now),
                (Some(Fit::NotNow(passing)), _) | (_, Fit::NotNow(passing)) => Fit::NotNow(passing),
                (Some(Fit::TooSmall(known)), Fit::TooSmall(lacking)) => Fit::TooSmall(largest(known, lacking)),
                (Some(Fit::TooSmall(lacking)), _) | (_, Fit::TooSmall(lacking)) => Fit::TooSmall(lacking),
                (Some(known), _) => known,
                (None, fit) => fit,
            });
        }
        best
    }
}

/// Merges what two nodes lack, with what the larger one has.
pub fn largest(known: Vec<Lack>, lacking: Vec<Lack>) -> Vec<Lack> {
    let mut all: BTreeMap<String, Lack> = known.into_iter().map(|lack| (lack.resource.clone(), lack)).collect();
    for lack in lacking {
        let own = all.entry(lack.resource.clone()).or_insert_with(|| lack.clone());
        own.largest = own.largest.max(lack.largest);
    }
    all.into_values().collect()
}

/// Returns the Nodes that run new Pods, at once or when a condition passes.
fn usable_nodes(nodes: &[v1::Node], left_out: &mut Vec<(String, LeftOut)>) -> Vec<Node> {
    let mut usable = vec![];
    for node in nodes {
        match node.metadata.deletion_timestamp {
            Some(_) => {
                let name = node.metadata.name.as_deref().unwrap_or_default();
                left_out.push((format!("Node {name}"), LeftOut::BeingDeleted));
            }
            None => usable.push(Node::from(node)),
        }
    }
    usable
}

/// A NodePool that creates nodes.
struct Creating {
    node_pool: NodePool,
    /// Whether it is a static one whose nodes are all there.
    is_complete: bool,
}

/// Returns the NodePools of which Karpenter creates nodes.
fn creating_node_pools(
    objects: &[cluster::NodePool],
    nodes: &[Node],
    left_out: &mut Vec<(String, LeftOut)>,
) -> Result<Vec<Creating>> {
    let mut node_pools = vec![];
    for object in objects {
        let node_pool = NodePool::read(object)?;
        match node_pool::left_out(object) {
            Some(why) => left_out.push((format!("NodePool {}", node_pool.name), why)),
            None => node_pools.push(node_pool),
        }
    }
    let mut known = KnownValues::new();
    let of_nodes = nodes.iter().flat_map(|node| &node.labels).map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in of_nodes.chain(node_pools.iter().flat_map(NodePool::named_values)) {
        known.entry(key.to_owned()).or_default().insert(value.to_owned());
    }
    let known = Rc::new(known);
    let creating = node_pools.into_iter().map(|node_pool| {
        let own = nodes.iter().filter(|node| node.label(NODE_POOL_LABEL) == Some(&node_pool.name)).count();
        let is_complete = node_pool.replicas.is_some_and(|all| own >= all);
        Creating { node_pool: node_pool.knowing(&known), is_complete }
    });
    Ok(creating.collect())
}

/// What tells nodes apart.
struct Likeness {
    labels: BTreeSet<String>,
    /// Whether each node is a pool of its own.
    each_node: bool,
    /// The names of nodes that Pods name.
    names: BTreeSet<String>,
    /// Whether there are Pods, which cordoned nodes do not accept.
    has_pods: bool,
    /// The amounts that Pods request of each resource.
    requested: Vec<(String, Vec<Amount>)>,
}

/// What nodes of one pool have in common.
#[derive(PartialEq, Eq, Hash)]
struct Shared {
    labels: BTreeMap<String, String>,
    lasting_taints: Vec<String>,
    passing_taints: Vec<String>,
    name: Option<String>,
    /// How many of the amounts that Pods request are too much for them, by resource. Nodes of real clusters differ by some
    /// KiB, which tells none apart as long as no request lies between.
    too_much: Vec<usize>,
}

impl Likeness {
    fn new<'p>(traits: NodeTraits, has_node_pools: bool, pods: impl IntoIterator<Item = &'p PodNeeds>) -> Self {
        let NodeTraits { mut labels, each_node } = traits;
        labels.extend(has_node_pools.then(|| NODE_POOL_LABEL.to_owned()));
        let (mut names, mut has_pods) = (BTreeSet::new(), false);
        let mut requested: BTreeMap<String, BTreeSet<Amount>> = BTreeMap::new();
        for pod in pods {
            has_pods = true;
            labels.extend(pod.label_keys().map(str::to_owned));
            names.extend(pod.node_names().map(str::to_owned));
            for (resource, amount) in &pod.requests.0 {
                requested.entry(resource.clone()).or_default().insert(*amount);
            }
        }
        let requested = requested.into_iter().map(|(resource, amounts)| (resource, amounts.into_iter().collect()));
        Self { labels, each_node, names, has_pods, requested: requested.collect() }
    }

    /// Returns the pool that stands for a NodePool, with those of its labels that count.
    fn pool_of(&self, node_pool: &NodePool) -> Pool {
        let labels = node_pool.known_labels().filter(|(key, _)| self.labels.contains(*key));
        Pool {
            labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            taints: node_pool.taints.clone(),
            creates: Some(node_pool.clone()),
            ..Pool::default()
        }
    }

    /// Puts each node into the pool of those that are like it, which may be a new one.
    fn sort_into(&self, pools: &mut Vec<Pool>, nodes: Vec<Node>) {
        let of_node_pools: HashMap<_, usize> =
            pools.iter().map(|pool| (pool.labels.clone(), texts(&pool.taints))).zip(0..).collect();
        let mut positions: HashMap<Shared, usize> = HashMap::new();
        for node in nodes {
            let shared = self.shared(&node);
            let position = *positions.entry(shared).or_insert_with_key(|shared| {
                let like = (shared.labels.clone(), shared.lasting_taints.clone());
                let free = of_node_pools.get(&like).filter(|_| shared.name.is_none());
                if let Some(position) =
                    free.filter(|position| pools.get(**position).is_some_and(|it| it.nodes.is_empty()))
                {
                    return *position;
                }
                let taints = node.lasting_taints.clone();
                pools.push(Pool { labels: shared.labels.clone(), taints, ..Pool::default() });
                pools.len() - 1
            });
            if let Some(pool) = pools.get_mut(position) {
                pool.nodes.push(node);
            }
        }
    }

    fn shared(&self, node: &Node) -> Shared {
        let label = |key: &String| Some((key.clone(), node.labels.get(key)?.clone()));
        let is_named = self.each_node || self.names.contains(&node.name);
        let too_much = |(resource, amounts): &(String, Vec<Amount>)| {
            let has = node.allocatable.get(resource).copied().unwrap_or_default();
            let is_known = !node.allocatable.is_empty();
            amounts.iter().filter(|amount| is_known && !is_enough(resource, **amount, has)).count()
        };
        Shared {
            labels: self.labels.iter().filter_map(label).collect(),
            lasting_taints: texts(&node.lasting_taints),
            passing_taints: if self.has_pods { texts(&node.passing_taints) } else { vec![] },
            name: is_named.then(|| node.name.clone()),
            too_much: self.requested.iter().map(too_much).collect(),
        }
    }
}

fn texts(taints: &[Taint]) -> Vec<String> {
    taints.iter().map(ToString::to_string).collect()
}

/// Gives each pool a name of its own: its labels; with its taints, or its first node, where there are several.
fn give_names(pools: &mut [Pool]) {
    for name in [by_labels, by_taints, by_first_node] {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for pool in pools.iter() {
            *counts.entry(pool.name.clone()).or_default() += 1;
        }
        for pool in pools.iter_mut() {
            if pool.name.is_empty() || counts.get(&pool.name).is_some_and(|count| *count > 1) {
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
    use crate::places::pod::PodSpecs;

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

    fn pools(nodes: Vec<Value>, node_pools: Vec<Value>, labels: &[&str], pods: &[PodNeeds]) -> NodeMap {
        let labels = labels.iter().map(ToString::to_string).collect();
        let machines = Machines::read(&nodes.into_iter().chain(node_pools).collect()).unwrap();
        NodeMap::new(machines, NodeTraits { labels, each_node: false }, pods).unwrap()
    }

    fn names(pools: &NodeMap) -> Vec<(&str, Vec<&str>)> {
        pools
            .pools
            .iter()
            .map(|pool| (pool.name.as_str(), pool.nodes.iter().map(|node| node.name.as_str()).collect()))
            .collect()
    }

    fn pod(mut spec: Value) -> PodNeeds {
        if spec["containers"].is_null() {
            spec["containers"] = json!([]);
        }
        PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec).unwrap()))
    }

    fn requesting(cpu: &str) -> PodNeeds {
        pod(json!({ "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }] }))
    }

    fn sized(name: &str, cpu: &str) -> Value {
        let mut node = node(name, json!({}), json!([]));
        node["status"] = json!({ "allocatable": { "cpu": cpu, "pods": "110" } });
        node
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
        let fits: Vec<bool> = classes.fits(&named).iter().map(|(_, fit)| *fit == Fit::Now).collect();
        assert_eq!(fits, [true, false]);
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
    fn a_pod_runs_on_nodes_that_are_there_or_on_what_karpenter_would_create() {
        let nodes = vec![node("a", json!({ "team": "blue", NODE_POOL_LABEL: "blue" }), json!([]))];
        let pools = pools(nodes, vec![node_pool("blue", json!({ "team": "blue" }), json!([]))], &[], &[]);
        let fits = |label: &str, value: &str| {
            let fits = pools.fits(&pod(json!({ "nodeSelector": { label: value } })));
            fits.into_iter().filter(|(_, fit)| *fit == Fit::Now).map(|(place, _)| place).collect::<Vec<_>>()
        };
        assert_eq!(fits("team", "blue"), [Place::NodePool(0), Place::Nodes(0)]);
        assert_eq!(fits("kubernetes.io/os", "linux"), [Place::NodePool(0)]);
        assert_eq!(fits("team", "red"), []);
    }

    #[test]
    fn nodes_are_told_apart_by_size_only_where_a_request_lies_between() {
        let nodes = || vec![sized("a", "3990m"), sized("b", "4"), sized("c", "8")];
        let of = |pods: &[PodNeeds]| pools(nodes(), vec![], &[], pods).pools.len();
        assert_eq!(of(&[]), 1);
        assert_eq!(of(&[requesting("1")]), 1);
        assert_eq!(of(&[requesting("1"), requesting("6")]), 2);
        assert_eq!(of(&[requesting("4"), requesting("6")]), 3);
    }

    #[test]
    fn the_best_node_of_a_pool_counts() {
        let mut cordoned = sized("b", "4");
        cordoned["spec"]["unschedulable"] = json!(true);
        let pools = pools(vec![sized("a", "2"), cordoned], vec![], &[], &[]);
        let fit = |cpu| pools.fits(&requesting(cpu)).pop().unwrap().1;
        assert_eq!(fit("1"), Fit::Now);
        assert!(matches!(fit("3"), Fit::NotNow(_)));
        assert!(matches!(fit("5"), Fit::TooSmall(lacking) if lacking[0].largest == Amount::whole(4)));
    }

    #[test]
    fn devices_are_not_compared() {
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu" },
            "spec": { "extendedResourceName": "example.com/gpu" },
        });
        let spec = |name: &str| json!({ "containers": [{ "name": "c", "resources": { "requests": { name: "1" } } }] });
        let pools = pools(vec![sized("a", "2")], vec![class], &[], &[]);
        assert_eq!(pools.fits(&pod(spec("example.com/gpu")))[0].1, Fit::Now);
        assert!(matches!(pools.fits(&pod(spec("nvidia.com/gpu")))[0].1, Fit::TooSmall(_)));
    }
}
