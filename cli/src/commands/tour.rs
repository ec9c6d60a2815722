use anyhow::Result;
use clap::Args;

use super::{Outcome, input::Engine};
use crate::{
    output::paper::Paper,
    story::{Story, tour},
};

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
        let Story { chapters, epilogue } = tour(self.all)?;
        for chapter in &chapters {
            paper.chapter(&chapter.title, &chapter.prose, &chapter.settings_as_written);
            let cluster = chapter.cluster()?;
            for (step, request, evaluation) in chapter.evaluate(&policy)? {
                paper.evaluation(&step.title, &request, &evaluation, &cluster);
                if let Some(pod) = step.bound_pod(&evaluation) {
                    paper.bound_pod(&pod);
                }
                if self.all {
                    paper.gap();
                }
            }
            if !self.all {
                paper.gap();
            }
        }
        paper.write(epilogue.trim_end());
        Ok(Outcome::Accepted)
    }
}
