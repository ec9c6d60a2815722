//! What text and page have in common: which rows of *who may run where* they show, and with which words; and workloads by
//! namespace, the worst first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    lists::{counted, listed, shortened},
    preview::{Answer, Cell, Forecast, Outcome, OutcomeEntry, Pool, Preview, Row, Workload},
};

/// At most this many rows of one entry that are in order are shown at first.
pub const ROWS: usize = 6;
/// A table of more pools is hard to read: then the rows are a list.
const POOLS: usize = 8;
/// A problem that is the same in more namespaces than this is listed once.
const SHARED: usize = 3;
/// The largest number of names in a short text.
pub const NAMED: usize = 3;

/// Returns whether a table of these pools can be read.
pub fn fit_in_a_table(pools: &[Pool]) -> bool {
    (1..=POOLS).contains(&pools.len())
}

/// Returns `3 nodes`; of a NodePool without any, what Karpenter would do.
pub fn nodes(pool: &Pool) -> String {
    match (&pool.node_pool, pool.nodes.len()) {
        (Some(_), 0) => "Karpenter would create a node".to_owned(),
        (_, count) => counted(count, "node"),
    }
}

/// Words whether a pool accepts new Pods of a row.
pub const fn answer(cell: &Cell) -> &'static str {
    match cell.answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::UntilEnforced => "yes (no, once enforced)",
        Answer::OnceEnforced => "no (yes, once enforced)",
        Answer::Unknown => "unknown",
    }
}

/// Returns the pools that accept new Pods of a row, or would if everything was enforced: `pool=blue (3 nodes)`.
pub fn pools_that_accept(row: &Row, pools: &[Pool]) -> Vec<String> {
    let accepting = row.cells.iter().zip(pools).filter_map(|(cell, pool)| match cell.answer {
        Answer::No | Answer::Unknown => None,
        Answer::Yes => Some(format!("{} ({})", pool.name, nodes(pool))),
        Answer::OnceEnforced | Answer::UntilEnforced => {
            Some(format!("{} ({}): {}", pool.name, nodes(pool), answer(cell)))
        }
    });
    accepting.collect()
}

/// Names a row, without its namespaces.
pub fn name(row: &Row) -> String {
    let entry = row.entry.as_deref().unwrap_or("no entry");
    match row.tenants.len() {
        0 => row.name().to_owned(),
        tenants if row.is_shared_until_enforced() => {
            format!("{tenants} tenants of {entry}: each its own nodes, once enforced; until then also others")
        }
        tenants => format!("{tenants} tenants of {entry}: each its own nodes"),
    }
}

/// Returns what speaks against new Pods of a row, if something does.
pub fn note(row: &Row) -> Option<String> {
    let Forecast { outcome, would_be } = row.forecast;
    let note = match (outcome, would_be) {
        (Outcome::Refused, false) => "are refused",
        (Outcome::Refused, true) => "would be refused",
        (Outcome::Waits, false) => "wait: no node accepts them",
        (Outcome::Waits, true) => "would wait: no node accepts them",
        (Outcome::CannotTell, _) => "could not be evaluated",
        (Outcome::NotAsked, _) => "are not sent to the policy",
        _ => return None,
    };
    let reason = row.kept_away.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(format!("{note}{reason}"))
}

/// Returns the rows that are shown one by one, at most so many of an entry that are in order; and the others. What is not
/// in order comes first, and is never cut.
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

/// Something that is judged, as it is listed.
struct Item<'p> {
    namespace: &'p str,
    /// The workload; none for a plain Pod.
    workload: Option<&'p Workload>,
    finding: &'p OutcomeEntry,
}

/// What is shown of one namespace, or of several in which the same is wrong.
#[derive(Serialize)]
pub struct Section<'p> {
    /// `Namespace blue`, `12 namespaces: a, b, c and 9 more`
    pub heading: String,
    /// How many namespaces it is about.
    pub namespaces: usize,
    /// The worst first.
    pub groups: Vec<Group<'p>>,
    /// Whether there is more to say than that something is changed.
    pub is_trouble: bool,
}

/// What has the same outcome for the same reason.
#[derive(Serialize)]
pub struct Group<'p> {
    pub finding: &'p OutcomeEntry,
    /// Returns `refused`, `would be: refused`.
    pub title: String,
    /// What it was with the old settings.
    pub was: Option<String>,
    pub is_trouble: bool,
    /// `Deployments api, web`
    pub names: String,
    /// How many workloads it is about.
    pub count: usize,
    /// The nodes that it is about, and how many Pods run there.
    pub nodes: Vec<&'p String>,
    pub pods: usize,
}

impl<'p> Group<'p> {
    fn new(items: &[&Item<'p>], is_long: bool) -> Option<Self> {
        let finding = items.first()?.finding;
        let OutcomeEntry { forecast, was, .. } = finding;
        // What gets worse without another outcome is about other nodes.
        let was = was.map(|was| match was.would_be {
            _ if was == *forecast => "the same on other nodes".to_owned(),
            true => format!("{}, but only as a warning", was.outcome.title()),
            false => was.title(),
        });
        let workloads: Vec<&Workload> = items.iter().filter_map(|item| item.workload).collect();
        let nodes: BTreeSet<&String> = workloads.iter().flat_map(|workload| &workload.nodes).collect();
        Some(Self {
            finding,
            title: forecast.title(),
            was,
            is_trouble: forecast.is_real_trouble(),
            names: if is_long { names(items) } else { short_names(items) },
            count: workloads.len(),
            nodes: nodes.into_iter().collect(),
            pods: workloads.iter().map(|workload| workload.pods).sum(),
        })
    }
}

/// Returns what has something to show: what is unchanged, or not asked, is counted instead. A comparison shows everything.
fn items(preview: &Preview) -> Vec<Item<'_>> {
    let (is_comparison, mut items) = (preview.is_comparison(), vec![]);
    for namespace in &preview.namespaces {
        if is_comparison || namespace.finding.forecast.outcome.is_trouble() {
            items.push(Item { namespace: &namespace.name, workload: None, finding: &namespace.finding });
        }
    }
    for workload in &preview.workloads {
        if is_comparison || workload.finding.forecast.outcome <= Outcome::Changed {
            items.push(Item { namespace: &workload.namespace, workload: Some(workload), finding: &workload.finding });
        }
    }
    items
}

/// Returns every namespace with what is to be shown of it, and with all names.
pub fn sections(preview: &Preview) -> Vec<Section<'_>> {
    let items = items(preview);
    sorted(by_namespace(&items.iter().collect::<Vec<_>>(), true))
}

/// Returns the same, but lists a problem of many namespaces once, with some of the names.
pub fn short_sections(preview: &Preview) -> Vec<Section<'_>> {
    let items = items(preview);
    let mut problems: BTreeMap<_, Vec<&Item<'_>>> = BTreeMap::new();
    for item in &items {
        let OutcomeEntry { forecast, reason, was } = item.finding;
        problems.entry((forecast, was, reason)).or_default().push(item);
    }
    let (mut sections, mut others) = (vec![], vec![]);
    for items in problems.into_values() {
        let namespaces: BTreeSet<&str> = items.iter().map(|item| item.namespace).collect();
        if namespaces.len() <= SHARED {
            others.extend(items);
            continue;
        }
        let names: Vec<String> = namespaces.into_iter().map(str::to_owned).collect();
        let heading = format!("{} namespaces: {}", names.len(), cut(&names));
        sections.extend(section(heading, names.len(), Group::new(&items, false).into_iter().collect()));
    }
    sections.extend(by_namespace(&others, false));
    sorted(sections)
}

fn by_namespace<'p>(items: &[&Item<'p>], is_long: bool) -> Vec<Section<'p>> {
    let mut namespaces: BTreeMap<&str, BTreeMap<_, Vec<&Item<'p>>>> = BTreeMap::new();
    for item in items {
        let OutcomeEntry { forecast, reason, was } = item.finding;
        let about = item.workload.map(|workload| &workload.nodes);
        let key = (forecast, was, reason, about);
        namespaces.entry(item.namespace).or_default().entry(key).or_default().push(item);
    }
    let sections = namespaces.into_iter().filter_map(|(namespace, groups)| {
        let groups = groups.into_values().filter_map(|items| Group::new(&items, is_long)).collect();
        section(format!("Namespace {namespace}"), 1, groups)
    });
    sections.collect()
}

fn section(heading: String, namespaces: usize, mut groups: Vec<Group<'_>>) -> Option<Section<'_>> {
    groups.sort_by_key(|group| group.finding.forecast);
    let is_trouble = groups.iter().any(|group| group.finding.forecast.outcome.is_trouble());
    (!groups.is_empty()).then_some(Section { heading, namespaces, groups, is_trouble })
}

fn sorted(mut sections: Vec<Section<'_>>) -> Vec<Section<'_>> {
    sections.sort_by_key(|section| section.groups.first().map(|group| group.finding.forecast));
    sections
}

/// Returns `a, b, c and 9 more`.
pub fn cut(names: &[String]) -> String {
    shortened(names, NAMED).unwrap_or_else(|| listed(names))
}

/// Returns `a new Pod that requests nothing; Deployments api, web; Pod one (of Rollout one)`.
fn names(items: &[&Item<'_>]) -> String {
    let mut by_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for workload in items.iter().filter_map(|item| item.workload) {
        by_kind.entry(&workload.kind).or_default().push(owned_name(workload));
    }
    let plain = items.iter().any(|item| item.workload.is_none()).then(|| "a new Pod that requests nothing".to_owned());
    let kinds = by_kind.into_iter().map(|(kind, names)| {
        let s = if names.len() == 1 { "" } else { "s" };
        format!("{kind}{s} {}", names.join(", "))
    });
    plain.into_iter().chain(kinds).collect::<Vec<_>>().join("; ")
}

/// Returns the same, or of many `30 workloads: Deployment web, Deployment api, StatefulSet db and 27 more`.
fn short_names(items: &[&Item<'_>]) -> String {
    let workloads: Vec<&Workload> = items.iter().filter_map(|item| item.workload).collect();
    let plain = items.len() - workloads.len();
    let mut parts = vec![];
    if plain > 1 {
        parts.push("new Pods that request nothing".to_owned());
    }
    if plain <= 1 && workloads.len() <= NAMED {
        return names(items);
    }
    if plain == 1 {
        parts.push("a new Pod that requests nothing".to_owned());
    }
    if !workloads.is_empty() {
        let all: Vec<String> =
            workloads.iter().map(|workload| format!("{} {}", workload.kind, owned_name(workload))).collect();
        parts.push(format!("{}: {}", counted(all.len(), "workload"), cut(&all)));
    }
    parts.join("; ")
}

/// Returns `one (of Rollout one)`.
fn owned_name(workload: &Workload) -> String {
    let owner = workload.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
    format!("{}{owner}", workload.name)
}

/// Counts the workloads that are not shown; of those that are not sent to the policy, with what keeps them away.
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
