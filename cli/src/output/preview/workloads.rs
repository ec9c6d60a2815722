//! Workloads by namespace, the worst first, and those together of which the same is to be said.

use std::collections::BTreeMap;

use crate::{
    lists::counted,
    preview::{Finding, Outcome, Preview, Workload},
};

/// What is to be said about one namespace.
pub struct NamespaceSection<'p> {
    pub name: &'p str,
    pub told: Vec<Told<'p>>,
}

impl NamespaceSection<'_> {
    /// Whether there is more to say than that something is changed.
    pub fn is_in_trouble(&self) -> bool {
        self.told.iter().any(|told| told.finding.forecast.outcome.is_trouble())
    }
}

/// Of whom something is to be said, and what.
pub struct Told<'p> {
    pub finding: &'p Finding,
    /// `Deployments api, web`
    pub who: String,
    /// The nodes that it is about, and how many Pods run there.
    pub nodes: &'p [String],
    pub pods: usize,
}

impl Told<'_> {
    /// What it was with the old settings: `refused`; what is the same is about more nodes now.
    pub fn was(&self) -> Option<String> {
        let was = self.finding.was?;
        Some(match was.would_be {
            _ if was == self.finding.forecast => "the same on other nodes".to_owned(),
            true => format!("{}, but only as a warning", was.outcome.title()),
            false => was.title(),
        })
    }
}

/// All that have something to be said about: what is unchanged, or not asked, is counted elsewhere. In a comparison
/// everything has.
pub fn sections(preview: &Preview) -> Vec<NamespaceSection<'_>> {
    let mut by_namespace: BTreeMap<&str, Vec<Told<'_>>> = BTreeMap::new();
    for namespace in &preview.namespaces {
        if preview.compared || namespace.finding.forecast.outcome.is_trouble() {
            let who = "a new Pod that asks for nothing".to_owned();
            let told = Told { finding: &namespace.finding, who, nodes: &[], pods: 0 };
            by_namespace.entry(&namespace.name).or_default().push(told);
        }
    }
    for alike in alike(preview) {
        let Some(first) = alike.first() else { continue };
        let pods = alike.iter().map(|workload| workload.pods).sum();
        let told = Told { finding: &first.finding, who: who(&alike), nodes: &first.nodes, pods };
        by_namespace.entry(&first.namespace).or_default().push(told);
    }
    let sections = by_namespace.into_iter().map(|(name, mut told)| {
        told.sort_by_key(|told| told.finding.forecast);
        NamespaceSection { name, told }
    });
    let mut sections: Vec<_> = sections.collect();
    sections.sort_by_key(|section| section.told.first().map(|told| told.finding.forecast));
    sections
}

/// How many workloads are not told one by one; of those that are not sent to the policy, what keeps them away.
pub fn untold(preview: &Preview) -> Vec<String> {
    let mut counts: BTreeMap<(Outcome, &str), usize> = BTreeMap::new();
    for Workload { finding, .. } in &preview.workloads {
        if finding.forecast.outcome > Outcome::Changed {
            let reason = finding.reason.as_deref().unwrap_or_default();
            *counts.entry((finding.forecast.outcome, reason)).or_default() += 1;
        }
    }
    let lines = counts.into_iter().map(|((outcome, reason), count)| match outcome {
        Outcome::NotAsked => format!("{} not sent to the policy: {reason}.", counted(count, "workload")),
        _ => format!("{} unchanged.", counted(count, "workload")),
    });
    lines.collect()
}

/// Workloads of a namespace of which the same is to be said.
fn alike(preview: &Preview) -> Vec<Vec<&Workload>> {
    let mut groups: BTreeMap<_, Vec<&Workload>> = BTreeMap::new();
    for workload in &preview.workloads {
        let Finding { forecast, reason, was } = &workload.finding;
        if preview.compared || forecast.outcome <= Outcome::Changed {
            groups.entry((&workload.namespace, forecast, was, reason, &workload.nodes)).or_default().push(workload);
        }
    }
    groups.into_values().collect()
}

/// `Deployments api, web and Pod one (of Rollout one)`
fn who(workloads: &[&Workload]) -> String {
    let mut by_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for workload in workloads {
        let owner = workload.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
        by_kind.entry(&workload.kind).or_default().push(format!("{}{owner}", workload.name));
    }
    let kinds = by_kind.into_iter().map(|(kind, names)| {
        let s = if names.len() == 1 { "" } else { "s" };
        format!("{kind}{s} {}", names.join(", "))
    });
    kinds.collect::<Vec<_>>().join("; ")
}
