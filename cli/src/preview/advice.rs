//! What is wrong, and what to do about it: the first thing that somebody wants to know.

use std::collections::BTreeSet;

use super::{
    finding::Verdict,
    phrases::{counted, names},
    pools::{Note, Pools, State},
    report::rank,
    tally::Tally,
};

/// The ranks of findings.
const REJECTED: usize = 0;
const MISPLACED: usize = 1;
const WAITS: usize = 2;

/// So many namespaces are named in a line.
const NAMED: usize = 6;

/// What to do, a line each; what is most often a slip comes first.
pub fn advice(tally: &Tally) -> Vec<String> {
    let mut advice = entries_that_come_to_nothing(tally);
    advice.extend(namespaces_that_wait(&tally.pools));
    if let Some((count, namespaces)) = with(tally, REJECTED, |_| true) {
        advice.push(format!(
            "{} of {namespaces} could not be created again, and run on until then: change what is rejected below, or \
             allow it.",
            counted(count, "object")
        ));
    }
    let is_told =
        |name: &str| tally.pools.rows.iter().any(|row| row.note == Note::Waits && row.namespaces.contains(name));
    if let Some((count, namespaces)) = with(tally, WAITS, |name| !is_told(name)) {
        advice.push(format!(
            "{} of {namespaces} would wait if replaced: label or untaint nodes for them, or change what they ask for.",
            counted(count, "Pod")
        ));
    }
    let waits = |name: &str| tally.findings[name].keys().any(|finding| rank(finding) == WAITS);
    if let Some((count, namespaces)) = with(tally, MISPLACED, |name| !waits(name)) {
        advice.push(format!(
            "{} of {namespaces} would go elsewhere when replaced: restart their workloads when it suits you, since the \
             policy moves nobody.",
            counted(count, "Pod")
        ));
    }
    advice.extend(namespaces_without_entry(tally));
    if tally.total(Verdict::Unknown) > 0 {
        advice.push("Complete the cluster, or ask for the right to read it: some answers can't be told.".to_owned());
    }
    if advice.is_empty() {
        advice.push("Nothing: deploy the policy in monitor mode.".to_owned());
    }
    advice
}

fn entries_that_come_to_nothing(tally: &Tally) -> Vec<String> {
    let mut advice = vec![];
    for entry in &tally.entries {
        let name = format!("placement.namespaces[{}] ({})", entry.position, entry.about);
        if entry.namespaces == 0 {
            advice.push(format!("{name} holds for no namespace: correct it, or label the namespaces it is about."));
        } else if let Some(problem) = &entry.problem {
            advice.push(format!("{name} leads to no node: {problem}"));
        }
    }
    advice
}

/// Other namespaces have an entry, and these have been left out, or lack a label.
fn namespaces_without_entry(tally: &Tally) -> Option<String> {
    if tally.without_entry.is_empty() || tally.entries.is_empty() {
        return None;
    }
    let mut lacking = tally.without_entry.values();
    let first = lacking.next().filter(|keys| !keys.is_empty());
    let labels = first.filter(|first| lacking.all(|keys| keys == *first)).map(|keys| names(keys, NAMED));
    let why = labels.map_or_else(String::new, |labels| format!(" (no label {labels})"));
    Some(format!(
        "No entry holds for {}{why}, and Pods there may go anywhere: label the namespaces, or add an entry, unless that \
         is intended.",
        names(tally.without_entry.keys(), NAMED)
    ))
}

/// A line for each row of the table whose new Pods find no node.
fn namespaces_that_wait(pools: &Pools) -> Vec<String> {
    let waiting = pools.rows.iter().filter(|row| row.note == Note::Waits);
    let lines = waiting.map(|row| {
        let tainted = row.cells.iter().zip(&pools.pools).filter(|(cell, _)| cell.state == State::Waits);
        let taints: BTreeSet<String> = tainted.flat_map(|(_, pool)| pool.taints.clone()).collect();
        let who = names(&row.namespaces, NAMED);
        if taints.is_empty() {
            return format!("New Pods of {who} would wait: no node has the labels that they get as node selector.");
        }
        format!(
            "New Pods of {who} would wait: all nodes that they may use have a taint that they do not tolerate ({}): \
             remove it, or add a default toleration.",
            names(&taints, NAMED)
        )
    });
    lines.collect()
}

/// How many objects there are findings of a kind about, in which of the wanted namespaces.
fn with(tally: &Tally, kind: usize, is_wanted: impl Fn(&str) -> bool) -> Option<(usize, String)> {
    let (mut count, mut namespaces) = (0, BTreeSet::new());
    for (name, findings) in tally.findings.iter().filter(|(name, _)| is_wanted(name)) {
        for (_, group) in findings.iter().filter(|(finding, _)| rank(finding) == kind) {
            count += group.size();
            namespaces.insert(name.clone());
        }
    }
    (count > 0).then(|| (count, names(&namespaces, NAMED)))
}
