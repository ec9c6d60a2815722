//! The policy does what the tour tells of it.

use std::process::Command;

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

/// On terminals as narrow as most are when nobody makes them wider.
#[test]
fn the_short_tour_fits_on_a_screen() -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-node_placement"));
    let told = String::from_utf8(command.arg("tour").env("COLUMNS", "80").output()?.stdout)?;
    ensure!(told.lines().count() <= 40, "{} lines:\n{told}", told.lines().count());
    Ok(())
}
