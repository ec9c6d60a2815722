//! What is wrong, and what to do about it: the first thing that somebody wants to know.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    entries::EntryCount,
    finding::{Cause, Finding, Verdict, field},
    phrases::{counted, names},
    pools::{Note, Pools, Row, State},
    report::{MISPLACED, REJECTED, WAITS, rank},
    tally::{Group, Kind, Members, Tally},
};

/// So many namespaces are named in a line.
const NAMED: usize = 6;
/// So many owners are.
const OWNERS: usize = 3;
/// So many reasons for rejections get a line of their own.
const REASONS: usize = 6;

/// What to do, a line each; what is most often a slip comes first.
pub fn advice(tally: &Tally) -> Vec<String> {
    let mut advice = entries_that_come_to_nothing(tally);
    let mut told: BTreeSet<&String> = namespaces_without_node(tally).collect();
    advice.extend(namespaces_that_wait(tally, &told));
    advice.extend(rejections(tally));
    told.extend(waiting(&tally.pools).flat_map(|row| &row.namespaces));
    if let Some(who) = Affected::of(tally, WAITS, |name| !told.contains(name)) {
        advice.push(format!(
            "{} would wait if replaced: label or untaint nodes for them, or change their node selectors.",
            who.in_words()
        ));
    }
    if let Some(who) = Affected::of(tally, MISPLACED, |_| true).and_then(|who| who.without_rejected(tally)) {
        let (it, workload) = if who.size() == 1 { ("it", "its workload") } else { ("them", "their workloads") };
        advice.push(format!(
            "{} would run on other nodes if replaced. The policy does not move running Pods. To move {it}, restart \
             {workload}.",
            who.in_words()
        ));
    }
    advice.extend(namespaces_without_entry(tally));
    if tally.total(Verdict::Unknown) > 0 {
        advice.push("Some answers are unknown: complete the cluster, or ask for the right to read it.".to_owned());
    }
    if advice.is_empty() {
        advice.push("Nothing: deploy the policy in monitor mode.".to_owned());
    }
    advice
}

fn entries_that_come_to_nothing(tally: &Tally) -> Vec<String> {
    let mut advice = vec![];
    for entry in &tally.entries {
        if entry.namespaces.is_empty() {
            advice.push(without_namespace(entry, tally));
        } else if entry.problem.is_some() {
            advice.extend(without_node(entry, tally));
        }
    }
    advice
}

/// An entry that matches no namespace, and those that it seems to be about.
fn without_namespace(entry: &EntryCount, tally: &Tally) -> String {
    let name = entry.name();
    let meant = tally.unlabelled.iter().filter(|(_, unlabelled)| unlabelled.position == entry.position);
    let (namespaces, labels): (Vec<&String>, BTreeSet<&str>) =
        meant.map(|(namespace, unlabelled)| (namespace, unlabelled.label.as_str())).unzip();
    let Some(label) = labels.first() else {
        return format!("{name} matches no namespace: correct it, or label the namespaces that it is meant for.");
    };
    let key = label.split_once('=').map_or(*label, |(key, _)| key);
    let (has, whose, it) = if namespaces.len() == 1 { ("has", "Its", "it") } else { ("have", "Their", "them") };
    let in_command = namespaces.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let list = names(namespaces, NAMED);
    format!(
        "{name} matches no namespace, and {list} {has} no label {key}. {whose} Pods may run on all nodes. Label {it}: \
         kubectl label namespace {in_command} {label}"
    )
}

/// An entry that leaves its Pods no node, and what comes of that.
fn without_node(entry: &EntryCount, tally: &Tally) -> Option<String> {
    let problem = entry.problem.as_ref()?;
    let mut line = format!("{} matches no node: {}", problem.field, problem.text);
    if !line.ends_with('?') {
        line.push('.');
    }
    let waiting: BTreeSet<&String> = waiting(&tally.pools).flat_map(|row| &row.namespaces).collect();
    let waiting: Vec<&String> = entry.namespaces.iter().filter(|name| waiting.contains(name)).collect();
    if !waiting.is_empty() {
        line.push_str(&format!(" New Pods of {} would wait.", names(waiting, NAMED)));
    }
    Some(line)
}

/// Those whose entry leaves them no node.
fn namespaces_without_node(tally: &Tally) -> impl Iterator<Item = &String> {
    tally.entries.iter().filter(|entry| entry.problem.is_some()).flat_map(|entry| &entry.namespaces)
}

/// The rows of the table whose new Pods find no node.
fn waiting(pools: &Pools) -> impl Iterator<Item = &Row> {
    pools.rows.iter().filter(|row| row.note == Note::Waits)
}

/// A line for each entry, and each row of the table, whose new Pods find no node.
fn namespaces_that_wait(tally: &Tally, told: &BTreeSet<&String>) -> Vec<String> {
    let mut lines = vec![];
    for row in waiting(&tally.pools) {
        let mut by_entry: BTreeMap<Option<usize>, (Option<&EntryCount>, Vec<&String>)> = BTreeMap::new();
        for name in row.namespaces.iter().filter(|name| !told.contains(name)) {
            let entry = tally.entries.iter().find(|entry| entry.namespaces.contains(name));
            by_entry.entry(entry.map(|entry| entry.position)).or_insert((entry, vec![])).1.push(name);
        }
        let tainted = row.cells.iter().zip(&tally.pools.pools).filter(|(cell, _)| cell.state == State::Waits);
        let taints: BTreeSet<String> = tainted.flat_map(|(_, pool)| pool.taints.clone()).collect();
        if taints.is_empty() {
            let who: BTreeSet<&String> = by_entry.into_values().flat_map(|(_, names)| names).collect();
            if !who.is_empty() {
                let who = names(who, NAMED);
                lines.push(format!(
                    "New Pods of {who} would wait: no node has the labels that they get as node selector."
                ));
            }
            continue;
        }
        for (entry, who) in by_entry.into_values() {
            lines.push(without_toleration(entry, &names(who, NAMED), &taints));
        }
    }
    lines
}

/// Pods that get a node selector, but not the toleration that its nodes need.
fn without_toleration(entry: Option<&EntryCount>, who: &str, taints: &BTreeSet<String>) -> String {
    let tolerations = taints.iter().map(|taint| toleration(taint)).collect::<Vec<_>>().join(", ");
    let add = match entry {
        Some(entry) if entry.has_default_tolerations => {
            format!("Add to placement.namespaces[{}].defaultTolerations: {tolerations}", entry.position)
        }
        Some(entry) => format!("Add to placement.namespaces[{}]: defaultTolerations: [{tolerations}]", entry.position),
        None => format!("Add to placement: clusterDefaultTolerations: [{tolerations}]"),
    };
    format!(
        "New Pods of {who} would wait: all nodes that they may use have a taint that they do not tolerate ({}). {add}. \
         (To remove the taint instead opens these nodes to Pods of other namespaces.)",
        names(taints, NAMED)
    )
}

/// What tolerates a taint such as `dedicated=red:NoSchedule`, as YAML.
fn toleration(taint: &str) -> String {
    let (label, effect) = taint.rsplit_once(':').unwrap_or((taint, ""));
    match label.split_once('=') {
        Some((key, value)) => {
            // `"true"` is not a string without its quotes.
            let value = yaml_serde::to_string(value).unwrap_or_default();
            format!("{{ key: {key}, operator: Equal, value: {}, effect: {effect} }}", value.trim_end())
        }
        None => format!("{{ key: {label}, operator: Exists, effect: {effect} }}"),
    }
}

/// A line for each reason, those with the most objects first.
fn rejections(tally: &Tally) -> Vec<String> {
    let mut by_reason: BTreeMap<(&Cause, Option<&str>), Affected<'_>> = BTreeMap::new();
    for (namespace, findings) in &tally.findings {
        for (finding, group) in findings {
            if let Finding::Rejected { reason, cause, .. } = finding {
                by_reason.entry((cause, field(reason))).or_default().0.push((namespace, group));
            }
        }
    }
    let mut reasons: Vec<_> = by_reason.into_iter().collect();
    reasons.sort_by_key(|(_, who)| usize::MAX - who.size());
    let rest = reasons.split_off(reasons.len().min(REASONS));
    let mut lines: Vec<String> = reasons
        .into_iter()
        .map(|((cause, field), who)| format!("{} would be rejected: {}", who.in_words(), remedy(cause, field)))
        .collect();
    if !rest.is_empty() {
        let who = Affected(rest.into_iter().flat_map(|(_, who)| who.0).collect());
        lines.push(format!("More would be rejected, {}: see below.", who.counted()));
    }
    lines
}

/// What is wrong with objects that are rejected, and what helps.
fn remedy(cause: &Cause, field: Option<&str>) -> String {
    let by = field.unwrap_or("the reason below");
    match cause {
        Cause::RuntimeClass { name, adds, resolves } => {
            let accepted = match resolves {
                true => "",
                false => " Their workload itself is accepted, and only its Pods are rejected.",
            };
            format!(
                "RuntimeClass {name} adds {adds} to the Pods, which {by} does not permit. Use another RuntimeClass, or \
                 change the scheduling of this one for all its Pods.{accepted}"
            )
        }
        Cause::Default { still: None } => format!(
            "they contradict a default, {by}. Correct their node selectors. Or let the Pods of all namespaces choose \
             otherwise than defaults, with placement.onDefaultConflict: Yield."
        ),
        Cause::Default { still: Some(other) } => format!(
            "they contradict a default, {by}. Correct their node selectors. Or let the Pods of all namespaces choose \
             otherwise than defaults, with placement.onDefaultConflict: Yield, and allow what these ask for in {other}."
        ),
        Cause::Object if by.ends_with(".requiredNodeSelector") => {
            format!("they contradict {by}. Correct their node selectors.")
        }
        Cause::Object => match field {
            Some(field) if field.starts_with("annotation ") => {
                format!("the reason is {field} of the namespace. Correct the objects, or the annotation.")
            }
            Some(field) => format!("the reason is {field}. Correct the objects, or this field."),
            None => "see the reason below. Correct the objects, or what rejects them.".to_owned(),
        },
    }
}

/// Other namespaces have an entry, and these have been left out, or lack a label.
fn namespaces_without_entry(tally: &Tally) -> Option<String> {
    let without: Vec<_> =
        tally.without_entry.iter().filter(|(name, _)| !tally.unlabelled.contains_key(*name)).collect();
    if without.is_empty() || tally.entries.is_empty() {
        return None;
    }
    let mut lacking = without.iter().map(|(_, keys)| *keys);
    let first = lacking.next().filter(|keys| !keys.is_empty());
    let labels = first.filter(|first| lacking.all(|keys| keys == *first)).map(|keys| names(keys, NAMED));
    let why = labels.map_or_else(String::new, |labels| format!(" (no label {labels})"));
    Some(format!(
        "No entry matches {}{why}. Pods there may run on all nodes: label the namespaces, or add an entry, unless this \
         is intended.",
        names(without.iter().map(|(name, _)| *name), NAMED)
    ))
}

/// Objects that the same is said of, with their namespaces.
#[derive(Default)]
struct Affected<'t>(Vec<(&'t String, &'t Group)>);

impl<'t> Affected<'t> {
    /// Those that there are findings of a kind about, in the wanted namespaces.
    fn of(tally: &'t Tally, kind: usize, is_wanted: impl Fn(&String) -> bool) -> Option<Self> {
        let mut affected = vec![];
        for (name, findings) in tally.findings.iter().filter(|(name, _)| is_wanted(name)) {
            let groups = findings.iter().filter(|(finding, _)| rank(finding) == kind);
            affected.extend(groups.map(|(_, group)| (name, group)));
        }
        (!affected.is_empty()).then_some(Self(affected))
    }

    /// Those of which no other object of the same owner is rejected: its new Pods would be, too.
    fn without_rejected(self, tally: &Tally) -> Option<Self> {
        let is_rejected = |namespace: &String, kind: &Kind, members: &Members| {
            let rejected = tally.findings[namespace].iter().filter(|(finding, _)| rank(finding) == REJECTED);
            let mut rejected = rejected.flat_map(|(_, group)| &group.members);
            rejected.any(|(other, others)| {
                (other.owner == kind.owner || Some(&other.kind) == kind.owner.as_ref())
                    && !others.names.first.is_disjoint(&members.names.first)
            })
        };
        let mut left = self.0;
        left.retain(|(namespace, group)| {
            !group.members.iter().any(|(kind, members)| is_rejected(namespace, kind, members))
        });
        (!left.is_empty()).then_some(Self(left))
    }

    fn size(&self) -> usize {
        self.0.iter().map(|(_, group)| group.size()).sum()
    }

    /// `2 Pods of Deployment web in team-blue`
    fn in_words(&self) -> String {
        let [(namespace, group)] = self.0.as_slice() else { return self.counted() };
        let who = group.members.iter().map(|(kind, members)| members.describe(kind, OWNERS));
        format!("{} in {namespace}", who.collect::<Vec<_>>().join(" and "))
    }

    /// `12 Pods in team-blue, team-red`
    fn counted(&self) -> String {
        let mut kinds = self.0.iter().flat_map(|(_, group)| group.members.keys()).map(|kind| kind.kind.as_str());
        let first = kinds.next().unwrap_or_default();
        let what = if kinds.all(|kind| kind == first) { first } else { "object" };
        let namespaces: BTreeSet<&String> = self.0.iter().map(|(namespace, _)| *namespace).collect();
        format!("{} in {}", counted(self.size(), what), names(namespaces, NAMED))
    }
}
