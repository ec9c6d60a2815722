//! Where the tool says that the scheduler would put a Pod, against what the scheduler's code answers.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use cli::scheduler::{matches_node, untolerated};
use serde_json::{Value, json};

fn vectors(name: &str) -> Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[test]
fn pods_match_nodes_as_the_scheduler_has_it() -> Result<()> {
    let mut vectors = vectors("nodeaffinity.jsonl")?;
    // What no API server stores is in no cluster.
    vectors.retain(|vector| vector["apiValid"] == true);
    for vector in &vectors {
        let node = json!({ "metadata": vector["node"] });
        assert_eq!(matches_node(&vector["pod"], &node), vector["match"] == true, "{vector}");
    }
    assert_eq!(vectors.len(), 1229);
    Ok(())
}

#[test]
fn taints_are_tolerated_as_the_scheduler_has_it() -> Result<()> {
    let vectors = vectors("taints.jsonl")?;
    for vector in &vectors {
        let found = untolerated(&vector["tolerations"], &vector["taints"]);
        assert_eq!(found.unwrap_or(&Value::Null), &vector["untolerated"], "{vector}");
    }
    assert_eq!(vectors.len(), 1500);
    Ok(())
}
