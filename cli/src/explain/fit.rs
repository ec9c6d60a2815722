//! Which pools can run a Pod, and what excludes it from the others.

use node_placement_policy::selector::{Requirement, Selector};
use serde::Serialize;

use crate::{
    places::{
        fit::{Exclusion, Fit as Answer, Obstacle, Spec, best},
        node_map::{NodeMap, Place, Pool},
    },
    rules::{Rule, RuleKind},
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
    /// Whether its nodes can run the Pod, if it has some.
    #[serde(skip)]
    pub on_nodes: Option<Answer>,
    /// Its NodePool, if Karpenter would create a node of it for the Pod.
    #[serde(skip)]
    pub creates: Option<String>,
}

impl PoolFit {
    fn new(pool: &Pool, on_nodes: Option<&Answer>, created: Option<&Answer>, rules: &[Rule]) -> Self {
        let best = best(on_nodes.into_iter().chain(created));
        let fits = best.is_some_and(Answer::is_accepted);
        // What the NodePool says is said first, but for a Binding that is refused.
        let refused = [on_nodes, created].into_iter().flatten().find(|it| matches!(it, Answer::Unbindable(_)));
        let why_not = refused.or(created).or(on_nodes).filter(|_| !fits);
        let target = if refused.is_none() && created.is_some() { "NodePool" } else { "node" };
        let is_created = matches!(created, Some(Answer::Now));
        Self {
            name: pool.name.clone(),
            nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
            fits,
            excluded_by: why_not.and_then(|why| describe_answer(why, target, rules)),
            on_nodes: on_nodes.cloned(),
            creates: pool.creates.as_ref().filter(|_| is_created).map(|it| it.name.clone()),
        }
    }

    /// Returns the nodes for which `is` holds.
    fn nodes_that(&self, is: fn(&Answer) -> bool) -> &[String] {
        if self.on_nodes.as_ref().is_some_and(is) { &self.nodes } else { &[] }
    }

    /// Returns its nodes where the Pod can run now.
    pub fn usable(&self) -> &[String] {
        self.nodes_that(|answer| matches!(answer, Answer::Now))
    }

    /// Returns its nodes where the Pod could run, and that are cordoned, not ready, or about to go.
    pub fn not_now(&self) -> &[String] {
        self.nodes_that(|answer| matches!(answer, Answer::NotNow(_)))
    }

    /// Returns its nodes that fit, and are too small for the Pod.
    pub fn too_small(&self) -> &[String] {
        self.nodes_that(|answer| matches!(answer, Answer::TooSmall(_)))
    }

    /// Returns what keeps the Pod away though it fits: the size of the nodes, or a condition that passes.
    pub fn only(&self) -> Option<&Answer> {
        self.on_nodes.as_ref().filter(|_| self.creates.is_none())
    }
}

impl Fit {
    /// Returns where a Pod fits; `rules` are those of its namespace.
    pub fn new(map: &NodeMap, fits: &[(Place, Answer)], rules: &[Rule]) -> Self {
        let answer = |place| fits.iter().find(|(own, _)| *own == place).map(|(_, fit)| fit);
        let pools = map.pools.iter().enumerate();
        let pools: Vec<PoolFit> = pools
            .map(|(at, pool)| PoolFit::new(pool, answer(Place::Nodes(at)), answer(Place::NodePool(at)), rules))
            .collect();
        let named = |is: fn(&Answer) -> bool| {
            pools.iter().filter(|pool| pool.only().is_some_and(is)).map(|pool| pool.name.clone()).collect()
        };
        let too_small = named(|answer| matches!(answer, Answer::TooSmall(_)));
        let not_now = named(|answer| matches!(answer, Answer::NotNow(_)));
        Self { refused: None, too_small, not_now, pools }
    }

    /// Returns the pools where the Pod can run now.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        self.pools.iter().filter(|pool| !pool.usable().is_empty() || pool.creates.is_some())
    }
}

/// Describes why a Pod can't run in a place; nothing, if it can.
fn describe_answer(answer: &Answer, target: &str, rules: &[Rule]) -> Option<String> {
    match answer {
        Answer::No(exclusion) => Some(describe_exclusion(exclusion, target, rules)),
        Answer::Unknown(why) => Some(format!("could not be evaluated: {}", unevaluated(why))),
        Answer::Unbindable(refusal) => Some(format!("the policy refuses to bind the Pod to it: {}", refusal.message)),
        Answer::Now | Answer::NotNow(_) | Answer::TooSmall(_) => None,
    }
}

/// Returns the exclusion, and where it is required.
fn describe_exclusion(excluded: &Exclusion, target: &str, rules: &[Rule]) -> String {
    let mut text = exclusion(excluded, target);
    let Obstacle::Label(label) = &excluded.what else { return text };
    if label.terms > 1 {
        text += &format!(", or to meet another of the {} terms of its node affinity", label.terms);
    }
    match (required_by(&label.needs, rules), &excluded.by) {
        (_, Spec::RuntimeClass(_)) => text,
        (Some(source), _) => format!("{text}, required by {source}"),
        (None, _) => format!("{text}, which its manifest requests"),
    }
}

/// Returns where one of these requirements comes from, if a setting or an annotation requires it.
fn required_by<'d>(needs: &[Requirement], rules: &'d [Rule]) -> Option<&'d str> {
    let is_needed = |requirement: &Requirement| needs.iter().any(|own| own.same_as(requirement));
    let requires = |rule: &&Rule| {
        rule.kind == RuleKind::Required && rule.selector.iter().flat_map(Selector::requirements).any(is_needed)
    };
    rules.iter().find(requires).map(|rule| rule.source.as_str())
}
