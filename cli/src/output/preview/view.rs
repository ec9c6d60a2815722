//! What text and page have in common: which rows of *who may run where* they show, and with which words; and workloads by
//! namespace, the worst first.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    lists::counted,
    preview::{Cell, Forecast, Outcome, OutcomeEntry, Pool, Preview, Row, Workload},
};

/// At most this many rows of one entry that are in order are shown at first.
pub const ROWS: usize = 6;
/// A table of more pools is hard to read: then the rows are a list.
const POOLS: usize = 8;

/// Whether a table of these pools can be read.
pub fn fit_in_a_table(pools: &[Pool]) -> bool {
    (1..=POOLS).contains(&pools.len())
}

/// `3 nodes`; of a NodePool without any, what Karpenter would do.
pub fn nodes(pool: &Pool) -> String {
    match (&pool.node_pool, pool.nodes.len()) {
        (Some(_), 0) => "Karpenter would create a node".to_owned(),
        (_, count) => counted(count, "node"),
    }
}

/// Whether a pool takes new Pods of a row.
pub fn answer(cell: &Cell) -> &'static str {
    match (cell.takes, cell.enforced) {
        (true, true) => "yes",
        (false, false) => "no",
        (true, false) => "yes (no, once enforced)",
        (false, true) => "no (yes, once enforced)",
    }
}

/// The pools that take new Pods of a row, or would if everything was enforced: `pool=blue (3 nodes)`.
pub fn pools_that_take(row: &Row, pools: &[Pool]) -> Vec<String> {
    let taking = row.cells.iter().zip(pools).filter_map(|(cell, pool)| match answer(cell) {
        "no" => None,
        "yes" => Some(format!("{} ({})", pool.name, nodes(pool))),
        answer => Some(format!("{} ({}): {answer}", pool.name, nodes(pool))),
    });
    taking.collect()
}

/// What speaks against new Pods of a row, if something does.
pub fn note(row: &Row) -> Option<String> {
    let Forecast { outcome, would_be } = row.forecast;
    let note = match (outcome, would_be) {
        (Outcome::Refused, false) => "are refused",
        (Outcome::Refused, true) => "would be refused",
        (Outcome::Waits, false) => "wait: no node takes them",
        (Outcome::Waits, true) => "would wait: no node takes them",
        (Outcome::CannotTell, _) => "could not be evaluated",
        (Outcome::NotAsked, _) => "are not sent to the policy",
        _ => return None,
    };
    let reason = row.kept_away.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(format!("{note}{reason}"))
}

/// The rows that are shown one by one, at most so many of an entry that are in order; and the others. What is not in
/// order comes first, and is never cut.
pub fn rows(preview: &Preview, most: usize) -> (Vec<&Row>, Vec<&Row>) {
    let mut sorted: Vec<&Row> = preview.rows.iter().collect();
    sorted.sort_by_key(|row| row.is_sound());
    let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    sorted.into_iter().partition(|row| {
        let count = counts.entry(&row.entry).or_default();
        *count += usize::from(row.is_sound());
        *count <= most
    })
}

/// What is shown of one namespace.
#[derive(Serialize)]
pub struct Section<'p> {
    pub namespace: &'p str,
    /// The worst first.
    pub groups: Vec<Group<'p>>,
    /// Whether there is more to say than that something is changed.
    pub is_trouble: bool,
}

/// Workloads of a namespace that have the same outcome for the same reason.
#[derive(Serialize)]
pub struct Group<'p> {
    pub finding: &'p OutcomeEntry,
    /// `refused`, `would be: refused`
    pub title: String,
    /// What it was with the old settings.
    pub was: Option<String>,
    pub is_trouble: bool,
    /// `Deployments api, web`
    pub names: String,
    /// The nodes that it is about, and how many Pods run there.
    pub nodes: &'p [String],
    pub pods: usize,
}

impl<'p> Group<'p> {
    fn new(finding: &'p OutcomeEntry, names: String, nodes: &'p [String], pods: usize) -> Self {
        let OutcomeEntry { forecast, was, .. } = finding;
        // What gets worse without another outcome is about more nodes.
        let was = was.map(|was| match was.would_be {
            _ if was == *forecast => "the same on other nodes".to_owned(),
            true => format!("{}, but only as a warning", was.outcome.title()),
            false => was.title(),
        });
        Self { finding, title: forecast.title(), was, is_trouble: forecast.is_real_trouble(), names, nodes, pods }
    }
}

/// The namespaces with something to show: what is unchanged, or not asked, is counted instead. A comparison shows
/// everything.
pub fn sections(preview: &Preview) -> Vec<Section<'_>> {
    let mut by_namespace: BTreeMap<&str, Vec<Group<'_>>> = BTreeMap::new();
    for namespace in &preview.namespaces {
        if preview.compared || namespace.finding.forecast.outcome.is_trouble() {
            let group = Group::new(&namespace.finding, "a new Pod that asks for nothing".to_owned(), &[], 0);
            by_namespace.entry(&namespace.name).or_default().push(group);
        }
    }
    let mut groups: BTreeMap<_, Vec<&Workload>> = BTreeMap::new();
    for workload in &preview.workloads {
        let OutcomeEntry { forecast, reason, was } = &workload.finding;
        if preview.compared || forecast.outcome <= Outcome::Changed {
            groups.entry((&workload.namespace, forecast, was, reason, &workload.nodes)).or_default().push(workload);
        }
    }
    for ((namespace, .., nodes), workloads) in groups {
        let Some(first) = workloads.first() else { continue };
        let pods = workloads.iter().map(|workload| workload.pods).sum();
        let group = Group::new(&first.finding, names(&workloads), nodes, pods);
        by_namespace.entry(namespace).or_default().push(group);
    }
    let sections = by_namespace.into_iter().map(|(namespace, mut groups)| {
        groups.sort_by_key(|group| group.finding.forecast);
        let is_trouble = groups.iter().any(|group| group.finding.forecast.outcome.is_trouble());
        Section { namespace, groups, is_trouble }
    });
    let mut sections: Vec<_> = sections.collect();
    sections.sort_by_key(|section| section.groups.first().map(|group| group.finding.forecast));
    sections
}

/// `Deployments api, web; Pod one (of Rollout one)`
fn names(workloads: &[&Workload]) -> String {
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

/// How many workloads are not shown; of those that are not sent to the policy, what keeps them away.
pub fn counts(preview: &Preview) -> Vec<String> {
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
