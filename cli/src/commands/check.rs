use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::{
    Format, Outcome,
    input::{Engine, findings, there},
};
use crate::{SettingsFile, output::paper::Paper, policies::policy_lint::Findings};

/// Find mistakes in settings, and in the policy around them
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement check settings.yml
  kubectl node-placement check policy.yml -o json

A mistake ends with exit status 2. A remark may be what you want, and ends with 0.")]
pub struct Check {
    /// The settings, or ClusterAdmissionPolicies; - is the standard input
    #[arg(value_name = "SETTINGS")]
    settings: PathBuf,
    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: Engine,
}

impl Check {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let policy = self.engine.policy()?;
        let files = SettingsFile::load_all(there(&self.settings)?)?;
        let mut found = Findings::default();
        for file in &files {
            let Findings { mistakes, remarks } = findings(&policy, file)?;
            let named = |line: String| match &file.name {
                Some(name) if files.len() > 1 => format!("{name}: {line}"),
                _ => line,
            };
            found.mistakes.extend(mistakes.into_iter().map(named));
            found.remarks.extend(remarks.into_iter().map(named));
        }
        self.tell(&found, files.iter().any(|file| file.policy.is_some()), paper)?;
        Ok(if found.mistakes.is_empty() { Outcome::Accepted } else { Outcome::Mistaken })
    }

    fn tell(&self, found: &Findings, is_policy: bool, paper: &mut Paper) -> Result<()> {
        let Findings { mistakes, remarks } = found;
        if self.output != Format::Text {
            return paper.data(self.output, &json!({ "mistakes": mistakes, "remarks": remarks }));
        }
        let path = self.settings.display();
        mistakes.iter().for_each(|line| eprintln!("error: {path}: {line}"));
        if mistakes.is_empty() {
            let what = if is_policy { "no mistakes in the policy and its settings" } else { "the settings are valid" };
            paper.write(&format!("{path}: {what}"));
        }
        remarks.iter().for_each(|line| paper.write(&format!("{path}: {line}")));
        Ok(())
    }
}
