//! The outcome of each workload: what the policy replies, and where its Pods would run.

use std::{collections::BTreeSet, rc::Rc};

use anyhow::Result;

use super::{
    binding::{Binder, Bindings},
    outcome::{Judged, Outcome, Why},
    pod_shape::PodShape,
    round::{Creation, Round},
    subject::Subject,
    unschedulable::unschedulable,
};
use crate::{
    engine::{
        creation::{Admitted, Created},
        reply::{Gap, Reply},
    },
    scheduling::pool::Pools,
};

/// Compares what the policy replies with the nodes of a cluster.
pub struct Judging<'p> {
    pools: &'p Pools,
    round: &'p Round<'p>,
    /// With the settings as they are.
    real: Binder<'p>,
    /// As if every entry was enforced.
    enforced: Binder<'p>,
}

/// Pods of a workload that are let in, in front of the nodes.
struct Case<'s> {
    judging: &'s Judging<'s>,
    subject: &'s Subject<'s>,
    pods: &'s Admitted<Rc<PodShape>>,
    binder: &'s Binder<'s>,
    old: Option<Candidate<'s>>,
}

/// A Pod that looks for a node.
#[derive(Clone, Copy)]
struct Candidate<'s> {
    pod: &'s PodShape,
    /// Who judges its Bindings; nobody without the policy.
    binder: Option<&'s Binder<'s>>,
}

impl<'p> Judging<'p> {
    /// Of the replies of a round.
    pub fn new(pools: &'p Pools, round: &'p Round<'p>) -> Self {
        let binder = |chain| Binder::new(pools, chain, round.files);
        Self { pools, round, real: binder(&round.chain), enforced: binder(&round.enforced) }
    }

    /// The outcome of a subject; where that of one of its parts is worse, that. `old` is its creation with the settings
    /// that apply now, and who judges with these.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn judge(&self, subject: &Subject<'_>, created: &Creation, old: Option<(&Self, &Creation)>) -> Result<Judged> {
        let mut worst = self.judge_alone(subject, created, old)?;
        for (position, (part, created)) in subject.parts.iter().zip(&created.parts).enumerate() {
            let old = old.and_then(|(judging, old)| Some((judging, old.parts.get(position)?)));
            let judged = self.judge_alone(part, created, old)?;
            let is_worse = !worst.forecast.outcome.is_trouble() || judged.forecast < worst.forecast;
            if judged.forecast.outcome.is_trouble() && is_worse {
                worst = Judged { part: Some(format!("{} {}", part.kind(), part.name())), ..judged };
            }
        }
        Ok(worst)
    }

    fn judge_alone(
        &self,
        subject: &Subject<'_>,
        created: &Creation,
        old: Option<(&Self, &Creation)>,
    ) -> Result<Judged> {
        // The Pods that run are those of the old settings, if these let them in.
        let old = match old.map(|(judging, old)| (judging, &old.real)) {
            Some((judging, Created::LetIn(pods))) if pods.not_sent.is_none() => {
                Some(Candidate { pod: &pods.after, binder: Some(&judging.real) })
            }
            _ => None,
        };
        let real = self.outcome(subject, &created.real, &self.real, old)?;
        let Some(enforced) = &created.enforced else { return Ok(real) };
        // Of a RuntimeClass that is not known, placement alone depends, and that only warns.
        let is_of_placement = matches!(&real.why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass")
            && self.round.chain.cluster.namespace(&subject.namespace).is_some()
            && !self.real.requires_metadata;
        // All other trouble is not warned of but happens: node metadata, what is too large, what is not known.
        if real.forecast.outcome == Outcome::NotAsked || real.forecast.outcome.is_trouble() && !is_of_placement {
            return Ok(real);
        }
        let mut judged = self.outcome(subject, enforced, &self.enforced, old)?;
        let are_changed = [&real, &judged].iter().all(|it| it.forecast.outcome == Outcome::Changed);
        // Another policy may warn, and not be asked about this.
        let is_warned = self.round.rules(&subject.namespace).warns();
        judged.forecast.would_be = !are_changed && (is_warned || real.forecast != judged.forecast);
        Ok(judged)
    }

    fn outcome<'s>(
        &'s self,
        subject: &'s Subject<'s>,
        created: &'s Created<Rc<PodShape>>,
        binder: &'s Binder<'s>,
        old: Option<Candidate<'s>>,
    ) -> Result<Judged> {
        let (outcome, why) = match created {
            Created::LetIn(pods) => return Case { judging: self, subject, pods, binder, old }.outcome(),
            Created::Unknown(gap) => (Outcome::CannotTell, Why::Unknown(gap.clone())),
            Created::Refused(refusal) => (Outcome::Refused, Why::Refused(refusal.clone())),
        };
        Ok(Judged::new(outcome, subject, vec![], why))
    }
}

impl<'s> Case<'s> {
    fn outcome(&self) -> Result<Judged> {
        let mut judged = self.outcome_if_asked()?;
        if let Some(reason) = &self.pods.not_sent {
            if !judged.forecast.outcome.is_trouble() {
                judged.forecast.outcome = Outcome::NotAsked;
            }
            if matches!(judged.why, Why::Plain | Why::Unschedulable(_) | Why::FewerNodes(_)) {
                judged.why = Why::NotAsked(reason.clone());
            }
        }
        Ok(judged)
    }

    /// The first outcome that applies.
    fn outcome_if_asked(&self) -> Result<Judged> {
        let Self { subject, pods, binder, .. } = *self;
        let judged = |outcome, nodes, why| Ok(Judged::new(outcome, subject, nodes, why));
        let gap = self.gap()?;
        // What takes nothing takes nothing, whatever Pods there are; what leaves nodes leaves them.
        if let Some(gap) = gap.as_ref().filter(|gap| !self.is_daemon_set() && **gap != Gap::Pods) {
            return judged(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()));
        }
        let bindings = binder.bindings(&subject.namespace, &pods.after)?;
        // What waits for its node already was created without the policy, and is not created again.
        let waiting = subject.waits.then(|| binder.bindings(&subject.namespace, &pods.before));
        let waiting = waiting.transpose()?.unwrap_or_default();
        if let Some(why) = self.why_it_waits(&bindings, &waiting)? {
            return judged(Outcome::Waits, vec![], why);
        }
        let (lost, why) = self.lost_nodes()?;
        if self.is_daemon_set() && (!lost.is_empty() || self.loses_created_nodes()) {
            return judged(Outcome::LeavesNodes, lost, why);
        }
        if let Some(gap) = gap {
            return judged(Outcome::CannotTell, vec![], Why::Unknown(gap));
        }
        if !lost.is_empty() {
            return judged(Outcome::Moves, lost, why);
        }
        // It is not known which node the scheduler picks; it tries one where a Binding is refused again and again.
        for Bindings { obstacle, nodes, .. } in [bindings, waiting] {
            if let Some(obstacle) = obstacle {
                return judged(Outcome::CannotTell, nodes, obstacle);
            }
        }
        let outcome = if pods.is_changed { Outcome::Changed } else { Outcome::Unchanged };
        Ok(Judged { stranded: self.stranded_nodes(), ..Judged::new(outcome, subject, vec![], Why::Plain) })
    }

    /// What would have to be known of nodes.
    fn gap(&self) -> Result<Option<Gap>> {
        let Self { judging, subject, pods, binder, old } = *self;
        // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
        let is_moved = !pods.before.asks_for_nodes_of(&pods.after)
            || old.is_some_and(|old| pods.after.lacks_toleration_of(old.pod));
        // Of what was created unasked, nobody has made sure that it fits where its Bindings are let through.
        let by_bindings = binder.requires_metadata || pods.not_sent.is_some();
        if !is_moved && !(by_bindings && binder.gets_bindings_of(&subject.namespace)?) {
            return Ok(None);
        }
        if judging.pools.pools.is_empty() {
            return Ok(Some(Gap::Nodes));
        }
        let cluster = judging.round.chain.cluster;
        if let Some(unknown) = subject.nodes.iter().find(|node| cluster.node(node).is_none()) {
            return Ok(Some(Gap::Object { kind: "Node".to_owned(), name: unknown.clone() }));
        }
        Ok(subject.lacks_pods.then_some(Gap::Pods))
    }

    /// Why its Pods get no node, though they would without the policy, or with the old settings.
    fn why_it_waits(&self, bindings: &Bindings, waiting: &Bindings) -> Result<Option<Why>> {
        let Self { judging: Judging { pools, round, .. }, subject, pods, old, .. } = self;
        let takes_any = !pods.before.takers(pools).is_empty();
        let could_run = match old {
            Some(Candidate { pod, binder: Some(binder) }) => binder.bindings(&subject.namespace, pod)?.are_possible,
            _ => false,
        };
        if !bindings.are_possible && (takes_any || could_run) {
            let demands = round.rules(&subject.namespace).demands();
            let unschedulable = || Why::Unschedulable(unschedulable(pools, &pods.after, demands));
            return Ok(Some(bindings.obstacle.clone().unwrap_or_else(unschedulable)));
        }
        let is_stuck = subject.waits && takes_any && !waiting.are_possible;
        Ok(is_stuck.then(|| waiting.obstacle.clone().unwrap_or(Why::Plain)))
    }

    /// The nodes that no longer take its Pods, and why: of a DaemonSet of all nodes, else of those that its Pods run on.
    fn lost_nodes(&self) -> Result<(Vec<String>, Why)> {
        let Self { judging: Judging { pools, .. }, subject, pods, binder, .. } = self;
        let after = Candidate { pod: &pods.after, binder: Some(binder) };
        let all = pools.pools.iter().flat_map(|pool| &pool.nodes).map(|node| &node.name);
        let nodes: Vec<&String> = if self.is_daemon_set() { all.collect() } else { subject.nodes.iter().collect() };
        let (mut lost, mut unbound) = (BTreeSet::new(), None);
        for node in nodes {
            let mut was_possible = false;
            for candidate in self.before() {
                was_possible |= self.obstacle(candidate, node)?.is_none();
            }
            if was_possible && let Some(obstacle) = self.obstacle(after, node)? {
                lost.insert(node.clone());
                unbound = unbound.or_else(|| matches!(obstacle, Why::Unbound(_)).then_some(obstacle));
            }
        }
        let lost: Vec<String> = lost.into_iter().collect();
        let why = unbound.unwrap_or_else(|| Why::FewerNodes(pods.after.excluding_taints(pools, &lost)));
        Ok((lost, why))
    }

    /// Whether Karpenter no longer creates nodes for it that it would create without the policy.
    fn loses_created_nodes(&self) -> bool {
        let created = |pod: &'s PodShape| &pod.takers(self.judging.pools).created;
        self.before().any(|candidate| !created(candidate.pod).is_subset(created(&self.pods.after)))
    }

    /// Nodes that its Pods run on, and that would not take them again in any case.
    fn stranded_nodes(&self) -> Vec<String> {
        let pools = self.judging.pools;
        let takes = |position| {
            let mut pods = self.before().map(|candidate| candidate.pod).chain([&*self.pods.after]);
            pods.any(|pod| pod.takers(pools).nodes.contains(&position))
        };
        let is_stranded = |node: &&String| pools.position_of(node).is_some_and(|position| !takes(position));
        let running = self.subject.nodes.iter().filter(|_| !self.is_daemon_set());
        running.filter(is_stranded).cloned().collect()
    }

    fn is_daemon_set(&self) -> bool {
        self.subject.kind() == "DaemonSet"
    }

    /// Its Pods without the policy, and with the old settings: what these let them use can be taken away, too.
    fn before(&self) -> impl Iterator<Item = Candidate<'s>> {
        [Candidate { pod: &self.pods.before, binder: None }].into_iter().chain(self.old)
    }

    /// Why a Pod can't run on a node of the cluster.
    fn obstacle(&self, candidate: Candidate<'_>, node: &str) -> Result<Option<Why>> {
        let pools = self.judging.pools;
        let nodes = &candidate.pod.takers(pools).nodes;
        if pools.position_of(node).is_none_or(|position| !nodes.contains(&position)) {
            return Ok(Some(Why::FewerNodes(vec![])));
        }
        match candidate.binder.map(|binder| binder.to_node(&self.subject.namespace, node)).transpose()? {
            Some(Reply::Refused(refusal)) => Ok(Some(Why::Unbound(refusal))),
            _ => Ok(None),
        }
    }
}
