//! A preview from its input: everything is created in front of the policy, its outcome is found, and of all outcomes
//! together the document is made.

use std::collections::BTreeSet;

use anyhow::Result;
use node_placement_policy::resource::Resource;

use super::{
    advice::{Advice, AdviceList, AffectedObject, Cause, Point, Sentence},
    advisor::Advisor,
    document::{Namespace, OutcomeEntry, Pool, Preview, Workload},
    fences::{NothingFenced, Opening, Warnings, advise_on_openings, nothing_fenced, openings, usable_pools},
    finding::JudgedSubject,
    judge::Judge,
    outcome::{Accepted, Forecast, Outcome},
    platform::advise_on_exemptions,
    restart::{Budgets, Restart},
    rulebook::Rulebook,
    subject::Subjects,
    sums::Sums,
    tenants::merged,
    verdict::{Circumstances, Difference, Verdict},
    way_out::WayOut,
    who_may_run_where::{Row, advise_on_taints, rows, selected_labels},
};
use crate::{
    cluster::{
        Cluster, Gap, Kind,
        manifests::{Identity, Manifests},
    },
    engine::policy::Policy,
    input::settings::entry_name,
    lists::{listed, shortened},
    places::{
        node_map::{Machines, NodeMap, NodeTraits},
        volumes::Volumes,
    },
    verdict::{Scheduler, World},
    webhook::{
        policy_spec::PolicySpec,
        settings_file::{SettingsFile, deployed_policies},
    },
    words::left_out,
};

/// At most this many names stand in a remark.
const NAMED: usize = 8;

/// What a preview is made of.
///
/// ```
/// use cli::{Manifests, Policy, SettingsFile, preview::PreviewInput};
/// use serde_json::json;
///
/// let settings = json!({ "placement": { "namespaces": [{ "name": "blue", "requiredNodeSelector": "pool=blue" }] } });
/// let files = [SettingsFile::read(settings)?];
/// let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1", "labels": { "pool": "blue" } } });
/// let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "blue" } });
/// let cluster = Manifests::from_iter([node, namespace]);
/// let input =
///     PreviewInput { policy: &Policy::native(), files: &files, old: None, cluster: &cluster, accepted: &[], fixed_nodes: false };
/// let preview = input.preview(|_, _| {})?;
/// assert_eq!(preview.verdict.text, "Ready to enforce: new Pods in 1 namespace change.");
/// # Ok::<(), anyhow::Error>(())
/// ```
pub struct PreviewInput<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// Its settings: the documents of one file.
    pub files: &'p [SettingsFile],
    /// The settings that hold now, if these are compared with them.
    pub old: Option<&'p [SettingsFile]>,
    /// The cluster.
    pub cluster: &'p Manifests,
    /// What is intended.
    pub accepted: &'p [Accepted],
    /// Whether no nodes are added: else an autoscaler may add some where all together have less than is requested.
    pub fixed_nodes: bool,
}

impl PreviewInput<'_> {
    /// Makes the preview; with old settings, of what differs alone. `progress` is told now and then how many of how
    /// many workloads and namespaces are done.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn preview(&self, progress: impl Fn(usize, usize)) -> Result<Preview> {
        let cluster = self.cluster;
        let typed = Cluster::new(cluster)?;
        let volumes = Volumes::new(typed.volumes.values(), typed.claims.values());
        let (subjects, world) = (Subjects::new(&typed, &volumes), World::new(cluster));
        let accepted: Vec<Outcome> = self.accepted.iter().filter_map(|accepted| accepted.outcome()).collect();
        let rulebook = |files| Rulebook::new(self.policy, files, cluster, &subjects.namespaces);
        let deployed = enforcing(&deployed_policies(cluster)?);
        let now = rulebook(self.files)?;
        // What the deployed policy lets Pods use can be taken away, too.
        let old = match self.old {
            Some(old) => Some(rulebook(old)?),
            None if deployed.is_empty() => None,
            None => rulebook(&deployed).ok(),
        };
        let (old, compares, fixed_nodes) = (old.as_ref(), self.old.is_some(), self.fixed_nodes);
        let judge =
            Judge { cluster: &typed, world: &world, now: &now, old, compares, accepted: &accepted, fixed_nodes };
        let mut candidates = vec![];
        for (done, subject) in subjects.all.iter().enumerate() {
            progress(done, subjects.all.len());
            candidates.push(judge.create(subject)?);
        }
        let rulebooks = || [Some(&now), old].into_iter().flatten();
        let deployments: Vec<_> = rulebooks().map(|rulebook| &rulebook.deployment).collect();
        let labels: BTreeSet<String> = rulebooks().flat_map(selected_labels).collect();
        let needs = world.all_needs();
        let scheduler = Scheduler::new(cluster, labels.clone(), &deployments, needs.iter().map(|needs| &**needs))?;
        let sums = Sums::new(&now, old, compares, &candidates, &scheduler)?;
        let mut judged = vec![];
        for candidate in &candidates {
            judged.extend(judge.judge(candidate, &scheduler, &sums)?);
        }
        let pools_of = |labels| NodeMap::new(Machines::read(cluster)?, NodeTraits { labels, each_node: false }, []);
        let pools = pools_of(selected_labels(&now))?;
        let openings = match self.old {
            Some(old) => Some(self.openings(old, &subjects.namespaces, &pools_of(labels)?)?),
            None => None,
        };
        let unfenced = nothing_fenced(&now, &subjects.namespaces, &pools)?;
        let rows = rows(&now, &pools, &judged);
        let (subjects, round, judged, pools) = (&subjects, &now, judged.as_slice(), &pools);
        let (typed, accepted) = (&typed, &accepted);
        let assessment =
            Assessment { input: self, typed, accepted, subjects, round, judged, pools, rows, openings, unfenced };
        Ok(assessment.preview())
    }

    /// Returns the namespaces that may use more nodes than with the old settings.
    fn openings(&self, old: &[SettingsFile], namespaces: &BTreeSet<String>, pools: &NodeMap) -> Result<Vec<Opening>> {
        let usable = |files| usable_pools(files, self.cluster, namespaces, pools, Warnings::Open);
        Ok(openings(pools, &usable(old)?, &usable(self.files)?))
    }
}

/// Returns the policies that do more than report.
fn enforcing(deployed: &[SettingsFile]) -> Vec<SettingsFile> {
    let reports = |file: &SettingsFile| file.policy.as_ref().is_some_and(PolicySpec::only_reports);
    deployed.iter().filter(|file| !reports(file)).cloned().collect()
}

/// All that a preview reports.
struct Assessment<'a> {
    input: &'a PreviewInput<'a>,
    typed: &'a Cluster,
    accepted: &'a [Outcome],
    subjects: &'a Subjects<'a>,
    round: &'a Rulebook<'a>,
    judged: &'a [JudgedSubject<'a>],
    /// By the labels that the settings name.
    pools: &'a NodeMap,
    rows: Vec<Row>,
    /// With old settings, the namespaces that may use more nodes.
    openings: Option<Vec<Opening>>,
    unfenced: Option<NothingFenced<'a>>,
}

impl Assessment<'_> {
    fn preview(self) -> Preview {
        let gaps = self.gaps();
        let restarts = self.restarts();
        let can_restart = restarts.iter().any(|restart| restart.obstacle.is_none());
        let listed = || self.judged.iter().filter(|it| it.differs(self.accepted));
        Preview {
            verdict: self.verdict(&gaps, can_restart),
            advice: self.advice(&gaps),
            remarks: self.remarks(),
            workloads: listed().filter_map(workload).collect(),
            namespaces: listed().filter_map(namespace).collect(),
            still_wrong: self.still_wrong(),
            opens: self.openings,
            pools: self.pools.pools.iter().map(Pool::from).collect(),
            rows: merged(self.rows),
            restarts,
        }
    }

    fn restarts(&self) -> Vec<Restart> {
        let budgets = Budgets::new(self.input.cluster, self.typed);
        let mut restarts: Vec<Restart> = vec![];
        for restart in self.judged.iter().filter_map(|it| Restart::new(it, &budgets)) {
            // A workload is restarted once, whichever of its Pods are the reason.
            if !restarts.iter().any(|known| known.is_of_same(&restart)) {
                restarts.push(restart);
            }
        }
        restarts
    }

    fn verdict(&self, gaps: &[Gap], can_restart: bool) -> Verdict {
        let Some(openings) = &self.openings else {
            let circumstances = Circumstances {
                lacking: gaps.iter().map(in_verdict).collect(),
                unfenced: self.unfenced.as_ref().map(NothingFenced::text),
                unjudged: self.subjects.unknown.len(),
                short: self.short_of_nodes(false),
                would_be_short: self.short_of_nodes(true),
                can_restart,
            };
            let forecasts = self.judged.iter().map(|it| (it.subject.kind(), it.forecast()));
            return Verdict::new(forecasts, &circumstances, self.accepted);
        };
        let mut worse = vec![];
        for it in self.judged {
            let worst = it.worse(self.accepted).find(|worse| worse.forecast.holds_up(self.accepted));
            worse.extend(worst.map(|worst| (it.subject.kind(), worst.forecast)));
        }
        let is_accepted = self.input.accepted.contains(&Accepted::Opens);
        let difference = Difference {
            openings: if is_accepted { 0 } else { openings.len() },
            others: self.judged.iter().filter(|it| it.differs(self.accepted)).count() - worse.len(),
            still_wrong: self.still_wrong(),
            short: self.short_of_nodes(false),
            can_restart,
        };
        Verdict::of_difference(worse, &difference)
    }

    /// Counts the workloads for which nodes must be added, or would have to be.
    fn short_of_nodes(&self, would_be: bool) -> usize {
        self.judged.iter().filter(|it| it.needs_nodes().any(|need| need.forecast.would_be == would_be)).count()
    }

    /// Returns what was wrong with the old settings, and still is.
    fn still_wrong(&self) -> Vec<String> {
        let same = self.judged.iter().filter(|it| !it.differs(self.accepted) && it.forecast().is_real_trouble());
        same.map(|it| AffectedObject::new(it.subject, None).to_string()).collect()
    }

    /// Returns what is not known of the cluster as a whole. Kinds that could not be listed are named together.
    fn gaps(&self) -> Vec<Gap> {
        let PreviewInput { cluster, .. } = self.input;
        // What no policy covers may lack anything.
        let is_covered = |name: &String| self.round.deployment.covers(name, cluster.namespace(name));
        let lacking = self.subjects.lacking.iter().filter(|(_, name)| name.as_ref().is_none_or(is_covered));
        let mut gaps: Vec<Gap> = lacking.map(|(gap, _)| gap.clone()).collect();
        let mut unlisted: Vec<_> = cluster.unlisted.iter().filter(|it| it.kind.holds_up_previews()).collect();
        unlisted.sort_by(|one, other| one.resource.cmp(&other.resource));
        if let Some(first) = unlisted.first() {
            let kinds = listed(&unlisted.iter().map(|it| it.resource.clone()).collect::<Vec<_>>());
            gaps.insert(0, Gap::Withheld(kinds, first.reason.clone()));
        }
        if cluster.namespaces().next().is_none() && gaps.is_empty() {
            gaps.push(Gap::None(Kind::Of(Resource::Namespace)));
        }
        gaps
    }

    /// Returns what to do, for everything that is judged and for the settings themselves. In a comparison, of what
    /// differs alone.
    fn advice(&self, gaps: &[Gap]) -> Vec<Advice> {
        let (advisor, mut to_do) = (Advisor { round: self.round }, AdviceList::default());
        for it in self.judged {
            let outcome = it.forecast().outcome;
            let is_intended = outcome.is_trouble() && !outcome.holds_up(self.accepted);
            let worst = Some(&it.findings.worst).filter(|_| !is_intended && it.differs(self.accepted));
            worst.into_iter().chain(it.needs_nodes()).for_each(|found| advisor.advise(it, found, &mut to_do));
        }
        if let Some(openings) = &self.openings {
            advise_on_openings(openings, &mut to_do);
            return to_do.advice();
        }
        for gap in gaps {
            let (cause, way_out) = (Cause::of_gap(gap), WayOut::Provide(gap.clone()));
            let point = Point { cause, sentence: Sentence::Alone(gap.advice()), way_out };
            to_do.add(Forecast::real(Outcome::CannotTell), point, None);
        }
        advisor.advise_on_entries(&mut to_do);
        advise_on_taints(self.round, self.pools, &self.rows, self.judged, &mut to_do);
        advise_on_exemptions(self.round, self.input.cluster, &mut to_do);
        let first = self.unfenced.iter().map(NothingFenced::advice);
        first.chain(to_do.advice()).collect()
    }

    /// Returns what else is worth knowing.
    fn remarks(&self) -> Vec<String> {
        let cluster = self.input.cluster;
        let lists = |kind: Kind| cluster.unlisted.iter().all(|it| it.kind != kind);
        let mut remarks = vec![];
        for (at, _) in self.round.idle_entries().iter().filter(|(_, namespaces)| namespaces.is_empty()) {
            if lists(Kind::Of(Resource::Namespace)) {
                remarks.push(format!("No namespace matches {} ({at}).", entry_name(at.entry)));
            }
        }
        let is_node_pool = |it: &Identity| it.kind == "NodePool" && it.api_version.starts_with("karpenter.sh/");
        let has_node_pools = cluster.objects().iter().any(|object| is_node_pool(&object.identity));
        if !has_node_pools && lists(Kind::NodePool) {
            remarks.push("No NodePools found: assuming that Karpenter is not installed.".to_owned());
        }
        if self.judged.iter().all(|it| it.subject.is_plain()) && cluster.unlisted.is_empty() {
            remarks.push("No workloads and no Pods found: only new Pods that request nothing are judged.".to_owned());
        }
        let stranded: Vec<String> = self.judged.iter().filter_map(stranded).collect();
        let duplicates: Vec<String> = cluster.duplicates.iter().map(ToString::to_string).collect();
        let left_out: Vec<String> =
            self.pools.left_out.iter().map(|(name, why)| format!("{name} {}", left_out(why))).collect();
        let unread: Vec<String> = cluster.unread.iter().map(|file| file.display().to_string()).collect();
        let passed_over: Vec<String> = cluster.passed_over.iter().map(|file| file.display().to_string()).collect();
        for (what, names) in [
            ("Some objects are there more than once, and the first counts", duplicates.as_slice()),
            ("These are taken to run no new Pods", &left_out),
            ("These run on nodes that would not accept their Pods again, with the policy or without", &stranded),
            (
                "Nothing is known of what makes their Pods, and there are none: these are not judged",
                &self.subjects.unknown,
            ),
            ("These files are neither JSON nor YAML, and were not read", &unread),
            ("These files hold no Kubernetes object, and were passed over", &passed_over),
            ("A key stands there twice, and the last one counts", &cluster.repeated),
        ] {
            if !names.is_empty() {
                remarks.push(format!("{what}: {}.", shortened(names, NAMED).unwrap_or_else(|| listed(names))));
            }
        }
        remarks
    }
}

fn entry(it: &JudgedSubject<'_>) -> OutcomeEntry {
    let was = it.was.as_ref().map(|was| was.worst.forecast);
    let reasons: Vec<String> = it.findings.worst.reason().into_iter().chain(it.others.clone()).collect();
    OutcomeEntry { forecast: it.forecast(), reason: (!reasons.is_empty()).then(|| reasons.join("; ")), was }
}

fn workload(it: &JudgedSubject<'_>) -> Option<Workload> {
    let JudgedSubject { subject, findings, .. } = it;
    (!subject.is_plain()).then(|| Workload {
        kind: subject.kind().to_owned(),
        namespace: subject.namespace.clone(),
        name: subject.name().to_owned(),
        finding: entry(it),
        nodes: findings.worst.nodes.clone(),
        pods: findings.worst.pods,
        owner: subject.owner.clone(),
    })
}

fn namespace(it: &JudgedSubject<'_>) -> Option<Namespace> {
    let name = it.subject.namespace.clone();
    it.subject.is_plain().then(|| Namespace { name, finding: entry(it) })
}

/// Returns `Deployment web in blue (node-1 and node-2)`, if it runs where no node would accept it again.
fn stranded(JudgedSubject { subject, findings, .. }: &JudgedSubject<'_>) -> Option<String> {
    let stranded = &findings.worst.stranded;
    let is_quiet = matches!(findings.worst.forecast.outcome, Outcome::Changed | Outcome::Unchanged);
    let is_stranded = is_quiet && !stranded.is_empty();
    let nodes = listed(stranded);
    is_stranded.then(|| format!("{} {} in {} ({nodes})", subject.kind(), subject.name(), subject.namespace))
}

/// Returns a gap, as the verdict names it: why something could not be listed stands with the advice.
fn in_verdict(gap: &Gap) -> String {
    match gap {
        Gap::Withheld(kinds, _) => format!("{kinds} could not be listed"),
        _ => gap.to_string(),
    }
}
