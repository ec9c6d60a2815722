//! Whether Pods may be bound where they would run.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{outcome::Why, pod_shape::PodShape};
use crate::{
    engine::{policy_chain::PolicyChain, reply::Reply},
    input::settings_file::SettingsFile,
    scheduling::{
        node_pool::{CREATED, NodePool},
        pool::{Pool, Pools},
    },
};

/// The name of the Pod of a Binding does not matter.
const ANY_POD: &str = "any";

/// The metadata of nodes without which a Binding is rejected.
#[derive(Debug, Default)]
pub struct RequiredMetadata {
    /// The keys of labels.
    pub labels: BTreeSet<String>,
    /// Whether there is more: annotations and fields, of which each node has its own.
    is_of_each_node: bool,
}

impl RequiredMetadata {
    /// What the settings of a deployment require.
    pub fn new(files: &[SettingsFile]) -> Self {
        let mut required = Self::default();
        let entries = files.iter().filter_map(|file| file.typed.node_metadata.as_ref()).flat_map(|it| &it.propagate);
        for entry in entries.filter(|entry| entry.required) {
            let label = entry.node_label.clone().filter(|key| !key.ends_with('*'));
            required.is_of_each_node |= label.is_none();
            required.labels.extend(label);
        }
        required
    }
}

/// Where a Pod may be bound, of what takes it.
#[derive(Debug, Default)]
pub struct Bindings {
    /// Whether it may be somewhere, or that can't be told.
    pub are_possible: bool,
    /// Why not, the first time.
    pub obstacle: Option<Why>,
    /// Nodes where it may not.
    pub nodes: Vec<String>,
}

impl Bindings {
    fn add(&mut self, reply: Reply) {
        self.are_possible |= !matches!(reply, Reply::Refused(_));
        let obstacle = match reply {
            Reply::Refused(refusal) => Why::Unbound(refusal),
            Reply::Unknown(gap) => Why::Unknown(gap),
            Reply::NotSent(_) | Reply::LetIn(_) => return,
        };
        self.obstacle.get_or_insert(obstacle);
    }
}

/// Sends Bindings to the policy, once for each namespace and all nodes that have the same reply.
pub struct Binder<'p> {
    pools: &'p Pools,
    chain: &'p PolicyChain<'p>,
    /// Whether the policy may reject Bindings.
    may_reject: bool,
    /// Whether it rejects those to nodes that lack something.
    pub requires_metadata: bool,
    /// Whether all nodes of a pool have the same reply.
    is_by_pool: bool,
    /// By namespace and node; of one that is created, its metadata.
    replies: RefCell<HashMap<(String, String), Reply>>,
}

impl<'p> Binder<'p> {
    /// Of policies with the settings of these files.
    pub fn new(pools: &'p Pools, chain: &'p PolicyChain<'p>, files: &[SettingsFile]) -> Self {
        let RequiredMetadata { labels, is_of_each_node } = RequiredMetadata::new(files);
        let requires_metadata = !labels.is_empty() || is_of_each_node;
        let verifies = files.iter().any(|file| file.settings["placement"]["onBindings"] == "Verify");
        let may_reject = requires_metadata || verifies;
        Self { pools, chain, may_reject, requires_metadata, is_by_pool: !is_of_each_node, replies: RefCell::default() }
    }

    /// Whether the policy gets Bindings of a namespace, and may reject them.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn gets_bindings_of(&self, namespace: &str) -> Result<bool> {
        let is_sent = || Ok(!matches!(self.to_created(namespace, &json!({ "name": CREATED }))?, Reply::NotSent(_)));
        if self.may_reject { is_sent() } else { Ok(false) }
    }

    /// Where a Pod may be bound, of what takes it.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn bindings(&self, namespace: &str, pod: &PodShape) -> Result<Bindings> {
        let (takers, mut found) = (pod.takers(self.pools), Bindings::default());
        if !self.may_reject {
            return Ok(Bindings { are_possible: !takers.is_empty(), ..found });
        }
        for (position, pool) in self.pools.pools.iter().enumerate() {
            if let Some(node_pool) = pool.creates.as_ref().filter(|_| takers.created.contains(&position)) {
                found.add(self.to_node_pool(namespace, node_pool, pod)?);
                // Others may give its nodes what it does not.
                found.are_possible = true;
            }
            if !takers.nodes.contains(&position) {
                continue;
            }
            let at_once = if self.is_by_pool { pool.nodes.len().max(1) } else { 1 };
            for nodes in pool.nodes.chunks(at_once) {
                let Some(node) = nodes.first() else { continue };
                let reply = self.to_node(namespace, &node.name)?;
                if matches!(reply, Reply::Refused(_)) {
                    found.nodes.extend(nodes.iter().map(|node| node.name.clone()));
                }
                found.add(reply);
            }
        }
        found.nodes.sort();
        Ok(found)
    }

    /// Whether Pods of a namespace may be bound to a node.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn to_node(&self, namespace: &str, node: &str) -> Result<Reply> {
        if !self.may_reject {
            return Ok(Reply::LetIn(None));
        }
        let pool = self.pools.position_of(node).and_then(|position| self.pools.pools.get(position));
        let first = pool.and_then(|pool| pool.nodes.first()).filter(|_| self.is_by_pool);
        let node = first.map_or(node, |first| first.name.as_str());
        self.reply(namespace, node.to_owned(), || self.chain.bind(namespace, ANY_POD, node))
    }

    /// Whether a Pod may be bound to the node that Karpenter would create for it: as to others of the NodePool that take
    /// it; if there are none, with what the NodePool says of it.
    fn to_node_pool(&self, namespace: &str, node_pool: &NodePool, pod: &PodShape) -> Result<Reply> {
        let Some(pod) = pod.own() else { return Ok(Reply::LetIn(None)) };
        let takes =
            |pool: &&Pool| pool.node_pool.as_ref() == Some(&node_pool.name) && pool.nodes_exclude(pod).is_none();
        let mut others = self.pools.pools.iter().filter(takes).flat_map(|pool| &pool.nodes);
        match others.next() {
            Some(other) => self.to_node(namespace, &other.name),
            None => self.to_created(namespace, &node_pool.node_for(pod)),
        }
    }

    fn to_created(&self, namespace: &str, metadata: &Value) -> Result<Reply> {
        self.reply(namespace, metadata.to_string(), || self.chain.bind_to_created(namespace, ANY_POD, metadata))
    }

    fn reply(&self, namespace: &str, node: String, bind: impl FnOnce() -> Result<Reply>) -> Result<Reply> {
        let key = (namespace.to_owned(), node);
        if let Some(reply) = self.replies.borrow().get(&key) {
            return Ok(reply.clone());
        }
        let reply = bind()?;
        self.replies.borrow_mut().insert(key, reply.clone());
        Ok(reply)
    }
}
