//! The outcome of each workload: what the policy says, and where its Pods would run.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    asking::{Answered, Answers, Asked, Round, Said},
    outcome::{Outcome, Was},
    placing::{Nodes, PodId, Takers},
    subject::{Part, Subject},
};
use crate::{
    engine::{
        deployed::{Deployed, Enforcement, Refusal, Reply},
        gap::Gap,
    },
    input::{manifests::Manifests, settings_file::SettingsFile},
    scheduling::{node_pool::NodePool, pool::Pool},
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
    /// Nodes that its Pods run on, and that would not take them again, with the policy or without, nor with the old
    /// settings.
    pub stranded: Vec<String>,
    /// Why.
    pub why: Why,
}

/// Whether a Pod may be bound where it would run.
#[derive(Clone, Debug)]
enum Binding {
    /// The policy is not asked.
    NotSent,
    Allowed,
    Refused(Refusal),
    Unknown(Gap),
}

/// Where a Pod may be bound, of what takes it.
#[derive(Debug, Default)]
struct Bindings {
    /// Whether it may be somewhere.
    is_allowed: bool,
    /// Whether nobody knows, somewhere.
    is_doubtful: bool,
    /// Why not, the first time.
    obstacle: Option<Why>,
    /// Nodes where it may not.
    nodes: Vec<String>,
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
    /// These, which stand for its Pod, are taken by fewer nodes than without the policy, or with the old settings.
    Excluded(Vec<PodId>),
    /// The policy rejects Bindings to nodes that would take it.
    Unbound(Refusal),
}

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
        for file in files {
            let entries = file.settings.pointer("/nodeMetadata/propagate").and_then(Value::as_array);
            for entry in entries.into_iter().flatten().filter(|entry| entry["required"] == true) {
                match entry["nodeLabel"].as_str().filter(|key| !key.ends_with('*')) {
                    Some(key) => {
                        required.labels.insert(key.to_owned());
                    }
                    None => required.is_of_each_node = true,
                }
            }
        }
        required
    }
}

impl Judged {
    /// Its outcome, and whether it only would be so.
    pub const fn was(&self) -> Was {
        Was { outcome: self.outcome, would_be: self.would_be }
    }

    /// Trouble first, then what would be; the worst first. What is no trouble is all the same.
    fn rank(&self) -> (bool, bool, Option<Outcome>) {
        let is_trouble = self.outcome.is_trouble();
        (!is_trouble, is_trouble && self.would_be, is_trouble.then_some(self.outcome))
    }
}

/// Of what is judged, what matters for its outcome.
struct Case<'s> {
    namespace: &'s str,
    is_daemon_set: bool,
    /// Whether it is a Pod that is there and waits for a node.
    is_pending: bool,
    /// The nodes that its Pods run on.
    running: &'s [String],
    /// Whether it has Pods, and the cluster as given has none of them.
    lacks_pods: bool,
}

/// What a node is called that is not there yet.
const CREATED: &str = "created-by-karpenter";
/// A label that every node has.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Compares what the policy says with the nodes of a cluster.
pub struct Judging<'p> {
    nodes: &'p Nodes,
    deployed: &'p Deployed<'p>,
    cluster: &'p Manifests,
    /// Whether the policy may reject Bindings.
    judges_bindings: bool,
    /// Whether it rejects those to nodes that lack something.
    requires_metadata: bool,
    /// Whether all nodes of a class have the same answer.
    are_classes_alike: bool,
    /// Answers to Bindings, by namespace and node.
    bindings: RefCell<HashMap<(String, String, bool), Binding>>,
}

impl<'p> Judging<'p> {
    /// Of what is said in a round, in front of a cluster.
    pub fn new(nodes: &'p Nodes, round: &'p Round<'p>, cluster: &'p Manifests) -> Self {
        let Required { labels, is_of_each_node } = Required::of(round.files);
        let requires_metadata = !labels.is_empty() || is_of_each_node;
        let verifies = round.files.iter().any(|file| file.settings["placement"]["onBindings"] == "Verify");
        let judges_bindings = requires_metadata || verifies;
        let (deployed, are_classes_alike, bindings) = (&round.deployed, !is_of_each_node, RefCell::default());
        Self { nodes, deployed, cluster, judges_bindings, requires_metadata, are_classes_alike, bindings }
    }

    /// The outcome of a workload; where that of one of its parts is worse, that, and the part. `old` is what is said with
    /// the settings that apply now.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn workload<'s>(
        &self,
        subject: &Subject<'_>,
        answered: &Answered<'s>,
        old: Option<&Answered<'_>>,
    ) -> Result<(Judged, Option<&'s Part<'s>>)> {
        let kind = subject.manifest.identity.kind.as_str();
        let case = Case {
            namespace: subject.namespace(),
            is_daemon_set: kind == "DaemonSet",
            is_pending: kind == "Pod" && subject.nodes.is_empty(),
            running: &subject.nodes,
            lacks_pods: subject.lacks_pods,
        };
        let mut worst = (self.judge(&case, &answered.own, old.map(|old| &old.own))?, None);
        for (place, (part, answers)) in answered.parts.iter().enumerate() {
            let case = Case { running: &part.nodes, is_daemon_set: false, lacks_pods: false, ..case };
            let old = old.and_then(|old| old.parts.get(place)).map(|(_, old)| old);
            let judged = self.judge(&case, answers, old)?;
            if judged.rank() < worst.0.rank() {
                worst = (judged, Some(*part));
            }
        }
        Ok(worst)
    }

    /// The outcome of a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn plain_pod(&self, namespace: &str, answers: &Answers, old: Option<&Answers>) -> Result<Judged> {
        let case = Case { namespace, is_daemon_set: false, is_pending: false, running: &[], lacks_pods: false };
        self.judge(&case, answers, old)
    }

    fn judge(&self, case: &Case<'_>, answers: &Answers, old: Option<&Answers>) -> Result<Judged> {
        // The old settings are what runs.
        let old = match old.map(|old| &old.written) {
            Some(Said::LetIn(asked)) => Some(asked.after.as_slice()),
            _ => None,
        };
        let real = self.outcome(case, &answers.written, old, Enforcement::AsWritten)?;
        let Some(enforced) = &answers.enforced else { return Ok(real) };
        // Node metadata, and what is too large, is not warned of but done.
        if matches!(
            real.outcome,
            Outcome::Refused | Outcome::Waits | Outcome::LeavesNodes | Outcome::Moves | Outcome::NotAsked
        ) {
            return Ok(real);
        }
        let judged = self.outcome(case, enforced, old, Enforcement::Everywhere)?;
        let is_real = real.outcome == judged.outcome && matches!(real.outcome, Outcome::Changed | Outcome::CannotTell);
        // Whether an entry warns at all may depend on a Namespace that nobody knows.
        let knows_namespace = self.cluster.namespace(case.namespace).is_some();
        let lacks_class = matches!(&judged.why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass");
        let is_real = is_real && !(lacks_class && knows_namespace);
        Ok(Judged { would_be: !is_real, ..judged })
    }

    fn outcome(&self, case: &Case<'_>, said: &Said, old: Option<&[PodId]>, enforcement: Enforcement) -> Result<Judged> {
        let pods = case.running.len();
        let told = |outcome, why| Judged { outcome, would_be: false, nodes: vec![], pods, stranded: vec![], why };
        Ok(match said {
            Said::NotAsked(reason, asked) => {
                let judged = self.outcome_on_nodes(case, asked, old, enforcement)?;
                let why = Why::NotAsked(reason.clone());
                match (judged.outcome.is_trouble(), &judged.why) {
                    (false, _) => told(Outcome::NotAsked, why),
                    (true, Why::Excluded(_)) => Judged { why, ..judged },
                    (true, _) => judged,
                }
            }
            Said::Unknown(gap) => told(Outcome::CannotTell, Why::Unknown(gap.clone())),
            Said::Refused(refusal) => told(Outcome::Refused, Why::Refused(refusal.clone())),
            Said::LetIn(asked) => self.outcome_on_nodes(case, asked, old, enforcement)?,
        })
    }

    fn outcome_on_nodes(
        &self,
        case: &Case<'_>,
        asked: &Asked,
        old: Option<&[PodId]>,
        enforcement: Enforcement,
    ) -> Result<Judged> {
        let told = |outcome, nodes: Vec<String>, why| {
            let is_about = |node: &&String| nodes.is_empty() || nodes.contains(node);
            let pods = case.running.iter().filter(is_about).count();
            Judged { outcome, would_be: false, nodes, pods, stranded: vec![], why }
        };
        if let Some(gap) = self.unknown_nodes(case, asked, old, enforcement)? {
            return Ok(told(Outcome::CannotTell, vec![], Why::Unknown(gap)));
        }
        let (without, after) = (self.nodes.takers(&asked.before), self.nodes.takers(&asked.after));
        // What the old settings let it use is taken away too.
        let before = match old {
            Some(old) => without.clone().or(&self.nodes.takers(old)),
            None => without.clone(),
        };
        let bindings = self.bindings(case, &asked.after, &after, enforcement)?;
        let (mut lost, mut unbound) = (vec![], None);
        for node in self.nodes_at_stake(case) {
            let Some(class) = self.nodes.class_of(node).filter(|class| before.nodes_of(*class)) else { continue };
            if !after.nodes_of(class) {
                lost.push(node.to_owned());
            } else if let Binding::Refused(refusal) = self.binding(case, node, enforcement)? {
                lost.push(node.to_owned());
                unbound.get_or_insert(Why::Unbound(refusal));
            }
        }
        lost.sort();
        lost.dedup();
        let excluded = |unbound: Option<Why>| unbound.unwrap_or_else(|| Why::Excluded(asked.after.clone()));
        if before.are_any() && !bindings.is_allowed && !bindings.is_doubtful {
            // Of a Pod that is taken nowhere, the reason may be that no Binding is.
            return Ok(told(Outcome::Waits, vec![], excluded(unbound.or(bindings.obstacle))));
        }
        // What waits for its node already was created without the policy, and is not created again.
        let waiting = match &without {
            takers if case.is_pending => self.bindings(case, &asked.before, takers, enforcement)?,
            _ => Bindings { is_allowed: true, ..Bindings::default() },
        };
        if without.are_any() && !waiting.is_allowed && !waiting.is_doubtful {
            return Ok(told(Outcome::Waits, vec![], excluded(waiting.obstacle)));
        }
        if case.is_daemon_set && (!lost.is_empty() || self.loses_created(&before, &after)) {
            return Ok(told(Outcome::LeavesNodes, lost, excluded(unbound)));
        }
        if !lost.is_empty() {
            return Ok(told(Outcome::Moves, lost, excluded(unbound)));
        }
        // Nobody knows which node the scheduler picks; it tries one where a Binding is refused again and again.
        for Bindings { obstacle, nodes, .. } in [bindings, waiting] {
            if let Some(obstacle) = obstacle {
                return Ok(told(Outcome::CannotTell, nodes, obstacle));
            }
        }
        let outcome = if asked.is_changed { Outcome::Changed } else { Outcome::Unchanged };
        let stranded = case.running.iter().filter(|node| {
            let class = self.nodes.class_of(node);
            class.is_some_and(|class| !before.nodes_of(class) && !after.nodes_of(class))
        });
        let stranded = if case.is_daemon_set { vec![] } else { stranded.cloned().collect() };
        Ok(Judged { stranded, ..told(outcome, vec![], Why::Plain) })
    }

    /// What would have to be known of nodes.
    fn unknown_nodes(
        &self,
        case: &Case<'_>,
        asked: &Asked,
        old: Option<&[PodId]>,
        enforcement: Enforcement,
    ) -> Result<Option<Gap>> {
        // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
        let is_moved = self.nodes.ask_for_others(&asked.before, &asked.after)
            || old.is_some_and(|old| self.nodes.lacks_tolerations(&asked.after, old));
        // Of what was created unasked, nobody has made sure that it fits where its Bindings are let through.
        let by_bindings = self.requires_metadata || self.judges_bindings && !asked.is_sent;
        if !(is_moved || by_bindings && self.sees_bindings(case, enforcement)?) {
            return Ok(None);
        }
        if self.nodes.is_empty() {
            return Ok(Some(Gap::Nodes));
        }
        if case.lacks_pods {
            return Ok(Some(Gap::Pods));
        }
        let unknown = case.running.iter().find(|node| self.cluster.node(node).is_none());
        Ok(unknown.map(|unknown| Gap::Object { kind: "Node".to_owned(), name: unknown.clone() }))
    }

    /// The nodes that decide about the outcome: for a DaemonSet all, else those that Pods run on.
    fn nodes_at_stake<'n>(&'n self, case: &Case<'n>) -> Vec<&'n str> {
        if case.is_daemon_set { self.all_nodes().collect() } else { case.running.iter().map(String::as_str).collect() }
    }

    fn all_nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.classes().iter().flat_map(|class| &class.nodes).map(|node| node.name.as_str())
    }

    /// Whether the policy lets the Pod that `pods` stand for be bound to what takes it.
    fn bindings(&self, case: &Case<'_>, pods: &[PodId], takers: &Takers, enforcement: Enforcement) -> Result<Bindings> {
        let mut found = Bindings::default();
        if !self.judges_bindings {
            return Ok(Bindings { is_allowed: takers.are_any(), ..found });
        }
        for (class, pool) in self.nodes.classes().iter().enumerate() {
            if let Some(node_pool) = pool.creates.as_ref().filter(|_| takers.creates(class)) {
                let binding = self.binding_to_created(case, node_pool, pods, enforcement)?;
                // Others may give its nodes what it does not.
                found.is_doubtful |= matches!(binding, Binding::Refused(_));
                found.note(binding);
            }
            let of_each = if self.are_classes_alike { 1 } else { usize::MAX };
            for node in pool.nodes.iter().filter(|_| takers.nodes_of(class)).take(of_each) {
                let binding = self.binding(case, &node.name, enforcement)?;
                if matches!(binding, Binding::Refused(_)) {
                    let alike = if self.are_classes_alike { pool.nodes.as_slice() } else { std::slice::from_ref(node) };
                    found.nodes.extend(alike.iter().map(|node| node.name.clone()));
                }
                found.note(binding);
            }
        }
        found.nodes.sort();
        Ok(found)
    }

    fn loses_created(&self, before: &Takers, after: &Takers) -> bool {
        (0..self.nodes.classes().len()).any(|class| before.creates(class) && !after.creates(class))
    }

    /// Whether the policy lets Pods of a namespace be bound to a node.
    fn binding(&self, case: &Case<'_>, node: &str, enforcement: Enforcement) -> Result<Binding> {
        if !self.judges_bindings {
            return Ok(Binding::Allowed);
        }
        let class = self.nodes.class_of(node).and_then(|class| self.nodes.classes().get(class));
        let first = class.and_then(|class| class.nodes.first()).filter(|_| self.are_classes_alike);
        let node = first.map_or(node, |first| first.name.as_str());
        let key = (case.namespace.to_owned(), node.to_owned(), enforcement == Enforcement::Everywhere);
        self.remembered(key, || self.ask_for_binding(case, node, self.deployed, enforcement))
    }

    /// Whether it lets a Pod be bound to the node that Karpenter would create for it: as to others of the NodePool; if
    /// there are none, with what the NodePool says of it.
    fn binding_to_created(
        &self,
        case: &Case<'_>,
        node_pool: &NodePool,
        pods: &[PodId],
        enforcement: Enforcement,
    ) -> Result<Binding> {
        let is_of_pool = |pool: &&Pool| pool.node_pool.as_ref() == Some(&node_pool.name);
        let mut others = self.nodes.classes().iter().filter(is_of_pool).flat_map(|pool| &pool.nodes);
        if let Some(other) = others.next() {
            return self.binding(case, &other.name, enforcement);
        }
        let Some(pod) = pods.last().and_then(|pod| self.nodes.constraints(*pod)) else {
            return Ok(Binding::Allowed);
        };
        let mut labels = node_pool.labels_for(pod);
        labels.insert(HOSTNAME.to_owned(), CREATED.to_owned());
        let metadata = json!({ "name": CREATED, "labels": labels, "annotations": node_pool.annotations });
        let key = format!("{}/{:?}", node_pool.name, pods.last());
        self.binding_to(case, key, metadata, enforcement)
    }

    /// Whether the policy is asked about Bindings of a namespace at all.
    fn sees_bindings(&self, case: &Case<'_>, enforcement: Enforcement) -> Result<bool> {
        let binding = self.binding_to(case, "any".to_owned(), json!({ "name": CREATED }), enforcement)?;
        Ok(!matches!(binding, Binding::NotSent))
    }

    /// Whether it lets a Pod be bound to a node that is not there, with this metadata; `key` stands for that.
    fn binding_to(&self, case: &Case<'_>, key: String, metadata: Value, enforcement: Enforcement) -> Result<Binding> {
        let key = (case.namespace.to_owned(), format!("/{key}"), enforcement == Enforcement::Everywhere);
        self.remembered(key, || {
            let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {} });
            let namespace = self.cluster.namespace(case.namespace).cloned();
            let cluster = Manifests::default().with(namespace.into_iter().chain([node]))?;
            self.ask_for_binding(case, CREATED, &self.deployed.in_front_of(&cluster), enforcement)
        })
    }

    fn remembered(&self, key: (String, String, bool), ask: impl FnOnce() -> Result<Binding>) -> Result<Binding> {
        if let Some(known) = self.bindings.borrow().get(&key) {
            return Ok(known.clone());
        }
        let binding = ask()?;
        self.bindings.borrow_mut().insert(key, binding.clone());
        Ok(binding)
    }

    fn ask_for_binding(
        &self,
        case: &Case<'_>,
        node: &str,
        deployed: &Deployed<'_>,
        enforcement: Enforcement,
    ) -> Result<Binding> {
        Ok(match deployed.ask_for_binding(case.namespace, "any", node, enforcement)? {
            Reply::Refused(refusal) => Binding::Refused(refusal),
            Reply::Unknown(gap) => Binding::Unknown(gap),
            Reply::NotSent(_) => Binding::NotSent,
            Reply::LetIn(_) => Binding::Allowed,
        })
    }
}

impl Bindings {
    fn note(&mut self, binding: Binding) {
        match binding {
            Binding::NotSent | Binding::Allowed => self.is_allowed = true,
            Binding::Refused(refusal) => {
                self.obstacle.get_or_insert(Why::Unbound(refusal));
            }
            Binding::Unknown(gap) => {
                self.is_doubtful = true;
                self.obstacle.get_or_insert(Why::Unknown(gap));
            }
        }
    }
}
