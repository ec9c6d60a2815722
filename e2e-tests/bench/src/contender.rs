use std::{fs, path::PathBuf};

use anyhow::Result;
use e2e_tests::{Metadata, Policy, floor_module, policy_metadata, policy_module, typed_twin_module};

/// One of the modules whose costs are compared.
pub struct Contender {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub policy: Policy,
}

pub const FLOOR: &str = "floor";
pub const POLICY: &str = "policy";
pub const TWIN: &str = "typed twin";

impl Contender {
    /// The floor, the policy, and the typed twin.
    pub fn all() -> Result<[Self; 3]> {
        Ok([
            Self::load(FLOOR, floor_module()?)?,
            Self::load(POLICY, policy_module()?)?,
            Self::load(TWIN, typed_twin_module()?)?,
        ])
    }

    fn load(name: &'static str, module: PathBuf) -> Result<Self> {
        let bytes = fs::read(module)?;
        let policy = Policy::from_bytes(&bytes, Metadata::load(&policy_metadata())?, None)?;
        Ok(Self { name, bytes, policy })
    }
}
