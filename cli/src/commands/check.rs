use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;

use super::{
    Format, Outcome,
    input::{Engine, there},
};
use crate::{
    check::{Line, Report, check},
    input::documents::read_text,
    output::paper::Paper,
};

/// Find mistakes in settings, and in the policy around them
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement check settings.yml
  kubectl node-placement check policy.yml -o json

A mistake ends with exit status 2. A remark may be what you want, and ends with 0; with --strict, with 1.")]
pub struct Check {
    /// The settings, or ClusterAdmissionPolicies; - is the standard input
    #[arg(value_name = "SETTINGS")]
    settings: PathBuf,
    /// End with exit status 1 if there are remarks
    #[arg(long)]
    strict: bool,
    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: Engine,
}

impl Check {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let policy = self.engine.policy()?;
        let path = self.settings.display();
        let report = check(&read_text(there(&self.settings)?)?, &policy).with_context(|| path.to_string())?;
        let lines = |lines: &[Line]| lines.iter().map(|line| format!("{path}:{line}")).collect::<Vec<_>>();
        let (mistakes, remarks) = (lines(&report.mistakes), lines(&report.remarks));
        if self.output == Format::Text {
            tell(&path.to_string(), &report, &mistakes, &remarks, paper);
        } else {
            paper.data(self.output, &json!({ "mistakes": mistakes, "remarks": remarks }))?;
        }
        Ok(match () {
            () if !mistakes.is_empty() => Outcome::Mistaken,
            () if self.strict && !remarks.is_empty() => Outcome::Rejected,
            () => Outcome::Accepted,
        })
    }
}

fn tell(path: &str, report: &Report, mistakes: &[String], remarks: &[String], paper: &mut Paper) {
    mistakes.iter().for_each(|line| eprintln!("error: {line}"));
    if mistakes.is_empty() {
        let what =
            if report.has_policy { "no mistakes in the policy and its settings" } else { "the settings are valid" };
        paper.write(&format!("{path}: {what}"));
    }
    remarks.iter().for_each(|line| paper.write(line));
}
