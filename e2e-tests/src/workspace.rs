//! Where the things of this workspace are.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use cli::Policy;

#[cfg(not(feature = "wasm"))]
use cli::engine::host::Native;

use crate::clusters::Metadata;
#[cfg(not(feature = "wasm"))]
use crate::clusters::Strict;
#[cfg(feature = "wasm")]
use crate::wasm::Module;

/// The policy that tests are about: the module, or without the feature `wasm` the crate.
pub fn policy_under_test() -> Result<Policy> {
    let metadata = Metadata::load(&policy_metadata())?;
    #[cfg(feature = "wasm")]
    return Module::load(&policy_module()?)?.bound_by(metadata);
    #[cfg(not(feature = "wasm"))]
    return Ok(Policy::new(Strict { engine: Native, metadata: metadata.into() }));
}

/// The policy's module: `$POLICY_WASM`, else `policy.wasm` at the root of the workspace.
pub fn policy_module() -> Result<PathBuf> {
    module("POLICY_WASM", "policy.wasm", "make policy.wasm")
}

/// The policy that accepts everything: `$FLOOR_WASM`, else `floor.wasm` at the root of the workspace.
pub fn floor_module() -> Result<PathBuf> {
    module("FLOOR_WASM", "floor.wasm", "make floor.wasm")
}

/// The policy's rules, written the usual way: `$TYPED_TWIN_WASM`, else `typed-twin.wasm` at the root of the workspace.
pub fn typed_twin_module() -> Result<PathBuf> {
    module("TYPED_TWIN_WASM", "typed-twin.wasm", "make typed-twin.wasm")
}

pub fn policy_metadata() -> PathBuf {
    root().join("policy-metadata.yml")
}

/// What a real API server was asked, and what goes with that.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn module(variable: &str, default: &str, command: &str) -> Result<PathBuf> {
    let path = root().join(env::var_os(variable).unwrap_or_else(|| default.into()));
    match path.exists() {
        true => Ok(path),
        false => bail!("{} is missing: run `{command}` first", path.display()),
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("this crate is a folder of the workspace").to_owned()
}
