//! A preview for a browser: one file, that needs no other. Its words are in `page.html.j2`.

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::view::{ROWS, answer, counts, fit_in_a_table, nodes, note, pools_that_take, rows, sections};
use crate::{
    preview::{Preview, Row},
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
    let (shown, more) = rows(preview, ROWS);
    let row = |row: &&Row| {
        json!({
            "row": row,
            "name": row.name(),
            "note": note(row),
            "is_trouble": row.forecast.is_real_trouble(),
            "answers": row.cells.iter().map(answer).collect::<Vec<_>>(),
            "pools": pools_that_take(row, &preview.pools),
        })
    };
    let pools = preview.pools.iter().map(|pool| {
        let taints: Vec<_> = pool.taints.iter().map(|taint| pieces(taint)).collect();
        json!({ "name": pool.name, "pieces": pieces(&pool.name), "taints": taints, "nodes": nodes(pool) })
    });
    let data = json!({
        "origin": origin,
        "verdict": preview.verdict,
        "notes": preview.verdict.notes,
        "advice": preview.advice,
        "remarks": preview.remarks,
        "compared": preview.compared,
        "is_matrix": fit_in_a_table(&preview.pools),
        "pools": pools.collect::<Vec<_>>(),
        "rows": shown.iter().map(row).collect::<Vec<_>>(),
        "more": more.iter().map(row).collect::<Vec<_>>(),
        "sections": sections(preview),
        "counts": counts(preview),
    });
    render("page.html", TEMPLATE, data)
}

/// Breaks only where people would break a label or a taint.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(['=', ':', '/', '-', ' ']).collect()
}
