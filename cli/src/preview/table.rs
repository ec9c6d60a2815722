//! Who may run where, as text: a table where there is room, else a list.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets::UTF8_FULL_CONDENSED};

use super::{
    phrases::{counted, names},
    pools::{Cell, Note, Pool, Pools, Row, State},
};

/// A column needs so much to be read.
const COLUMN: usize = 11;
/// `must not` must not break.
const LEAST: usize = 8;
/// Beside the text of a cell.
const PADDING: usize = 2;
/// A line of a heading that is longer breaks at its hyphens.
const LONG: usize = 19;
/// So many namespaces are named in a row.
const NAMED: usize = 6;

/// The table, in lines of `width`; nothing, where no Nodes are known.
pub fn table(pools: &Pools, width: usize, all_names: bool) -> Vec<String> {
    if pools.pools.is_empty() || pools.rows.is_empty() {
        return vec![];
    }
    let pools = pools.folded();
    match (pools.pools.len() + 1) * COLUMN < width {
        true => drawn(&pools, width, all_names),
        false => listed(&pools, all_names),
    }
}

fn drawn(pools: &Pools, width: usize, all_names: bool) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let header = pools.pools.iter().map(|pool| {
        let taints = pool.taints.iter().map(|taint| format!("taint\n{}", broken(taint)));
        let nodes = counted(pool.nodes.len(), "node");
        [pool.name().replace(", ", "\n")].into_iter().chain(taints).chain([nodes]).collect::<Vec<_>>().join("\n")
    });
    let header: Vec<String> = [String::new()].into_iter().chain(header).collect();
    // No word of a heading breaks, if there is room for that.
    let needed: Vec<usize> = header.iter().map(|text| longest_line(text).max(LEAST) + PADDING).collect();
    let has_room = needed.iter().map(|column| column + 1).sum::<usize>() < width;
    table.set_header(header);
    for row in &pools.rows {
        let cells = row.cells.iter().map(in_words);
        table.add_row([heading(row, all_names)].into_iter().chain(cells).collect::<Vec<_>>());
    }
    for (column, needed) in table.column_iter_mut().zip(needed).filter(|_| has_room) {
        let needed = Width::Fixed(u16::try_from(needed).unwrap_or(u16::MAX));
        column.set_constraint(ColumnConstraint::LowerBoundary(needed));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn longest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

/// At places where people would break it.
fn broken(taint: &str) -> String {
    let lines = taint.replace('/', "/\n").replacen(':', "\n:", 1);
    let lines = lines.lines().map(|line| if line.len() > LONG { line.replace('-', "-\n") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

/// `may, 3 Pods`
fn in_words(cell: &Cell) -> String {
    match cell.pods {
        0 => cell.state.in_words().to_owned(),
        pods => format!("{}\n{}", cell.state.in_words(), counted(pods, "Pod")),
    }
}

fn heading(row: &Row, all_names: bool) -> String {
    let names = names(&row.namespaces, if all_names { usize::MAX } else { NAMED });
    match row.note {
        Note::None => names,
        // There is little room.
        ref note => format!("{names}\n({})", note.in_words().replace("placement.namespaces", "namespaces")),
    }
}

fn listed(pools: &Pools, all_names: bool) -> Vec<String> {
    let mut lines = vec![];
    for row in &pools.rows {
        lines.push(heading(row, all_names).replace('\n', " "));
        for state in [State::May, State::Mixed, State::Tainted, State::Waits, State::MustNot, State::Unknown] {
            let alike = row.cells.iter().zip(&pools.pools).filter(|(cell, _)| cell.state == state);
            let alike: Vec<String> = alike.map(|(cell, pool)| place(cell, pool)).collect();
            if !alike.is_empty() {
                lines.push(format!("  {}: {}", state.in_words(), alike.join("; ")));
            }
        }
    }
    lines
}

/// `pool=blue (3 nodes, 12 Pods)`
fn place(cell: &Cell, pool: &Pool) -> String {
    let nodes = counted(pool.nodes.len(), "node");
    let pods = if cell.pods > 0 { format!(", {}", counted(cell.pods, "Pod")) } else { String::new() };
    let taints: String = pool.taints.iter().map(|taint| format!(", taint {taint}")).collect();
    format!("{}{taints} ({nodes}{pods})", pool.name())
}
