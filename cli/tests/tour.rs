//! The policy does what the tour tells of it.

use anyhow::{Context, Result, ensure};
use cli::{Policy, story::tour};
use rstest::rstest;

#[rstest]
#[case::in_short(false, 3)]
#[case::all_of_it(true, 20)]
fn the_tour_is_true(#[case] all: bool, #[case] least: usize) -> Result<()> {
    let mut steps = 0;
    for chapter in tour(all)?.chapters {
        for (step, _, evaluation) in chapter.evaluate(&Policy::native())? {
            step.check(&evaluation).with_context(|| format!("{}: {}", chapter.title, step.title))?;
            steps += 1;
        }
    }
    ensure!(steps >= least, "only {steps} steps");
    Ok(())
}
