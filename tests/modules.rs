//! The order of modules, as the map in `src/lib.rs` has it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::path::{Path, PathBuf};

/// Returns the modules in the order of the map.
fn order() -> Vec<&'static str> {
    let rows = include_str!("../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
    let cells = rows.filter_map(|row| row.split('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_module_uses_only_those_above_it() {
    let (source, order) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), order());
    let position = |module: &str| order.iter().position(|other| *other == module);
    let mut checked = 0;
    for file in files(&source) {
        let module = file.strip_prefix(&source).unwrap().iter().next().unwrap();
        let module = module.to_str().unwrap().trim_end_matches(".rs");
        // They are above the map.
        if ["lib", "host"].contains(&module) {
            continue;
        }
        let own = position(module).unwrap_or_else(|| panic!("{module} is not in the map"));
        let text = std::fs::read_to_string(&file).unwrap();
        for used in text.split("crate::").skip(1) {
            let used = used.split(|character: char| !character.is_alphanumeric() && character != '_').next().unwrap();
            if let Some(position) = position(used) {
                assert!(position <= own, "{} uses {used}, which is below it in the map", file.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked} uses");
}
