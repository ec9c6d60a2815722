//! The limit, which `make bench` compares the policy with, does what the policy does.

use anyhow::{Result, ensure};
use e2e_tests::{
    Compiled, Metadata, Policy,
    cost::{cases, limit},
    policy_metadata, policy_under_test,
};

#[test]
fn the_limit_looks_up_and_answers_as_the_policy() -> Result<()> {
    let policy = policy_under_test()?;
    let metadata = Metadata::load(&policy_metadata())?;
    for case in cases::all().into_iter().filter(|case| !case.family.is_growth()) {
        let asked = case.evaluate(&policy);
        let module = limit::module(&case, &asked)?;
        let limit = Policy::from_bytes(module.as_bytes(), metadata.clone(), None)?;
        let answered = case.evaluate(&limit);
        ensure!(answered.result == asked.result, "{case}: {:?}", answered.result);
        ensure!(answered.record.lookups == asked.record.lookups, "{case}: {:?}", answered.record.lookups);
    }
    Ok(())
}
