//! What rows and pools are called, and which are shown, in text and in a page.

use std::collections::BTreeMap;

use crate::{
    lists::counted,
    preview::{Cell, Forecast, Outcome, Pool, Row},
};

/// So many rows of one entry that are in order are shown at first.
pub const ROWS: usize = 6;
/// A table of more pools nobody reads: it is a list.
const POOLS: usize = 8;

/// Whether a table of these pools can be read.
pub fn are_a_table(pools: &[Pool]) -> bool {
    (1..=POOLS).contains(&pools.len())
}

/// What speaks against new Pods of a row, if something does.
pub fn note(row: &Row) -> Option<String> {
    let Forecast { outcome, would_be } = row.forecast;
    let note = match (outcome, would_be) {
        (Outcome::Refused, false) => "are refused",
        (Outcome::Refused, true) => "would be refused",
        (Outcome::Waits, false) => "wait: no node takes them",
        (Outcome::Waits, true) => "would wait: no node takes them",
        (Outcome::CannotTell, _) => "can't be told",
        (Outcome::NotAsked, _) => "are not sent to the policy",
        _ => return None,
    };
    let reason = row.kept_away.iter().map(|reason| format!(": {reason}"));
    Some([note.to_owned()].into_iter().chain(reason).collect())
}

/// `tenant=blue: a, b and c`
pub fn heading(row: &Row, namespaces: String) -> String {
    match row.namespaces.as_slice() {
        [only] if *only == row.name => row.name.clone(),
        _ => format!("{}: {namespaces}", row.name),
    }
}

/// `pool=blue (3 nodes)`
pub fn place(pool: &Pool) -> String {
    format!("{} ({})", pool.name, nodes(pool))
}

/// The pools that take a Pod of a row that asks for nothing.
pub fn places(row: &Row, pools: &[Pool]) -> Vec<String> {
    let cells = row.cells.iter().zip(pools).filter(|(cell, _)| cell.takes || cell.enforced);
    let told = |(cell, pool): (&Cell, &Pool)| match taking(*cell) {
        "yes" => place(pool),
        told => format!("{}: {told}", place(pool)),
    };
    cells.map(told).collect()
}

/// Whether a pool takes a Pod of a row that asks for nothing.
pub fn taking(cell: Cell) -> &'static str {
    match (cell.takes, cell.enforced) {
        (true, true) => "yes",
        (false, false) => "no",
        (true, false) => "yes (no, once enforced)",
        (false, true) => "no (yes, once enforced)",
    }
}

/// `3 nodes`; of a NodePool without any, what Karpenter would do.
pub fn nodes(pool: &Pool) -> String {
    match (&pool.node_pool, pool.nodes.len()) {
        (Some(_), 0) => "Karpenter would create a node".to_owned(),
        (_, count) => counted(count, "node"),
    }
}

/// The rows that are told one by one, at most so many of an entry that are in order; and the others. What is not in order
/// comes first, and is never cut.
pub fn shown(rows: &[Row], most: usize) -> (Vec<&Row>, Vec<&Row>) {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| row.is_sound());
    let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    sorted.into_iter().partition(|row| {
        let count = counts.entry(&row.entry).or_default();
        *count += usize::from(row.is_sound());
        *count <= most
    })
}
