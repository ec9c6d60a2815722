//! The limit, which `make bench` compares the policy with, does what the policy does.

use anyhow::{Result, ensure};
use e2e_tests::{
    Module,
    cost::{cases, limit},
    policy_under_test,
};

#[test]
fn the_limit_looks_up_and_answers_as_the_policy() -> Result<()> {
    let policy = policy_under_test()?;
    for case in cases::all().into_iter().filter(|case| !case.family.is_growth()) {
        let asked = case.evaluate(&policy);
        let module = limit::module(&case, &asked)?;
        let limit = Module::new(module.as_bytes())?.policy(None)?;
        let answered = case.evaluate(&limit);
        ensure!(answered.result == asked.result, "{case}: {:?}", answered.result);
        ensure!(answered.record.lookups == asked.record.lookups, "{case}: {:?}", answered.record.lookups);
    }
    Ok(())
}
