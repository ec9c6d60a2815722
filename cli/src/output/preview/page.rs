//! A preview for a browser: one file, that needs no other.

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    rows::{ROWS, are_a_table, heading, nodes, note, place, places, shown, taking},
    workloads::{Told, sections, untold},
};
use crate::{
    lists::counted,
    output::template::render,
    preview::{Cell, Pool, Preview, Row},
};

const TEMPLATE: &str = include_str!("page.html.j2");
/// So many namespaces are open from the start, if there is trouble in them.
const OPEN: usize = 5;

/// Where a preview comes from: a page may be read long after, by somebody else.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// The file, or the context of the kubeconfig.
    pub cluster: String,
    /// The file with the settings.
    pub settings: String,
    /// The file with the settings that it is compared with.
    pub old: Option<String>,
    /// `2026-03-01 14:05 UTC`
    pub date: String,
}

impl Origin {
    /// Of a preview that is made now.
    pub fn now(cluster: String, settings: String, old: Option<String>) -> Self {
        Self { cluster, settings, old, date: Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string() }
    }
}

/// The page.
///
/// # Errors
/// The template has a mistake, and no test has found that.
pub fn page(preview: &Preview, origin: &Origin) -> Result<String> {
    let (rows, more) = shown(&preview.rows, ROWS);
    let data = json!({
        "origin": origin,
        "ready": preview.verdict.ready,
        "verdict": preview.verdict.text,
        "advice": preview.advice.iter().map(|advice| &advice.text).collect::<Vec<_>>(),
        "remarks": preview.remarks,
        "compared": preview.compared,
        "is_matrix": are_a_table(&preview.pools),
        "pools": preview.pools.iter().map(pool).collect::<Vec<_>>(),
        "groups": [
            { "rows": rows.iter().map(|found| row(found, &preview.pools)).collect::<Vec<_>>() },
            { "rows": more.iter().map(|found| row(found, &preview.pools)).collect::<Vec<_>>(), "more": more.len() },
        ],
        "sections": sections(preview).iter().enumerate().map(|(place, section)| json!({
            "name": section.name,
            "summary": summary(&section.told),
            "open": place < OPEN && section.is_in_trouble(),
            "findings": section.told.iter().map(finding).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "untold": untold(preview),
    });
    render("page.html", TEMPLATE, data)
}

fn pool(pool: &Pool) -> Value {
    json!({
        "name": pieces(&pool.name),
        "taints": pool.taints.iter().map(|taint| pieces(taint)).collect::<Vec<_>>(),
        "nodes": nodes(pool),
    })
}

fn row(row: &Row, pools: &[Pool]) -> Value {
    let cells = row.cells.iter().zip(pools).map(|(cell @ Cell { takes, pods, .. }, pool)| {
        json!({
            "pool": place(pool),
            "takes": takes,
            "told": taking(*cell),
            "pods": if *pods > 0 { counted(*pods, "Pod") } else { String::new() },
            "elsewhere": !takes && *pods > 0,
        })
    });
    json!({
        "name": row.name,
        "namespaces": heading(row, row.namespaces.join(", ")),
        "count": counted(row.namespaces.len(), "namespace"),
        "folds": row.namespaces.len() > 3,
        "selector": row.selector,
        "note": note(row),
        "trouble": row.forecast.is_real_trouble(),
        "cells": cells.collect::<Vec<_>>(),
        "taking": places(row, pools),
        "there": row.pods_there(),
        "elsewhere": row.pods_elsewhere(),
    })
}

fn finding(told: &Told<'_>) -> Value {
    json!({
        "outcome": told.finding.forecast.title(),
        "was": told.was(),
        "trouble": told.finding.forecast.is_real_trouble(),
        "who": told.who,
        "reason": told.finding.reason,
        "nodes": told.nodes.join(", "),
        "pods": counted(told.pods, "Pod"),
    })
}

/// `refused, changed`
fn summary(told: &[Told<'_>]) -> String {
    let mut titles: Vec<String> = told.iter().map(|told| told.finding.forecast.title()).collect();
    titles.dedup();
    titles.join(", ")
}

/// Breaks only where people would break a label or a taint.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(['=', ':', '/', '-', ' ']).collect()
}
