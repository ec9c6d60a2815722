//! The policy does what the tour tells of it.

use anyhow::{Result, ensure};
use cli::{Policy, commands::tour::tour, testing::report::lines};
use rstest::rstest;

#[rstest]
#[case::in_short(false, 3)]
#[case::all_of_it(true, 20)]
fn the_tour_is_true(#[case] all: bool, #[case] least: usize) -> Result<()> {
    let mut cases = 0;
    for test in tour(all)?.0.tests {
        for case in &test.cases {
            let (_, mismatches) = test.check(case, &Policy::native())?;
            ensure!(mismatches.is_empty(), "{}: {}: {}", test.name, case.name, lines(&mismatches).join("\n"));
            cases += 1;
        }
    }
    ensure!(cases >= least, "only {cases} cases");
    Ok(())
}
