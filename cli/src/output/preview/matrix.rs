//! Who may run where, as a table; only where it fits.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets::UTF8_FULL_CONDENSED};

use super::rows::{are_a_table, heading, nodes, note, taking};
use crate::{
    lists::{counted, shortened},
    preview::{Cell, Pool, Row},
};

/// Beside the text of a cell, and its border.
const PADDING: usize = 3;
/// So many namespaces are named in a row.
const NAMED: usize = 4;

/// The table in lines of at most `width`; nothing if there are too many pools, or a word would break.
pub fn matrix(pools: &[Pool], rows: &[&Row], width: usize) -> Option<Vec<String>> {
    if !are_a_table(pools) {
        return None;
    }
    let mut cells: Vec<Vec<String>> = vec![header(pools)];
    cells.extend(rows.iter().map(|row| line(row)));
    let needed: Vec<usize> = (0..=pools.len()).map(|column| longest_word(&cells, column)).collect();
    if needed.iter().map(|word| word + PADDING).sum::<usize>() + 1 > width {
        return None;
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let mut cells = cells.into_iter();
    table.set_header(cells.next()?);
    for row in cells {
        table.add_row(row);
    }
    for (column, needed) in table.column_iter_mut().zip(needed) {
        let needed = Width::Fixed(u16::try_from(needed + PADDING - 1).unwrap_or(u16::MAX));
        column.set_constraint(ColumnConstraint::LowerBoundary(needed));
    }
    Some(table.lines().map(|line| line.trim_end().to_owned()).collect())
}

fn header(pools: &[Pool]) -> Vec<String> {
    let columns = pools.iter().map(|pool| {
        let taints = pool.taints.iter().map(|taint| format!("taint\n{}", broken(taint)));
        let lines = [broken(&pool.name.replace(", ", "\n"))].into_iter().chain(taints).chain([nodes(pool)]);
        lines.collect::<Vec<_>>().join("\n")
    });
    [String::new()].into_iter().chain(columns).collect()
}

fn line(row: &Row) -> Vec<String> {
    let names = shortened(&row.namespaces, NAMED).unwrap_or_else(|| row.namespaces.join(", "));
    let heading = [heading(row, names)].into_iter().chain(note(row).map(|note| format!("(new Pods {note})")));
    let cells = row.cells.iter().map(|cell @ Cell { pods, .. }| {
        let takes = taking(*cell);
        if *pods == 0 { takes.to_owned() } else { format!("{takes}\n{}", counted(*pods, "Pod")) }
    });
    [heading.collect::<Vec<_>>().join("\n")].into_iter().chain(cells).collect()
}

/// At places where people would break a label or a taint.
fn broken(text: &str) -> String {
    text.replace('/', "/\n").replace(':', "\n:")
}

fn longest_word(rows: &[Vec<String>], column: usize) -> usize {
    let texts = rows.iter().filter_map(|row| row.get(column));
    texts.flat_map(|text| text.split_whitespace()).map(|word| word.chars().count()).max().unwrap_or_default()
}
