//! The policy does what `make run` tells of it.

use anyhow::{Context, Result, ensure};
use e2e_tests::{Story, policy_under_test, story_file};

#[test]
fn the_story_is_true() -> Result<()> {
    let policy = policy_under_test()?;
    let mut steps = 0;
    for chapter in Story::load(&story_file())?.chapters {
        for (step, _, evaluation) in chapter.evaluate(&policy)? {
            step.check(&evaluation).with_context(|| format!("{}: {}", chapter.title, step.title))?;
            steps += 1;
        }
    }
    ensure!(steps > 10, "only {steps} steps");
    Ok(())
}
