//! What a Pod asks of nodes, read and compared with the pools once for all Pods that ask for the same.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use anyhow::Result;
use node_placement_policy::toleration::Taint;
use serde_json::Value;

use crate::{
    input::manifests::Manifests,
    scheduling::{
        constraints::{Constraints, Exclusion},
        pool::{Pool, Pools},
    },
};

/// What a Pod asks of nodes.
pub struct PodShape {
    /// What its PodSpec asks for; of a DaemonSet first what its controller compares nodes with.
    constraints: Vec<Constraints>,
    spots: OnceCell<Vec<RunTarget>>,
}

/// The shapes of all Pods that are judged, each once.
#[derive(Default)]
pub struct PodShapes(HashMap<Vec<String>, Rc<PodShape>>);

/// Where a Pod can run: on the nodes of a pool, or on a node that Karpenter would create for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTarget {
    /// The position of the pool.
    pub pool: usize,
    /// Whether the node would be created.
    pub is_created: bool,
}

impl PodShapes {
    /// The shape of a Pod of a workload of this `kind`, for which these PodSpecs stand.
    ///
    /// # Errors
    /// A field has a type that no PodSpec has.
    pub fn add(&mut self, kind: &str, specs: &[Value], cluster: &Manifests) -> Result<Rc<PodShape>> {
        let identity = specs.iter().map(Constraints::identity).collect();
        if let Some(shape) = self.0.get(&identity) {
            return Ok(shape.clone());
        }
        let constraints = specs.iter().map(|spec| Constraints::of_kind(kind, spec, cluster)).collect::<Result<_>>()?;
        let shape = Rc::new(PodShape { constraints, spots: OnceCell::new() });
        self.0.insert(identity, shape.clone());
        Ok(shape)
    }

    /// What all of them ask for.
    pub fn constraints(&self) -> impl Iterator<Item = &Constraints> {
        self.0.values().flat_map(|shape| &shape.constraints)
    }
}

impl PodShape {
    /// What its own PodSpec asks for.
    pub fn own(&self) -> Option<&Constraints> {
        self.constraints.last()
    }

    /// Whether two Pods ask for the same nodes, whatever they tolerate.
    pub fn asks_for_nodes_of(&self, other: &Self) -> bool {
        let asks_for = |own: &Constraints, other: &Constraints| {
            own.node_selector == other.node_selector && own.terms == other.terms && own.node_name == other.node_name
        };
        self.constraints.len() == other.constraints.len()
            && self.constraints.iter().zip(&other.constraints).all(|(own, other)| asks_for(own, other))
    }

    /// Whether it lacks a toleration that another has.
    pub fn lacks_toleration_of(&self, other: &Self) -> bool {
        let mut pairs = self.constraints.iter().zip(&other.constraints);
        pairs.any(|(own, other)| other.tolerations.iter().any(|toleration| !own.tolerations.contains(toleration)))
    }

    /// Where it can run in these pools, which are always the same.
    pub fn spots(&self, pools: &Pools) -> &[RunTarget] {
        self.spots.get_or_init(|| {
            let mut spots = vec![];
            for (position, pool) in pools.pools.iter().enumerate() {
                if self.constraints.iter().all(|pod| pool.would_create(pod)) {
                    spots.push(RunTarget { pool: position, is_created: true });
                }
                if !pool.nodes.is_empty() && self.constraints.iter().all(|pod| pool.nodes_exclude(pod).is_none()) {
                    spots.push(RunTarget { pool: position, is_created: false });
                }
            }
            spots
        })
    }

    /// The first thing that excludes it from a pool.
    pub fn excluded_from(&self, pool: &Pool) -> Option<Exclusion> {
        self.constraints.iter().find_map(|pod| pool.excludes(pod))
    }

    /// The taints that exclude it from `nodes`; none, if something else excludes it from one.
    pub fn excluding_taints(&self, pools: &Pools, nodes: &[String]) -> Vec<Taint> {
        let mut taints: Vec<Taint> = vec![];
        let theirs: BTreeSet<usize> = nodes.iter().filter_map(|node| pools.position_of(node)).collect();
        let theirs = theirs.into_iter().filter_map(|position| pools.pools.get(position));
        for exclusion in theirs.filter_map(|pool| self.excluded_from(pool)) {
            let Exclusion::Taints { taints: of_pool, .. } = exclusion else { return vec![] };
            taints.extend(of_pool);
        }
        taints.sort_by_key(ToString::to_string);
        taints.dedup();
        taints
    }
}
