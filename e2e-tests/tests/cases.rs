//! What the policy does with requests of every kind, case by case: the files in `cases` are run as
//! `kubectl node-placement test` runs them.
//!
//! Every case is a test: `cargo test -p e2e-tests --test cases -- "a label that must not be there"` runs one alone.

mod common;

use std::{process::ExitCode, sync::Arc};

use anyhow::{Context, Result, ensure};
use common::Case;
use e2e_tests::{
    Evaluation, Policy, policy_under_test,
    testing::{Ended, report::lines},
};

fn main() -> Result<ExitCode> {
    let policy = Arc::new(policy_under_test()?);
    common::run(move |case| {
        let (ended, mismatches) = case.test.check(&case.case, &policy)?;
        ensure!(mismatches.is_empty(), "{}", lines(&mismatches).join("\n"));
        match ended {
            Ended::Answered(answered) => settles(&policy, case, &answered.evaluation),
            Ended::Invalid(_) => Ok(()),
        }
    })
}

/// The policy may see its own result again: it changes and rejects nothing then.
fn settles(policy: &Policy, case: &Case, evaluation: &Evaluation) -> Result<()> {
    let Some(mutated) = &evaluation.answer.mutated_object else { return Ok(()) };
    let mut request = case.request()?;
    request["object"] = mutated.clone();
    let again = policy.validate(&request, &case.settings()?, case.cluster().clone()).context("the second time")?;
    ensure!(again.answer.accepted, "its own result is rejected: {:?}", again.answer.message);
    ensure!(again.answer.mutated_object.is_none(), "its own result is changed: {:?}", again.patch);
    Ok(())
}
