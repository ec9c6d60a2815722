//! Which pools take a Pod, and what excludes it from the others.

use anyhow::Result;
use node_placement_policy::selector::{Requirement, Selector, parse};
use serde::Serialize;
use serde_json::Value;

use crate::{
    demands::{Demand, DemandKind},
    input::manifests::Manifests,
    scheduling::{
        constraints::Constraints,
        constraints::{Exclusion, LabelExclusion},
        label_values::LabelValues,
        node::Node,
        node_pool::CREATED,
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
    /// The names of the pools that fit, and whose nodes, those that are large enough, are all cordoned, not ready, or about
    /// to go.
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
    #[serde(skip)]
    pub lacks: Vec<String>,
    /// The names of its nodes where the Pod can run now: they take it, are large enough, and ready.
    #[serde(skip)]
    pub usable: Vec<String>,
    /// Whether the Pod is too large for some of its nodes.
    #[serde(skip)]
    pub has_small_nodes: bool,
}

impl Fit {
    /// The pools where the Pod can run now: they take it, are large enough, and ready.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        let is_usable =
            |pool: &&PoolFit| pool.fits && !self.too_small.contains(&pool.name) && !self.not_now.contains(&pool.name);
        self.pools.iter().filter(is_usable)
    }
}

/// Why the policy refuses to bind the Pod to a node, by its name; or to one that Karpenter would create, with this
/// metadata. Nothing, if it does not.
pub type Refuses<'r> = dyn Fn(&str, Option<&Value>) -> Result<Option<String>> + 'r;

/// A Pod, as far as nodes are concerned. One of a DaemonSet must suit two who compare.
#[derive(Debug)]
pub struct Placed {
    /// What it asks of nodes.
    pub constraints: Vec<Constraints>,
    requests: Requests,
}

impl Placed {
    /// Reads PodSpecs that stand for one Pod; the last is its own. What its controller sees of a template lacks the
    /// overhead of a RuntimeClass.
    ///
    /// # Errors
    /// One is none.
    pub fn read(specs: &[Value], cluster: &Manifests) -> Result<Self> {
        let constraints = specs.iter().map(|spec| Constraints::read(spec, cluster));
        let requests = specs.last().map_or_else(|| Ok(Requests::default()), Requests::read)?;
        Ok(Self { constraints: constraints.collect::<Result<_>>()?, requests })
    }

    /// Where it fits; `demands` are those of its namespace, where it has them. It `refuses` Bindings, if it is asked about
    /// them.
    ///
    /// # Errors
    /// Those of `refuses`.
    pub fn fit(&self, pools: &Pools, demands: &[Demand], refuses: Option<&Refuses<'_>>) -> Result<Fit> {
        let mut fit = Fit::default();
        for pool in &pools.pools {
            let name = &pool.name;
            let excluded = self.constraints.iter().find_map(|pod| Some((pod, pool.excludes(pod)?)));
            let mut excluded_by = excluded.map(|(pod, excluded)| in_words(&excluded, pod, pool, demands));
            let creates = self.constraints.iter().all(|pod| pool.would_create(pod));
            // A NodePool may take what its nodes do not.
            let takes_it = self.constraints.iter().all(|pod| pool.nodes_exclude(pod).is_none());
            let mut nodes: Vec<&Node> = pool.nodes.iter().filter(|_| takes_it).collect();
            if let Some(refuses) = refuses.filter(|_| excluded_by.is_none()) {
                let refused = self.refused(pool, &mut nodes, creates, refuses)?;
                excluded_by = refused.map(|why| format!("the policy refuses to bind the Pod to it: {why}"));
            }
            let fits = excluded_by.is_none();
            let large: Vec<&Node> =
                nodes.iter().copied().filter(|node| self.requests.lacking(&node.allocatable).is_none()).collect();
            let is_ready = |node: &&Node| !self.constraints.iter().any(|pod| pod.waits_for(node));
            let usable: Vec<String> = large.iter().copied().filter(is_ready).map(|node| node.name.clone()).collect();
            let is_too_small = fits && !creates && large.is_empty();
            if is_too_small {
                fit.too_small.push(name.clone());
            }
            // Where no node is large enough, it is still worth knowing that none is ready either.
            let counted = if is_too_small { &nodes } else { &large };
            if fits && !creates && !counted.iter().copied().any(|node| is_ready(&node)) {
                fit.not_now.push(name.clone());
            }
            fit.pools.push(PoolFit {
                name: name.clone(),
                nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
                fits,
                excluded_by,
                lacks: if is_too_small { self.lacking(&nodes) } else { vec![] },
                usable,
                has_small_nodes: large.len() < nodes.len(),
            });
        }
        Ok(fit)
    }

    /// Takes away the nodes to which the policy refuses to bind the Pod; why, if none is left.
    fn refused(
        &self,
        pool: &Pool,
        nodes: &mut Vec<&Node>,
        creates: bool,
        refuses: &Refuses<'_>,
    ) -> Result<Option<String>> {
        let created = pool.creates.as_ref().filter(|_| creates && nodes.is_empty()).zip(self.constraints.last());
        if let Some((node_pool, pod)) = created {
            return refuses(CREATED, Some(&node_pool.node_for(pod)));
        }
        let (mut first, mut left) = (None, vec![]);
        for node in nodes.iter() {
            match refuses(&node.name, None)? {
                None => left.push(*node),
                Some(why) => first = first.or(Some(why)),
            }
        }
        *nodes = left;
        Ok(first.filter(|_| nodes.is_empty()))
    }

    /// What it requests of which nodes have too little.
    fn lacking(&self, nodes: &[&Node]) -> Vec<String> {
        let mut lacking: Vec<String> =
            nodes.iter().filter_map(|node| self.requests.lacking(&node.allocatable)).map(str::to_owned).collect();
        lacking.sort_unstable();
        lacking.dedup();
        lacking
    }
}

/// The exclusion, and who asked for it.
fn in_words(excluded: &Exclusion, pod: &Constraints, pool: &Pool, demands: &[Demand]) -> String {
    let mut told = excluded.describe(pool.target());
    let Exclusion::Label(label) = excluded else { return told };
    let terms = pod.terms.iter().flatten().filter(|term| !term.is_empty()).count();
    if terms > 1 && !pod.node_selector.contains_key(&label.key) {
        told += &format!(", or to meet another of the {terms} terms of its node affinity");
    }
    match demanded_by(label, demands) {
        _ if label.class.is_some() => told,
        Some(source) => format!("{told}, demanded by {source}"),
        None => format!("{told}, which it asks for itself"),
    }
}

/// Who demands the label that excludes a Pod; nobody but the Pod, perhaps.
fn demanded_by<'d>(label: &LabelExclusion, demands: &'d [Demand]) -> Option<&'d str> {
    let needed = parse(&label.needs).unwrap_or_default();
    // What is needed of a NodePool is told as Karpenter compares values.
    let is_needed = |requirement: &Requirement| {
        needed.requirements().iter().any(|own| own.same_as(requirement))
            || LabelValues::from_requirement(requirement)
                .is_some_and(|values| values.describe(requirement.key()) == label.needs)
    };
    let required = demands.iter().filter(|demand| demand.kind == DemandKind::Required);
    let mut demanding =
        required.filter(|demand| demand.selector.iter().flat_map(Selector::requirements).any(is_needed));
    demanding.next().map(|demand| demand.source.as_str())
}
