//! Which pools take a Pod, and what excludes it from the others.

use anyhow::Result;
use node_placement_policy::selector::{Requirement, parse};
use serde::Serialize;
use serde_json::Value;

use crate::{
    demands::{Demand, DemandSort},
    input::manifests::Manifests,
    requests::runtime_class,
    scheduling::{
        constraints::Constraints,
        exclusion::{Exclusion, LabelExclusion},
        pool::{Pool, Pools},
        resources::Requests,
    },
};

/// Where a Pod fits.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// Why it is refused, if it is; under `enforcement: Warn` it begins with `would be rejected: `.
    pub refused: Option<String>,
    /// Every pool. Empty if the Pod is refused.
    pub pools: Vec<PoolFit>,
    /// The names of the pools that fit, and have no node with as much CPU, memory or extended resources as it requests.
    pub too_small: Vec<String>,
    /// The names of the pools that fit, and whose nodes are all cordoned, not ready, or about to go.
    pub not_now: Vec<String>,
}

/// Whether a pool takes a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PoolFit {
    /// The name of the pool.
    pub name: String,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// Whether it takes the Pod, as far as labels, taints and names tell.
    pub fits: bool,
    /// The first thing that excludes the Pod, if it does not.
    pub excluded_by: Option<String>,
    /// What the Pod requests more of than any of its nodes has.
    pub lacks: Vec<String>,
}

impl Fit {
    /// The pools where the Pod can run now: they take it, are large enough, and ready.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        let is_usable =
            |pool: &&PoolFit| pool.fits && !self.too_small.contains(&pool.name) && !self.not_now.contains(&pool.name);
        self.pools.iter().filter(is_usable)
    }
}

/// A Pod, as far as nodes are concerned. One of a DaemonSet must suit two who compare.
#[derive(Debug)]
pub struct Placed {
    /// What it asks of nodes.
    pub constraints: Vec<Constraints>,
    requests: Requests,
}

impl Placed {
    /// Reads PodSpecs that stand for one Pod.
    ///
    /// # Errors
    /// One is none.
    pub fn read(specs: &[Value], cluster: &Manifests) -> Result<Self> {
        let constraints = specs.iter().map(|spec| {
            let class = runtime_class::class_of(spec, cluster)?;
            Constraints::read(spec, class.as_ref())
        });
        let requests = specs.first().map_or_else(|| Ok(Requests::default()), Requests::read)?;
        Ok(Self { constraints: constraints.collect::<Result<_>>()?, requests })
    }

    /// Where it fits; `demands` are those of its namespace, where it has them.
    pub fn fit(&self, pools: &Pools, demands: &[Demand<'_>]) -> Fit {
        let mut fit = Fit::default();
        for pool in &pools.pools {
            let excluded = self.constraints.iter().find_map(|constraints| pool.excludes(constraints));
            let fits = excluded.is_none();
            let is_too_small = fits && pool.is_too_small(&self.requests);
            if is_too_small {
                fit.too_small.push(pool.name.clone());
            }
            if fits && self.constraints.iter().any(|constraints| pool.is_not_now(constraints)) {
                fit.not_now.push(pool.name.clone());
            }
            fit.pools.push(PoolFit {
                name: pool.name.clone(),
                nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
                fits,
                excluded_by: excluded.map(|excluded| in_words(&excluded, pool, demands)),
                lacks: if is_too_small { self.lacking(pool) } else { vec![] },
            });
        }
        fit
    }

    /// What it requests of which nodes of `pool` have too little.
    fn lacking(&self, pool: &Pool) -> Vec<String> {
        let mut lacking: Vec<String> =
            pool.nodes.iter().filter_map(|node| self.requests.lacking(node)).map(str::to_owned).collect();
        lacking.sort_unstable();
        lacking.dedup();
        lacking
    }
}

/// The exclusion, and who asked for it.
fn in_words(excluded: &Exclusion, pool: &Pool, demands: &[Demand<'_>]) -> String {
    let told = excluded.describe(pool.place());
    match excluded {
        Exclusion::Label(label) => match demanded_by(label, demands) {
            Some(source) => format!("{told}, demanded by {source}"),
            None => format!("{told}, which it asks for itself"),
        },
        Exclusion::Taint(_) => format!("{told}, which the Pod does not tolerate"),
        Exclusion::Name | Exclusion::RuntimeClass { .. } | Exclusion::MatchesNothing => told,
    }
}

/// Who demands the label that excludes a Pod; nobody but the Pod, perhaps.
fn demanded_by(label: &LabelExclusion, demands: &[Demand<'_>]) -> Option<String> {
    let needed = parse(&label.needs).ok()?;
    let is_needed = |requirement: &Requirement| needed.requirements().iter().any(|own| own.same_as(requirement));
    let demands_it = |demand: &&Demand<'_>| {
        demand.sort == DemandSort::Required && demand.selector.requirements().iter().any(is_needed)
    };
    demands.iter().find(demands_it).map(|demand| demand.source.to_string())
}
