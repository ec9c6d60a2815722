use anyhow::{Result, bail};
use clap::Args;

use super::{Outcome, input::Engine};
use crate::{output::paper::Paper, testing::Ended, tour::tour};

/// Show what the policy does, with requests to a sample cluster
#[derive(Args, Default)]
pub struct Tour {
    /// Show every feature, not only three requests
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    engine: Engine,
}

impl Tour {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let policy = self.engine.policy()?;
        let (suite, after) = tour(self.all)?;
        for test in &suite.tests {
            paper.chapter(&test.name, &test.description, test.settings_as_written());
            for case in &test.cases {
                let answered = match test.run(case, &policy)? {
                    Ended::Answered(answered) => answered,
                    Ended::Invalid(message) => bail!("{}: {}: invalid settings: {message}", test.name, case.name),
                };
                paper.evaluation(&case.name, &answered.request, &answered.evaluation, test.cluster());
                if let Some(pod) = &answered.bound_pod {
                    paper.bound_pod(pod);
                }
                if self.all {
                    paper.gap();
                }
            }
            if !self.all {
                paper.gap();
            }
        }
        paper.write(after.trim_end());
        Ok(Outcome::Accepted)
    }
}
