//! Every test is run.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::file;

/// Cargo looks for no tests by itself: a file that no binary names would never run.
#[test]
fn every_file_of_tests_is_a_module_of_a_binary() -> Result<()> {
    for (folder, binaries) in
        [("tests", &["all.rs"][..]), ("cli/tests", &["all.rs"]), ("e2e-tests/tests", &["all.rs", "data.rs"])]
    {
        let texts = binaries.iter().map(|binary| fs::read_to_string(file(folder).join(binary)));
        let binaries = texts.collect::<Result<Vec<_>, _>>()?.concat();
        for entry in fs::read_dir(file(folder))? {
            let path = entry?.path();
            let is_module = path.join("mod.rs").exists() || path.extension().is_some_and(|it| it == "rs");
            let name = path.file_stem().and_then(|name| name.to_str()).context("a name")?;
            let is_named = ["all", "data"].contains(&name) || binaries.contains(&format!("mod {name};\n"));
            ensure!(!is_module || is_named, "{folder}/all.rs lacks: mod {name};");
        }
    }
    Ok(())
}
