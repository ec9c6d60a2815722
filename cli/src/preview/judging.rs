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
    binder: Binder<'p>,
    /// As if every entry was enforced.
    enforced: Binder<'p>,
}

/// A workload or a Pod, and who judges its Bindings.
#[derive(Clone, Copy)]
struct Case<'s> {
    subject: &'s Subject<'s>,
    binder: &'s Binder<'s>,
    /// Its Pods with the old settings, which are those that run, if these let them in.
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
        Self { pools, round, binder: binder(&round.chain), enforced: binder(&round.enforced) }
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
        let old = match old.map(|(judging, old)| (judging, &old.real)) {
            Some((judging, Created::LetIn(pods))) if pods.not_sent.is_none() => {
                Some(Candidate { pod: &pods.after, binder: Some(&judging.binder) })
            }
            _ => None,
        };
        let real = self.outcome(Case { subject, binder: &self.binder, old }, &created.real)?;
        let Some(enforced) = &created.enforced else { return Ok(real) };
        // Of a RuntimeClass that is not known, placement alone depends, and that only warns.
        let is_of_placement = matches!(&real.why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass")
            && self.round.chain.cluster.namespace(&subject.namespace).is_some()
            && !self.binder.requires_metadata;
        // All other trouble is not warned of but happens: node metadata, what is too large, what is not known.
        if real.forecast.outcome == Outcome::NotAsked || real.forecast.outcome.is_trouble() && !is_of_placement {
            return Ok(real);
        }
        let mut judged = self.outcome(Case { subject, binder: &self.enforced, old }, enforced)?;
        let are_changed = [&real, &judged].iter().all(|it| it.forecast.outcome == Outcome::Changed);
        // Another policy may warn, and not be asked about this.
        let is_warned = self.round.rules(&subject.namespace).warns();
        judged.forecast.would_be = !are_changed && (is_warned || real.forecast != judged.forecast);
        Ok(judged)
    }

    fn outcome(&self, case: Case<'_>, created: &Created<Rc<PodShape>>) -> Result<Judged> {
        let pods = match created {
            Created::Unknown(gap) => return Ok(case.judged(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()))),
            Created::Refused(refusal) => {
                return Ok(case.judged(Outcome::Refused, vec![], Why::Refused(refusal.clone())));
            }
            Created::LetIn(pods) => pods,
        };
        let mut judged = self.outcome_on_nodes(case, pods)?;
        if let Some(reason) = &pods.not_sent {
            if !judged.forecast.outcome.is_trouble() {
                judged.forecast.outcome = Outcome::NotAsked;
            }
            if matches!(judged.why, Why::Plain | Why::Unschedulable(_) | Why::FewerNodes(_)) {
                judged.why = Why::NotAsked(reason.clone());
            }
        }
        Ok(judged)
    }

    /// The first outcome that applies to Pods that are let in.
    fn outcome_on_nodes(&self, case: Case<'_>, pods: &Admitted<Rc<PodShape>>) -> Result<Judged> {
        let gap = self.unknown_nodes(case, pods)?;
        // What takes nothing takes nothing, whatever Pods there are; what leaves nodes leaves them.
        if let Some(gap) = gap.as_ref().filter(|gap| !case.is_daemon_set() && **gap != Gap::Pods) {
            return Ok(case.judged(Outcome::CannotTell, vec![], Why::Unknown(gap.clone())));
        }
        let bindings = case.binder.bindings(&case.subject.namespace, &pods.after)?;
        // What waits for its node already was created without the policy, and is not created again.
        let waiting = case.subject.waits.then(|| case.binder.bindings(&case.subject.namespace, &pods.before));
        let waiting = waiting.transpose()?.unwrap_or_default();
        if let Some(why) = self.why_it_waits(case, pods, &bindings, &waiting)? {
            return Ok(case.judged(Outcome::Waits, vec![], why));
        }
        if let Some(judged) = self.loses_nodes(case, pods, gap)? {
            return Ok(judged);
        }
        // It is not known which node the scheduler picks; it tries one where a Binding is refused again and again.
        for Bindings { obstacle, nodes, .. } in [bindings, waiting] {
            if let Some(obstacle) = obstacle {
                return Ok(case.judged(Outcome::CannotTell, nodes, obstacle));
            }
        }
        let outcome = if pods.is_changed { Outcome::Changed } else { Outcome::Unchanged };
        Ok(Judged { stranded: self.stranded(case, pods), ..case.judged(outcome, vec![], Why::Plain) })
    }

    /// What would have to be known of nodes.
    fn unknown_nodes(&self, case: Case<'_>, pods: &Admitted<Rc<PodShape>>) -> Result<Option<Gap>> {
        let Case { subject, binder, old } = case;
        // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
        let is_moved = !pods.before.asks_for_nodes_of(&pods.after)
            || old.is_some_and(|old| pods.after.lacks_toleration_of(old.pod));
        // Of what was created unasked, nobody has made sure that it fits where its Bindings are let through.
        let by_bindings = binder.requires_metadata || pods.not_sent.is_some();
        if !is_moved && !(by_bindings && binder.gets_bindings_of(&subject.namespace)?) {
            return Ok(None);
        }
        if self.pools.pools.is_empty() {
            return Ok(Some(Gap::Nodes));
        }
        let cluster = self.round.chain.cluster;
        if let Some(unknown) = subject.nodes.iter().find(|node| cluster.node(node).is_none()) {
            return Ok(Some(Gap::Object { kind: "Node".to_owned(), name: unknown.clone() }));
        }
        Ok(subject.lacks_pods.then_some(Gap::Pods))
    }

    /// Why its Pods get no node, though they would without the policy, or with the old settings.
    fn why_it_waits(
        &self,
        case: Case<'_>,
        pods: &Admitted<Rc<PodShape>>,
        bindings: &Bindings,
        waiting: &Bindings,
    ) -> Result<Option<Why>> {
        let takes_any = !pods.before.takers(self.pools).is_empty();
        let old = case.old.map(|old| old.can_run(self.pools, &case.subject.namespace)).transpose()?;
        if !bindings.are_possible && (takes_any || old == Some(true)) {
            let rules = self.round.rules(&case.subject.namespace);
            let unschedulable = || Why::Unschedulable(unschedulable(self.pools, &pods.after, rules.demands()));
            return Ok(Some(bindings.obstacle.clone().unwrap_or_else(unschedulable)));
        }
        let is_stuck = case.subject.waits && takes_any && !waiting.are_possible;
        Ok(is_stuck.then(|| waiting.obstacle.clone().unwrap_or(Why::Plain)))
    }

    /// Its outcome, if nodes no longer take its Pods: of a DaemonSet any node, else one that its Pods run on. Which of
    /// these are lost can't be told if there is a gap.
    fn loses_nodes(&self, case: Case<'_>, pods: &Admitted<Rc<PodShape>>, gap: Option<Gap>) -> Result<Option<Judged>> {
        let namespace = &case.subject.namespace;
        let (before, after) = (case.before(pods), Candidate { pod: &pods.after, binder: Some(case.binder) });
        let all = self.pools.pools.iter().flat_map(|pool| &pool.nodes).map(|node| &node.name);
        let nodes: Vec<&String> =
            if case.is_daemon_set() { all.collect() } else { case.subject.nodes.iter().collect() };
        let (mut lost, mut unbound) = (BTreeSet::new(), None);
        for node in nodes {
            let Some(position) = self.pools.position_of(node) else { continue };
            let mut was_possible = false;
            for candidate in &before {
                was_possible |= candidate.obstacle(self.pools, namespace, node, position)?.is_none();
            }
            if was_possible && let Some(obstacle) = after.obstacle(self.pools, namespace, node, position)? {
                lost.insert(node.clone());
                unbound = unbound.or_else(|| matches!(obstacle, Why::Unbound(_)).then_some(obstacle));
            }
        }
        let lost: Vec<String> = lost.into_iter().collect();
        if case.is_daemon_set() {
            let created = &pods.after.takers(self.pools).created;
            let loses_created = before.iter().any(|old| !old.pod.takers(self.pools).created.is_subset(created));
            if loses_created || !lost.is_empty() {
                let why = unbound.unwrap_or_else(|| Why::FewerNodes(pods.after.excluding_taints(self.pools, &lost)));
                return Ok(Some(case.judged(Outcome::LeavesNodes, lost, why)));
            }
        }
        if let Some(gap) = gap {
            return Ok(Some(case.judged(Outcome::CannotTell, vec![], Why::Unknown(gap))));
        }
        let moves = || case.judged(Outcome::Moves, lost.clone(), unbound.unwrap_or(Why::FewerNodes(vec![])));
        Ok((!lost.is_empty()).then(moves))
    }

    /// Nodes that its Pods run on, and that would not take them again in any case.
    fn stranded(&self, case: Case<'_>, pods: &Admitted<Rc<PodShape>>) -> Vec<String> {
        if case.is_daemon_set() {
            return vec![];
        }
        let mut candidates = case.before(pods);
        candidates.push(Candidate { pod: &pods.after, binder: None });
        let takes = |position| candidates.iter().any(|it| it.pod.takers(self.pools).nodes.contains(&position));
        let is_stranded = |node: &&String| self.pools.position_of(node).is_some_and(|position| !takes(position));
        case.subject.nodes.iter().filter(is_stranded).cloned().collect()
    }
}

impl<'s> Case<'s> {
    fn is_daemon_set(&self) -> bool {
        self.subject.kind() == "DaemonSet"
    }

    fn judged(&self, outcome: Outcome, nodes: Vec<String>, why: Why) -> Judged {
        Judged::new(outcome, self.subject, nodes, why)
    }

    /// Its Pods without the policy, and with the old settings: what these let it use can be taken away too.
    fn before(&self, pods: &'s Admitted<Rc<PodShape>>) -> Vec<Candidate<'s>> {
        [Candidate { pod: &pods.before, binder: None }].into_iter().chain(self.old).collect()
    }
}

impl Candidate<'_> {
    /// Whether it can run somewhere.
    fn can_run(&self, pools: &Pools, namespace: &str) -> Result<bool> {
        match self.binder {
            Some(binder) => Ok(binder.bindings(namespace, self.pod)?.are_possible),
            None => Ok(!self.pod.takers(pools).is_empty()),
        }
    }

    /// Why it can't run on a node, which is in the pool at this position.
    fn obstacle(&self, pools: &Pools, namespace: &str, node: &str, position: usize) -> Result<Option<Why>> {
        if !self.pod.takers(pools).nodes.contains(&position) {
            return Ok(Some(Why::FewerNodes(vec![])));
        }
        let reply = self.binder.map(|binder| binder.to_node(namespace, node)).transpose()?;
        Ok(match reply {
            Some(Reply::Refused(refusal)) => Some(Why::Unbound(refusal)),
            _ => None,
        })
    }
}
