//! The report for a browser: one file, that needs no other.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    advice::advice,
    changes::{Changes, Findings},
    finding::{Finding, Verdict},
    origin::Origin,
    phrases::{counted, names},
    pools::{Cell, Pools, Row, State},
    report::{
        KINDS_OF_FINDINGS, counts, headline, headline_of_changes, not_told, rank, sentence, summary, without_rule,
    },
    tally::{Group, Tally},
};
use crate::output::template::render;

const TEMPLATE: &str = include_str!("page.html.j2");
const TITLES: [&str; 5] = ["Kind", "unchanged", "changed", "rejected", "unknown"];

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
pub fn page(tally: &Tally, origin: &Origin) -> Result<String> {
    let pools = tally.pools.folded();
    let data = json!({
        "origin": origin,
        "headline": headline(tally),
        "summary": summary(tally),
        "advice": advice(tally),
        "has_table": true,
        "pools": pools.pools.iter().map(|pool| json!({
            "name": pieces(&pool.name()),
            "taints": pool.taints.iter().map(|taint| pieces(taint)).collect::<Vec<_>>(),
            "nodes": counted(pool.nodes.len(), "node"),
        })).collect::<Vec<_>>(),
        "rows": if pools.pools.is_empty() { vec![] } else { pools.rows.iter().map(|row| row_data(row, &pools)).collect() },
        "entries": tally.entries.iter().map(|entry| json!({
            "name": entry.name(),
            "namespaces": entry.namespaces.len(),
            "nodes": entry.nodes_in_words(!tally.pools.pools.is_empty()),
        })).collect::<Vec<_>>(),
        "sums": { "titles": TITLES, "rows": sums(tally) },
        "sections": [section("By namespace", &tally.findings)],
        "without_rule": without_rule(tally).map(|(line, namespaces)| json!([line, namespaces.join(", ")])),
        "notes": not_told(tally),
    });
    render("page.html", TEMPLATE, data)
}

/// The page about what other settings change.
///
/// # Errors
/// The template has a mistake, and no test has found that.
pub fn page_of_changes(changes: &Changes, origin: &Origin) -> Result<String> {
    let sections = [("New with these settings", &changes.new), ("No longer", &changes.gone)];
    let sections = sections.into_iter().filter(|(_, findings)| !findings.is_empty());
    let data = json!({
        "origin": origin,
        "headline": headline_of_changes(changes),
        "moved": changes.moved.iter().map(|moved| json!({
            "namespaces": names(&moved.namespaces, usize::MAX),
            "gained": names(&moved.gained, NAMED),
            "lost": names(&moved.lost, NAMED),
        })).collect::<Vec<_>>(),
        "sections": sections.map(|(title, findings)| section(title, findings)).collect::<Vec<_>>(),
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
                State::Tainted => "tainted",
                State::Mixed => "mixed",
                State::MustNot | State::Unknown => "not",
            },
            "is_astray": *pods > 0 && *state == State::MustNot,
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

/// Breaks only where people would break a label or a taint.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(['=', ':', '/', '-', ' ']).collect()
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

/// Namespaces to fold, worst first.
fn section(title: &str, findings: &Findings) -> Value {
    let mut namespaces: Vec<_> = findings.iter().collect();
    namespaces.sort_by_key(|(name, findings)| (findings.keys().next().map(rank), *name));
    let data = namespaces.into_iter().enumerate().map(|(place, (name, findings))| {
        let is_refused = findings.keys().any(|finding| matches!(finding, Finding::Rejected { .. }));
        json!({
            "name": if name.is_empty() { "(no namespace)" } else { name },
            "summary": counts(findings.iter()),
            "open": is_refused && place < OPEN,
            "findings": findings.iter().map(|(finding, group)| finding_data(finding, group)).collect::<Vec<_>>(),
        })
    });
    json!({ "title": title, "namespaces": data.collect::<Vec<_>>() })
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
