//! A preview for a browser: one file, that needs no other. Its words are in `page.html.j2`.

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::view::{ROWS, answer, counts, fit_in_a_table, name, nodes, note, pools_that_accept, rows, sections};
use crate::{
    preview::{Cell, Preview, Row},
    template::render,
};

const TEMPLATE: &str = include_str!("page.html.j2");

/// Where a preview comes from: a page may be read long after, and by others.
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
    /// Makes the head of a preview that is made now.
    pub fn now(cluster: String, settings: String, old: Option<String>) -> Self {
        Self { cluster, settings, old, date: Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string() }
    }
}

/// Writes the page.
///
/// # Errors
/// The template has a mistake, and no test has found that.
pub fn page(preview: &Preview, origin: &Origin) -> Result<String> {
    let (shown, more) = rows(preview, ROWS);
    let pools = preview.pools.iter().map(|pool| {
        let taints: Vec<_> = pool.taints.iter().map(|taint| pieces(taint)).collect();
        json!({ "name": pool.name, "pieces": pieces(&pool.name), "taints": taints, "nodes": nodes(pool) })
    });
    let (loud, quiet): (Vec<_>, Vec<_>) =
        sections(preview).into_iter().partition(|section| preview.is_comparison() || section.is_trouble);
    let data = json!({
        "origin": origin,
        "verdict": preview.verdict,
        "notes": preview.verdict.notes,
        "still_wrong": preview.still_wrong,
        "advice": preview.advice,
        "remarks": preview.remarks,
        "compared": preview.is_comparison(),
        "is_matrix": fit_in_a_table(&preview.pools),
        "pools": pools.collect::<Vec<_>>(),
        "rows": shown.iter().map(|shown| row(shown, preview)).collect::<Vec<_>>(),
        "more": more.iter().map(|more| row(more, preview)).collect::<Vec<_>>(),
        "sections": loud,
        "quiet": quiet,
        "counts": counts(preview),
    });
    render("page.html", TEMPLATE, data)
}

/// Returns what the template needs of a row; of one that stands for several tenants, also of each.
fn row(row: &Row, preview: &Preview) -> Value {
    let tenants = row.tenants.iter().map(|tenant| {
        json!({
            "name": tenant.name(),
            "namespaces": tenant.namespaces,
            "pools": pools_that_accept(tenant, &preview.pools),
            "pods": tenant.pods_there,
        })
    });
    json!({
        "row": row,
        "name": name(row),
        "note": note(row),
        "selector": pieces(&row.selector),
        "is_trouble": row.forecast.is_real_trouble(),
        "cells": row.cells.iter().map(cell).collect::<Vec<_>>(),
        "pools": pools_that_accept(row, &preview.pools),
        "tenants": tenants.collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    json!({ "answer": answer(cell), "is_yes": cell.answer.is_yes_now(), "pods": cell.pods })
}

/// Breaks only where people would break a label or a taint.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(['=', ':', '/', '-', ',', ' ']).collect()
}
