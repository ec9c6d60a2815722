//! Workloads by namespace, the worst first, and those together of which the same is to be said.

use std::collections::BTreeMap;

use super::rows::outcome;
use crate::{
    lists::counted,
    preview::{Outcome, Preview, Was, Workload},
};

/// What is to be said about one namespace.
pub struct NamespaceSection<'p> {
    pub name: &'p str,
    pub findings: Vec<Finding<'p>>,
}

impl NamespaceSection<'_> {
    /// Whether there is more to say than that something is changed.
    pub fn is_in_trouble(&self) -> bool {
        self.findings.iter().any(|finding| finding.outcome.is_trouble())
    }
}

/// Of whom something is to be said, and what.
pub struct Finding<'p> {
    pub outcome: Outcome,
    pub would_be: bool,
    pub was: Option<Was>,
    /// `Deployments api, web`
    pub who: String,
    pub reason: Option<&'p str>,
    /// The nodes that it is about, and how many Pods run there.
    pub nodes: &'p [String],
    pub pods: usize,
}

impl Finding<'_> {
    /// What it was with the old settings: `refused`; what is the same is about other nodes now.
    pub fn was(&self) -> Option<String> {
        let was = self.was?;
        let is_same = (was.outcome, was.would_be) == (self.outcome, self.would_be);
        Some(if is_same { "so on other nodes".to_owned() } else { outcome(was.outcome, was.would_be) })
    }
}

/// All that have something to be said about: what is unchanged, or not asked, is counted elsewhere. In a comparison
/// everything has.
pub fn sections(preview: &Preview) -> Vec<NamespaceSection<'_>> {
    let mut by_namespace: BTreeMap<&str, Vec<Finding<'_>>> = BTreeMap::new();
    for namespace in &preview.namespaces {
        let is_told = preview.compared || namespace.outcome.is_trouble();
        if is_told {
            by_namespace.entry(&namespace.name).or_default().push(Finding {
                outcome: namespace.outcome,
                would_be: namespace.would_be,
                was: namespace.was,
                who: "a new Pod that asks for nothing".to_owned(),
                reason: namespace.reason.as_deref(),
                nodes: &[],
                pods: 0,
            });
        }
    }
    for alike in alike(preview) {
        let Some(first) = alike.first() else { continue };
        by_namespace.entry(&first.namespace).or_default().push(Finding {
            outcome: first.outcome,
            would_be: first.would_be,
            was: first.was,
            who: who(&alike),
            reason: first.reason.as_deref(),
            nodes: &first.nodes,
            pods: alike.iter().map(|workload| workload.pods).sum(),
        });
    }
    let sections = by_namespace.into_iter().map(|(name, mut findings)| {
        findings.sort_by_key(|finding| (finding.would_be, finding.outcome));
        NamespaceSection { name, findings }
    });
    let mut sections: Vec<_> = sections.collect();
    sections.sort_by_key(|section| section.findings.first().map(|finding| (finding.would_be, finding.outcome)));
    sections
}

/// How many workloads are not told one by one; of those that are not sent to the policy, what keeps them away.
pub fn untold(preview: &Preview) -> Vec<String> {
    let mut counts: BTreeMap<(Outcome, &str), usize> = BTreeMap::new();
    for workload in &preview.workloads {
        let is_untold = matches!(workload.outcome, Outcome::Unchanged | Outcome::NotAsked);
        if is_untold {
            let reason = workload.reason.as_deref().unwrap_or_default();
            *counts.entry((workload.outcome, reason)).or_default() += 1;
        }
    }
    let lines = counts.into_iter().map(|((outcome, reason), count)| match outcome {
        Outcome::NotAsked => format!("{} not sent to the policy: {reason}.", counted(count, "workload")),
        _ => format!("{} unchanged.", counted(count, "workload")),
    });
    lines.collect()
}

fn is_told(preview: &Preview, workload: &Workload) -> bool {
    preview.compared || workload.outcome <= Outcome::Changed
}

/// Workloads of a namespace of which the same is to be said.
fn alike(preview: &Preview) -> Vec<Vec<&Workload>> {
    let mut groups: BTreeMap<_, Vec<&Workload>> = BTreeMap::new();
    for workload in preview.workloads.iter().filter(|workload| is_told(preview, workload)) {
        let was = workload.was.map(|was| (was.outcome, was.would_be));
        let said = (workload.would_be, workload.outcome, was, &workload.reason, &workload.nodes);
        groups.entry((&workload.namespace, said)).or_default().push(workload);
    }
    groups.into_values().collect()
}

/// `Deployments api, web and Pod one (of Rollout one)`
fn who(workloads: &[&Workload]) -> String {
    let mut by_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for workload in workloads {
        let owner = workload.owner.iter().map(|owner| format!(" (of {owner})"));
        let name = [workload.name.clone()].into_iter().chain(owner).collect();
        by_kind.entry(&workload.kind).or_default().push(name);
    }
    let kinds = by_kind.into_iter().map(|(kind, names)| {
        let s = if names.len() == 1 { "" } else { "s" };
        format!("{kind}{s} {}", names.join(", "))
    });
    kinds.collect::<Vec<_>>().join("; ")
}
