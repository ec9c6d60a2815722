//! Whether nodes have as much in all as is requested of them: in each scenario, compared with the cluster without the policy
//! and with the old settings. Nothing in a cluster tells whether nodes are added.

use std::{ptr, rc::Rc};

use anyhow::Result;
use node_placement_policy::resource::Resource;

use super::{
    candidate::Candidate,
    rulebook::Rulebook,
    subject::{Subject, What},
    unschedulable::Unschedulable,
};
use crate::{
    cluster::{Kind, manifests::Manifests},
    input::json::text,
    places::{
        node_map::NodeMap,
        room::{Count, Loads, Overload, Replicas},
    },
    verdict::Scheduler,
    webhook::deployment::{Scenario, ScenarioId},
};

/// Where nodes have less than is requested: the scenario, the addresses of the subjects that can run nowhere else, and the
/// sums.
#[derive(Default)]
pub struct Sums(Vec<(ScenarioId, Vec<usize>, Unschedulable)>);

impl Sums {
    /// Compares what is requested in each scenario: with the settings that are previewed, and with those that hold `old`;
    /// with `compares`, of these too.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn new(
        now: &Rulebook<'_>,
        old: Option<&Rulebook<'_>>,
        compares: bool,
        candidates: &[Candidate<'_>],
        scheduler: &Scheduler<'_>,
    ) -> Result<Self> {
        let counter = Counter { candidates, scheduler, priorities: priorities(now.cluster) };
        let (mut sums, without) = (Self::default(), counter.loads(None, false)?);
        let old = match old {
            Some(rulebook) => Some((rulebook, counter.loads(Some((rulebook, true)), false)?)),
            None => None,
        };
        let before: Vec<&Loads> =
            [Some(&without), old.as_ref().map(|(_, loads)| loads)].into_iter().flatten().collect();
        sums.add(&counter, (now, false), &before)?;
        if let Some((rulebook, _)) = old.as_ref().filter(|_| compares) {
            sums.add(&counter, (rulebook, true), &[&without])?;
        }
        Ok(sums)
    }

    /// Returns what keeps Pods of a subject from running, if its nodes have less than is requested of them.
    pub fn of(&self, subject: &Subject<'_>, scenario: Scenario<'_>) -> Option<&Unschedulable> {
        let subject = ptr::from_ref(subject).addr();
        let mut own = self.0.iter().filter(|(id, _, _)| *id == scenario.id());
        own.find(|(_, subjects, _)| subjects.contains(&subject)).map(|(_, _, sums)| sums)
    }

    fn add(&mut self, counter: &Counter<'_>, settings: (&Rulebook<'_>, bool), before: &[&Loads]) -> Result<()> {
        let map = &counter.scheduler.map;
        let deployment = &settings.0.deployment;
        for (scenario, is_enforced) in [(Scenario::With(deployment), false), (Scenario::Enforced(deployment), true)] {
            let overloads = counter.loads(Some(settings), is_enforced)?.overloads(map, before).into_iter();
            self.0.extend(overloads.map(|it| (scenario.id(), it.workloads.clone(), sum(it, map))));
        }
        Ok(())
    }
}

fn sum(Overload { pools, lacking, .. }: Overload, map: &NodeMap) -> Unschedulable {
    let pools = pools.iter().filter_map(|pool| map.pools.get(*pool));
    let mut nodes: Vec<String> = pools.flat_map(|pool| &pool.nodes).map(|node| node.name.clone()).collect();
    nodes.sort();
    Unschedulable::Sum { nodes: Rc::new(nodes), lacking }
}

/// Counts what is requested.
struct Counter<'c> {
    candidates: &'c [Candidate<'c>],
    scheduler: &'c Scheduler<'c>,
    priorities: Vec<(String, i64)>,
}

impl Counter<'_> {
    /// Returns what all subjects request with some settings, perhaps the old ones; without settings, what they request
    /// without the policy.
    fn loads(&self, settings: Option<(&Rulebook<'_>, bool)>, is_enforced: bool) -> Result<Loads> {
        let mut loads = Loads::default();
        for candidate in self.candidates {
            let subject = candidate.subject;
            let Some(count) = self.count(subject) else { continue };
            let (draft, scenario) = match settings {
                None => (&candidate.without, Scenario::Without),
                Some((rulebook, is_old)) => candidate.attempt(is_old)?.in_scenario(&rulebook.deployment, is_enforced),
            };
            let Some(pod) = &draft.needs else { continue };
            let fits = self.scheduler.places(&subject.namespace, pod, scenario)?;
            let workload = ptr::from_ref(subject).addr();
            loads.add(&self.scheduler.map, &Replicas { workload, pod, fits: &fits, count });
        }
        Ok(loads)
    }

    /// Returns how many Pods of a subject need room at the same time. Pods with a negative priority leave when others come.
    fn count(&self, subject: &Subject<'_>) -> Option<Count> {
        let What::Workload(workload) = subject.what else { return None };
        match workload.resource {
            Resource::DaemonSet => Some(Count::PerNode),
            Resource::Deployment | Resource::ReplicaSet | Resource::StatefulSet | Resource::ReplicationController => {
                let class = workload.template.spec.priority_class_name.as_deref().unwrap_or_default();
                let known = self.priorities.iter().find(|(name, _)| name == class);
                let is_counted = known.is_none_or(|(_, priority)| *priority >= 0);
                workload.replicas?.try_into().ok().filter(|_| is_counted).map(Count::Replicas)
            }
            _ => None,
        }
    }
}

/// Returns the priority of each PriorityClass; that of the default has the name "".
fn priorities(cluster: &Manifests) -> Vec<(String, i64)> {
    let kind = Kind::PriorityClass;
    let mut priorities = vec![];
    for class in cluster.of_kind(kind.api_version(), kind.name()).map(|class| class.parse()) {
        let priority = class["value"].as_i64().unwrap_or_default();
        priorities.push((text(&class["metadata"]["name"]).to_owned(), priority));
        priorities.extend((class["globalDefault"] == true).then(|| (String::new(), priority)));
    }
    priorities
}
