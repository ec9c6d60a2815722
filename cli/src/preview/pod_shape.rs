//! What a Pod requires of nodes, read and compared with the pools once for all Pods that require the same.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use anyhow::Result;
use node_placement_policy::toleration::Taint;
use serde_json::{Value, json};

use crate::{
    explain::fit::needs_of,
    input::manifests::Manifests,
    places::{
        fit::{Exclusion, Fit, Obstacle, Unevaluated},
        node_map::{NodeMap, Place, Pool},
        pod::PodNeeds,
    },
    webhook::resource::REQUIRED_AFFINITY,
};

/// What a Pod requires of nodes.
pub struct PodShape {
    /// What its PodSpec requires, and of a DaemonSet its template.
    pub needs: PodNeeds,
    spots: OnceCell<Vec<Place>>,
}

/// The shapes of all Pods that are judged, each once.
#[derive(Default)]
pub struct PodShapes(HashMap<String, Rc<PodShape>>);

impl PodShapes {
    /// The shape of a Pod for which these PodSpecs stand.
    ///
    /// # Errors
    /// A field has a type that no PodSpec has.
    pub fn add(&mut self, specs: &[Value], cluster: &Manifests) -> Result<Rc<PodShape>> {
        let identity = specs.iter().map(identity).collect();
        if let Some(shape) = self.0.get(&identity) {
            return Ok(shape.clone());
        }
        let shape = Rc::new(PodShape { needs: needs_of(specs, cluster)?, spots: OnceCell::new() });
        self.0.insert(identity, shape.clone());
        Ok(shape)
    }

    /// What all of them require.
    pub fn needs(&self) -> impl Iterator<Item = &PodNeeds> {
        self.0.values().map(|shape| &shape.needs)
    }
}

/// A text that is the same for PodSpecs that require the same of nodes.
fn identity(spec: &Value) -> String {
    let affinity = &spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY];
    let class = &spec["runtimeClassName"];
    json!([spec["nodeName"], spec["nodeSelector"], affinity, spec["tolerations"], class]).to_string()
}

impl PodShape {
    /// Where it can run, which is always asked of the same pools: by labels, lasting taints and names.
    pub fn spots(&self, map: &NodeMap) -> &[Place] {
        let is_accepted = |(place, fit): (Place, Fit)| fit.is_accepted().then_some(place);
        self.spots.get_or_init(|| map.fits(&self.needs).into_iter().filter_map(is_accepted).collect())
    }

    /// Why it could not be evaluated whether Karpenter creates a node for it.
    pub fn unevaluated(&self, map: &NodeMap) -> Option<Unevaluated> {
        map.fits(&self.needs).into_iter().find_map(|(_, fit)| match fit {
            Fit::Unknown(why) => Some(why),
            _ => None,
        })
    }

    /// The taints that exclude it from `nodes`; none, if something else excludes it from one.
    pub fn excluding_taints(&self, map: &NodeMap, nodes: &[String]) -> Vec<Taint> {
        let mut taints: Vec<Taint> = vec![];
        let theirs: BTreeSet<usize> = nodes.iter().filter_map(|node| map.position_of(node)).collect();
        let theirs = theirs.into_iter().filter_map(|position| map.pools.get(position));
        for exclusion in theirs.filter_map(|pool| excluded_from(map, pool, &self.needs)) {
            let Obstacle::Taints { taints: of_pool, .. } = exclusion.what else { return vec![] };
            taints.extend(of_pool);
        }
        taints.sort_by_key(ToString::to_string);
        taints.dedup();
        taints
    }
}

/// Returns the first thing that excludes a Pod from a pool; nothing, if its nodes accept the Pod, or Karpenter would create
/// one that does.
pub fn excluded_from(map: &NodeMap, pool: &Pool, needs: &PodNeeds) -> Option<Exclusion> {
    let fits = [map.fit_nodes(pool, needs), pool.creates.as_ref().map(|creates| creates.fit(needs))];
    if fits.iter().flatten().any(Fit::is_accepted) {
        return None;
    }
    // What the NodePool says is said first.
    fits.into_iter().rev().flatten().find_map(|fit| match fit {
        Fit::No(exclusion) => Some(exclusion),
        _ => None,
    })
}

/// Returns whether a pool accepts a Pod, by labels, lasting taints and names.
pub fn accepts(map: &NodeMap, pool: &Pool, needs: &PodNeeds) -> bool {
    let fits = [map.fit_nodes(pool, needs), pool.creates.as_ref().map(|creates| creates.fit(needs))];
    fits.iter().flatten().any(Fit::is_accepted)
}
