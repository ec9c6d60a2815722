//! The crate answers as the module does, word for word: so what mutation testing says of the tests of the one holds for
//! the other.

mod common;

use std::{process::ExitCode, sync::Arc};

use anyhow::{Context, Result, ensure};
use common::Case;
use e2e_tests::{Policy, native_policy, payload, policy_under_test};

fn main() -> Result<ExitCode> {
    let engines = Arc::new((policy_under_test()?, native_policy()?));
    common::run(move |case| {
        let (module, native) = &*engines;
        let (one, other) = (said(module, case)?, said(native, case)?);
        ensure!(one == other, "the module says {one}, the crate {other}");
        Ok(())
    })
}

/// All that is said to the host.
fn said(policy: &Policy, case: &Case) -> Result<String> {
    let settings = case.settings();
    let verdict = policy.validate_settings(&settings)?;
    let call = policy.call("validate", &payload(&case.request()?, &settings), case.cluster()?);
    let answer = call.result.map_err(anyhow::Error::msg).context("no answer")?;
    Ok(format!("{verdict:?} {} {:?} {:?}", String::from_utf8(answer)?, call.lookups, call.logs))
}
