//! Whatever runs the policy, it answers the same, word for word: the module in Wasmtime, the module in the tool's
//! interpreter, and the crate that the module is made of. So what the tool tells is what is deployed, and what mutation
//! testing says of the crate holds for the module.

use std::{fs, sync::Arc};

use anyhow::{Context, Result, ensure};
use e2e_tests::{Policy, payload, policy_module, policy_under_test};
use libtest_mimic::Trial;

use crate::case::{self, Case};

pub fn trials() -> Result<Vec<Trial>> {
    let interpreted = Policy::interpreted(&fs::read(policy_module()?)?)?;
    let engines = Arc::new((policy_under_test()?, [("the crate", Policy::native()), ("the interpreter", interpreted)]));
    case::trials("engines", move |case| {
        let (module, others) = &*engines;
        let expected = said(module, case)?;
        for (name, other) in others {
            let found = said(other, case)?;
            ensure!(expected == found, "the module says {expected}, {name} {found}");
        }
        Ok(())
    })
}

/// All that is said to the host.
fn said(policy: &Policy, case: &Case) -> Result<String> {
    let settings = case.settings()?;
    let verdict = policy.validate_settings(&settings)?;
    let call = policy.call("validate", &payload(&case.request()?, &settings), case.cluster().clone());
    let answer = call.result.map_err(anyhow::Error::msg).context("no answer")?;
    Ok(format!("{verdict:?} {} {:?} {:?}", String::from_utf8(answer)?, call.record.lookups, call.record.logs))
}
