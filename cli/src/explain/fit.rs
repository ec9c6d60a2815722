//! Which pools can run a Pod, and what excludes it from the others.

use serde::Serialize;

use super::reason::Reason;
use crate::{
    lists::distinct,
    places::{
        fit::{Fit as Answer, best},
        node_map::{NodeMap, Place, Pool},
        requests::Lack,
    },
    rules::{Rule, RuleKind},
};

/// Where a Pod fits.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// Why it is refused, or would be; null, if it is accepted.
    pub refused: Option<Refused>,
    /// Every pool. Empty if the Pod is refused.
    pub pools: Vec<PoolFit>,
    /// The names of the pools that fit, and have no node with as much CPU, memory or extended resources as it requests.
    pub too_small: Vec<String>,
    /// The names of the pools that fit, and whose nodes, those that are large enough, are all cordoned, not ready, or about
    /// to go.
    pub not_now: Vec<String>,
    /// What keeps it from nodes that are large enough, if those that fit are too small.
    #[serde(skip)]
    pub fence: Option<Fence>,
}

/// Why something is refused.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// The message; before it, the part of the subject that it is about, such as its Pods.
    pub text: String,
    /// Whether it is accepted for now, since `enforcement` is `Warn`.
    pub would_be: bool,
    /// Whether the subject is accepted itself, and its Pods are refused.
    #[serde(skip)]
    pub is_of_pods: bool,
}

/// A node selector that keeps a Pod from nodes that are large enough.
#[derive(Debug)]
pub struct Fence {
    /// The settings and annotations that require it.
    pub sources: Vec<String>,
    /// The nodes and NodePools that could run the Pod without it.
    pub places: Vec<String>,
}

/// Whether a pool can run a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PoolFit {
    /// The name of the pool.
    pub name: String,
    /// The name of its Karpenter NodePool, if it has one.
    pub node_pool: Option<String>,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// Whether it accepts the Pod, as far as labels, taints, names and Bindings decide.
    pub fits: bool,
    /// The first thing that excludes the Pod, if it does not.
    pub excluded_by: Option<String>,
    /// The same, as a value.
    #[serde(skip)]
    pub reason: Option<Reason>,
    /// Whether its nodes can run the Pod, if it has some.
    #[serde(skip)]
    pub on_nodes: Option<Answer>,
    /// Its NodePool, if Karpenter would create a node of it for the Pod.
    #[serde(skip)]
    pub creates: Option<String>,
}

impl Fence {
    /// Returns the fence that these requirements are, where the Pod could run without it in some of these pools.
    pub fn new(unfenced: &Fit, rules: &[Rule]) -> Option<Self> {
        let required = rules.iter().filter(|rule| rule.kind == RuleKind::Required);
        let sources = distinct(required.map(|rule| rule.place().to_owned()));
        let places: Vec<String> = unfenced.usable().flat_map(PoolFit::usable_names).cloned().collect();
        (!sources.is_empty() && !places.is_empty()).then_some(Self { sources, places })
    }
}

impl PoolFit {
    fn new(pool: &Pool, on_nodes: Option<&Answer>, created: Option<&Answer>, rules: &[Rule]) -> Self {
        let best = best(on_nodes.into_iter().chain(created));
        let fits = best.is_some_and(Answer::is_accepted);
        // What the NodePool says is said first, but for a Binding that is refused.
        let refused = [on_nodes, created].into_iter().flatten().find(|it| matches!(it, Answer::Unbindable(_)));
        let why_not = refused.or(created).or(on_nodes).filter(|_| !fits);
        let is_of_node_pool = created.is_some() && refused.is_none_or(|refused| created == Some(refused));
        let reason = why_not.and_then(|answer| Reason::new(answer, is_of_node_pool, rules));
        let is_created = matches!(created, Some(Answer::Now));
        let creates = pool.creates.as_ref().map(|it| it.name.clone());
        Self {
            name: pool.name.clone(),
            node_pool: creates.clone().or_else(|| pool.node_pool.clone()),
            nodes: pool.nodes.iter().map(|node| node.name.clone()).collect(),
            fits,
            excluded_by: reason.as_ref().map(Reason::text),
            reason,
            on_nodes: on_nodes.cloned(),
            creates: creates.filter(|_| is_created),
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

    /// Returns what its nodes have too little of, if that is all that keeps the Pod away.
    pub fn lacks(&self) -> &[Lack] {
        if let Some(Answer::TooSmall(lacking)) = self.only() { lacking } else { &[] }
    }

    /// Returns whether it can run the Pod now, on its nodes or on one that Karpenter would create.
    pub fn is_usable(&self) -> bool {
        !self.usable().is_empty() || self.creates.is_some()
    }

    /// Returns the nodes where it can run the Pod now; without such, the pool itself, if Karpenter would create one.
    fn usable_names(&self) -> &[String] {
        match self.usable() {
            [] if self.creates.is_some() => std::slice::from_ref(&self.name),
            nodes => nodes,
        }
    }

    /// Returns whether another pool gives the same answer, so that both are reported together.
    pub fn answers_like(&self, other: &Self) -> bool {
        match (&self.reason, &other.reason) {
            (Some(own), Some(other)) => own.is_like(other),
            (None, None) => {
                let resources = |pool: &Self| pool.lacks().iter().map(|lack| lack.resource.clone()).collect::<Vec<_>>();
                self.creates.is_some() == other.creates.is_some()
                    && self.distance() == other.distance()
                    && resources(self) == resources(other)
            }
            _ => false,
        }
    }

    /// Returns how far it is from running the Pod: pools that can run it come first, those that are for others last.
    pub fn distance(&self) -> usize {
        const SORTS: usize = 3;
        match (&self.reason, self.only()) {
            (Some(reason), _) => SORTS + reason.distance(),
            (None, Some(Answer::NotNow(_))) => 1,
            (None, Some(Answer::TooSmall(_))) => 2,
            (None, _) => 0,
        }
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
        Self { too_small, not_now, pools, ..Self::default() }
    }

    /// Returns the pools where the Pod can run now.
    pub fn usable(&self) -> impl Iterator<Item = &PoolFit> {
        self.pools.iter().filter(|pool| pool.is_usable())
    }

    /// Returns the pools in groups with the same answer: those that can run the Pod first.
    pub fn groups(&self) -> Vec<Vec<&PoolFit>> {
        let mut groups: Vec<Vec<&PoolFit>> = vec![];
        for pool in &self.pools {
            let is_like = |group: &&mut Vec<&PoolFit>| group.first().is_some_and(|first| first.answers_like(pool));
            match groups.iter_mut().find(is_like) {
                Some(group) => group.push(pool),
                None => groups.push(vec![pool]),
            }
        }
        groups.sort_by_key(|group| group.first().map(|pool| pool.distance()));
        groups
    }
}
