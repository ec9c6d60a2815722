//! The outcome of each workload: what the policy says, and where its Pods would run.

use std::{cell::RefCell, collections::HashMap};

use anyhow::Result;
use serde_json::json;

use super::{
    Outcome,
    asking::{LetIn, Said},
    placing::{Nodes, PodId, Takers},
};
use crate::{
    engine::{
        deployed::{Deployed, Enforcement, Refusal, Reply},
        gap::Gap,
    },
    input::{manifests::Manifests, settings_file::SettingsFile},
    requests::pod,
};

/// What becomes of a workload or of a Pod, and why.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Whether it only would.
    pub would_be: bool,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// How many of its Pods run on these; where it is about none, how many run.
    pub pods: usize,
    /// Why.
    pub why: Why,
}

/// Why something has its outcome.
#[derive(Clone, Debug)]
pub enum Why {
    /// There is nothing to explain.
    Plain,
    /// The policy is not asked.
    NotAsked(String),
    /// It depends on what nobody knows here.
    Unknown(Gap),
    /// The policy rejects it.
    Refused(Refusal),
    /// These, which stand for its Pod, are taken by fewer nodes than without the policy.
    Excluded(Vec<PodId>),
    /// The policy rejects Bindings to nodes that would take it.
    Unbound(Refusal),
}

/// Of what is judged, what matters for its outcome.
pub struct Case<'s> {
    /// Its namespace.
    pub namespace: &'s str,
    /// Whether it is a DaemonSet.
    pub is_daemon_set: bool,
    /// The nodes that its Pods run on.
    pub running: &'s [String],
    /// Whether it has Pods, and the cluster as given has none of them.
    pub lacks_pods: bool,
}

/// Compares what the policy says with the nodes of a cluster.
pub struct Judging<'p> {
    nodes: &'p Nodes,
    deployed: &'p Deployed<'p>,
    cluster: &'p Manifests,
    /// Whether the policy may reject Bindings.
    judges_bindings: bool,
    /// Whether it rejects those to nodes that lack something.
    requires_metadata: bool,
    /// Answers to Bindings, by namespace and node.
    bindings: RefCell<HashMap<(String, String, bool), Option<Refusal>>>,
}

impl<'p> Judging<'p> {
    /// Of a policy in front of a cluster.
    pub fn new(nodes: &'p Nodes, deployed: &'p Deployed<'p>, files: &[SettingsFile], cluster: &'p Manifests) -> Self {
        let requires_metadata = files.iter().any(|file| {
            let entries = file.settings.pointer("/nodeMetadata/propagate").and_then(serde_json::Value::as_array);
            entries.into_iter().flatten().any(|entry| entry["required"] == true)
        });
        let verifies = files.iter().any(|file| file.settings["placement"]["onBindings"] == "Verify");
        let judges_bindings = requires_metadata || verifies;
        Self { nodes, deployed, cluster, judges_bindings, requires_metadata, bindings: RefCell::default() }
    }

    /// The outcome, by what is `said` with the settings as they are written, and as if every entry was enforced. `warns`
    /// says whether the entry that holds there only warns.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn judge(&self, case: &Case<'_>, written: &Said, enforced: Option<&Said>) -> Result<Judged> {
        let real = self.outcome(case, written, Enforcement::AsWritten)?;
        let Some(enforced) = enforced else { return Ok(real) };
        // Node metadata, and what is too large, is not warned of but done.
        if matches!(
            real.outcome,
            Outcome::Refused | Outcome::Waits | Outcome::LeavesNodes | Outcome::Moves | Outcome::NotAsked
        ) {
            return Ok(real);
        }
        let judged = self.outcome(case, enforced, Enforcement::Everywhere)?;
        let is_real = real.outcome == judged.outcome && matches!(real.outcome, Outcome::Changed | Outcome::CannotTell);
        let is_real =
            is_real && !matches!(&judged.why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass");
        Ok(Judged { would_be: !is_real, ..judged })
    }

    fn outcome(&self, case: &Case<'_>, said: &Said, enforcement: Enforcement) -> Result<Judged> {
        let told = |outcome, why| Judged { outcome, would_be: false, nodes: vec![], pods: case.running.len(), why };
        Ok(match said {
            Said::NotAsked(reason) => told(Outcome::NotAsked, Why::NotAsked(reason.clone())),
            Said::Unknown(gap) => told(Outcome::CannotTell, Why::Unknown(gap.clone())),
            Said::Refused(refusal) => told(Outcome::Refused, Why::Refused(refusal.clone())),
            Said::LetIn(let_in) => return self.outcome_on_nodes(case, let_in, enforcement),
        })
    }

    fn outcome_on_nodes(&self, case: &Case<'_>, let_in: &LetIn, enforcement: Enforcement) -> Result<Judged> {
        let told = |outcome, nodes: Vec<String>, why| {
            let is_about = |node: &&String| nodes.is_empty() || nodes.contains(node);
            let pods = case.running.iter().filter(is_about).count();
            Judged { outcome, would_be: false, nodes, pods, why }
        };
        if let Some(gap) = self.unknown_nodes(case, let_in) {
            return Ok(told(Outcome::CannotTell, vec![], Why::Unknown(gap)));
        }
        let (before, after) = (self.nodes.takers(&let_in.before), self.nodes.takers(&let_in.after));
        let is_taken = self.is_taken(case, &after, enforcement)?;
        let (mut lost, mut unbound) = (vec![], None);
        for node in self.nodes_at_stake(case) {
            let Some(class) = self.nodes.class_of(node).filter(|class| before.nodes_of(*class)) else { continue };
            let binding = if after.nodes_of(class) { self.unbound(case, node, enforcement)? } else { None };
            if binding.is_some() || !after.nodes_of(class) {
                lost.push(node.to_owned());
                unbound = unbound.or(binding);
            }
        }
        // Of a Pod that is taken nowhere, the reason may be that no Binding is.
        if unbound.is_none() && !is_taken && after.are_any() {
            unbound = self.first_unbound(case, &after, enforcement)?;
        }
        lost.sort();
        lost.dedup();
        let excluded = || match &unbound {
            Some(refusal) => Why::Unbound(refusal.clone()),
            None => Why::Excluded(let_in.after.clone()),
        };
        if before.are_any() && !is_taken {
            return Ok(told(Outcome::Waits, vec![], excluded()));
        }
        if case.is_daemon_set && (!lost.is_empty() || self.loses_created(&before, &after)) {
            return Ok(told(Outcome::LeavesNodes, lost, excluded()));
        }
        if !lost.is_empty() {
            return Ok(told(Outcome::Moves, lost, excluded()));
        }
        let outcome = if let_in.is_changed { Outcome::Changed } else { Outcome::Unchanged };
        Ok(told(outcome, vec![], Why::Plain))
    }

    /// What would have to be known of nodes.
    fn unknown_nodes(&self, case: &Case<'_>, let_in: &LetIn) -> Option<Gap> {
        if !let_in.is_moved && !self.requires_metadata {
            return None;
        }
        if self.nodes.is_empty() {
            return Some(Gap::Nodes);
        }
        if case.lacks_pods {
            return Some(Gap::Pods);
        }
        let unknown = case.running.iter().find(|node| self.nodes.class_of(node).is_none())?;
        Some(Gap::Object { kind: "Node".to_owned(), name: unknown.clone() })
    }

    /// The nodes that decide about the outcome: for a DaemonSet all, else those that Pods run on.
    fn nodes_at_stake<'n>(&'n self, case: &Case<'n>) -> Vec<&'n str> {
        match case.is_daemon_set {
            true => self.all_nodes().collect(),
            false => case.running.iter().map(String::as_str).collect(),
        }
    }

    fn all_nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.classes().iter().flat_map(|class| &class.nodes).map(|node| node.name.as_str())
    }

    /// Whether anything takes the Pod, and the policy lets it be bound there.
    fn is_taken(&self, case: &Case<'_>, after: &Takers, enforcement: Enforcement) -> Result<bool> {
        if !self.judges_bindings || !after.are_any() {
            return Ok(after.are_any());
        }
        for (class, pool) in self.nodes.classes().iter().enumerate() {
            if after.creates(class) {
                return Ok(true);
            }
            for node in pool.nodes.iter().filter(|_| after.nodes_of(class)) {
                if self.unbound(case, &node.name, enforcement)?.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Why Bindings to the first node are rejected that would take the Pod.
    fn first_unbound(&self, case: &Case<'_>, after: &Takers, enforcement: Enforcement) -> Result<Option<Refusal>> {
        let takes = |node: &&str| self.nodes.class_of(node).is_some_and(|class| after.nodes_of(class));
        self.all_nodes().find(takes).map_or(Ok(None), |node| self.unbound(case, node, enforcement))
    }

    fn loses_created(&self, before: &Takers, after: &Takers) -> bool {
        (0..self.nodes.classes().len()).any(|class| before.creates(class) && !after.creates(class))
    }

    /// Why the policy rejects Bindings of Pods of a namespace to a node, if it does.
    fn unbound(&self, case: &Case<'_>, node: &str, enforcement: Enforcement) -> Result<Option<Refusal>> {
        if !self.judges_bindings {
            return Ok(None);
        }
        let key = (case.namespace.to_owned(), node.to_owned(), enforcement == Enforcement::Everywhere);
        if let Some(known) = self.bindings.borrow().get(&key) {
            return Ok(known.clone());
        }
        let metadata = json!({ "name": "any", "namespace": case.namespace });
        let bound = json!({ "metadata": metadata, "spec": { "nodeName": node } });
        let request = pod::binding(&bound, &json!({}), |name| self.cluster.node(name));
        let refusal = match request.map(|request| self.deployed.ask(request, enforcement)).transpose()? {
            Some(Reply::Refused(refusal)) => Some(refusal),
            _ => None,
        };
        self.bindings.borrow_mut().insert(key, refusal.clone());
        Ok(refusal)
    }
}
