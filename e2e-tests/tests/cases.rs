//! What the policy does with requests of every kind, case by case: the files in `cases` are stories that nobody tells.
//!
//! Every case is a test: `cargo test -p e2e-tests --test cases -- "a label that must not be there"` runs one alone.

mod common;

use std::{process::ExitCode, sync::Arc};

use anyhow::{Context, Result, ensure};
use common::Case;
use e2e_tests::{Evaluation, Policy, policy_under_test};

fn main() -> Result<ExitCode> {
    let policy = Arc::new(policy_under_test()?);
    common::run(move |case| {
        if let Some(mistake) = &case.step.expect.invalid {
            let found = policy.validate_settings(&case.settings())?.message.unwrap_or_default();
            ensure!(found.starts_with(mistake), "expected {mistake:?}, got {found:?}");
            for mention in &case.step.expect.mentions {
                ensure!(found.contains(mention), "expected the mention of {mention:?}, got {found:?}");
            }
            ensure!(!found.is_empty(), "the settings are valid");
            return Ok(());
        }
        let evaluation = evaluate(&policy, case)?;
        case.step.check(&evaluation)?;
        settles(&policy, case, &evaluation)
    })
}

fn evaluate(policy: &Policy, case: &Case) -> Result<Evaluation> {
    let settings = case.settings();
    let answer = policy.validate_settings(&settings)?;
    ensure!(answer.valid, "invalid settings: {}", answer.message.unwrap_or_default());
    policy.validate(&case.request()?, &settings, case.cluster()?)
}

/// The policy may see its own result again: it changes and rejects nothing then.
fn settles(policy: &Policy, case: &Case, evaluation: &Evaluation) -> Result<()> {
    let Some(mutated) = &evaluation.answer.mutated_object else { return Ok(()) };
    let mut request = case.request()?;
    request["object"] = mutated.clone();
    let again = policy.validate(&request, &case.settings(), case.cluster()?).context("the second time")?;
    ensure!(again.answer.accepted, "its own result is rejected: {:?}", again.answer.message);
    ensure!(again.answer.mutated_object.is_none(), "its own result is changed: {:?}", again.patch);
    Ok(())
}
