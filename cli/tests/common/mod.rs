//! How tests run the tool.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result};

/// At the root of the workspace, as `make run` does.
pub fn run(arguments: &[&str]) -> Result<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    Ok(Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement")).args(arguments).current_dir(root).output()?)
}

/// A file in a folder of its own: tests run side by side.
pub fn file(name: &str, text: &str) -> Result<PathBuf> {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let folder = FILES.fetch_add(1, Ordering::Relaxed).to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("common").join(folder);
    fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    fs::write(&path, text)?;
    Ok(path)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
