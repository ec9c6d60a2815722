//! Judges subjects: creates each in every scenario, and compares what becomes of it.

use std::rc::Rc;

use anyhow::{Context, Result};
use node_placement_policy::selector::Requirement;

use super::{
    candidate::{Attempt, Candidate},
    compare::{Sides, compare, compare_standing, would_be},
    finding::{Finding, Findings, JudgedSubject, Why},
    others::added_by_others,
    outcome::{Forecast, Outcome},
    rulebook::Rulebook,
    subject::{Subject, What},
    sums::Sums,
    unschedulable::Unschedulable,
};
use crate::{
    cluster::{Cluster, Gap, Kind, controllers::controller_of, manifests::Manifest},
    places::pod::PodNeeds,
    verdict::{self, Draft, Others, Scheduler, Verdict, World},
    webhook::deployment::{Admission, Scenario},
};

/// The settings that are previewed, and those that hold now, if these are compared with them.
#[derive(Clone, Copy)]
pub struct Judge<'p> {
    /// The cluster.
    pub cluster: &'p Cluster,
    /// The cluster, as subjects are created in it.
    pub world: &'p World<'p>,
    /// The settings that are previewed.
    pub now: &'p Rulebook<'p>,
    /// The settings that hold now.
    pub old: Option<&'p Rulebook<'p>>,
    /// Whether what becomes of subjects is compared with what the settings that hold now make of them.
    pub compares: bool,
    /// Outcomes that are intended.
    pub accepted: &'p [Outcome],
    /// Whether no nodes are added.
    pub fixed_nodes: bool,
}

impl Judge<'_> {
    /// Creates a subject and its parts in all scenarios.
    ///
    /// # Errors
    /// An object is none of its kind, or the policy failed to answer.
    pub fn create<'s>(&self, subject: &'s Subject<'s>) -> Result<Candidate<'s>> {
        let object = subject.manifest().map(Manifest::parse);
        // The policy may have changed a Pod that is there; of a ReplicaSet or a Job of a custom resource, the template counts.
        let maker = object.as_ref().and_then(|object| controller_of(object, self.world.cluster));
        let (others, in_words) = match subject.what {
            What::Workload(workload) => added_by_others(workload, self.now, self.old, self.cluster),
            _ => (Others::default(), None),
        };
        let created = match &object {
            Some(object) => verdict::Subject::Anew { object, maker, others: Some(&others) },
            None => verdict::Subject::Plain(&subject.namespace),
        };
        let attempt = |rulebook| self.attempt(subject, created, rulebook).with_context(|| subject.to_string());
        let mut standing = vec![];
        let own = (subject.is_standing() && object.is_some()).then_some(subject);
        for waiting in own.into_iter().chain(&subject.standing) {
            let pod = waiting.manifest().map(Manifest::parse).unwrap_or_default();
            standing.push((waiting, self.world.standing(&pod).with_context(|| waiting.to_string())?));
        }
        Ok(Candidate {
            subject,
            without: self.world.draft(created, Scenario::Without).with_context(|| subject.to_string())?,
            now: attempt(self.now)?,
            old: self.old.map(attempt).transpose()?,
            parts: subject.parts.iter().map(|part| self.create(part)).collect::<Result<_>>()?,
            standing,
            others: in_words,
        })
    }

    fn attempt(
        &self,
        subject: &Subject<'_>,
        created: verdict::Subject<'_>,
        rulebook: &Rulebook<'_>,
    ) -> Result<Attempt> {
        let draft = |scenario| self.world.draft(created, scenario);
        let may_warn = rulebook.rules(&subject.namespace).may_warn();
        let enforced = may_warn.then(|| draft(Scenario::Enforced(&rulebook.deployment))).transpose()?;
        Ok(Attempt { with: draft(Scenario::With(&rulebook.deployment))?, enforced })
    }

    /// Judges a subject, and each of its Pods that waits and has trouble of its own.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn judge<'s>(
        &self,
        candidate: &Candidate<'s>,
        scheduler: &Scheduler<'_>,
        sums: &Sums,
    ) -> Result<Vec<JudgedSubject<'s>>> {
        let Candidate { subject, now, .. } = candidate;
        let fixed_nodes = self.fixed_nodes;
        let side = Side { scheduler, sums, fixed_nodes, rulebook: self.now, is_old: false, old: self.old };
        let was = self.old.filter(|_| self.compares);
        let was = was.map(|rulebook| Side { scheduler, sums, fixed_nodes, rulebook, is_old: true, old: None });
        let enforced = now.enforced.as_ref().unwrap_or(&now.with);
        let mut judged = vec![JudgedSubject {
            subject,
            needs: now.with.needs.clone(),
            needs_enforced: enforced.needs.clone(),
            findings: self.sorted(side.findings(candidate)?)?,
            was: was.as_ref().map(|was| self.sorted(was.findings(candidate)?)).transpose()?,
            others: candidate.others.clone(),
        }];
        for (waiting, draft) in candidate.standing.iter().filter(|(waiting, _)| !std::ptr::eq(*waiting, *subject)) {
            let Some(finding) = side.standing(candidate, waiting, draft)? else { continue };
            let was = match &was {
                Some(was) => Some(was.standing(candidate, waiting, draft)?.unwrap_or_else(Finding::nothing)),
                None => None,
            };
            let (needs, needs_enforced): (Option<Rc<PodNeeds>>, _) = (draft.needs.clone(), draft.needs.clone());
            let was = was.map(|was| self.sorted(vec![was])).transpose()?;
            judged.push(JudgedSubject {
                subject: waiting,
                needs,
                needs_enforced,
                findings: self.sorted(vec![finding])?,
                was,
                others: None,
            });
        }
        Ok(judged)
    }

    fn sorted(&self, findings: Vec<Finding>) -> Result<Findings> {
        Findings::new(findings, self.accepted).context("everything has an outcome")
    }
}

/// A subject in front of one rulebook.
struct Side<'s> {
    scheduler: &'s Scheduler<'s>,
    sums: &'s Sums,
    /// Whether no nodes are added.
    fixed_nodes: bool,
    rulebook: &'s Rulebook<'s>,
    /// Whether it is that of the settings that hold now.
    is_old: bool,
    /// The settings that hold now: what these let it use can be taken away, too.
    old: Option<&'s Rulebook<'s>>,
}

impl Side<'_> {
    /// Returns all that is found of a subject and its parts.
    fn findings(&self, candidate: &Candidate<'_>) -> Result<Vec<Finding>> {
        let mut all = self.of_its_own(candidate)?;
        for part in &candidate.parts {
            let name = format!("{} {}", part.subject.kind(), part.subject.name());
            let of_part = self.of_its_own(part)?.into_iter();
            let of_part = of_part.filter(|finding| finding.forecast.outcome.is_trouble());
            all.extend(of_part.map(|finding| Finding { part: Some(name.clone()), ..finding }));
        }
        all.extend(self.of_an_unknown_template(candidate.subject, &all));
        Ok(all)
    }

    /// Returns what is found of a subject that makes some Pods from a template that is not known.
    fn of_an_unknown_template(&self, subject: &Subject<'_>, all: &[Finding]) -> Option<Finding> {
        let gap = subject.older_template.as_ref()?;
        let rulebooks = || [Some(self.rulebook), self.old].into_iter().flatten();
        let depends = |warned| rulebooks().any(|rulebook| rulebook.depends_on_pods_of(&subject.namespace, warned));
        let is_asked = all.iter().all(|finding| finding.forecast.outcome != Outcome::NotAsked);
        let forecast = Forecast { would_be: !depends(false), outcome: Outcome::CannotTell };
        let (pods, why) = (subject.nodes.len(), Why::Unknown(gap.clone()));
        (is_asked && depends(true)).then(|| Finding { forecast, pods, why, ..Finding::nothing() })
    }

    /// Returns what is found of a subject without its parts.
    fn of_its_own(&self, candidate: &Candidate<'_>) -> Result<Vec<Finding>> {
        let subject = candidate.subject;
        let mut found = self.created_anew(candidate)?;
        if let Some((_, draft)) = candidate.standing.first().filter(|_| subject.is_standing()) {
            // Nothing creates it again, unless it has an owner.
            if subject.owner.is_none() {
                found.retain(|finding| !finding.forecast.outcome.is_trouble());
            }
            found.extend(self.standing(candidate, subject, draft)?);
            if found.is_empty() {
                found.push(Finding::nothing());
            }
        }
        Ok(found)
    }

    /// Returns what is found of a subject if it is created anew.
    fn created_anew(&self, candidate: &Candidate<'_>) -> Result<Vec<Finding>> {
        let Candidate { subject, without, .. } = candidate;
        let Attempt { with, enforced } = candidate.attempt(self.is_old)?;
        let without = self.verdict(subject, without, Scenario::Without)?;
        // The Pods that run are those of the old settings, if these let them in.
        let old = self.old.zip(candidate.old.as_ref());
        let old = old.filter(|(_, old)| matches!(old.with.admission, Admission::Admitted { .. }));
        let old = old.map(|(rulebook, old)| self.verdict(subject, &old.with, Scenario::With(&rulebook.deployment)));
        let old = old.transpose()?;
        let before: Vec<&Verdict> = [Some(&without), old.as_ref()].into_iter().flatten().collect();
        let real = Scenario::With(&self.rulebook.deployment);
        let with = self.compared(subject, &before, &self.verdict(subject, with, real)?, real);
        let Some(enforced) = enforced.as_ref().filter(|_| !with.iter().any(|it| self.happens(subject, it))) else {
            return Ok(with);
        };
        let scenario = Scenario::Enforced(&self.rulebook.deployment);
        let enforced = self.compared(subject, &before, &self.verdict(subject, enforced, scenario)?, scenario);
        // The entry that warns may be of another policy, which is not asked about this.
        let warns = self.rulebook.rules(&subject.namespace).warns();
        Ok(would_be(with, enforced, warns))
    }

    /// Returns whether `Warn` does not prevent what was found: node metadata, limits, what is not known of the cluster. An
    /// unknown RuntimeClass affects only placement, so it is judged as if everything was enforced.
    fn happens(&self, subject: &Subject<'_>, Finding { forecast, why, .. }: &Finding) -> bool {
        let is_of_placement = matches!(why, Why::Unknown(Gap::Object(Kind::RuntimeClass, _)))
            && self.rulebook.cluster.namespace(&subject.namespace).is_some()
            && !self.rulebook.rules(&subject.namespace).has_any(false)
            && !self.rulebook.deployment.binding_rules.require_metadata();
        forecast.outcome == Outcome::NotAsked || forecast.outcome.is_trouble() && !is_of_placement
    }

    /// Returns what is wrong with a Pod that waits, as it is.
    fn standing(&self, candidate: &Candidate<'_>, pod: &Subject<'_>, draft: &Draft) -> Result<Option<Finding>> {
        let without = self.verdict(pod, draft, Scenario::Without)?;
        let (before, required) = ([&without], self.rulebook.required(&pod.namespace));
        let found = |scenario, recreated: &Draft| {
            let after = self.verdict(pod, draft, scenario)?;
            let sides = self.sides(pod, &before, &after, &required, None);
            Ok(compare_standing(&sides, &self.verdict(pod, recreated, scenario)?, pod.is_gated()))
        };
        let Attempt { with, enforced } = candidate.attempt(self.is_old)?;
        let real: Result<Option<Finding>> = found(Scenario::With(&self.rulebook.deployment), with);
        match (real?, enforced) {
            (None, Some(enforced)) => {
                let found = found(Scenario::Enforced(&self.rulebook.deployment), enforced)?;
                let would_be = |it: Finding| Finding { forecast: Forecast { would_be: true, ..it.forecast }, ..it };
                Ok(found.map(would_be))
            }
            (real, _) => Ok(real),
        }
    }

    fn verdict(&self, subject: &Subject<'_>, draft: &Draft, scenario: Scenario<'_>) -> Result<Verdict> {
        self.scheduler.verdict(&subject.namespace, draft, scenario)
    }

    fn compared(
        &self,
        subject: &Subject<'_>,
        before: &[&Verdict],
        after: &Verdict,
        scenario: Scenario<'_>,
    ) -> Vec<Finding> {
        let required = self.rulebook.required(&subject.namespace);
        compare(&self.sides(subject, before, after, &required, self.sums.of(subject, scenario)))
    }

    fn sides<'v>(
        &'v self,
        subject: &'v Subject<'_>,
        before: &'v [&'v Verdict],
        after: &'v Verdict,
        required: &'v [Requirement],
        sum: Option<&'v Unschedulable>,
    ) -> Sides<'v> {
        Sides {
            before,
            after,
            map: &self.scheduler.map,
            required,
            running: &subject.nodes,
            is_daemon_set: subject.kind() == "DaemonSet",
            unknown_pods: subject.lacks_pods.then_some(&Gap::Pods),
            ties: &subject.ties,
            sum,
            fixed_nodes: self.fixed_nodes,
        }
    }
}
