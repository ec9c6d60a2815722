//! What the policy does with requests of every kind, case by case: the files in `cases` are stories that nobody tells.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e_tests::{Chapter, Evaluation, Policy, Step, Story, policy_under_test};
use rstest::rstest;

#[rstest]
#[case::requests("requests.yml")]
#[case::placement("placement.yml")]
#[case::workloads("workloads.yml")]
#[case::security("security.yml")]
#[case::node_metadata("node-metadata.yml")]
fn every_case_ends_as_it_must(#[case] file: &str) -> Result<()> {
    let policy = policy_under_test()?;
    let story = Story::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(file))?;
    let mut failures = Vec::new();
    for chapter in &story.chapters {
        for (step, evaluation) in chapter.evaluate(&policy)? {
            let checked = step.check(&evaluation).and_then(|()| settles(&policy, chapter, step, &evaluation));
            failures.extend(checked.err().map(|error| format!("{}: {}: {error:#}", chapter.title, step.title)));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// The policy may see its own result again: it changes and rejects nothing then.
fn settles(policy: &Policy, chapter: &Chapter, step: &Step, evaluation: &Evaluation) -> Result<()> {
    let Some(mutated) = &evaluation.answer.mutated_object else { return Ok(()) };
    let mut request = chapter.request(step)?;
    request["object"] = mutated.clone();
    let again = policy.validate(&request, &chapter.settings(step), chapter.cluster()?).context("the second time")?;
    ensure!(again.answer.accepted, "its own result is rejected: {:?}", again.answer.message);
    ensure!(again.answer.mutated_object.is_none(), "its own result is changed: {:?}", again.patch);
    Ok(())
}
