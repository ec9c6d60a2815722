//! The outcome of each workload: what the policy says, and where its Pods would run.

use anyhow::Result;
use node_placement_policy::toleration::Taint;

use super::{
    asking::{Answers, Asked, Round, Said},
    binding::Binder,
    blame::{Blame, blame},
    outcome::{Forecast, Outcome},
    placing::{Nodes, PodId},
    subject::Subject,
};
use crate::{
    engine::{
        deployed::{Enforcement, Refusal, Reply},
        gap::Gap,
    },
    input::manifests::Manifests,
};

/// What becomes of a workload or of a Pod, and why.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What becomes of it.
    pub forecast: Forecast,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// How many of its Pods run on these; where it is about none, how many run.
    pub pods: usize,
    /// Nodes that its Pods run on, and that would not take them again, with the policy or without, nor with the old
    /// settings.
    pub stranded: Vec<String>,
    /// The part of a workload that it is about, if it is one: `ReplicaSet web-1`.
    pub part: Option<String>,
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
    /// Nothing takes its Pods.
    NoNode(Blame),
    /// Nodes no longer take its Pods; for these taints, if it is for taints alone.
    FewerNodes(Vec<Taint>),
    /// The policy rejects Bindings to nodes that would take it.
    Unbound(Refusal),
}

impl From<Reply> for Why {
    /// Of what is said of a Binding.
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Refused(refusal) => Self::Unbound(refusal),
            Reply::Unknown(gap) => Self::Unknown(gap),
            Reply::NotSent(_) | Reply::LetIn(_) => Self::Plain,
        }
    }
}

impl Judged {
    fn new(outcome: Outcome, subject: &Subject<'_>, nodes: Vec<String>, why: Why) -> Self {
        let is_about = |node: &&String| nodes.is_empty() || nodes.contains(node);
        let pods = subject.nodes.iter().filter(is_about).count();
        Self { forecast: Forecast::real(outcome), nodes, pods, stranded: vec![], part: None, why }
    }

    /// Why, as a sentence; nothing, where nothing is wrong.
    pub fn reason(&self) -> Option<String> {
        let outcome = self.forecast.outcome;
        let reason = match &self.why {
            Why::Plain => return None,
            Why::NotAsked(reason) => reason.clone(),
            Why::Unknown(gap) => gap.to_string(),
            Why::Refused(refusal) => refusal.message.clone(),
            Why::NoNode(blame) => blame.to_string(),
            Why::Unbound(Refusal { message, .. }) if outcome == Outcome::CannotTell => {
                format!("its Pods could not be bound to every node that takes them: {message}")
            }
            Why::Unbound(Refusal { message, .. }) => format!("its Pods could not be bound: {message}"),
            Why::FewerNodes(_) if outcome == Outcome::Moves => "these nodes would not take its Pods again".to_owned(),
            Why::FewerNodes(_) if self.nodes.is_empty() => {
                "Karpenter would no longer run it on the nodes that it creates".to_owned()
            }
            Why::FewerNodes(_) => "it would no longer run on these nodes".to_owned(),
        };
        Some(self.part.as_ref().map_or(reason.clone(), |part| format!("its {part}: {reason}")))
    }
}

/// What counts for an outcome beside what the policy says.
#[derive(Clone, Copy)]
struct Case<'s> {
    subject: &'s Subject<'s>,
    /// What it asks of nodes with the old settings, which are what runs, and where these let it be bound.
    old: Option<(&'s Binder<'s>, &'s [PodId])>,
    enforcement: Enforcement,
}

/// Compares what the policy says with the nodes of a cluster.
pub struct Judging<'p> {
    nodes: &'p Nodes,
    round: &'p Round<'p>,
    cluster: &'p Manifests,
    binder: Binder<'p>,
}

impl<'p> Judging<'p> {
    /// Of what is said in a round, in front of a cluster.
    pub fn new(nodes: &'p Nodes, round: &'p Round<'p>, cluster: &'p Manifests) -> Self {
        Self { nodes, round, cluster, binder: Binder::new(nodes, round) }
    }

    /// The outcome of a subject; where that of one of its parts is worse, that. `old` is what is said with the settings
    /// that apply now, and who judges with these.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn judge(&self, subject: &Subject<'_>, answers: &Answers, old: Option<(&Self, &Answers)>) -> Result<Judged> {
        let mut worst = self.judge_alone(subject, answers, old)?;
        for (place, (part, answers)) in subject.parts.iter().zip(&answers.parts).enumerate() {
            let old = old.and_then(|(judging, old)| Some((judging, old.parts.get(place)?)));
            let judged = self.judge_alone(part, answers, old)?;
            let is_worse = !worst.forecast.outcome.is_trouble() || judged.forecast < worst.forecast;
            if judged.forecast.outcome.is_trouble() && is_worse {
                worst = Judged { part: Some(format!("{} {}", part.kind(), part.name())), ..judged };
            }
        }
        Ok(worst)
    }

    fn judge_alone(&self, subject: &Subject<'_>, answers: &Answers, old: Option<(&Self, &Answers)>) -> Result<Judged> {
        let old = match old.map(|(judging, old)| (judging, &old.written)) {
            Some((judging, Said::LetIn(asked))) if asked.not_sent.is_none() => {
                Some((&judging.binder, asked.after.as_slice()))
            }
            _ => None,
        };
        let case = Case { subject, old, enforcement: Enforcement::AsWritten };
        let real = self.outcome(case, &answers.written)?;
        let Some(enforced) = &answers.enforced else { return Ok(real) };
        // Of a RuntimeClass that nobody knows, placement alone depends, and that only warns.
        let is_of_placement = matches!(&real.why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass")
            && self.cluster.namespace(&subject.namespace).is_some()
            && !self.binder.requires_metadata;
        // All other trouble is not warned of but happens: node metadata, what is too large, what nobody knows.
        if real.forecast.outcome == Outcome::NotAsked || real.forecast.outcome.is_trouble() && !is_of_placement {
            return Ok(real);
        }
        let mut judged = self.outcome(Case { enforcement: Enforcement::Everywhere, ..case }, enforced)?;
        let are_changed = [&real, &judged].iter().all(|it| it.forecast.outcome == Outcome::Changed);
        // Another policy may warn, and not be asked about this.
        let is_warned = self.round.rules.get(&*subject.namespace).is_some_and(|rules| rules.warns);
        judged.forecast.would_be = !are_changed && (is_warned || real.forecast != judged.forecast);
        Ok(judged)
    }

    fn outcome(&self, case: Case<'_>, said: &Said) -> Result<Judged> {
        let told = |outcome, why| Ok(Judged::new(outcome, case.subject, vec![], why));
        let asked = match said {
            Said::Unknown(gap) => return told(Outcome::CannotTell, Why::Unknown(gap.clone())),
            Said::Refused(refusal) => return told(Outcome::Refused, Why::Refused(refusal.clone())),
            Said::LetIn(asked) => asked,
        };
        let mut judged = self.outcome_on_nodes(case, asked)?;
        if let Some(reason) = &asked.not_sent {
            if !judged.forecast.outcome.is_trouble() {
                judged.forecast.outcome = Outcome::NotAsked;
            }
            if matches!(judged.why, Why::Plain | Why::NoNode(_) | Why::FewerNodes(_)) {
                judged.why = Why::NotAsked(reason.clone());
            }
        }
        Ok(judged)
    }

    fn outcome_on_nodes(&self, case: Case<'_>, asked: &Asked) -> Result<Judged> {
        let Case { subject, old, enforcement } = case;
        let told = |outcome, nodes, why| Ok(Judged::new(outcome, subject, nodes, why));
        let is_daemon_set = subject.kind() == "DaemonSet";
        let gap = self.unknown_nodes(case, asked)?;
        // What takes nothing takes nothing, whatever Pods there are; what leaves nodes leaves them.
        if let Some(gap) = gap.as_ref().filter(|gap| !is_daemon_set && **gap != Gap::Pods) {
            return told(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()));
        }
        let (without, after) = (self.nodes.takers(&asked.before), self.nodes.takers(&asked.after));
        let bind = |pods, takers| self.binder.to_takers(&subject.namespace, pods, takers, enforcement);
        let bindings = bind(&asked.after, &after)?;
        // What the old settings let it use is taken away too.
        let (mut before, mut takes_any) = (without.clone(), without.are_any());
        if let Some((binder, pods)) = old {
            let takers = self.nodes.takers(pods);
            takes_any |= binder.to_takers(&subject.namespace, pods, &takers, Enforcement::AsWritten)?.are_possible;
            before = without.or(&takers);
        }
        if takes_any && !bindings.are_possible {
            let no_node = || Why::NoNode(blame(self.nodes, &asked.after, self.round.demands(&subject.namespace)));
            return told(Outcome::Waits, vec![], bindings.obstacle.map_or_else(no_node, Why::from));
        }
        // What waits for its node already was created without the policy, and is not created again.
        let waiting = subject.waits.then(|| bind(&asked.before, &without)).transpose()?.unwrap_or_default();
        if subject.waits && without.are_any() && !waiting.are_possible {
            return told(Outcome::Waits, vec![], waiting.obstacle.map_or(Why::Plain, Why::from));
        }
        let (mut lost, mut unbound) = (vec![], None);
        // Of a DaemonSet, all nodes decide about the outcome; else those that its Pods run on.
        let all = self.nodes.classes().iter().flat_map(|class| &class.nodes).filter(|_| is_daemon_set);
        let running = subject.nodes.iter().filter(|_| !is_daemon_set);
        for node in all.map(|node| &node.name).chain(running) {
            let Some(class) = self.nodes.class_of(node).filter(|class| before.nodes_of(*class)) else { continue };
            if let Some((binder, _)) = old.filter(|_| !without.nodes_of(class))
                && let Reply::Refused(_) = binder.to_node(&subject.namespace, node, Enforcement::AsWritten)?
            {
                continue;
            }
            if after.nodes_of(class) {
                let Reply::Refused(refusal) = self.binder.to_node(&subject.namespace, node, enforcement)? else {
                    continue;
                };
                unbound.get_or_insert(Why::Unbound(refusal));
            }
            lost.push(node.clone());
        }
        lost.sort();
        lost.dedup();
        if is_daemon_set && (!lost.is_empty() || before.create_more_than(&after)) {
            let why = unbound.unwrap_or_else(|| Why::FewerNodes(self.nodes.taints(&asked.after, &lost)));
            return told(Outcome::LeavesNodes, lost, why);
        }
        if let Some(gap) = gap {
            return told(Outcome::CannotTell, vec![], Why::Unknown(gap));
        }
        if !lost.is_empty() {
            return told(Outcome::Moves, lost, unbound.unwrap_or_else(|| Why::FewerNodes(vec![])));
        }
        // Nobody knows which node the scheduler picks; it tries one where a Binding is refused again and again.
        for bindings in [bindings, waiting] {
            if let Some(obstacle) = bindings.obstacle {
                return told(Outcome::CannotTell, bindings.nodes, Why::from(obstacle));
            }
        }
        let outcome = if asked.is_changed { Outcome::Changed } else { Outcome::Unchanged };
        let mut judged = Judged::new(outcome, subject, vec![], Why::Plain);
        if !is_daemon_set {
            let takes_none = |class: usize| !before.nodes_of(class) && !after.nodes_of(class);
            let stranded = subject.nodes.iter().filter(|node| self.nodes.class_of(node).is_some_and(takes_none));
            judged.stranded = stranded.cloned().collect();
        }
        Ok(judged)
    }

    /// What would have to be known of nodes.
    fn unknown_nodes(&self, case: Case<'_>, asked: &Asked) -> Result<Option<Gap>> {
        let Case { subject, old, enforcement } = case;
        // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
        let is_moved = self.nodes.ask_for_others(&asked.before, &asked.after)
            || old.is_some_and(|(_, old)| self.nodes.lacks_tolerations(&asked.after, old));
        // Of what was created unasked, nobody has made sure that it fits where its Bindings are let through.
        let by_bindings = self.binder.requires_metadata || asked.not_sent.is_some();
        let counts = is_moved || by_bindings && self.binder.is_asked(&subject.namespace, enforcement)?;
        if !counts {
            return Ok(None);
        }
        if self.nodes.classes().is_empty() {
            return Ok(Some(Gap::Nodes));
        }
        if let Some(unknown) = subject.nodes.iter().find(|node| self.cluster.node(node).is_none()) {
            return Ok(Some(Gap::Object { kind: "Node".to_owned(), name: unknown.clone() }));
        }
        Ok(subject.lacks_pods.then_some(Gap::Pods))
    }
}
