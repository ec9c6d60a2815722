//! What is shipped around the module says the same as the module, and the same everywhere.

mod conditions;
mod demonstrations;
mod documentation;
mod examples;
mod links;
mod messages;
mod metadata;
mod rules;
mod schema;
mod testing;
mod toolchain;
mod workspace;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use anyhow::{Context, Result, anyhow};
use e2e_tests::{Policy, policy_under_test};

const SOURCE: &str = "https://github.com/node-placement/node-placement-policy";
const REGISTRY: &str = "ghcr.io/node-placement/policies/node-placement";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compiled once, and only if a test asks.
fn policy() -> Result<&'static Policy> {
    static POLICY: LazyLock<Result<Policy>> = LazyLock::new(policy_under_test);
    POLICY.as_ref().map_err(|error| anyhow!("{error:#}"))
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Every page of the documentation, as its path from the top folder.
fn pages() -> Result<Vec<String>> {
    let mut pages = vec![];
    for folder in ["", "docs/", "examples/", "examples/platform-team/", "fuzz/", "e2e-tests/bench/"] {
        for entry in fs::read_dir(file(folder))? {
            let name = entry?.file_name().into_string().ok().context("a name")?;
            if name.ends_with(".md") {
                pages.push(format!("{folder}{name}"));
            }
        }
    }
    pages.sort();
    Ok(pages)
}
