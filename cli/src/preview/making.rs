//! How a preview is made.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::{
    Accepted, Namespace, Outcome, Preview, Verdict, Workload,
    advice::{Advisor, Who, demands},
    asking::{Asking, Said},
    blame::blame,
    judging::{Case, Judged, Judging, Required, Why},
    placing::Nodes,
    restart::{Budgets, restart},
    subject::{Part, Subject, Subjects},
    who_may_run_where::{Table, selected_labels},
};
use crate::{
    engine::{
        creation::Creation,
        deployed::{Deployed, Enforcement},
        gap::Gap,
        namespace_rules::{Demand, NamespaceRules, entry_name, is_for_the_rest, managed_keys},
        policy::Policy,
    },
    input::{
        kubectl::{Listed, NODE_POOLS},
        manifests::{Identity, Manifests},
        settings::entries,
        settings_file::SettingsFile,
    },
    lists::{listed, shortened},
    requests::template,
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

/// What has been said of one thing that is judged.
struct Answers {
    written: Said,
    /// As if every entry was enforced; nothing, where the entry that holds is.
    enforced: Option<Said>,
}

/// What has been said of a workload, and of those of its parts that make other Pods.
struct Answered<'s> {
    own: Answers,
    parts: Vec<(&'s Part<'s>, Answers)>,
}

impl Input<'_> {
    /// Makes the preview; with old settings, of what differs alone. `progress` is told now and then how many of how
    /// many workloads and namespaces are done.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn preview(&self, progress: impl Fn(usize, usize)) -> Result<Preview> {
        let preview = self.whole(&progress)?;
        let Some(files) = self.old else { return Ok(preview) };
        Ok(preview.compared_with(&Input { files, old: None, ..*self }.whole(&progress)?))
    }

    fn whole(&self, progress: &impl Fn(usize, usize)) -> Result<Preview> {
        let cluster = &self.cluster.manifests;
        let deployed = Deployed::new(self.policy, self.files, cluster);
        let subjects = Subjects::of(cluster)?;
        let rules = self.rules(&subjects)?;
        let managed = managed_keys(self.files);
        let old_files = self.old.unwrap_or_default();
        let (old_deployed, old_managed) = (Deployed::new(self.policy, old_files, cluster), managed_keys(old_files));
        let creation = Creation { deployed: &deployed, cluster, managed: &managed };
        let old = Creation { deployed: &old_deployed, cluster, managed: &old_managed };
        let mut asking = Asking::new(creation, self.old.map(|_| old));
        let total = subjects.all.len() + subjects.namespaces.len();

        let mut of_workloads = vec![];
        for subject in &subjects.all {
            progress(of_workloads.len(), total);
            let warns = rules.get(namespace_of(subject)).is_some_and(|rules| rules.warns);
            of_workloads.push(answered(subject, warns, &mut asking)?);
        }
        let mut of_namespaces = vec![];
        for (name, rules) in &rules {
            progress(of_workloads.len() + of_namespaces.len(), total);
            let answers = answers(rules.warns, |enforcement| asking.about_plain_pod(name, enforcement));
            of_namespaces.push((name, answers.with_context(|| format!("a new Pod in {name}"))?));
        }

        let required = Required::of(self.files);
        let labels = selected_labels(self.files, &rules).into_iter().chain(required.labels.clone()).collect();
        let nodes = Nodes::of(cluster, asking.pods, labels)?;
        let judging = Judging::new(&nodes, &deployed, &required, self.files, cluster);
        let mut advisor = Advisor::new(self.files, &rules, &nodes);
        let mut preview = Preview::default();
        let budgets = Budgets::of(cluster);
        let mut stranded = vec![];
        for (subject, answers) in subjects.all.iter().zip(&of_workloads) {
            let (judged, part) = judged(subject, answers, &judging)?;
            let Identity { kind, name, .. } = &subject.manifest.identity;
            let namespace = namespace_of(subject).to_owned();
            advisor.note(Who { name: Some(called(subject, part)), namespace: namespace.clone() }, &judged);
            if judged.outcome == Outcome::Changed && !judged.stranded.is_empty() {
                stranded.push(format!("{} in {namespace} ({})", called(subject, None), listed(&judged.stranded)));
            }
            if judged.outcome == Outcome::Moves && !judged.would_be {
                preview.restarts.push(restart(subject, &subject.manifest.parse(), &judged, &budgets));
            }
            preview.workloads.push(Workload {
                kind: kind.clone(),
                namespace,
                name: name.clone(),
                outcome: judged.outcome,
                would_be: judged.would_be,
                reason: reason(&judged, &nodes, demands(&rules, namespace_of(subject)))
                    .map(|reason| part.map_or(reason.clone(), |part| format!("its {}: {reason}", named_part(part)))),
                nodes: judged.nodes,
                pods: judged.pods,
                was: None,
                owner: subject.owner.clone(),
            });
        }
        let mut plain: BTreeMap<String, Constraints> = BTreeMap::new();
        for (name, answers) in of_namespaces {
            let case =
                Case { namespace: name, is_daemon_set: false, is_pending: false, running: &[], lacks_pods: false };
            let judged = judging.judge(&case, &answers.written, answers.enforced.as_ref())?;
            advisor.note(Who { name: None, namespace: name.clone() }, &judged);
            let asked = answers.asks_for(&nodes);
            plain.extend(asked.filter(|_| judged.outcome != Outcome::CannotTell).map(|pod| (name.clone(), pod)));
            let reason = reason(&judged, &nodes, demands(&rules, name));
            let (outcome, would_be) = (judged.outcome, judged.would_be);
            preview.namespaces.push(Namespace { name: name.clone(), outcome, would_be, reason, was: None });
        }
        let gaps = joined(self.gaps(&subjects));
        gaps.iter().for_each(|gap| advisor.note_gap(gap));
        advisor.note_entries();
        let table = Table::new(cluster, self.files, &rules, &preview.namespaces, &plain, &subjects.running)?;
        table.note_untainted(&rules, &mut advisor);
        preview.pools = table.pools();
        preview.rows = table.rows();
        preview.advice = advisor.advice();
        preview.remarks = self.remarks(&rules, &subjects, &stranded)?;
        let lacking: Vec<String> = gaps.iter().map(named).collect();
        preview.verdict = Verdict::new(&preview.workloads, &preview.namespaces, &lacking, self.accepted);
        if preview.verdict.is_about_moves_alone {
            preview.verdict.add_next_step(&preview.restarts);
        }
        preview.accepted = self.accepted.clone();
        Ok(preview)
    }

    fn rules<'s>(&'s self, subjects: &'s Subjects<'_>) -> Result<BTreeMap<String, NamespaceRules<'s>>> {
        let cluster = &self.cluster.manifests;
        let rules =
            |name: &'s String| Ok((name.clone(), NamespaceRules::of(self.files, name, cluster.namespace(name))?));
        subjects.namespaces.iter().map(rules).collect()
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
        let repeated: Vec<String> = manifests.repeated().iter().map(ToString::to_string).collect();
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
        let unread: Vec<String> = manifests.unread().iter().map(|file| file.display().to_string()).collect();
        if !unread.is_empty() {
            remarks.push(format!("These files are neither JSON nor YAML, and were not read: {}.", first_of(&unread)));
        }
        Ok(remarks)
    }
}

impl Answers {
    /// What the Pod that asks for nothing asks of nodes in the end; nothing, where it is not let in.
    fn asks_for(&self, nodes: &Nodes) -> Option<Constraints> {
        match self.enforced.as_ref().unwrap_or(&self.written) {
            Said::NotAsked(..) => Some(Constraints::default()),
            Said::Unknown(_) | Said::Refused(_) => None,
            Said::LetIn(let_in) => let_in.after.last().and_then(|pod| nodes.constraints(*pod)).cloned(),
        }
    }
}

/// What the policy says of a workload, and of its parts that make other Pods than the workload would make now.
fn answered<'s>(subject: &'s Subject<'_>, warns: bool, asking: &mut Asking<'_>) -> Result<Answered<'s>> {
    let object = subject.manifest.parse();
    let own = answers(warns, |enforcement| asking.about(&object, enforcement));
    let mut answered = Answered { own: own.with_context(|| subject.manifest.identity.to_string())?, parts: vec![] };
    for part in &subject.parts {
        let made = part.manifest.parse();
        if template::differ(&object, &made) {
            let answers = answers(warns, |enforcement| asking.about(&made, enforcement));
            answered.parts.push((part, answers.with_context(|| part.manifest.identity.to_string())?));
        }
    }
    Ok(answered)
}

/// The outcome of a workload; where that of one of its parts is worse, that, and the part.
fn judged<'s>(
    subject: &Subject<'_>,
    answered: &Answered<'s>,
    judging: &Judging<'_>,
) -> Result<(Judged, Option<&'s Part<'s>>)> {
    let namespace = namespace_of(subject);
    let kind = subject.manifest.identity.kind.as_str();
    let case = Case {
        namespace,
        is_daemon_set: kind == "DaemonSet",
        is_pending: kind == "Pod" && subject.nodes.is_empty(),
        running: &subject.nodes,
        lacks_pods: subject.lacks_pods,
    };
    let mut worst = (judging.judge(&case, &answered.own.written, answered.own.enforced.as_ref())?, None);
    for (part, answers) in &answered.parts {
        let case = Case { running: &part.nodes, is_daemon_set: false, lacks_pods: false, ..case };
        let judged = judging.judge(&case, &answers.written, answers.enforced.as_ref())?;
        if rank(&judged) < rank(&worst.0) {
            worst = (judged, Some(*part));
        }
    }
    Ok(worst)
}

/// Trouble first, then what would be; the worst first. What is no trouble is all the same.
fn rank(judged: &Judged) -> (bool, bool, Option<Outcome>) {
    let is_trouble = judged.outcome.is_trouble();
    (!is_trouble, is_trouble && judged.would_be, is_trouble.then_some(judged.outcome))
}

/// `a, b, c, d and 3 more`
fn first_of(names: &[String]) -> String {
    const NAMED: usize = 8;
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

fn answers(warns: bool, mut ask: impl FnMut(Enforcement) -> Result<Said>) -> Result<Answers> {
    let written = ask(Enforcement::AsWritten)?;
    let enforced = if warns { Some(ask(Enforcement::Everywhere)?) } else { None };
    Ok(Answers { written, enforced })
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

fn namespace_of<'s>(subject: &'s Subject<'_>) -> &'s str {
    subject.manifest.identity.namespace.as_deref().unwrap_or_default()
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
