//! The report for a browser: one file, that needs no other.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    finding::{Finding, Verdict},
    phrases::counted,
    pools::{Cell, Pools, Row, State},
    report::{KINDS_OF_FINDINGS, advice, headline, not_told, rank, sentence, summary},
    table::names,
    tally::{Group, Tally},
};
use crate::template::render;

const TEMPLATE: &str = include_str!("page.html.j2");
const TITLES: [&str; 5] = ["Kind", "as it is", "changed", "rejected", "can't be told"];

/// So many names of a list are enough; the others are counted.
const NAMED: usize = 20;
/// A row with more namespaces folds.
const SHORT: usize = 4;
/// So many namespaces are open from the start, if something is refused there.
const OPEN: usize = 5;

/// The page.
///
/// # Errors
/// The template has a mistake, and no test has found that.
pub fn page(tally: &Tally) -> Result<String> {
    let pools = tally.pools.folded();
    let data = json!({
        "headline": headline(tally),
        "summary": summary(tally),
        "advice": advice(tally),
        "pools": pools.pools.iter().map(|pool| json!({
            "name": pool.name(),
            "taints": pool.taints,
            "nodes": counted(pool.nodes.len(), "node"),
        })).collect::<Vec<_>>(),
        "rows": if pools.pools.is_empty() { vec![] } else { pools.rows.iter().map(|row| row_data(row, &pools)).collect() },
        "entries": tally.entries.iter().map(|entry| json!({
            "name": format!("placement.namespaces[{}] ({})", entry.position, entry.about),
            "namespaces": entry.namespaces,
            "nodes": entry.nodes.map_or_else(|| "–".to_owned(), |nodes| nodes.to_string()),
        })).collect::<Vec<_>>(),
        "sums": { "titles": TITLES, "rows": sums(tally) },
        "namespaces": namespaces(tally),
        "notes": not_told(tally),
    });
    render("page.html", TEMPLATE, data)
}

fn row_data(row: &Row, pools: &Pools) -> Value {
    let cells = row.cells.iter().zip(&pools.pools).map(|(Cell { pods, state }, pool)| {
        let taints = pool.taints.iter().map(|taint| format!(", taint {taint}"));
        json!({
            "pool": pool.name() + &taints.collect::<String>(),
            "state": state.in_words(),
            "class": match state {
                State::May => "may",
                State::Waits => "waits",
                State::Mixed => "mixed",
                State::MustNot | State::Unknown => "not",
            },
            "pods": if *pods > 0 { counted(*pods, "Pod") } else { String::new() },
        })
    });
    json!({
        "names": row.namespaces.iter().cloned().collect::<Vec<_>>().join(", "),
        "count": counted(row.namespaces.len(), "namespace"),
        "more": row.namespaces.len() > SHORT,
        "note": row.note.in_words(),
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn sums(tally: &Tally) -> Vec<Vec<String>> {
    let verdicts = [Verdict::Unchanged, Verdict::Changed, Verdict::Rejected, Verdict::Unknown];
    let mut rows: Vec<Vec<String>> = vec![];
    for (kind, counts) in &tally.sums {
        let counts = verdicts.map(|verdict| counts.get(&verdict).copied().unwrap_or_default().to_string());
        rows.push([vec![kind.clone()], counts.to_vec()].concat());
    }
    let totals = verdicts.map(|verdict| tally.total(verdict).to_string());
    rows.push([vec!["All".to_owned()], totals.to_vec()].concat());
    rows
}

fn namespaces(tally: &Tally) -> Vec<Value> {
    let mut namespaces: Vec<_> = tally.findings.iter().collect();
    namespaces.sort_by_key(|(name, findings)| (findings.keys().next().map(rank), *name));
    let data = namespaces.into_iter().enumerate().map(|(place, (name, findings))| {
        let counts = KINDS_OF_FINDINGS.iter().enumerate().filter_map(|(kind, word)| {
            let count: usize =
                findings.iter().filter(|(finding, _)| rank(finding) == kind).map(|(_, group)| group.size()).sum();
            (count > 0).then(|| format!("{count} {word}"))
        });
        let is_refused = findings.keys().any(|finding| matches!(finding, Finding::Rejected { .. }));
        json!({
            "name": if name.is_empty() { "(no namespace)" } else { name },
            "summary": counts.collect::<Vec<_>>().join(", "),
            "open": is_refused && place < OPEN,
            "findings": findings.iter().map(|(finding, group)| finding_data(finding, group)).collect::<Vec<_>>(),
        })
    });
    data.collect()
}

fn finding_data(finding: &Finding, group: &Group) -> Value {
    let who: Vec<String> = group.members.iter().map(|(kind, members)| members.describe(kind, NAMED)).collect();
    json!({
        "heading": KINDS_OF_FINDINGS[rank(finding)],
        "refused": matches!(finding, Finding::Rejected { .. }),
        "who": who.join(", "),
        "text": sentence(finding, group, &names(&group.nodes, NAMED)),
    })
}
