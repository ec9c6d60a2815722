//! The outcome of a subject: what becomes of it without the policy, compared with what becomes of it with the policy.

use std::collections::BTreeSet;

use node_placement_policy::{resource::Resource, selector::Requirement, toleration::Taint};

use super::{
    finding::{Finding, Why},
    outcome::{Forecast, Outcome},
    ties::Ties,
    unschedulable::{Unschedulable, unschedulable},
};
use crate::{
    cluster::{Gap, Kind},
    places::{
        fit::{Fit, Obstacle, Unevaluated, best},
        node_map::{NodeMap, Place},
    },
    verdict::Verdict,
    webhook::deployment::Admission,
    words::unevaluated,
};

/// What is compared of a subject.
#[derive(Clone, Copy)]
pub struct Sides<'v> {
    /// What becomes of it without the policy; and with the old settings, which can be taken away, too.
    pub before: &'v [&'v Verdict],
    /// What becomes of it with the policy.
    pub after: &'v Verdict,
    /// The nodes.
    pub map: &'v NodeMap,
    /// What its namespace requires of labels of nodes.
    pub required: &'v [Requirement],
    /// The node of each of its Pods that runs.
    pub running: &'v [String],
    /// Whether it has a Pod for each node.
    pub is_daemon_set: bool,
    /// What of its Pods is not known, if that matters.
    pub unknown_pods: Option<&'v Gap>,
    /// What else its Pods need of nodes.
    pub ties: &'v Ties<'v>,
    /// Set if its nodes have less in all than is requested of them, and that is new.
    pub sum: Option<&'v Unschedulable>,
    /// Whether no nodes are added.
    pub fixed_nodes: bool,
}

/// Compares what becomes of a subject. This is the table of outcomes: the rows that apply, in their order; the first one
/// is its outcome, unless that is intended.
pub fn compare(sides: &Sides<'_>) -> Vec<Finding> {
    match &sides.after.admission {
        Admission::Unknown(gap) => return vec![sides.finding(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()))],
        Admission::Refused(refusal) => {
            return vec![sides.finding(Outcome::Refused, vec![], Why::Refused(refusal.clone()))];
        }
        Admission::NotSent(_) | Admission::Admitted { .. } => {}
    }
    let gap = sides.gap();
    // Whether it waits, or leaves nodes, does not depend on which Pods run.
    if let Some(gap) = gap.as_ref().filter(|gap| !sides.is_daemon_set && **gap != Gap::Pods) {
        return vec![sides.finding(Outcome::CannotTell, vec![], Why::Unknown(gap.clone()))];
    }
    let (more_nodes, obstacles): (Vec<_>, Vec<_>) =
        sides.new_obstacles().into_iter().partition(|it| !sides.fixed_nodes && it.is_cured_by_nodes());
    if let Some(why) = sides.why_nothing_is_left().or_else(|| obstacles.into_iter().next().map(Why::Unschedulable)) {
        return vec![sides.finding(Outcome::Waits, vec![], why)];
    }
    let mut found = vec![];
    let lost = sides.lost();
    if sides.is_daemon_set && !(lost.nodes.is_empty() && lost.pools.is_empty()) {
        let finding = sides.finding(Outcome::LeavesNodes, lost.nodes.clone(), lost.why.clone());
        found.push(Finding { lost_pools: lost.pools.clone(), ..finding });
    } else if !lost.nodes.is_empty() && gap.is_none() {
        found.push(sides.finding(Outcome::Misplaced, lost.nodes.clone(), lost.why.clone()));
    }
    found.extend(gap.map(|gap| sides.finding(Outcome::CannotTell, vec![], Why::Unknown(gap))));
    found.extend(sides.doubtful_bindings(&lost));
    if found.is_empty() {
        found.push(sides.quiet());
    }
    found.extend(more_nodes.into_iter().map(|why| Finding { why: Why::NeedsNodes(why), ..sides.quiet() }));
    found
}

/// Compares what becomes of a Pod that waits for a node. It is not created again, and only its Binding is judged:
/// `before` and `after` are about the Pod as it is; `recreated` is what would become of it if it was created anew. Nothing
/// is wrong, if nothing is returned.
pub fn compare_standing(sides: &Sides<'_>, recreated: &Verdict, is_gated: bool) -> Option<Finding> {
    let Sides { before, after, .. } = sides;
    let can_be_recreated = matches!(recreated.admission, Admission::Admitted { .. } | Admission::NotSent(_));
    if is_gated {
        let lacks = can_be_recreated && recreated.requires_more_than(after);
        return lacks.then(|| sides.finding(Outcome::Misplaced, vec![], Why::AsItIs));
    }
    match best_of(after) {
        Some(Fit::Unknown(why)) => return Some(sides.finding(Outcome::CannotTell, vec![], unknown(why))),
        fit if chance(fit) > Chance::Never => return None,
        _ if before.iter().all(|before| chance(best_of(before)) == Chance::Never) => return None,
        _ => {}
    }
    if can_be_recreated && chance(best_of(recreated)) > Chance::Never {
        return Some(sides.finding(Outcome::Misplaced, vec![], Why::AsItIs));
    }
    Some(sides.finding(Outcome::Waits, vec![], sides.why_nothing_accepts_it()))
}

/// Joins what is found with the settings as they are with what is found as if every entry was enforced: what only would
/// be is marked. What is found `with` them is real if it is trouble, or if nothing is sent.
pub fn would_be(with: Vec<Finding>, enforced: Vec<Finding>, warns: bool) -> Vec<Finding> {
    let forecasts = |all: &[Finding]| -> Vec<Forecast> {
        all.iter().filter(|it| it.needed_nodes().is_none()).map(|it| it.forecast).collect()
    };
    let are_changed = with.iter().chain(&enforced).all(|it| it.forecast.outcome == Outcome::Changed);
    let is_other = forecasts(&with) != forecasts(&enforced);
    let would_be = !are_changed && (warns || is_other);
    let is_real = |finding: &Finding| with.iter().any(|it| it.needed_nodes().is_some() && it.why == finding.why);
    let marked = |finding: Finding| {
        let would_be = if finding.needed_nodes().is_some() { !is_real(&finding) } else { would_be };
        Finding { forecast: Forecast { would_be, ..finding.forecast }, ..finding }
    };
    enforced.into_iter().map(marked).collect()
}

/// Whether Pods can run somewhere, sooner or later. What could not be evaluated counts as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Chance {
    Never,
    /// When nodes are no longer cordoned, not ready, or draining.
    Later,
    Now,
}

fn chance(fit: Option<&Fit>) -> Chance {
    match fit {
        Some(Fit::Now | Fit::Unknown(_)) => Chance::Now,
        Some(Fit::NotNow(_)) => Chance::Later,
        Some(Fit::TooSmall(_) | Fit::No(_) | Fit::Unbindable(_)) | None => Chance::Never,
    }
}

fn best_of(verdict: &Verdict) -> Option<&Fit> {
    best(verdict.places.iter().map(|(_, fit)| fit))
}

/// Returns whether the place itself accepts a Pod, large enough or not, or whether that could not be evaluated.
fn accepts(fit: &Fit) -> bool {
    fit.is_accepted() || matches!(fit, Fit::Unknown(_))
}

fn unknown(why: &Unevaluated) -> Why {
    match why {
        Unevaluated::Created(refusal) => Why::Unbound(refusal.clone()),
        Unevaluated::Binding(gap) => Why::Unknown(gap.clone()),
        Unevaluated::Operator { .. } | Unevaluated::Value { .. } => Why::Unknown(Gap::Place(unevaluated(why))),
    }
}

/// Nodes that no longer accept Pods.
struct Lost {
    nodes: Vec<String>,
    /// The positions of the pools of these nodes.
    of: BTreeSet<usize>,
    /// The positions of the pools for which Karpenter no longer creates nodes that run the DaemonSet.
    pools: Vec<usize>,
    why: Why,
}

impl Sides<'_> {
    /// Returns an outcome that is about some nodes, or about none.
    fn finding(&self, outcome: Outcome, nodes: Vec<String>, why: Why) -> Finding {
        let pods = self.running.iter().filter(|node| nodes.is_empty() || nodes.contains(node)).count();
        let why = match (&self.after.admission, why) {
            // What the old settings added is no longer added.
            (Admission::NotSent(by), Why::Plain | Why::Unschedulable(_) | Why::FewerNodes(_)) => {
                Why::NotAsked(by.clone())
            }
            (_, why) => why,
        };
        Finding { forecast: Forecast::real(outcome), nodes, pods, why, ..Finding::nothing() }
    }

    /// Returns what becomes of it where nothing is wrong.
    fn quiet(&self) -> Finding {
        let outcome = match self.after.admission {
            Admission::NotSent(_) => Outcome::NotAsked,
            Admission::Admitted { is_changed: true } => Outcome::Changed,
            _ => Outcome::Unchanged,
        };
        Finding { stranded: self.stranded(), ..self.finding(outcome, vec![], Why::Plain) }
    }

    /// Returns what of the cluster the outcome depends on, and the input lacks.
    fn gap(&self) -> Option<Gap> {
        let Self { before, after, .. } = self;
        // Tolerations alone open nodes to a Pod: only where one is gone, nodes may be lost.
        let without = before.first()?;
        let is_moved = !without.selects_nodes_as(after)
            || before.get(1..).unwrap_or_default().iter().any(|old| after.lacks_toleration_of(old));
        if !is_moved && !after.depends_on_bindings {
            return None;
        }
        if self.map.pools.is_empty() {
            return Some(Gap::Nodes);
        }
        let has_nodes = self.map.pools.iter().any(|pool| !pool.nodes.is_empty());
        if let Some(node) = self.running.first().filter(|_| !has_nodes && self.map.left_out.is_empty()) {
            return Some(Gap::Object(Kind::Of(Resource::Node), node.clone()));
        }
        self.unevaluated_place().or_else(|| self.unknown_pods.cloned())
    }

    /// Returns why it could not be evaluated whether something accepts it, if nothing else does as well as before.
    fn unevaluated_place(&self) -> Option<Gap> {
        let is_known =
            |fit: &&Fit| !matches!(fit, Fit::Unknown(Unevaluated::Operator { .. } | Unevaluated::Value { .. }));
        let fits = || self.after.places.iter().map(|(_, fit)| fit);
        let known = chance(best(fits().filter(is_known)));
        let is_as_good = known == Chance::Now || known > Chance::Never && known >= self.chance_before();
        let why = fits().find(|fit| !is_known(fit)).filter(|_| !is_as_good)?;
        let Fit::Unknown(why) = why else { return None };
        Some(Gap::Place(unevaluated(why)))
    }

    fn chance_before(&self) -> Chance {
        self.before.iter().map(|before| chance(best_of(before))).max().unwrap_or(Chance::Never)
    }

    /// Returns why its Pods get no node, though they would without the policy, or with the old settings.
    fn why_nothing_is_left(&self) -> Option<Why> {
        (chance(best_of(self.after)) < self.chance_before()).then(|| self.why_nothing_accepts_it())
    }

    /// Returns what keeps some of its Pods from running, and would not without the policy, or with the old settings.
    fn new_obstacles(&self) -> Vec<Unschedulable> {
        let obstacles = |verdict: &Verdict| self.ties.obstacles(self.map, &verdict.places);
        let before: Vec<Vec<Unschedulable>> = self.before.iter().map(|before| obstacles(before)).collect();
        let is_new =
            |obstacle: &Unschedulable| before.iter().any(|before| !before.iter().any(|it| it.is_about(obstacle)));
        let is_sent = !matches!(self.after.admission, Admission::NotSent(_));
        let sum = self.sum.filter(|_| is_sent).cloned();
        obstacles(self.after).into_iter().filter(is_new).chain(sum).collect()
    }

    fn why_nothing_accepts_it(&self) -> Why {
        let places = &self.after.places;
        let unbound = || {
            places.iter().find_map(|(_, fit)| match fit {
                Fit::Unbindable(refusal) => Some(refusal.clone()),
                _ => None,
            })
        };
        match best_of(self.after) {
            Some(Fit::NotNow(passing)) => Why::Unschedulable(Unschedulable::NotNow(passing.taints.clone())),
            Some(Fit::TooSmall(_)) => Why::Unschedulable(Unschedulable::too_small(places)),
            _ => match unbound() {
                Some(refusal) => Why::Unbound(refusal),
                None => Why::Unschedulable(unschedulable(self.map, self.after, self.required)),
            },
        }
    }

    /// Returns the nodes that no longer accept its Pods, and why: of a DaemonSet of all nodes, else of those that its Pods
    /// run on.
    fn lost(&self) -> Lost {
        let before: Vec<Answers<'_>> = self.before.iter().map(|before| Answers::new(self.map, before)).collect();
        let after = Answers::new(self.map, self.after);
        let mut lost = Lost { nodes: vec![], of: BTreeSet::new(), pools: vec![], why: Why::Plain };
        let running: BTreeSet<&String> = self.running.iter().collect();
        for (position, pool) in self.map.pools.iter().enumerate() {
            if before.iter().any(|before| before.on_nodes(position)) && !after.on_nodes(position) {
                let nodes = pool.nodes.iter().map(|node| &node.name);
                let theirs: Vec<String> =
                    nodes.filter(|node| self.is_daemon_set || running.contains(node)).cloned().collect();
                lost.of.extend((!theirs.is_empty()).then_some(position));
                lost.nodes.extend(theirs);
            }
            if before.iter().any(|before| before.on_created(position)) && !after.on_created(position) {
                lost.pools.push(position);
            }
        }
        lost.nodes.sort();
        lost.why = after.why_lost(&lost.of);
        lost
    }

    /// Returns what speaks against a Binding to some of the places that it may use. It is not known which the scheduler
    /// picks, and it may try one where a Binding is refused again and again. A DaemonSet has a Pod for each node, and leaves
    /// those of `lost`.
    fn doubtful_bindings(&self, lost: &Lost) -> Option<Finding> {
        let is_left =
            |place: &Place| self.is_daemon_set && matches!(place, Place::Nodes(pool) if lost.of.contains(pool));
        let why = |fit: &Fit| match fit {
            Fit::Unbindable(refusal) => Some(Why::Unbound(refusal.clone())),
            Fit::Unknown(why @ (Unevaluated::Binding(_) | Unevaluated::Created(_))) => Some(unknown(why)),
            _ => None,
        };
        let rest = || self.after.places.iter().filter(|(place, _)| !is_left(place));
        let why = rest().find_map(|(_, fit)| why(fit))?;
        let refused = self.after.places.iter();
        let refused = refused.filter(|(place, fit)| matches!((place, fit), (Place::Nodes(_), Fit::Unbindable(_))));
        let pools = refused.filter_map(|(place, _)| self.map.pools.get(place.pool()));
        let mut nodes: Vec<String> = pools.flat_map(|pool| &pool.nodes).map(|node| node.name.clone()).collect();
        nodes.sort();
        Some(self.finding(Outcome::CannotTell, nodes, why))
    }

    /// Returns the nodes that its Pods run on, and that would not accept them again, with the policy or without.
    fn stranded(&self) -> Vec<String> {
        let all: Vec<Answers<'_>> =
            self.before.iter().chain([&self.after]).map(|verdict| Answers::new(self.map, verdict)).collect();
        let accepts = |pool| all.iter().any(|answers| answers.accepted_by_labels(pool));
        let is_stranded = |node: &&String| self.map.position_of(node).is_some_and(|pool| !accepts(pool));
        let running = self.running.iter().filter(|_| !self.is_daemon_set);
        running.filter(is_stranded).cloned().collect()
    }
}

/// The answers of a verdict, by the position of the pool.
struct Answers<'f> {
    nodes: Vec<Option<&'f Fit>>,
    created: Vec<Option<&'f Fit>>,
}

impl<'f> Answers<'f> {
    fn new(map: &NodeMap, verdict: &'f Verdict) -> Self {
        let mut answers = Self { nodes: vec![None; map.pools.len()], created: vec![None; map.pools.len()] };
        for (place, fit) in verdict.places.iter() {
            let slot = match place {
                Place::Nodes(pool) => answers.nodes.get_mut(*pool),
                Place::NodePool(pool) => answers.created.get_mut(*pool),
            };
            if let Some(slot) = slot {
                *slot = Some(fit);
            }
        }
        answers
    }

    fn at(&self, pool: usize) -> Option<&'f Fit> {
        self.nodes.get(pool).copied().flatten()
    }

    fn on_nodes(&self, pool: usize) -> bool {
        self.at(pool).is_some_and(accepts)
    }

    fn on_created(&self, pool: usize) -> bool {
        self.created.get(pool).copied().flatten().is_some_and(accepts)
    }

    /// Returns whether labels, taints and names accept it, whatever becomes of the Binding.
    fn accepted_by_labels(&self, pool: usize) -> bool {
        self.at(pool).is_some_and(|fit| accepts(fit) || matches!(fit, Fit::Unbindable(_)))
    }

    /// Returns why these pools no longer accept a Pod.
    fn why_lost(&self, pools: &BTreeSet<usize>) -> Why {
        let mut taints: Vec<Taint> = vec![];
        let mut is_by_taints = true;
        for fit in pools.iter().filter_map(|pool| self.at(*pool)) {
            match fit {
                Fit::Unbindable(refusal) => return Why::Unbound(refusal.clone()),
                Fit::No(exclusion) => match &exclusion.what {
                    Obstacle::Taints { taints: of_pool, .. } => taints.extend(of_pool.iter().cloned()),
                    _ => is_by_taints = false,
                },
                _ => is_by_taints = false,
            }
        }
        taints.sort_by_key(ToString::to_string);
        taints.dedup();
        Why::FewerNodes(if is_by_taints { taints } else { vec![] })
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use k8s_openapi::api::core::v1::PodSpec;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Manifests,
        places::{
            fit::{Exclusion, Passing, Spec},
            node_map::{Machines, NodeTraits},
            pod::{PodNeeds, PodSpecs},
        },
        webhook::{
            delivery::KeptAway,
            deployment::{Of, Refusal},
        },
    };

    const NO: Fit = Fit::No(Exclusion { by: Spec::Pod, what: Obstacle::Name });
    const NOT_NOW: Fit = Fit::NotNow(Passing { taints: vec![] });
    const TOO_SMALL: Fit = Fit::TooSmall(vec![]);
    const UNCHANGED: Admission = Admission::Admitted { is_changed: false };
    const CHANGED: Admission = Admission::Admitted { is_changed: true };
    const NOT_SENT: Admission = Admission::NotSent(KeptAway::NamespaceSelector);

    fn refusal() -> Refusal {
        Refusal { of: Of::Object, message: "no".to_owned(), cause: None, code: Some(403), by: None }
    }

    fn unbindable() -> Fit {
        Fit::Unbindable(refusal())
    }

    fn undecided() -> Fit {
        Fit::Unknown(Unevaluated::Operator { node_pool: "p".to_owned(), key: "k".to_owned() })
    }

    /// Returns the nodes `blue` and `red`, each a pool.
    fn nodes() -> NodeMap {
        let node = |name: &str| {
            let metadata = json!({ "name": name, "labels": { "pool": name } });
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata })
        };
        let objects: Manifests = ["blue", "red"].map(node).into_iter().collect();
        let traits = NodeTraits { labels: ["pool".to_owned()].into(), each_node: false };
        NodeMap::new(Machines::read(&objects).unwrap(), traits, []).unwrap()
    }

    fn verdict(admission: Admission, selector: Value, [blue, red]: [Fit; 2]) -> Verdict {
        let spec: PodSpec = serde_json::from_value(json!({ "containers": [], "nodeSelector": selector })).unwrap();
        let places = [(Place::Nodes(0), blue), (Place::Nodes(1), red)];
        let needs = Some(Rc::new(PodNeeds::new(&PodSpecs::of(&spec))));
        Verdict { admission, needs, places: places.into(), depends_on_bindings: false }
    }

    fn found(
        before: [Fit; 2],
        (admission, after): (Admission, [Fit; 2]),
        running: &[&str],
        is_daemon_set: bool,
    ) -> Vec<Outcome> {
        let (before, after) =
            (verdict(UNCHANGED, json!({}), before), verdict(admission, json!({ "pool": "blue" }), after));
        let running: Vec<String> = running.iter().map(|node| (*node).to_owned()).collect();
        let (before, map, required, unknown_pods) = (&[&before], &nodes(), &[], None);
        let (running, ties, sum, fixed_nodes) = (running.as_slice(), &Ties::default(), None, false);
        let after = &after;
        let sides =
            Sides { before, after, map, required, running, is_daemon_set, unknown_pods, ties, sum, fixed_nodes };
        compare(&sides).iter().map(|finding| finding.forecast.outcome).collect()
    }

    #[rstest]
    #[case::not_sent([Fit::Now, Fit::Now], (NOT_SENT, [Fit::Now, Fit::Now]), Outcome::NotAsked)]
    #[case::not_known([Fit::Now, Fit::Now], (Admission::Unknown(Gap::Nodes), [NO, NO]), Outcome::CannotTell)]
    #[case::only_a_place_that_is_not_known([Fit::Now, Fit::Now], (CHANGED, [undecided(), NO]), Outcome::CannotTell)]
    #[case::refused([Fit::Now, Fit::Now], (Admission::Refused(refusal()), [NO, NO]), Outcome::Refused)]
    #[case::no_place([Fit::Now, Fit::Now], (CHANGED, [NO, NO]), Outcome::Waits)]
    #[case::no_place_that_is_known_for_certain([undecided(), NO], (CHANGED, [NO, NO]), Outcome::Waits)]
    #[case::no_binding([Fit::Now, Fit::Now], (CHANGED, [unbindable(), NO]), Outcome::Waits)]
    #[case::too_small([NO, Fit::Now], (CHANGED, [TOO_SMALL, NO]), Outcome::Waits)]
    #[case::too_small_without_the_policy_too([TOO_SMALL, NO], (CHANGED, [TOO_SMALL, NO]), Outcome::Changed)]
    #[case::cordoned([NOT_NOW, Fit::Now], (CHANGED, [NOT_NOW, NO]), Outcome::Waits)]
    #[case::cordoned_without_the_policy_too([NOT_NOW, NO], (CHANGED, [NOT_NOW, NO]), Outcome::Changed)]
    #[case::no_place_without_the_policy_either([NO, NO], (CHANGED, [NO, NO]), Outcome::Changed)]
    #[case::a_binding_that_may_be_refused([Fit::Now, Fit::Now], (CHANGED, [Fit::Now, unbindable()]), Outcome::CannotTell)]
    #[case::changed([Fit::Now, Fit::Now], (CHANGED, [Fit::Now, NO]), Outcome::Changed)]
    #[case::unchanged([Fit::Now, Fit::Now], (UNCHANGED, [Fit::Now, Fit::Now]), Outcome::Unchanged)]
    fn each_row_of_the_table_gives_its_outcome(
        #[case] before: [Fit; 2],
        #[case] after: (Admission, [Fit; 2]),
        #[case] outcome: Outcome,
    ) {
        assert_eq!(found(before, after, &[], false), [outcome]);
    }

    #[rstest]
    #[case::on_nodes_that_are_lost(&["red", "blue"], [Fit::Now, Fit::Now], Outcome::Misplaced)]
    #[case::on_nodes_that_are_left(&["blue"], [Fit::Now, Fit::Now], Outcome::Changed)]
    #[case::on_nodes_that_never_accept_it(&["red"], [Fit::Now, NO], Outcome::Changed)]
    #[case::on_nodes_that_are_cordoned(&["red"], [Fit::Now, NOT_NOW], Outcome::Misplaced)]
    #[case::on_nodes_that_are_too_small(&["red"], [Fit::Now, TOO_SMALL], Outcome::Misplaced)]
    fn what_runs_on_nodes_that_are_lost_is_misplaced(
        #[case] running: &[&str],
        #[case] before: [Fit; 2],
        #[case] outcome: Outcome,
    ) {
        assert_eq!(found(before, (CHANGED, [Fit::Now, NO]), running, false), [outcome]);
    }

    #[rstest]
    #[case::one_is_lost([Fit::Now, NO], vec![Outcome::LeavesNodes])]
    #[case::a_binding_to_one_is_refused([Fit::Now, unbindable()], vec![Outcome::LeavesNodes])]
    #[case::all_are_lost([NO, NO], vec![Outcome::Waits])]
    #[case::none_is_lost([Fit::Now, Fit::Now], vec![Outcome::Changed])]
    fn a_daemon_set_has_a_pod_on_each_node(#[case] after: [Fit; 2], #[case] outcomes: Vec<Outcome>) {
        assert_eq!(found([Fit::Now, Fit::Now], (CHANGED, after), &[], true), outcomes);
    }

    #[rstest]
    #[case::it_has_a_place([Fit::Now, unbindable()], [NO, NO], false, None)]
    #[case::it_would_have_one([unbindable(), unbindable()], [Fit::Now, NO], false, Some(Outcome::Misplaced))]
    #[case::it_would_have_none([unbindable(), NO], [NO, NO], false, Some(Outcome::Waits))]
    #[case::it_is_gated_and_lacks_what_is_added([Fit::Now, Fit::Now], [Fit::Now, NO], true, Some(Outcome::Misplaced))]
    fn a_pod_that_waits_is_bound_as_it_is(
        #[case] as_it_is: [Fit; 2],
        #[case] recreated: [Fit; 2],
        #[case] is_gated: bool,
        #[case] outcome: Option<Outcome>,
    ) {
        let before = verdict(UNCHANGED, json!({}), [Fit::Now, Fit::Now]);
        let after = verdict(UNCHANGED, json!({}), as_it_is);
        let recreated = verdict(CHANGED, json!({ "pool": "blue" }), recreated);
        let (before, map, required, running) = (&[&before], &nodes(), &[], &[]);
        let (unknown_pods, ties, sum, fixed_nodes) = (None, &Ties::default(), None, false);
        let (after, is_daemon_set) = (&after, false);
        let sides =
            Sides { before, after, map, required, running, is_daemon_set, unknown_pods, ties, sum, fixed_nodes };
        let found = compare_standing(&sides, &recreated, is_gated);
        assert_eq!(found.map(|finding| finding.forecast.outcome), outcome);
    }

    #[rstest]
    #[case::only_warned_of(Outcome::Unchanged, Outcome::Refused, true)]
    #[case::changed_in_any_case(Outcome::Changed, Outcome::Changed, false)]
    fn what_only_would_be_is_marked(#[case] with: Outcome, #[case] enforced: Outcome, #[case] marked: bool) {
        let finding = |outcome| vec![Finding { forecast: Forecast::real(outcome), ..Finding::nothing() }];
        let joined = would_be(finding(with), finding(enforced), true);
        assert_eq!(
            joined.first().map(|finding| finding.forecast),
            Some(Forecast { would_be: marked, outcome: enforced })
        );
    }
}
