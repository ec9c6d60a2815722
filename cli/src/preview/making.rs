//! How a preview is made.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use node_placement_policy::settings::Settings;

use super::{
    Accepted, Namespace, Outcome, Preview, Verdict, Workload,
    advice::{Advisor, Who},
    asking::{Asking, Said},
    blame::blame,
    judging::{Case, Judged, Judging, Why},
    namespace_rules::{Demand, NamespaceRules, entry_name, is_for_the_rest},
    placing::Nodes,
    restarts::{Budgets, restart},
    subject::{Subject, Subjects},
    verdict::listed,
    who_may_run_where::Table,
};
use crate::{
    engine::{
        deployed::{Deployed, Enforcement},
        gap::Gap,
        policy::Policy,
    },
    input::{
        kubectl::Listed,
        manifests::{Identity, Manifests},
        settings::{ManagedKeys, entries},
        settings_file::SettingsFile,
    },
    scheduling::{constraints::Constraints, node_pool::NodePoolObject},
};

/// What a preview is made of.
pub struct Input<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Its settings: the documents of one file.
    pub files: &'p [SettingsFile],
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

impl Input<'_> {
    /// Makes the preview. `progress` is told now and then how many of how many workloads and namespaces are done.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn preview(&self, progress: impl Fn(usize, usize)) -> Result<Preview> {
        let cluster = &self.cluster.manifests;
        let deployed = Deployed::new(self.policy, self.files, cluster);
        let subjects = Subjects::of(cluster);
        let rules = self.rules(&subjects)?;
        let managed = ManagedKeys::of(self.settings_with(|settings| settings.node_metadata.is_some()));
        let mut asking = Asking::new(&deployed, cluster, &managed);
        let total = subjects.all.len() + subjects.namespaces.len();

        let mut of_workloads = vec![];
        for subject in &subjects.all {
            progress(of_workloads.len(), total);
            let object = subject.manifest.parse();
            let warns = rules.get(namespace_of(subject)).is_some_and(|rules| rules.warns);
            let answers = answers(warns, |enforcement| asking.about(&object, enforcement));
            of_workloads.push(answers.with_context(|| subject.manifest.identity.to_string())?);
        }
        let mut of_namespaces = vec![];
        for (name, rules) in &rules {
            progress(of_workloads.len() + of_namespaces.len(), total);
            let answers = answers(rules.warns, |enforcement| asking.about_plain_pod(name, enforcement));
            of_namespaces.push((name, answers.with_context(|| format!("a new Pod in {name}"))?));
        }

        let nodes = Nodes::of(cluster, asking.pods)?;
        let judging = Judging::new(&nodes, &deployed, self.files, cluster);
        let settings = self.placement_settings();
        let mut advisor = Advisor::new(settings, &rules, &nodes);
        let mut preview = Preview::default();
        let budgets = Budgets::of(cluster);
        for (subject, answers) in subjects.all.iter().zip(&of_workloads) {
            let judged = Self::judged(subject, answers, &judging)?;
            let Identity { kind, name, .. } = &subject.manifest.identity;
            let namespace = namespace_of(subject).to_owned();
            advisor.note(Who { name: Some(called(subject)), namespace: namespace.clone() }, &judged);
            if judged.outcome == Outcome::Moves && !judged.would_be {
                preview.restarts.push(restart(subject, &subject.manifest.parse(), &judged, &budgets));
            }
            preview.workloads.push(Workload {
                kind: kind.clone(),
                namespace,
                name: name.clone(),
                outcome: judged.outcome,
                would_be: judged.would_be,
                reason: reason(&judged, &nodes, demands(&rules, namespace_of(subject))),
                nodes: judged.nodes,
                pods: judged.pods,
                was: None,
                owner: subject.owner.clone(),
            });
        }
        let mut plain: BTreeMap<String, Constraints> = BTreeMap::new();
        for (name, answers) in of_namespaces {
            let case = Case { namespace: name, is_daemon_set: false, running: &[], lacks_pods: false };
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
        let table = Table::new(cluster, settings, &rules, &preview.namespaces, &plain, &subjects.running)?;
        table.note_untainted(&rules, &mut advisor);
        preview.pools = table.pools();
        preview.rows = table.rows(settings);
        preview.advice = advisor.advice();
        preview.remarks = self.remarks(&rules);
        let lacking: Vec<String> = gaps.iter().map(named).collect();
        preview.verdict = Verdict::new(&preview.workloads, &preview.namespaces, &lacking, self.accepted);
        Ok(preview)
    }

    fn judged(subject: &Subject<'_>, answers: &Answers, judging: &Judging<'_>) -> Result<Judged> {
        let case = Case {
            namespace: namespace_of(subject),
            is_daemon_set: subject.manifest.identity.kind == "DaemonSet",
            running: &subject.nodes,
            lacks_pods: subject.lacks_pods,
        };
        judging.judge(&case, &answers.written, answers.enforced.as_ref())
    }

    fn rules(&self, subjects: &Subjects<'_>) -> Result<BTreeMap<String, NamespaceRules>> {
        let settings = self.placement_settings();
        let cluster = &self.cluster.manifests;
        let rules = |name: &String| Ok((name.clone(), NamespaceRules::of(settings, name, cluster.namespace(name))?));
        subjects.namespaces.iter().map(rules).collect()
    }

    fn placement_settings(&self) -> &Settings {
        self.settings_with(|settings| {
            settings.placement.is_some() || settings.pod_node_selector_plugin_config.is_some()
        })
    }

    /// Of several documents, the one about this.
    fn settings_with(&self, is_about: impl Fn(&Settings) -> bool) -> &Settings {
        static NONE: std::sync::LazyLock<Settings> = std::sync::LazyLock::new(Settings::default);
        let about = self.files.iter().map(|file| &file.typed).find(|settings| is_about(settings));
        about.unwrap_or(&NONE)
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

    fn remarks(&self, rules: &BTreeMap<String, NamespaceRules>) -> Vec<String> {
        let mut remarks = vec![];
        for (position, entry) in entries(self.placement_settings()).iter().enumerate() {
            let matches = rules.values().any(|rules| rules.matching.contains(&position));
            if !matches && !is_for_the_rest(entry) {
                let name = entry_name(entry);
                remarks.push(format!("No namespace matches {name} (placement.namespaces[{position}])."));
            }
        }
        let manifests: &Manifests = &self.cluster.manifests;
        if let [first, more @ ..] = manifests.repeated() {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            remarks.push(format!("Some objects are there more than once, and the first counts: {first}{more}."));
        }
        if manifests.all::<NodePoolObject>().next().is_none() {
            remarks.push("There are no NodePools: Karpenter is taken to be absent.".to_owned());
        }
        remarks
    }
}

impl Answers {
    /// What the Pod that asks for nothing asks of nodes in the end; nothing, where it is not let in.
    fn asks_for(&self, nodes: &Nodes) -> Option<Constraints> {
        match self.enforced.as_ref().unwrap_or(&self.written) {
            Said::NotAsked(_) => Some(Constraints::default()),
            Said::Unknown(_) | Said::Refused(_) => None,
            Said::LetIn(let_in) => let_in.after.last().and_then(|pod| nodes.constraints(*pod)).cloned(),
        }
    }
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

fn demands<'r>(rules: &'r BTreeMap<String, NamespaceRules>, namespace: &str) -> &'r [Demand] {
    rules.get(namespace).map(|rules| rules.demands.as_slice()).unwrap_or_default()
}

fn namespace_of<'s>(subject: &'s Subject<'_>) -> &'s str {
    subject.manifest.identity.namespace.as_deref().unwrap_or_default()
}

/// `Deployment web`, `Pod web-x (of Rollout web)`
fn called(subject: &Subject<'_>) -> String {
    let Identity { kind, name, .. } = &subject.manifest.identity;
    let owner = subject.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
    format!("{kind} {name}{owner}")
}

fn reason(judged: &Judged, nodes: &Nodes, demands: &[Demand]) -> Option<String> {
    match (&judged.why, judged.outcome) {
        (_, Outcome::Changed | Outcome::Unchanged) | (Why::Plain, _) => None,
        (Why::NotAsked(reason), _) => Some(reason.clone()),
        (Why::Unknown(gap), _) => Some(gap.to_string()),
        (Why::Refused(refusal), _) => Some(refusal.message.clone()),
        (Why::Unbound(refusal), _) => Some(format!("its Pods could not be bound: {}", refusal.message)),
        (Why::Excluded(pod), Outcome::Waits) => Some(blame(nodes, pod, demands).to_string()),
        (Why::Excluded(_), Outcome::LeavesNodes) if judged.nodes.is_empty() => {
            Some("Karpenter would no longer run it on the nodes that it creates".to_owned())
        }
        (Why::Excluded(_), Outcome::LeavesNodes) => Some("it would no longer run on these nodes".to_owned()),
        (Why::Excluded(_), _) => Some("these nodes would not take its Pods again".to_owned()),
    }
}
