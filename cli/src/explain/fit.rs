//! Which pools can run a Pod, and what excludes it from the others.

use std::collections::BTreeSet;

use anyhow::Result;
use k8s_openapi::api::core::v1::PodSpec;
use node_placement_policy::selector::{Requirement, Selector};
use serde::Serialize;
use serde_json::Value;

use crate::{
    demands::{Demand, DemandKind},
    input::{
        json::typed,
        manifests::Manifests,
        settings_file::{SettingsFile, label_keys_of_files},
    },
    places::{
        fit::{Exclusion, Fit as Answer, Obstacle, Spec},
        node_map::{Machines, NodeMap, NodeTraits, Pool},
        node_pool::NodePool,
        pod::{PodNeeds, PodSpecs},
    },
    webhook::{
        defaults::runtime_class,
        deployment::{Refusal, Scenario, Target},
    },
    words::{exclusion, unevaluated},
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

/// Whether a pool can run a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// What the Pod requests more of than some of its nodes have.
    #[serde(skip)]
    pub lacks: BTreeSet<String>,
    /// The names of its nodes where the Pod can run now.
    #[serde(skip)]
    pub usable: Vec<String>,
    /// The names of those where it could, and that are cordoned, not ready, or about to go.
    #[serde(skip)]
    pub not_now: Vec<String>,
    /// The names of those that fit, and are too small for it.
    #[serde(skip)]
    pub small: Vec<String>,
    /// Why the policy refuses to bind the Pod to some of its nodes, and their names.
    #[serde(skip)]
    pub unbindable: Option<(String, Vec<String>)>,
    /// The NodePool of which Karpenter would create a node for it.
    #[serde(skip)]
    pub creates: Option<String>,
}

impl PoolFit {
    /// Whether nothing but the size of its nodes keeps the Pod away.
    pub fn is_too_small(&self) -> bool {
        self.creates.is_none() && self.usable.is_empty() && self.not_now.is_empty() && !self.small.is_empty()
    }

    /// Whether all its nodes that are large enough are cordoned, not ready, or about to go.
    pub fn is_not_now(&self) -> bool {
        self.creates.is_none() && self.usable.is_empty() && !self.not_now.is_empty()
    }
}

impl Fit {
    /// The pools where the Pod can run now.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        self.pools.iter().filter(|pool| !pool.usable.is_empty() || pool.creates.is_some())
    }
}

/// Asks the policies whether the scheduler may bind a Pod.
pub struct BindingReview<'b> {
    /// The policies that are asked.
    pub scenario: Scenario<'b>,
    /// What their look-ups reach.
    pub cluster: &'b Manifests,
    /// The namespace of the Pod.
    pub namespace: &'b str,
    /// Its name.
    pub pod: &'b str,
}

impl BindingReview<'_> {
    /// Why the policy refuses to bind the Pod to a node, if it does.
    fn refusal(&self, node: &str) -> Result<Option<String>> {
        Ok(self.bind(Target::Existing(node))?.map(|refusal| refusal.message))
    }

    /// Why the policy refuses to bind the Pod to a node that Karpenter would create.
    fn refusal_of_created(&self, node: &Value) -> Result<Option<String>> {
        let refusal = self.bind(Target::Created(node))?;
        // Something else may give the node what its NodePool does not.
        Ok(refusal.filter(|refusal| !refusal.is_about_metadata()).map(|refusal| refusal.message))
    }

    fn bind(&self, target: Target<'_>) -> Result<Option<Refusal>> {
        Ok(self.scenario.bind(self.namespace, self.pod, target, self.cluster)?.refusal().cloned())
    }
}

/// Reads what a Pod requires of nodes from the PodSpecs that stand for it: its own, which is the last, and of a DaemonSet
/// that of the template.
///
/// # Errors
/// A field has a type that no PodSpec has, or the RuntimeClass is none.
pub fn needs_of(specs: &[Value], cluster: &Manifests) -> Result<PodNeeds> {
    let (Some(own), template) = (specs.last(), specs.len().checked_sub(2).and_then(|at| specs.get(at))) else {
        return Ok(PodNeeds::new(&PodSpecs::of(&PodSpec::default())));
    };
    let read = |spec: &Value| match spec {
        Value::Null => Ok(PodSpec::default()),
        spec => typed::<PodSpec>(spec, "spec.").map(|(read, _)| read),
    };
    let (pod, template, class) = (read(own)?, template.map(read).transpose()?, runtime_class(own, cluster)?);
    Ok(PodNeeds::new(&PodSpecs { pod: &pod, template: template.as_ref(), class: class.as_ref() }))
}

/// The pools of a cluster, told apart by what the settings of a deployment and some Pods name.
///
/// # Errors
/// A Node or a NodePool can't be read.
pub fn pools_for<'p>(
    files: &[SettingsFile],
    pods: impl IntoIterator<Item = &'p PodNeeds>,
    cluster: &Manifests,
) -> Result<NodeMap> {
    let traits = NodeTraits { labels: label_keys_of_files(files), ..NodeTraits::default() };
    NodeMap::new(Machines::read(cluster)?, traits, pods)
}

/// Returns where a Pod fits; `demands` are those of its namespace, where it has them. Where it must be bound, `review` says
/// whether it may be.
///
/// # Errors
/// The policy failed to answer.
pub fn fit(pod: &PodNeeds, map: &NodeMap, demands: &[Demand], review: Option<&BindingReview<'_>>) -> Result<Fit> {
    let pools = map.pools.iter().map(|pool| fit_pool(pod, map, pool, demands, review));
    let pools = pools.collect::<Result<Vec<PoolFit>>>()?;
    let named = |is: fn(&PoolFit) -> bool| pools.iter().filter(|pool| is(pool)).map(|pool| pool.name.clone()).collect();
    Ok(Fit { refused: None, too_small: named(PoolFit::is_too_small), not_now: named(PoolFit::is_not_now), pools })
}

fn fit_pool(
    pod: &PodNeeds,
    map: &NodeMap,
    pool: &Pool,
    demands: &[Demand],
    review: Option<&BindingReview<'_>>,
) -> Result<PoolFit> {
    let nodes = pool.nodes.iter().map(|node| node.name.clone()).collect();
    let mut found = PoolFit { name: pool.name.clone(), nodes, ..PoolFit::default() };
    let mut excluded = None;
    for node in &pool.nodes {
        let answer = pod.fit(node, &map.devices);
        if answer.is_accepted()
            && let Some(why) = review.map(|review| review.refusal(&node.name)).transpose()?.flatten()
        {
            found.unbindable.get_or_insert((why, vec![])).1.push(node.name.clone());
            continue;
        }
        match answer {
            Answer::Now => found.usable.push(node.name.clone()),
            Answer::NotNow(_) => found.not_now.push(node.name.clone()),
            Answer::TooSmall(lacking) => {
                found.small.push(node.name.clone());
                found.lacks.extend(lacking.into_iter().map(|lack| lack.resource));
            }
            Answer::No(exclusion) => excluded = Some(describe_exclusion(&exclusion, "node", demands)),
            Answer::Unknown(why) => excluded = Some(unevaluated(&why)),
        }
    }
    found.fits = [&found.usable, &found.not_now, &found.small].iter().any(|nodes| !nodes.is_empty());
    if let Some(node_pool) = &pool.creates {
        let created = fit_created(pod, node_pool, &mut found, demands, review)?;
        excluded = created.or(excluded);
    }
    if !found.fits {
        let refused =
            found.unbindable.as_ref().map(|(why, _)| format!("the policy refuses to bind the Pod to it: {why}"));
        found.excluded_by = refused.or(excluded);
    }
    Ok(found)
}

/// Adds whether Karpenter would create a node for the Pod; returns why not.
fn fit_created(
    pod: &PodNeeds,
    node_pool: &NodePool,
    found: &mut PoolFit,
    demands: &[Demand],
    review: Option<&BindingReview<'_>>,
) -> Result<Option<String>> {
    match node_pool.fit(pod) {
        Answer::No(exclusion) => return Ok(Some(describe_exclusion(&exclusion, "NodePool", demands))),
        Answer::Unknown(why) => return Ok(Some(format!("could not be evaluated: {}", unevaluated(&why)))),
        Answer::Now | Answer::NotNow(_) | Answer::TooSmall(_) => {}
    }
    // Where Bindings to its nodes that are there are refused, those to new ones are, too.
    if !found.fits && found.unbindable.is_some() {
        return Ok(None);
    }
    let node = pod.own().filter(|_| !found.fits).map(|own| node_pool.node_for(own));
    if let Some((review, node)) = review.zip(node)
        && let Some(why) = review.refusal_of_created(&node)?
    {
        found.unbindable = Some((why, vec![]));
        return Ok(None);
    }
    found.creates = Some(node_pool.name.clone());
    found.fits = true;
    Ok(None)
}

/// The exclusion, and where it is required.
fn describe_exclusion(excluded: &Exclusion, target: &str, demands: &[Demand]) -> String {
    let mut text = exclusion(excluded, target);
    let Obstacle::Label(label) = &excluded.what else { return text };
    if label.terms > 1 {
        text += &format!(", or to meet another of the {} terms of its node affinity", label.terms);
    }
    match (required_by(&label.needs, demands), &excluded.by) {
        (_, Spec::RuntimeClass(_)) => text,
        (Some(source), _) => format!("{text}, required by {source}"),
        (None, _) => format!("{text}, which its manifest requests"),
    }
}

/// Where one of these requirements comes from, if a setting or an annotation requires it.
fn required_by<'d>(needs: &[Requirement], demands: &'d [Demand]) -> Option<&'d str> {
    let is_needed = |requirement: &Requirement| needs.iter().any(|own| own.same_as(requirement));
    let requires = |demand: &&Demand| {
        demand.kind == DemandKind::Required && demand.selector.iter().flat_map(Selector::requirements).any(is_needed)
    };
    demands.iter().find(requires).map(|demand| demand.source.as_str())
}
