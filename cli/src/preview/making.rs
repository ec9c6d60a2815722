//! How a preview is made.

use std::{collections::BTreeMap, rc::Rc};

use anyhow::Result;
use serde_json::json;

use super::{
    advice::Advisor,
    binding::RequiredMetadata,
    document::{Finding, Namespace, Pool, Preview, Workload},
    judging::Judging,
    outcome::{Judged, Outcome},
    pod_shape::{PodShape, PodShapes},
    restart::{Budgets, restart},
    round::Round,
    subject::Subjects,
    verdict::Verdict,
    who_may_run_where::{Rows, selected_labels},
};
use crate::{
    engine::{
        creation::{Admitted, Created},
        policy::Policy,
        reply::Gap,
    },
    input::{
        kubectl::{Listed, NODE_POOLS},
        settings::{entries, entry_name, is_for_the_rest},
        settings_file::SettingsFile,
    },
    lists::{listed, shortened},
    requests::delivery,
    scheduling::{constraints::Constraints, node_pool::NodePoolObject, pool::Pools},
};

/// So many names stand in a remark.
const NAMED: usize = 8;

/// What a preview is made of.
pub struct Input<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Its settings: the documents of one file.
    pub files: &'p [SettingsFile],
    /// The settings that hold now, if these are compared with them.
    pub old: Option<&'p [SettingsFile]>,
    /// The cluster.
    pub cluster: &'p Listed,
    /// Outcomes that are wanted.
    pub accepted: &'p [Outcome],
}

impl Input<'_> {
    /// Makes the preview; with old settings, of what differs alone. `progress` is told now and then how many of how
    /// many workloads and namespaces are done.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn preview(&self, progress: impl Fn(usize, usize)) -> Result<Preview> {
        let cluster = &self.cluster.manifests;
        let subjects = Subjects::of(cluster)?;
        let round = Round::new(self.policy, self.files, cluster, &subjects.namespaces)?;
        let old = self.old.map(|old| Round::new(self.policy, old, cluster, &subjects.namespaces)).transpose()?;
        let (mut all, mut shapes) = (vec![], PodShapes::default());
        for (done, subject) in subjects.all.iter().enumerate() {
            progress(done, subjects.all.len());
            let old = old.as_ref().map(|old| old.create(subject, &mut shapes)).transpose()?;
            all.push((subject, round.create(subject, &mut shapes)?, old));
        }
        let pools = Pools::read(cluster, selected_labels(&round), [])?;
        let rounds: Vec<&Round<'_>> = [Some(&round), old.as_ref()].into_iter().flatten().collect();
        let required = RequiredMetadata::new(rounds.iter().flat_map(|round| round.files));
        let each_node = required.naming_each_node(cluster)?;
        let labels = rounds.iter().flat_map(|round| selected_labels(round)).chain(required.labels);
        let all_pools = Pools::read(cluster, labels.collect(), shapes.constraints().chain(&each_node))?;
        let judging = Judging::new(&all_pools, &round);
        let old = old.as_ref().map(|old| Judging::new(&all_pools, old));
        let mut preview = Preview { compared: old.is_some(), ..Preview::default() };
        let (mut advisor, mut rows) = (Advisor::new(&round), Rows::new(&round, &pools));
        let (mut forecasts, mut stranded, mut running) = (vec![], vec![], BTreeMap::<&str, Vec<&str>>::new());
        let (budgets, mut got_worse) = (Budgets::of(self.cluster), false);
        for (subject, created, old_created) in &all {
            let old = old.as_ref().zip(old_created.as_ref());
            let judged = judging.judge(subject, created, old)?;
            let was = old.map(|(old, created)| old.judge(subject, created, None)).transpose()?;
            advisor.note(subject, &judged);
            let Judged { forecast, nodes: on, pods, .. } = &judged;
            forecasts.push((subject.kind(), *forecast));
            running.entry(&subject.namespace).or_default().extend(subject.nodes.iter().map(String::as_str));
            let is_worse = was.as_ref().is_some_and(|was| forecast.is_worse_than(was.forecast, on, &was.nodes));
            let is_told = is_worse || was.as_ref().is_none_or(|was| was.forecast != *forecast);
            got_worse |= is_worse && forecast.outcome.holds_up(self.accepted);
            let was = was.map(|was| was.forecast);
            let finding = Finding { forecast: *forecast, reason: judged.reason(), was };
            let Some(manifest) = subject.manifest else {
                let created = [&created.real, created.enforced.as_ref().unwrap_or(&created.real)];
                let pods = created.map(|it| asks_for(it).filter(|_| forecast.outcome != Outcome::CannotTell));
                let running = running.get(&*subject.namespace).map(Vec::as_slice).unwrap_or_default();
                rows.add(&subject.namespace, &judged, pods, running);
                let name = subject.namespace.clone();
                preview.namespaces.extend(is_told.then_some(Namespace { name, finding }));
                continue;
            };
            let called = format!("{} {}", subject.kind(), subject.name());
            if forecast.outcome == Outcome::Changed && !judged.stranded.is_empty() {
                stranded.push(format!("{called} in {} ({})", subject.namespace, listed(&judged.stranded)));
            }
            if forecast.outcome == Outcome::Moves && !forecast.would_be {
                preview.restarts.push(restart(manifest, subject.owner.is_some(), &judged, &budgets));
            }
            preview.workloads.extend(is_told.then(|| Workload {
                kind: subject.kind().to_owned(),
                namespace: subject.namespace.clone(),
                name: subject.name().to_owned(),
                finding,
                nodes: on.clone(),
                pods: *pods,
                owner: subject.owner.clone(),
            }));
        }
        let gaps = self.gaps(&subjects);
        gaps.iter().for_each(|gap| advisor.note_gap(gap));
        advisor.note_entries();
        rows.note_untainted(&mut advisor);
        let lacking: Vec<String> = gaps.iter().map(named).collect();
        let can_restart = preview.restarts.iter().any(|restart| restart.obstacle.is_none());
        preview.verdict = Verdict::new(forecasts, &lacking, self.accepted, can_restart);
        preview.is_bad = if preview.compared { got_worse } else { !preview.verdict.ready };
        preview.advice = advisor.advice();
        preview.remarks = self.remarks(&round, &subjects, &pools.left_out, &stranded);
        preview.pools = pools.pools.iter().map(Pool::from).collect();
        preview.rows = rows.rows();
        Ok(preview)
    }

    /// What is not known of the cluster as a whole. Kinds that could not be listed are told together.
    fn gaps(&self, subjects: &Subjects<'_>) -> Vec<Gap> {
        let cluster = &self.cluster.manifests;
        // What no policy covers may lack anything.
        let covers = |file: &SettingsFile, name: &str| {
            let is_selected =
                |policy| delivery::selects_namespace(policy, &json!({ "namespace": name }), cluster.namespace(name));
            file.policy.as_ref().is_none_or(|policy| is_selected(policy) != Some(false))
        };
        let counts =
            |name: &Option<String>| name.as_ref().is_none_or(|name| self.files.iter().any(|file| covers(file, name)));
        let lacking = subjects.lacking.iter().filter(|(_, namespace)| counts(namespace));
        let mut gaps: Vec<Gap> = lacking.map(|(gap, _)| gap.clone()).collect();
        let matters = |kind: &str| !kind.starts_with("podtemplates") && !kind.starts_with("poddisruptionbudgets");
        let mut unlisted: Vec<_> = self.cluster.unreadable.iter().filter(|it| matters(&it.resource)).collect();
        unlisted.sort_by(|one, other| one.resource.cmp(&other.resource));
        if let Some(first) = unlisted.first() {
            let kinds = listed(&unlisted.iter().map(|it| it.resource.clone()).collect::<Vec<_>>());
            gaps.insert(0, Gap::Kind { kinds, reason: Some(first.reason.clone()) });
        }
        if cluster.namespaces().next().is_none() && gaps.is_empty() {
            gaps.push(Gap::Kind { kinds: "Namespaces".to_owned(), reason: None });
        }
        gaps
    }

    fn remarks(
        &self,
        round: &Round<'_>,
        subjects: &Subjects<'_>,
        left_out: &[String],
        stranded: &[String],
    ) -> Vec<String> {
        let cluster = &self.cluster.manifests;
        let lists = |resource: &str| self.cluster.unreadable.iter().all(|it| it.resource != resource);
        let mut remarks = vec![];
        for file in self.files.iter().filter(|file| file.places_pods() && lists("namespaces")) {
            for (position, entry) in entries(&file.typed).iter().enumerate() {
                if !is_for_the_rest(entry) && !round.namespaces.values().any(|rules| rules.matches(entry)) {
                    let name = entry_name(entry);
                    remarks.push(format!("No namespace matches {name} (placement.namespaces[{position}])."));
                }
            }
        }
        if cluster.all::<NodePoolObject>().next().is_none() && lists(NODE_POOLS) {
            remarks.push("There are no NodePools: Karpenter is taken to be absent.".to_owned());
        }
        if subjects.all.iter().all(|subject| subject.manifest.is_none()) && self.cluster.unreadable.is_empty() {
            remarks
                .push("There are no workloads and no Pods: only new Pods that ask for nothing are judged.".to_owned());
        }
        let repeated: Vec<String> = cluster.repeated.iter().map(ToString::to_string).collect();
        let unread: Vec<String> = cluster.unread.iter().map(|file| file.display().to_string()).collect();
        for (what, names) in [
            ("Some objects are there more than once, and the first counts", repeated.as_slice()),
            ("These are taken to run no new Pods", left_out),
            ("These run on nodes that would not take their Pods again, with the policy or without", stranded),
            ("These files are neither JSON nor YAML, and were not read", &unread),
        ] {
            if !names.is_empty() {
                remarks.push(format!("{what}: {}.", shortened(names, NAMED).unwrap_or_else(|| listed(names))));
            }
        }
        remarks
    }
}

/// What the Pod that asks for nothing asks of nodes in the end; nothing, where it is not let in.
fn asks_for(created: &Created<Rc<PodShape>>) -> Option<&Constraints> {
    match created {
        Created::LetIn(Admitted { after, .. }) => after.own(),
        Created::Unknown(_) | Created::Refused(_) => None,
    }
}

/// A gap, as the verdict names it: why something could not be listed stands with the advice.
fn named(gap: &Gap) -> String {
    match gap {
        Gap::Kind { kinds, reason: Some(_) } => format!("{kinds} could not be listed"),
        _ => gap.to_string(),
    }
}
