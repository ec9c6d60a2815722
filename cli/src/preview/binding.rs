//! Whether Pods may be bound where they would run.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    asking::Round,
    placing::{Nodes, PodId, Takers},
};
use crate::{
    engine::deployed::{Deployed, Enforcement, Reply},
    input::settings_file::SettingsFile,
    scheduling::{
        node_pool::{CREATED, NodePool},
        pool::Pool,
    },
};

/// What a Binding says of its Pod does not matter, but for the namespace.
const ANY_POD: &str = "any";

/// The metadata of nodes without which a Binding is rejected.
#[derive(Debug, Default)]
pub struct Required {
    /// Labels.
    pub labels: BTreeSet<String>,
    /// Whether there is more: annotations and fields, of which each node has its own.
    is_of_each_node: bool,
}

impl Required {
    /// What the settings of a deployment require.
    pub fn of(files: &[SettingsFile]) -> Self {
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
    /// Whether it may be somewhere, or nobody knows.
    pub are_possible: bool,
    /// Why not, the first time: [`Reply::Refused`] or [`Reply::Unknown`].
    pub obstacle: Option<Reply>,
    /// Nodes where it may not.
    pub nodes: Vec<String>,
}

impl Bindings {
    fn note(&mut self, reply: Reply) {
        self.are_possible |= !matches!(reply, Reply::Refused(_));
        if matches!(reply, Reply::Refused(_) | Reply::Unknown(_)) {
            self.obstacle.get_or_insert(reply);
        }
    }
}

/// Asks about Bindings, once for each namespace and all nodes that are alike.
pub struct Binder<'p> {
    nodes: &'p Nodes,
    deployed: &'p Deployed<'p>,
    /// Whether the policy may reject Bindings.
    is_asked: bool,
    /// Whether it rejects those to nodes that lack something.
    pub requires_metadata: bool,
    /// Whether all nodes of a class have the same answer.
    are_classes_alike: bool,
    /// Answers, by namespace and node.
    known: RefCell<HashMap<(String, String, bool), Reply>>,
}

impl<'p> Binder<'p> {
    /// Of the policy with the settings of a round.
    pub fn new(nodes: &'p Nodes, round: &'p Round<'p>) -> Self {
        let Required { labels, is_of_each_node } = Required::of(round.files);
        let requires_metadata = !labels.is_empty() || is_of_each_node;
        let verifies = round.files.iter().any(|file| file.settings["placement"]["onBindings"] == "Verify");
        let (deployed, is_asked, are_classes_alike) =
            (&round.deployed, requires_metadata || verifies, !is_of_each_node);
        Self { nodes, deployed, is_asked, requires_metadata, are_classes_alike, known: RefCell::default() }
    }

    /// Whether the policy is asked about Bindings of a namespace at all.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn is_asked(&self, namespace: &str, enforcement: Enforcement) -> Result<bool> {
        let reply = || self.to_absent(namespace, "any".to_owned(), json!({ "name": CREATED }), enforcement);
        Ok(self.is_asked && !matches!(reply()?, Reply::NotSent(_)))
    }

    /// Whether the Pod that `pods` stand for may be bound to what takes it.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn to_takers(
        &self,
        namespace: &str,
        pods: &[PodId],
        takers: &Takers,
        enforcement: Enforcement,
    ) -> Result<Bindings> {
        let mut found = Bindings::default();
        if !self.is_asked {
            return Ok(Bindings { are_possible: takers.are_any(), ..found });
        }
        for (class, pool) in self.nodes.classes().iter().enumerate() {
            if let Some(node_pool) = pool.creates.as_ref().filter(|_| takers.creates(class)) {
                found.note(self.to_created(namespace, node_pool, pods, enforcement)?);
                // Others may give its nodes what it does not.
                found.are_possible = true;
            }
            let alike = if self.are_classes_alike { pool.nodes.len().max(1) } else { 1 };
            for alike in pool.nodes.chunks(alike).filter(|_| takers.nodes_of(class)) {
                let Some(node) = alike.first() else { continue };
                let reply = self.to_node(namespace, &node.name, enforcement)?;
                if matches!(reply, Reply::Refused(_)) {
                    found.nodes.extend(alike.iter().map(|node| node.name.clone()));
                }
                found.note(reply);
            }
        }
        found.nodes.sort();
        Ok(found)
    }

    /// Whether Pods of a namespace may be bound to a node.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn to_node(&self, namespace: &str, node: &str, enforcement: Enforcement) -> Result<Reply> {
        if !self.is_asked {
            return Ok(Reply::LetIn(None));
        }
        let class = self.nodes.class_of(node).and_then(|class| self.nodes.classes().get(class));
        let first = class.and_then(|class| class.nodes.first()).filter(|_| self.are_classes_alike);
        let node = first.map_or(node, |first| first.name.as_str());
        let key = (namespace.to_owned(), node.to_owned(), enforcement == Enforcement::Everywhere);
        self.remembered(key, || self.deployed.ask_for_binding(namespace, ANY_POD, node, enforcement))
    }

    /// Whether it may be bound to the node that Karpenter would create for it: as to others of the NodePool that take
    /// it; if there are none, with what the NodePool says of it.
    fn to_created(
        &self,
        namespace: &str,
        node_pool: &NodePool,
        pods: &[PodId],
        enforcement: Enforcement,
    ) -> Result<Reply> {
        let Some(pod) = pods.last().and_then(|pod| self.nodes.constraints(*pod)) else {
            return Ok(Reply::LetIn(None));
        };
        let takes =
            |pool: &&Pool| pool.node_pool.as_ref() == Some(&node_pool.name) && pool.nodes_exclude(pod).is_none();
        let mut others = self.nodes.classes().iter().filter(takes).flat_map(|pool| &pool.nodes);
        if let Some(other) = others.next() {
            return self.to_node(namespace, &other.name, enforcement);
        }
        let key = format!("{}/{:?}", node_pool.name, pods.last());
        self.to_absent(namespace, key, node_pool.node_for(pod), enforcement)
    }

    /// Whether it may be bound to a node that is not there, with this metadata; `key` stands for that.
    fn to_absent(&self, namespace: &str, key: String, metadata: Value, enforcement: Enforcement) -> Result<Reply> {
        let key = (namespace.to_owned(), format!("/{key}"), enforcement == Enforcement::Everywhere);
        self.remembered(key, || self.deployed.ask_for_binding_to_absent(namespace, ANY_POD, metadata, enforcement))
    }

    fn remembered(&self, key: (String, String, bool), ask: impl FnOnce() -> Result<Reply>) -> Result<Reply> {
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let reply = ask()?;
        self.known.borrow_mut().insert(key, reply.clone());
        Ok(reply)
    }
}
