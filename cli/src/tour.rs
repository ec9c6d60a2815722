//! The tour: tests that are told, one case after the other.

use anyhow::Result;

use crate::testing::{Suite, source::Files};

const SHORT: &str = include_str!("../tour/short.yml");
const ALL: &str = include_str!("../tour/all.yml");
const AFTER_SHORT: &str = include_str!("../tour/short.txt");
const AFTER_ALL: &str = include_str!("../tour/all.txt");
/// What the tour calls `cluster`.
const CLUSTER: &[&str] = &[
    include_str!("../tour/cluster/namespaces.yml"),
    include_str!("../tour/cluster/nodes.yml"),
    include_str!("../tour/cluster/workloads.yml"),
];

/// The tour in short, or all of it; and what to try next.
///
/// # Errors
/// The built-in files have a mistake, and no test has found it.
pub fn tour(all: bool) -> Result<(Suite, &'static str)> {
    let (text, after) = if all { (ALL, AFTER_ALL) } else { (SHORT, AFTER_SHORT) };
    Ok((Suite::parse(text, "the tour", &Files::built_in(vec![("cluster", CLUSTER)]))?, after))
}
