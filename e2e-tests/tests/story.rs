//! The policy does what `make run` tells of it.

use anyhow::{Context, Result};
use e2e_tests::{Policy, Story, policy_metadata, policy_module, story_file};

#[test]
fn the_story_is_true() -> Result<()> {
    let policy = Policy::load(&policy_module()?, &policy_metadata())?;
    for chapter in Story::load(&story_file())?.chapters {
        for (step, evaluation) in chapter.evaluate(&policy)? {
            step.check(&evaluation).with_context(|| format!("{}: {}", chapter.title, step.title))?;
        }
    }
    Ok(())
}
