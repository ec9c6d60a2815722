//! Whether a Pod may run on a Node, against what the scheduler's code answers.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "these are tests"
)]
#![allow(clippy::needless_pass_by_value, clippy::format_collect, reason = "they read better so")]

use node_placement_policy::placement::node_affinity::NodeSelection;
use serde::Deserialize;
use serde_json::Value;

use crate::common::vectors;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    id: u32,
    pod: Value,
    node: Value,
    api_valid: bool,
    #[serde(rename = "match")]
    matches: bool,
}

#[test]
fn pods_match_nodes_as_the_scheduler_has_it() {
    let (mut valid, mut agreed, mut matched) = (0, 0, 0);
    for Vector { id, pod, node, api_valid, matches } in vectors::<Vector>("nodeaffinity.jsonl") {
        let spec = pod.to_string();
        let name = node["name"].as_str().unwrap();
        let label = |key: &str| node["labels"][key].as_str();
        let found = NodeSelection::parse(&spec).map(|selection| selection.matches_node(name, label));
        if api_valid {
            valid += 1;
            assert_eq!(found, Ok(matches), "line {id}: {pod} on {node}");
        }
        agreed += usize::from(found == Ok(matches));
        matched += usize::from(matches);
    }
    assert_eq!(agreed, 1500, "objects that no API server stores match as upstream too");
    assert_eq!((valid, matched), (1229, 750), "lines that could be stored, and that match");
}
