//! How a preview is made.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use anyhow::Result;

use super::{
    advice::{Advisor, Who, demands},
    asking::{Answers, Round, Said},
    blame::blame,
    document::{Namespace, Preview, Workload},
    judging::{Judged, Judging, Required, Why},
    outcome::{Change, Outcome},
    placing::{Nodes, Pods},
    restart::{Budgets, restart},
    subject::{Part, Subject, Subjects},
    verdict::{Accepted, Verdict},
    who_may_run_where::{Table, selected_labels},
};
use crate::{
    engine::{
        gap::Gap,
        namespace_rules::{Demand, NamespaceRules},
        policy::Policy,
    },
    input::{
        kubectl::{Listed, NODE_POOLS},
        manifests::{Identity, Manifests},
        settings::{entries, entry_name, is_for_the_rest},
        settings_file::SettingsFile,
    },
    lists::{listed, shortened},
    scheduling::{constraints::Constraints, node_pool::NodePoolObject, places::Places},
};

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
    pub accepted: &'p Accepted,
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
        let rounds = if self.old.is_some() { 2 } else { 1 };
        let total = rounds * (subjects.all.len() + subjects.namespaces.len());
        let done = Cell::new(0);
        let told = || progress(done.replace(done.get() + 1), total);
        let mut pods = Pods::default();
        let round = Round::of(self.policy, self.files, cluster, &subjects, &mut pods, told)?;
        let old = self.old.map(|old| Round::of(self.policy, old, cluster, &subjects, &mut pods, told)).transpose()?;
        let labels = [Some(&round), old.as_ref()].into_iter().flatten().flat_map(|round| {
            selected_labels(round.files, &round.rules).into_iter().chain(Required::of(round.files).labels)
        });
        let nodes = Nodes::of(cluster, pods, labels.collect())?;
        let judged = judged(&nodes, &subjects, &round, old.as_ref(), cluster)?;
        let was = old.as_ref().map(|old| self::judged(&nodes, &subjects, old, None, cluster)).transpose()?;
        let mut preview = self.document(&subjects, &nodes, &round, &judged)?;
        let Some(was) = was else { return Ok(preview) };
        for (now, ((judged, _), (was, _))) in
            preview.workloads.iter_mut().zip(judged.workloads.iter().zip(&was.workloads))
        {
            now.was = Some(was.was());
            now.change = Change::between((was.was(), &was.nodes), (judged.was(), &judged.nodes));
        }
        for (now, (judged, was)) in preview.namespaces.iter_mut().zip(judged.namespaces.iter().zip(&was.namespaces)) {
            now.was = Some(was.was());
            now.change = Change::between((was.was(), &was.nodes), (judged.was(), &judged.nodes));
        }
        preview.compared();
        Ok(preview)
    }

    fn document(
        &self,
        subjects: &Subjects<'_>,
        nodes: &Nodes,
        round: &Round<'_>,
        all: &AllJudged<'_>,
    ) -> Result<Preview> {
        let (cluster, rules) = (&self.cluster.manifests, &round.rules);
        let mut advisor = Advisor::new(self.files, rules, nodes);
        let mut preview = Preview::default();
        let budgets = Budgets::of(cluster);
        let mut stranded = vec![];
        for (subject, (judged, part)) in subjects.all.iter().zip(&all.workloads) {
            let Identity { kind, name, .. } = &subject.manifest.identity;
            let (namespace, part) = (subject.namespace().to_owned(), *part);
            advisor.note(Who { name: Some(called(subject, part)), namespace: namespace.clone() }, judged);
            if judged.outcome == Outcome::Changed && !judged.stranded.is_empty() {
                stranded.push(format!("{} in {namespace} ({})", called(subject, None), listed(&judged.stranded)));
            }
            if judged.outcome == Outcome::Moves && !judged.would_be {
                preview.restarts.push(restart(subject, &subject.manifest.parse(), judged, &budgets));
            }
            preview.workloads.push(Workload {
                kind: kind.clone(),
                namespace,
                name: name.clone(),
                outcome: judged.outcome,
                would_be: judged.would_be,
                reason: reason(judged, nodes, demands(rules, subject.namespace()))
                    .map(|reason| part.map_or(reason.clone(), |part| format!("its {}: {reason}", named_part(part)))),
                nodes: judged.nodes.clone(),
                pods: judged.pods,
                was: None,
                change: Change::None,
                owner: subject.owner.clone(),
            });
        }
        let mut plain: BTreeMap<String, Constraints> = BTreeMap::new();
        for (name, (answers, judged)) in rules.keys().zip(round.namespaces.iter().zip(&all.namespaces)) {
            advisor.note(Who { name: None, namespace: name.clone() }, judged);
            let asked = asks_for(answers, nodes);
            plain.extend(asked.filter(|_| judged.outcome != Outcome::CannotTell).map(|pod| (name.clone(), pod)));
            preview.namespaces.push(Namespace {
                name: name.clone(),
                outcome: judged.outcome,
                would_be: judged.would_be,
                reason: reason(judged, nodes, demands(rules, name)),
                was: None,
                change: Change::None,
            });
        }
        let gaps = joined(self.gaps(subjects));
        gaps.iter().for_each(|gap| advisor.note_gap(gap));
        advisor.note_entries();
        let table = Table::new(cluster, self.files, rules, &preview.namespaces, &plain, &subjects.running)?;
        table.note_untainted(rules, &mut advisor);
        preview.pools = table.pools();
        preview.rows = table.rows();
        preview.advice = advisor.advice();
        preview.remarks = self.remarks(rules, subjects, &stranded)?;
        let lacking: Vec<String> = gaps.iter().map(named).collect();
        preview.verdict = Verdict::new(&preview.workloads, &preview.namespaces, &lacking, self.accepted);
        if preview.verdict.is_about_moves_alone {
            preview.verdict.add_next_step(&preview.restarts);
        }
        preview.accepted = self.accepted.clone();
        Ok(preview)
    }

    /// What is not known of the cluster as a whole.
    fn gaps(&self, subjects: &Subjects<'_>) -> BTreeSet<Gap> {
        let mut gaps = subjects.lacking.clone();
        for unreadable in &self.cluster.unreadable {
            let kinds = unreadable.resource.clone();
            let matters = !kinds.starts_with("podtemplates") && !kinds.starts_with("poddisruptionbudgets");
            gaps.extend(matters.then(|| Gap::Kind { kinds, reason: Some(unreadable.reason.clone()) }));
        }
        if self.cluster.manifests.namespaces().next().is_none() && gaps.is_empty() {
            gaps.insert(Gap::Kind { kinds: "Namespaces".to_owned(), reason: None });
        }
        gaps
    }

    fn remarks(
        &self,
        rules: &BTreeMap<String, NamespaceRules<'_>>,
        subjects: &Subjects<'_>,
        stranded: &[String],
    ) -> Result<Vec<String>> {
        let mut remarks = vec![];
        let lists = |resource: &str| self.cluster.unreadable.iter().all(|it| it.resource != resource);
        for file in self.files.iter().filter(|file| file.places() && lists("namespaces")) {
            for (position, entry) in entries(&file.typed).iter().enumerate() {
                if !is_for_the_rest(entry) && !rules.values().any(|rules| rules.matches(entry)) {
                    let name = entry_name(entry);
                    remarks.push(format!("No namespace matches {name} (placement.namespaces[{position}])."));
                }
            }
        }
        let manifests: &Manifests = &self.cluster.manifests;
        let repeated: Vec<String> = manifests.repeated.iter().map(ToString::to_string).collect();
        if !repeated.is_empty() {
            let told = shortened(&repeated, 1).unwrap_or_else(|| listed(&repeated));
            remarks.push(format!("Some objects are there more than once, and the first counts: {told}."));
        }
        if manifests.all::<NodePoolObject>().next().is_none() && lists(NODE_POOLS) {
            remarks.push("There are no NodePools: Karpenter is taken to be absent.".to_owned());
        }
        let Places { left_out, .. } = Places::of(manifests)?;
        if !left_out.is_empty() {
            remarks.push(format!("These are taken to run no new Pods: {}.", left_out.join("; ")));
        }
        if !stranded.is_empty() {
            remarks.push(format!(
                "These run on nodes that would not take their Pods again, with the policy or without: {}.",
                first_of(stranded)
            ));
        }
        if subjects.all.is_empty() && self.cluster.unreadable.is_empty() {
            remarks
                .push("There are no workloads and no Pods: only new Pods that ask for nothing are judged.".to_owned());
        }
        let unread: Vec<String> = manifests.unread.iter().map(|file| file.display().to_string()).collect();
        if !unread.is_empty() {
            remarks.push(format!("These files are neither JSON nor YAML, and were not read: {}.", first_of(&unread)));
        }
        Ok(remarks)
    }
}

/// What becomes of everything, in the order of the subjects and of the namespaces.
struct AllJudged<'s> {
    workloads: Vec<(Judged, Option<&'s Part<'s>>)>,
    namespaces: Vec<Judged>,
}

fn judged<'s>(
    nodes: &Nodes,
    subjects: &Subjects<'_>,
    round: &Round<'s>,
    old: Option<&Round<'_>>,
    cluster: &Manifests,
) -> Result<AllJudged<'s>> {
    let judging = Judging::new(nodes, round, cluster);
    let mut judged = AllJudged { workloads: vec![], namespaces: vec![] };
    for (place, (subject, answered)) in subjects.all.iter().zip(&round.workloads).enumerate() {
        let old = old.and_then(|old| old.workloads.get(place));
        judged.workloads.push(judging.workload(subject, answered, old)?);
    }
    for (place, (name, answers)) in round.rules.keys().zip(&round.namespaces).enumerate() {
        let old = old.and_then(|old| old.namespaces.get(place));
        judged.namespaces.push(judging.plain_pod(name, answers, old)?);
    }
    Ok(judged)
}

/// What the Pod that asks for nothing asks of nodes in the end; nothing, where it is not let in.
fn asks_for(answers: &Answers, nodes: &Nodes) -> Option<Constraints> {
    match answers.enforced.as_ref().unwrap_or(&answers.written) {
        Said::Unknown(_) | Said::Refused(_) => None,
        Said::NotAsked(_, asked) | Said::LetIn(asked) => {
            asked.after.last().and_then(|pod| nodes.constraints(*pod)).cloned()
        }
    }
}

/// `a, b, c, d and 3 more`
fn first_of(names: &[String]) -> String {
    const NAMED: usize = 8;
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

/// Kinds that could not be listed, told together.
fn joined(gaps: BTreeSet<Gap>) -> Vec<Gap> {
    let (unlisted, mut others): (Vec<Gap>, Vec<Gap>) =
        gaps.into_iter().partition(|gap| matches!(gap, Gap::Kind { reason: Some(_), .. }));
    let mut all_kinds = vec![];
    let mut first = None;
    for gap in unlisted {
        if let Gap::Kind { kinds, reason } = gap {
            all_kinds.push(kinds);
            first = first.or(reason);
        }
    }
    if first.is_some() {
        others.insert(0, Gap::Kind { kinds: listed(&all_kinds), reason: first });
    }
    others
}

/// A gap, as the verdict names it: why something could not be listed stands with the advice.
fn named(gap: &Gap) -> String {
    match gap {
        Gap::Kind { kinds, reason: Some(_) } => format!("{kinds} could not be listed"),
        _ => gap.to_string(),
    }
}

/// `Deployment web`, `Deployment web (its ReplicaSet web-1)`, `Pod web-x (of Rollout web)`
fn called(subject: &Subject<'_>, part: Option<&Part<'_>>) -> String {
    let Identity { kind, name, .. } = &subject.manifest.identity;
    let owner = subject.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
    let part = part.map(|part| format!(" (its {})", named_part(part))).unwrap_or_default();
    format!("{kind} {name}{owner}{part}")
}

/// `ReplicaSet web-1`
fn named_part(part: &Part<'_>) -> String {
    let Identity { kind, name, .. } = &part.manifest.identity;
    format!("{kind} {name}")
}

fn reason(judged: &Judged, nodes: &Nodes, demands: &[Demand]) -> Option<String> {
    match (&judged.why, judged.outcome) {
        (_, Outcome::Changed | Outcome::Unchanged) | (Why::Plain, _) => None,
        (Why::NotAsked(reason), _) => Some(reason.clone()),
        (Why::Unknown(gap), _) => Some(gap.to_string()),
        (Why::Refused(refusal), _) => Some(refusal.message.clone()),
        (Why::Unbound(refusal), Outcome::CannotTell) => {
            Some(format!("its Pods could not be bound to every node that takes them: {}", refusal.message))
        }
        (Why::Unbound(refusal), _) => Some(format!("its Pods could not be bound: {}", refusal.message)),
        (Why::Excluded(pod), Outcome::Waits) => Some(blame(nodes, pod, demands).to_string()),
        (Why::Excluded(_), Outcome::LeavesNodes) if judged.nodes.is_empty() => {
            Some("Karpenter would no longer run it on the nodes that it creates".to_owned())
        }
        (Why::Excluded(_), Outcome::LeavesNodes) => Some("it would no longer run on these nodes".to_owned()),
        (Why::Excluded(_), _) => Some("these nodes would not take its Pods again".to_owned()),
    }
}
