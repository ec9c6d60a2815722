//! The outcome of each workload: what the policy replies, and where its Pods would run.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::{
    binding::{Binder, Bindings},
    outcome::{Forecast, Judged, Outcome, Why},
    pod_shape::PodShape,
    round::{Accepted, Created, Creation, Round},
    subject::Subject,
    unschedulable::unschedulable,
};
use crate::{
    gap::Gap,
    places::{
        fit::Fit,
        node_map::{NodeMap, Place},
    },
    webhook::deployment::Scenario,
    words::unevaluated,
};

/// Compares what the policy replies with the nodes of a cluster.
pub struct Judging<'p> {
    pools: &'p NodeMap,
    round: &'p Round<'p>,
    /// With the settings as they are.
    real: Binder<'p>,
    /// As if every entry was enforced.
    enforced: Binder<'p>,
}

/// Who judges with the settings that apply now, and what these create.
type Old<'o> = Option<(&'o Judging<'o>, &'o Creation)>;

/// Pods that are let in, in front of the nodes.
struct Case<'s> {
    judging: &'s Judging<'s>,
    subject: &'s Subject<'s>,
    pods: &'s Accepted,
    binder: &'s Binder<'s>,
    /// The Pod with the old settings.
    old: Option<&'s PodShape>,
    /// Where it can run without the policy, and with the old settings: what these let it use can be taken away, too.
    before: Vec<Bindings<'s>>,
    /// Where it can run with the policy.
    after: Bindings<'s>,
    /// Where those can run that wait for a node already: they were created without the policy, and are not created again.
    waiting: Bindings<'s>,
}

impl<'p> Judging<'p> {
    /// Of the replies of a round.
    pub fn new(pools: &'p NodeMap, round: &'p Round<'p>) -> Self {
        let binder = |scenario| Binder::new(pools, scenario, round);
        let (real, enforced) = (Scenario::With(&round.deployment), Scenario::Enforced(&round.deployment));
        Self { pools, round, real: binder(real), enforced: binder(enforced) }
    }

    /// The outcome of a subject, with all that is wrong with it and its parts: the worst first that is not `accepted`.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn judge(
        &self,
        subject: &Subject<'_>,
        created: &Creation,
        old: Old<'_>,
        accepted: &[Outcome],
    ) -> Result<Judged> {
        let mut all = self.judge_alone(subject, created, old)?;
        for (position, (part, created)) in subject.parts.iter().zip(&created.parts).enumerate() {
            let old = old.and_then(|(judging, old)| Some((judging, old.parts.get(position)?)));
            let of_part = self.judge_alone(part, created, old)?.into_iter();
            let name = format!("{} {}", part.kind(), part.name());
            let of_part = of_part.map(|judged| Judged { part: Some(name.clone()), ..judged });
            all.extend(of_part.filter(|judged| judged.forecast.outcome.is_trouble()));
        }
        if let Some(gap) = &subject.older_template {
            let rounds = [Some(self), old.map(|(judging, _)| judging)].into_iter().flatten().map(|it| it.round);
            let depends = |warned| rounds.clone().any(|round| round.depends_on_pods_of(&subject.namespace, warned));
            let is_asked = all.iter().all(|judged| judged.forecast.outcome != Outcome::NotAsked);
            if is_asked && depends(true) {
                let forecast = Forecast { would_be: !depends(false), outcome: Outcome::CannotTell };
                let judged = Judged::new(Outcome::CannotTell, subject, vec![], Why::Unknown(gap.clone()));
                all.push(Judged { forecast, ..judged });
            }
        }
        all.sort_by_key(|Judged { forecast, .. }| {
            (!forecast.holds_up(accepted), !forecast.outcome.is_trouble(), *forecast)
        });
        let mut all = all.into_iter();
        let worst = all.next().context("everything has an outcome")?;
        Ok(Judged { others: all.collect(), ..worst })
    }

    fn judge_alone(&self, subject: &Subject<'_>, created: &Creation, old: Old<'_>) -> Result<Vec<Judged>> {
        // The Pods that run are those of the old settings, if these let them in.
        let old = match old.map(|(judging, old)| (judging, &old.real)) {
            Some((judging, Created::Accepted(pods))) if pods.not_sent.is_none() => Some((&judging.real, &*pods.after)),
            _ => None,
        };
        let real = self.outcome(subject, &created.real, &self.real, old)?;
        let Some(enforced) = &created.enforced else { return Ok(real) };
        // With `Warn`, an unknown RuntimeClass affects only placement, so it is still judged as if enforced.
        let is_of_placement = |why: &Why| {
            matches!(why, Why::Unknown(Gap::Object { kind, .. }) if kind == "RuntimeClass")
                && self.round.cluster.namespace(&subject.namespace).is_some()
                && !self.round.rules(&subject.namespace).demands_anything(false)
                && !self.real.requires_metadata
        };
        // `Warn` does not prevent other trouble: node metadata, limits, what is not known of the cluster.
        let happens = |Judged { forecast, why, .. }: &Judged| {
            forecast.outcome == Outcome::NotAsked || forecast.outcome.is_trouble() && !is_of_placement(why)
        };
        if real.iter().any(happens) {
            return Ok(real);
        }
        let mut judged = self.outcome(subject, enforced, &self.enforced, old)?;
        let are_changed = real.iter().chain(&judged).all(|it| it.forecast.outcome == Outcome::Changed);
        // The entry that warns may be of another policy, which is not asked about this.
        let is_warned = self.round.rules(&subject.namespace).warns();
        let is_other = real.iter().map(|it| it.forecast).ne(judged.iter().map(|it| it.forecast));
        for it in &mut judged {
            it.forecast.would_be = !are_changed && (is_warned || is_other);
        }
        Ok(judged)
    }

    fn outcome(
        &self,
        subject: &Subject<'_>,
        created: &Created,
        binder: &Binder<'_>,
        old: Option<(&Binder<'_>, &PodShape)>,
    ) -> Result<Vec<Judged>> {
        let judged = |outcome, why| Ok(vec![Judged::new(outcome, subject, vec![], why)]);
        let pods = match created {
            Created::Unknown(gap) => return judged(Outcome::CannotTell, Why::Unknown(gap.clone())),
            Created::Refused(refusal) => return judged(Outcome::Refused, Why::Refused(refusal.clone())),
            Created::Accepted(pods) => pods,
        };
        let namespace = &*subject.namespace;
        let mut before = vec![Bindings::unjudged(pods.before.spots(self.pools))];
        if let Some((binder, pod)) = old {
            before.push(binder.bindings(namespace, pod)?);
        }
        let after = binder.bindings(namespace, &pods.after)?;
        let waiting = if subject.waits { binder.bindings(namespace, &pods.before)? } else { Bindings::default() };
        let case = Case { judging: self, subject, pods, binder, old: old.map(|(_, pod)| pod), before, after, waiting };
        let mut found = case.troubles()?;
        if found.is_empty() {
            let outcome = if pods.is_changed { Outcome::Changed } else { Outcome::Unchanged };
            let judged = Judged::new(outcome, subject, vec![], Why::Plain);
            found.push(Judged { stranded: case.stranded_nodes(), ..judged });
        }
        if let Some(reason) = &pods.not_sent {
            for judged in &mut found {
                if !judged.forecast.outcome.is_trouble() {
                    judged.forecast.outcome = Outcome::NotAsked;
                }
                if matches!(judged.why, Why::Plain | Why::Unschedulable(_) | Why::FewerNodes(_)) {
                    judged.why = Why::NotAsked(reason.to_string());
                }
            }
        }
        Ok(found)
    }
}

impl Case<'_> {
    /// What is wrong with it on nodes, the worst first.
    fn troubles(&self) -> Result<Vec<Judged>> {
        let judged = |outcome, nodes, why| Judged::new(outcome, self.subject, nodes, why);
        let gap = self.gap()?;
        // Waits and LeavesNodes are decided before a gap in the list of Pods, because they do not depend on which Pods run.
        if let Some(gap) = gap.as_ref().filter(|gap| !self.is_daemon_set() && **gap != Gap::Pods) {
            return Ok(vec![judged(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()))]);
        }
        if let Some(why) = self.why_it_waits() {
            return Ok(vec![judged(Outcome::Waits, vec![], why)]);
        }
        let mut found = vec![];
        let (lost, why) = self.lost_nodes();
        let lost_pools = self.lost_pools();
        if self.is_daemon_set() && !(lost.is_empty() && lost_pools.is_empty()) {
            found.push(Judged { lost_pools, ..judged(Outcome::LeavesNodes, lost.clone(), why) });
        } else if !lost.is_empty() && gap.is_none() {
            found.push(judged(Outcome::Misplaced, lost.clone(), why));
        }
        if let Some(gap) = gap {
            found.push(judged(Outcome::CannotTell, vec![], Why::Unknown(gap)));
        }
        // It is not known which node the scheduler picks; it tries one where a Binding is refused again and again. A
        // DaemonSet has a Pod for each node, and leaves those.
        let left = if self.is_daemon_set() { lost } else { vec![] };
        let left: Vec<usize> = left.iter().filter_map(|node| self.judging.pools.position_of(node)).collect();
        for bindings in [&self.after, &self.waiting] {
            if let Some(obstacle) = bindings.obstacle_besides(&left) {
                found.push(judged(Outcome::CannotTell, bindings.refused_nodes(self.judging.pools), obstacle));
            }
        }
        Ok(found)
    }

    /// What of the cluster the outcome depends on, and the input lacks.
    fn gap(&self) -> Result<Option<Gap>> {
        let Self { judging, subject, pods, binder, old, .. } = self;
        // The policy opens nodes to a Pod by tolerations alone: only where one is gone, nodes may be lost.
        let is_moved = !pods.before.needs.selects_nodes_as(&pods.after.needs)
            || old.is_some_and(|old| pods.after.needs.lacks_toleration_of(&old.needs));
        // A Pod that was created without asking the policy may still be refused at its Binding.
        let by_bindings = binder.requires_metadata || pods.not_sent.is_some();
        let depends_on_nodes = is_moved || by_bindings && binder.gets_bindings_of(&subject.namespace)?;
        if !depends_on_nodes {
            return Ok(None);
        }
        if judging.pools.pools.is_empty() {
            return Ok(Some(Gap::Nodes));
        }
        let cluster = judging.round.cluster;
        if let Some(unknown) = subject.nodes.iter().find(|node| cluster.node(node).is_none()) {
            return Ok(Some(Gap::object("Node", unknown)));
        }
        if self.after.spots.is_empty()
            && let Some(why) = pods.after.unevaluated(judging.pools)
        {
            return Ok(Some(Gap::Unreadable(unevaluated(&why))));
        }
        Ok(subject.lacks_pods.then_some(Gap::Pods))
    }

    /// Why its Pods get no node, though they would without the policy, or with the old settings.
    fn why_it_waits(&self) -> Option<Why> {
        let Judging { pools, round, .. } = self.judging;
        let (before, after) = (&self.pods.before, &self.pods.after);
        // A NodePool that could not be evaluated may have been a place, and the policy excludes it.
        let may_have_had = || before.unevaluated(pools).is_some() && after.unevaluated(pools).is_none();
        let had_place = || self.before.iter().any(Bindings::are_possible) || may_have_had();
        if !self.after.are_possible() && had_place() {
            let demands = round.rules(&self.subject.namespace).demands();
            let unschedulable = || Why::Unschedulable(unschedulable(pools, &self.pods.after, demands));
            return Some(self.after.obstacle().unwrap_or_else(unschedulable));
        }
        self.waiting.obstacle().filter(|_| !self.waiting.are_possible())
    }

    /// The nodes that no longer take its Pods, and why: of a DaemonSet of all nodes, else of those that its Pods run on.
    fn lost_nodes(&self) -> (Vec<String>, Why) {
        let pools = self.judging.pools;
        let all = pools.pools.iter().flat_map(|pool| &pool.nodes).map(|node| &node.name);
        let nodes: Vec<&String> =
            if self.is_daemon_set() { all.collect() } else { self.subject.nodes.iter().collect() };
        let (mut lost, mut unbound) = (BTreeSet::new(), None);
        for node in nodes {
            let Some(pool) = pools.position_of(node) else { continue };
            let was_possible = self.before.iter().any(|before| before.obstacle_at(pool).is_none());
            if let Some(obstacle) = self.after.obstacle_at(pool).filter(|_| was_possible) {
                lost.insert(node.clone());
                unbound = unbound.or_else(|| matches!(obstacle, Why::Unbound(_)).then_some(obstacle));
            }
        }
        let lost: Vec<String> = lost.into_iter().collect();
        let why = unbound.unwrap_or_else(|| Why::FewerNodes(self.pods.after.excluding_taints(pools, &lost)));
        (lost, why)
    }

    /// The pools of which Karpenter no longer creates nodes for it that it would create without the policy. Those that
    /// could not be evaluated are none.
    fn lost_pools(&self) -> Vec<usize> {
        let created =
            self.before.iter().flat_map(|before| before.spots).filter(|spot| matches!(spot, Place::NodePool(_)));
        let fits = self.judging.pools.fits(&self.pods.after.needs);
        let is_unknown = |spot: &Place| fits.iter().any(|(place, fit)| place == spot && matches!(fit, Fit::Unknown(_)));
        let is_lost = |spot: &&Place| !self.after.spots.contains(spot) && !is_unknown(spot);
        created.filter(is_lost).map(|spot| spot.pool()).collect()
    }

    /// Nodes that its Pods run on, and that would not take them again in any case.
    fn stranded_nodes(&self) -> Vec<String> {
        let takes = |pool| {
            let mut all = self.before.iter().chain([&self.after]);
            all.any(|bindings| bindings.spots.contains(&Place::Nodes(pool)))
        };
        let is_stranded = |node: &&String| self.judging.pools.position_of(node).is_some_and(|pool| !takes(pool));
        let running = self.subject.nodes.iter().filter(|_| !self.is_daemon_set());
        running.filter(is_stranded).cloned().collect()
    }

    fn is_daemon_set(&self) -> bool {
        self.subject.kind() == "DaemonSet"
    }
}
