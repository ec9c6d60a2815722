//! The crate answers as the module does, word for word: so what mutation testing says of the tests of the one holds for
//! the other.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e_tests::{Chapter, Policy, Step, Story, native_policy, payload, policy_under_test};
use rstest::rstest;

#[rstest]
#[case::requests("requests.yml")]
#[case::placement("placement.yml")]
#[case::workloads("workloads.yml")]
#[case::node_metadata("node-metadata.yml")]
fn both_engines_say_the_same(#[case] file: &str) -> Result<()> {
    let (module, native) = (policy_under_test()?, native_policy()?);
    let story = Story::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(file))?;
    for chapter in &story.chapters {
        for step in &chapter.steps {
            let (one, other) = (said(&module, chapter, step)?, said(&native, chapter, step)?);
            ensure!(one == other, "{}: {}: the module says {one}, the crate {other}", chapter.title, step.title);
        }
    }
    Ok(())
}

/// All that is said to the host.
fn said(policy: &Policy, chapter: &Chapter, step: &Step) -> Result<String> {
    let settings = chapter.settings(step);
    let verdict = policy.validate_settings(&settings)?;
    let call = policy.call("validate", &payload(&chapter.request(step)?, &settings), chapter.cluster()?);
    let answer = call.result.map_err(anyhow::Error::msg).context("no answer")?;
    Ok(format!("{verdict:?} {} {:?} {:?}", String::from_utf8(answer)?, call.lookups, call.logs))
}
