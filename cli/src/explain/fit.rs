//! Which pools take a Pod, and what excludes it from the others.

use std::collections::BTreeSet;

use anyhow::Result;
use node_placement_policy::selector::{Requirement, Selector, parse};
use serde::Serialize;
use serde_json::Value;

use crate::{
    demands::{Demand, DemandKind},
    engine::{policy_chain::PolicyChain, reply::Reply},
    input::{
        manifests::Manifests,
        settings_file::{SettingsFile, label_keys_of_files},
    },
    scheduling::{
        constraints::{Constraints, Exclusion, LabelExclusion},
        label_values::LabelValues,
        node::Node,
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
    /// Whether it takes the Pod, and none of its nodes has as much as the Pod requests.
    #[serde(skip)]
    pub is_too_small: bool,
    /// Whether it takes the Pod, and its nodes that are large enough are all cordoned, not ready, or about to go.
    #[serde(skip)]
    pub is_not_now: bool,
    /// What the Pod requests more of than some of its nodes have.
    #[serde(skip)]
    pub lacks: Vec<String>,
    /// The names of its nodes where the Pod can run now: they take it, are large enough, and ready.
    #[serde(skip)]
    pub usable: Vec<String>,
    /// The names of those that take it and are large enough, and that are cordoned, not ready, or about to go.
    #[serde(skip)]
    pub not_now: Vec<String>,
    /// The NodePool of which Karpenter would create a node for it.
    #[serde(skip)]
    pub creates: Option<String>,
}

impl Fit {
    /// The pools where the Pod can run now: they take it, are large enough, and ready.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        self.pools.iter().filter(|pool| pool.fits && !pool.is_too_small && !pool.is_not_now)
    }
}

/// Asks the policies whether the scheduler may bind a Pod.
pub struct BindingReview<'b> {
    /// The policies that are asked.
    pub chain: &'b PolicyChain<'b>,
    /// The namespace of the Pod.
    pub namespace: &'b str,
    /// Its name.
    pub pod: &'b str,
}

impl BindingReview<'_> {
    /// Why the policy refuses to bind the Pod to a node, if it does.
    fn refusal(&self, node: &str) -> Result<Option<String>> {
        Ok(match self.chain.bind(self.namespace, self.pod, node)? {
            Reply::Refused(refusal) => Some(refusal.message),
            _ => None,
        })
    }

    /// Why the policy refuses to bind the Pod to a node that Karpenter would create.
    fn refusal_of_created(&self, node: &Value) -> Result<Option<String>> {
        Ok(match self.chain.bind_to_created(self.namespace, self.pod, node)? {
            // Something else may give the node what its NodePool does not.
            Reply::Refused(refusal) if !refusal.is_about_metadata() => Some(refusal.message),
            _ => None,
        })
    }
}

/// What a Pod needs of the node that it runs on.
#[derive(Debug)]
pub struct PodNeeds {
    /// What it asks of nodes; of a DaemonSet also, and first, what its controller sees.
    constraints: Vec<Constraints>,
    requests: Requests,
}

/// The pools of a cluster, told apart by what the settings of a deployment and some Pods name.
///
/// # Errors
/// A Node or a NodePool can't be read.
pub fn pools_for<'p>(
    files: &[SettingsFile],
    pods: impl IntoIterator<Item = &'p PodNeeds>,
    cluster: &Manifests,
) -> Result<Pools> {
    Pools::read(cluster, label_keys_of_files(files), pods.into_iter().flat_map(|pod| &pod.constraints))
}

impl PodNeeds {
    /// Reads PodSpecs that stand for one Pod of a workload of this `kind`; the last is its own. What its controller sees of a template lacks the
    /// overhead of a RuntimeClass.
    ///
    /// # Errors
    /// One is none.
    pub fn read(kind: &str, specs: &[Value], cluster: &Manifests) -> Result<Self> {
        let constraints = specs.iter().map(|spec| Constraints::of_kind(kind, spec, cluster)).collect::<Result<_>>()?;
        let requests = specs.last().map_or_else(|| Ok(Requests::default()), Requests::read)?;
        Ok(Self { constraints, requests })
    }

    /// Where it fits; `demands` are those of its namespace, where it has them. Where it must be bound, `review` says
    /// whether it may be.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn fit(&self, pools: &Pools, demands: &[Demand], review: Option<&BindingReview<'_>>) -> Result<Fit> {
        let pools = pools.pools.iter().map(|pool| self.fit_pool(pool, demands, review));
        let pools = pools.collect::<Result<Vec<PoolFit>>>()?;
        let too_small = pools.iter().filter(|pool| pool.is_too_small).map(|pool| pool.name.clone()).collect();
        let not_now = pools.iter().filter(|pool| pool.is_not_now).map(|pool| pool.name.clone()).collect();
        Ok(Fit { refused: None, pools, too_small, not_now })
    }

    fn fit_pool(&self, pool: &Pool, demands: &[Demand], review: Option<&BindingReview<'_>>) -> Result<PoolFit> {
        let excluded = |pod| Some(describe_exclusion(&pool.excludes(pod)?, pod, pool, demands));
        let mut excluded_by = self.constraints.iter().find_map(excluded);
        let creates = self.constraints.iter().all(|pod| pool.would_create(pod));
        // A NodePool may take what its nodes do not.
        let takes_it = self.constraints.iter().all(|pod| pool.nodes_exclude(pod).is_none());
        let mut nodes: Vec<&Node> = pool.nodes.iter().filter(|_| takes_it).collect();
        if let Some(review) = review.filter(|_| excluded_by.is_none()) {
            let refusal = self.retain_bindable(pool, &mut nodes, creates, review)?;
            excluded_by = refusal.map(|why| format!("the policy refuses to bind the Pod to it: {why}"));
        }
        let fits = excluded_by.is_none();
        let lacks_on = |node: &Node| self.requests.lacking(&node.allocatable);
        let (large, small): (Vec<&Node>, Vec<&Node>) = nodes.into_iter().partition(|node| lacks_on(node).is_none());
        let is_ready = |node: &&Node| !self.constraints.iter().any(|pod| pod.waits_for(node));
        let is_too_small = fits && !creates && large.is_empty();
        // Where no node is large enough, it is still worth knowing that none is ready either.
        let mut counted = if is_too_small { &small } else { &large }.iter();
        let is_not_now = fits && !creates && !counted.any(&is_ready);
        let (ready, not_ready): (Vec<&Node>, Vec<&Node>) = large.into_iter().partition(|node| is_ready(node));
        let names = |nodes: &[&Node]| nodes.iter().map(|node| node.name.clone()).collect();
        let lacks: BTreeSet<&str> = small.iter().filter_map(|node| lacks_on(node)).collect();
        Ok(PoolFit {
            name: pool.name.clone(),
            nodes: names(&pool.nodes.iter().collect::<Vec<_>>()),
            fits,
            excluded_by,
            is_too_small,
            is_not_now,
            lacks: lacks.into_iter().map(str::to_owned).collect(),
            usable: names(&ready),
            not_now: names(&not_ready),
            creates: pool.creates.as_ref().filter(|_| fits && creates).map(|node_pool| node_pool.name.clone()),
        })
    }

    /// Takes away the nodes to which the policy refuses to bind the Pod; why, if none is left.
    fn retain_bindable(
        &self,
        pool: &Pool,
        nodes: &mut Vec<&Node>,
        creates: bool,
        review: &BindingReview<'_>,
    ) -> Result<Option<String>> {
        let created = pool.creates.as_ref().filter(|_| creates && nodes.is_empty()).zip(self.constraints.last());
        if let Some((node_pool, pod)) = created {
            return review.refusal_of_created(&node_pool.node_for(pod));
        }
        let (mut first, mut bindable) = (None, vec![]);
        for node in nodes.iter() {
            match review.refusal(&node.name)? {
                None => bindable.push(*node),
                Some(why) => first = first.or(Some(why)),
            }
        }
        *nodes = bindable;
        Ok(first.filter(|_| nodes.is_empty()))
    }
}

/// The exclusion, and what asks for it.
fn describe_exclusion(excluded: &Exclusion, pod: &Constraints, pool: &Pool, demands: &[Demand]) -> String {
    let mut text = excluded.describe(pool.target());
    let Exclusion::Label(label) = excluded else { return text };
    let terms = pod.terms.iter().flatten().filter(|term| !term.is_empty()).count();
    if terms > 1 && !pod.node_selector.contains_key(&label.key) {
        text += &format!(", or to meet another of the {terms} terms of its node affinity");
    }
    match demanded_by(label, demands) {
        _ if label.class.is_some() => text,
        Some(source) => format!("{text}, demanded by {source}"),
        None => format!("{text}, which it asks for itself"),
    }
}

/// Where the label is demanded that excludes a Pod, if it is.
fn demanded_by<'d>(label: &LabelExclusion, demands: &'d [Demand]) -> Option<&'d str> {
    let needed = parse(&label.needs).unwrap_or_default();
    // What is needed of a NodePool is worded as Karpenter compares values.
    let is_needed = |requirement: &Requirement| {
        needed.requirements().iter().any(|own| own.same_as(requirement))
            || LabelValues::from_requirement(requirement)
                .is_some_and(|values| values.describe(requirement.key()) == label.needs)
    };
    let is_demanding = |demand: &&Demand| {
        demand.kind == DemandKind::Required && demand.selector.iter().flat_map(Selector::requirements).any(is_needed)
    };
    demands.iter().find(is_demanding).map(|demand| demand.source.as_str())
}
