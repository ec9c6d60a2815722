//! Whether Pods may be bound where they would run.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use anyhow::Result;
use node_placement_policy::settings::{OnBindings, Placement};
use serde_json::{Value, json};

use super::{outcome::Why, pod_shape::PodShape, round::Round};
use crate::{
    input::settings_file::SettingsFile,
    places::node_map::{NodeMap, NodeTraits, Place, Pool},
    webhook::{
        conditions::Condition,
        deployment::{Admission, Scenario, Target},
        pods::{ANY_POD, CREATED},
    },
};

const UNCHANGED: Admission = Admission::Admitted { is_changed: false };

/// The metadata of nodes without which a Binding is rejected.
#[derive(Debug, Default)]
pub struct RequiredMetadata {
    /// The keys of labels.
    pub labels: BTreeSet<String>,
    /// Whether there is more: annotations and fields, of which each node has its own.
    is_of_each_node: bool,
    /// Whether a condition of a policy looks at the node of a Binding, and may keep some away.
    depends_on_target: bool,
}

impl RequiredMetadata {
    /// What these settings require.
    pub fn new<'f>(files: impl IntoIterator<Item = &'f SettingsFile>) -> Self {
        let mut required = Self::default();
        for file in files {
            let mut conditions = file.policy.iter().flat_map(|policy| &policy.match_conditions);
            required.depends_on_target |= conditions.any(Condition::reads_target);
            let entries = file.typed.node_metadata.iter().flat_map(|block| &block.propagate);
            for entry in entries.filter(|entry| entry.required) {
                let label = entry.node_label.clone().filter(|key| !key.ends_with('*'));
                required.is_of_each_node |= label.is_none();
                required.labels.extend(label);
            }
        }
        required
    }

    /// What tells nodes apart for it: each is a pool of its own, if each may get another answer.
    pub fn traits(self) -> NodeTraits {
        NodeTraits { labels: self.labels, each_node: self.is_of_each_node || self.depends_on_target }
    }
}

/// Where a Pod can run, and what keeps it from being bound there.
#[derive(Debug, Default)]
pub struct Bindings<'s> {
    /// Where it can run.
    pub spots: &'s [Place],
    /// [`Why::Unbound`] or [`Why::Unknown`].
    obstacles: Vec<(Place, Why)>,
}

impl<'s> Bindings<'s> {
    /// Those that no policy judges.
    pub fn unjudged(spots: &'s [Place]) -> Self {
        Self { spots, obstacles: vec![] }
    }

    /// Whether there is a spot where it may be bound, or that could not be evaluated.
    pub fn are_possible(&self) -> bool {
        // Others may give nodes that Karpenter creates what their NodePool does not.
        self.spots.iter().any(|spot| matches!(spot, Place::NodePool(_)) || self.refusal_at(*spot).is_none())
    }

    /// What keeps it from being bound somewhere, the first time.
    pub fn obstacle(&self) -> Option<Why> {
        self.obstacle_besides(&[])
    }

    /// What keeps it from being bound somewhere, leaving aside the nodes of some pools, which are reported otherwise.
    pub fn obstacle_besides(&self, pools: &[usize]) -> Option<Why> {
        let is_left = |spot: &Place| matches!(spot, Place::Nodes(pool) if pools.contains(pool));
        let mut rest = self.obstacles.iter().filter(|(spot, _)| !is_left(spot));
        rest.next().map(|(_, why)| why.clone())
    }

    /// What keeps it from running on the nodes of a pool.
    pub fn obstacle_at(&self, pool: usize) -> Option<Why> {
        let spot = Place::Nodes(pool);
        if self.spots.contains(&spot) { self.refusal_at(spot).cloned() } else { Some(Why::FewerNodes(vec![])) }
    }

    /// The names of the nodes where it could run, and may not be bound.
    pub fn refused_nodes(&self, pools: &NodeMap) -> Vec<String> {
        let refused =
            self.spots.iter().filter(|spot| matches!(spot, Place::Nodes(_)) && self.refusal_at(**spot).is_some());
        let nodes = refused.filter_map(|spot| pools.pools.get(spot.pool())).flat_map(|pool| &pool.nodes);
        let mut names: Vec<String> = nodes.map(|node| node.name.clone()).collect();
        names.sort();
        names
    }

    fn refusal_at(&self, spot: Place) -> Option<&Why> {
        let mut obstacles = self.obstacles.iter().filter(|(own, _)| *own == spot).map(|(_, why)| why);
        obstacles.find(|why| matches!(why, Why::Unbound(_)))
    }
}

/// Sends Bindings to the policy, once for each namespace and pool.
pub struct Binder<'p> {
    pools: &'p NodeMap,
    scenario: Scenario<'p>,
    round: &'p Round<'p>,
    /// Whether the policy may reject Bindings.
    may_reject: bool,
    /// Whether it rejects those to nodes that lack something.
    pub requires_metadata: bool,
    /// Whether a policy may get Bindings to some nodes, and not to others.
    depends_on_target: bool,
    /// By namespace and node; of one that is created, the whole object.
    replies: RefCell<HashMap<(String, String), Admission>>,
}

impl<'p> Binder<'p> {
    /// Of the policies of a round, or of the same as if every entry was enforced.
    pub fn new(pools: &'p NodeMap, scenario: Scenario<'p>, round: &'p Round<'p>) -> Self {
        let RequiredMetadata { labels, is_of_each_node, depends_on_target } = RequiredMetadata::new(round.files);
        let requires_metadata = !labels.is_empty() || is_of_each_node;
        let verifies = |placement: &Placement| placement.on_bindings == OnBindings::Verify;
        let verifies = round.files.iter().filter_map(|file| file.typed.placement.as_ref()).any(verifies);
        let may_reject = requires_metadata || verifies;
        Self { pools, scenario, round, may_reject, requires_metadata, depends_on_target, replies: RefCell::default() }
    }

    /// Whether the policy gets Bindings of a namespace, and may reject them.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn gets_bindings_of(&self, namespace: &str) -> Result<bool> {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": CREATED } });
        let is_sent = || Ok(!matches!(self.to_created(namespace, &node)?, Admission::NotSent(_)));
        if self.may_reject { is_sent() } else { Ok(false) }
    }

    /// Where a Pod may be bound, of where it can run.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn bindings<'s>(&self, namespace: &str, pod: &'s PodShape) -> Result<Bindings<'s>> {
        let mut bindings = Bindings::unjudged(pod.spots(self.pools));
        for spot in bindings.spots.iter().filter(|_| self.may_reject) {
            let obstacle = match self.to_spot(namespace, pod, *spot)? {
                Admission::Refused(refusal) => Why::Unbound(refusal),
                Admission::Unknown(gap) => Why::Unknown(gap),
                Admission::NotSent(_) | Admission::Admitted { .. } => continue,
            };
            bindings.obstacles.push((*spot, obstacle));
        }
        Ok(bindings)
    }

    /// The reply of a node that Karpenter would create is that of others of the NodePool that take the Pod; if there are
    /// none, of one with what the NodePool says of it. Where labels that the namespace demands can have other values, it
    /// must be let in with these as well.
    fn to_spot(&self, namespace: &str, shape: &PodShape, spot: Place) -> Result<Admission> {
        let needs = &shape.needs;
        let Some((pool, pod)) = self.pools.pools.get(spot.pool()).zip(needs.own()) else { return Ok(UNCHANGED) };
        let Some(node_pool) = pool.creates.as_ref().filter(|_| matches!(spot, Place::NodePool(_))) else {
            return self.to_node_of(namespace, pool);
        };
        let is_of_it = |other: &&Pool| {
            !self.depends_on_target && other.node_pool.as_ref() == Some(&node_pool.name) && !other.nodes.is_empty()
        };
        let accepts = |other: &&Pool| self.pools.fit_nodes(other, needs).is_some_and(|fit| fit.is_accepted());
        let known = self.pools.pools.iter().filter(is_of_it).find(accepts);
        let mut reply = match known {
            Some(other) => self.to_node_of(namespace, other)?,
            None => self.to_created(namespace, &node_pool.node_for(pod))?,
        };
        let selectors = self.round.rules(namespace).demands().flat_map(|demand| &demand.selector);
        for (key, value) in node_pool.labels_against(pod, selectors.flat_map(|selector| selector.requirements())) {
            if !matches!(reply, Admission::Admitted { .. }) {
                break;
            }
            let known = known.and_then(|other| self.round.cluster.node(&other.nodes.first()?.name)).cloned();
            let mut node = known.unwrap_or_else(|| node_pool.node_for(pod));
            node["metadata"]["labels"][key] = value.into();
            reply = self.to_created(namespace, &node)?;
        }
        Ok(reply)
    }

    fn to_node_of(&self, namespace: &str, pool: &Pool) -> Result<Admission> {
        let Some(node) = pool.nodes.first() else { return Ok(UNCHANGED) };
        self.reply(namespace, node.name.clone(), || self.bind(namespace, Target::Existing(&node.name)))
    }

    fn to_created(&self, namespace: &str, node: &Value) -> Result<Admission> {
        self.reply(namespace, node.to_string(), || self.bind(namespace, Target::Created(node)))
    }

    fn bind(&self, namespace: &str, target: Target<'_>) -> Result<Admission> {
        Ok(self.scenario.bind(namespace, ANY_POD, target, self.round.cluster)?.admission)
    }

    fn reply(&self, namespace: &str, node: String, bind: impl FnOnce() -> Result<Admission>) -> Result<Admission> {
        let key = (namespace.to_owned(), node);
        if let Some(reply) = self.replies.borrow().get(&key) {
            return Ok(reply.clone());
        }
        let reply = bind()?;
        self.replies.borrow_mut().insert(key, reply.clone());
        Ok(reply)
    }
}
