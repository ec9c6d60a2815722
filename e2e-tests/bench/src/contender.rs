use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use e2e_tests::{
    Call, InstructionCounter, Module, Policy,
    cost::{Case, limit},
    floor_module, policy_module, typed_twin_module,
};

/// One of the modules whose costs are compared.
pub struct Contender {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub module: Module,
    pub policy: Policy,
}

pub const FLOOR: &str = "floor";
pub const LIMIT: &str = "limit";
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

    /// What no policy can be faster than that does what `policy` does about `case`.
    pub fn limit(case: &Case, policy: &Self) -> Result<Self> {
        Self::of(LIMIT, limit::module(case, &policy.check(case)?)?.into_bytes())
    }

    fn load(name: &'static str, module: PathBuf) -> Result<Self> {
        Self::of(name, fs::read(module)?)
    }

    fn of(name: &'static str, bytes: Vec<u8>) -> Result<Self> {
        let module = Module::new(&bytes)?;
        let policy = module.policy(None)?;
        Ok(Self { name, bytes, module, policy })
    }

    /// One evaluation. Fails if this contender does not do what the case asks of it; the floor never changes anything.
    pub fn check(&self, case: &Case) -> Result<Call> {
        let call = case.evaluate(&self.policy);
        case.check(&call, case.mutates && self.name != FLOOR).context(self.name)?;
        Ok(call)
    }

    /// The same module, compiled so that its instructions are counted.
    pub fn counter(&self) -> Result<InstructionCounter> {
        InstructionCounter::from_bytes(&self.bytes)
    }
}
