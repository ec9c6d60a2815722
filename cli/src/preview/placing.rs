//! Where Pods would run: every Pod that is judged, against nodes that are alike in all that any of them names.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
};

use anyhow::Result;
use node_placement_policy::toleration::Taint;
use serde_json::Value;

use crate::{
    input::manifests::Manifests,
    requests::runtime_class,
    scheduling::{
        constraints::Constraints,
        exclusion::Exclusion,
        pool::{Pool, Pools},
    },
};

/// What one of the Pods that are judged asks of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodId(usize);

/// What all Pods that are judged ask of nodes, each once.
#[derive(Default)]
pub struct Pods {
    ids: HashMap<String, PodId>,
    constraints: Vec<Constraints>,
}

impl Pods {
    /// Notes what a PodSpec asks for.
    ///
    /// # Errors
    /// A field has a type that no PodSpec has.
    pub fn add(&mut self, spec: &Value, cluster: &Manifests) -> Result<PodId> {
        let identity = Constraints::identity(spec);
        if let Some(id) = self.ids.get(&identity) {
            return Ok(*id);
        }
        let class = runtime_class::class_of(spec, cluster)?;
        self.constraints.push(Constraints::read(spec, class.as_ref())?);
        let id = PodId(self.constraints.len() - 1);
        self.ids.insert(identity, id);
        Ok(id)
    }
}

/// The nodes and NodePools of a cluster, and which of them take which Pod.
pub struct Nodes {
    classes: Pools,
    pods: Vec<(Constraints, OnceCell<Takers>)>,
}

/// Which classes of nodes take a Pod, in the order of the classes.
#[derive(Clone)]
pub struct Takers(Vec<Takes>);

/// Whether a class of nodes takes a Pod.
#[derive(Clone, Copy)]
struct Takes {
    /// Its nodes do.
    nodes: bool,
    /// Karpenter would create a node of it for the Pod.
    created: bool,
}

impl Nodes {
    /// Sorts the nodes of a cluster by what `pods` ask for, and by more labels.
    ///
    /// # Errors
    /// A Node or a NodePool can't be read.
    pub fn of(cluster: &Manifests, pods: Pods, labels: BTreeSet<String>) -> Result<Self> {
        let classes = Pools::of(cluster, labels, &pods.constraints)?;
        Ok(Self { classes, pods: pods.constraints.into_iter().map(|pod| (pod, OnceCell::new())).collect() })
    }

    /// The classes; none, if there are neither Nodes nor NodePools.
    pub fn classes(&self) -> &[Pool] {
        &self.classes.pools
    }

    /// The class of a node, if the cluster has that.
    pub fn class_of(&self, node: &str) -> Option<usize> {
        self.classes.position_of(node)
    }

    /// What a Pod asks for.
    pub fn constraints(&self, id: PodId) -> Option<&Constraints> {
        self.pods.get(id.0).map(|(pod, _)| pod)
    }

    /// Whether two Pods ask for other nodes, whatever they tolerate.
    pub fn ask_for_others(&self, one: &[PodId], other: &[PodId]) -> bool {
        let asked = |id: &PodId| self.constraints(*id).map(|pod| (&pod.node_selector, &pod.terms, &pod.node_name));
        !one.iter().map(asked).eq(other.iter().map(asked))
    }

    /// Whether one Pod lacks a toleration that another has.
    pub fn lacks_tolerations(&self, one: &[PodId], other: &[PodId]) -> bool {
        let tolerations = |id: &PodId| self.constraints(*id).map(|pod| pod.tolerations.as_slice()).unwrap_or_default();
        let mut pairs = one.iter().map(tolerations).zip(other.iter().map(tolerations));
        pairs.any(|(one, other)| other.iter().any(|toleration| !one.contains(toleration)))
    }

    /// Which classes take all of these, which stand for one Pod.
    pub fn takers(&self, ids: &[PodId]) -> Takers {
        let mut all = vec![Takes { nodes: true, created: true }; self.classes().len()];
        for (pod, takers) in ids.iter().filter_map(|id| self.pods.get(id.0)) {
            for (all, one) in all.iter_mut().zip(&takers.get_or_init(|| self.found(pod)).0) {
                *all = Takes { nodes: all.nodes && one.nodes, created: all.created && one.created };
            }
        }
        Takers(all)
    }

    /// For each class, the first thing that excludes the Pod that these stand for.
    pub fn exclusions(&self, ids: &[PodId]) -> Vec<(&Pool, Exclusion)> {
        let pods: Vec<&Constraints> = ids.iter().filter_map(|id| self.constraints(*id)).collect();
        let excluded = |pool| pods.iter().find_map(|pod| Pool::excludes(pool, pod));
        self.classes().iter().filter_map(|pool| Some((pool, excluded(pool)?))).collect()
    }

    /// The taints that exclude the Pod that these stand for from `nodes`; none, if something else excludes it from one.
    pub fn taints(&self, ids: &[PodId], nodes: &[String]) -> Vec<Taint> {
        let mut taints: Vec<Taint> = vec![];
        for (pool, exclusion) in self.exclusions(ids) {
            if !pool.nodes.iter().any(|node| nodes.contains(&node.name)) {
                continue;
            }
            let Exclusion::Taints { taints: of_pool, .. } = exclusion else { return vec![] };
            taints.extend(of_pool);
        }
        taints.sort_by_key(ToString::to_string);
        taints.dedup();
        taints
    }

    /// The values that nodes have of a label.
    pub fn values_of(&self, key: &str) -> BTreeSet<&str> {
        let nodes = self.classes().iter().flat_map(|pool| &pool.nodes);
        nodes.filter_map(|node| node.labels.get(key).map(String::as_str)).collect()
    }

    fn found(&self, pod: &Constraints) -> Takers {
        let takes = |pool: &Pool| Takes {
            nodes: !pool.nodes.is_empty() && pool.nodes_exclude(pod).is_none(),
            created: pool.would_create(pod),
        };
        Takers(self.classes().iter().map(takes).collect())
    }
}

impl Takers {
    /// Whether the nodes of a class take it.
    pub fn nodes_of(&self, class: usize) -> bool {
        self.0.get(class).is_some_and(|takes| takes.nodes)
    }

    /// Whether Karpenter would create a node of a class.
    pub fn creates(&self, class: usize) -> bool {
        self.0.get(class).is_some_and(|takes| takes.created)
    }

    /// Which classes take it, or another Pod.
    pub fn or(&self, other: &Self) -> Self {
        let either = |(one, other): (&Takes, &Takes)| Takes {
            nodes: one.nodes || other.nodes,
            created: one.created || other.created,
        };
        Self(self.0.iter().zip(&other.0).map(either).collect())
    }

    /// Whether anything takes it.
    pub fn are_any(&self) -> bool {
        self.0.iter().any(|takes| takes.nodes || takes.created)
    }

    /// Whether Karpenter would create nodes of a class for it that it would not create for another.
    pub fn create_more_than(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one.created && !other.created)
    }
}
