//! The command `check`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::{
    ExitStatus, Format,
    args::{EngineArgs, existing, formats},
};
use crate::{
    check::{Lines, check},
    input::documents::read_text,
    output::{printer::Printer, terminal::print_stderr},
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
    #[arg(short, long, value_parser = formats(&["text", "json", "yaml"]), default_value = "text", value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Check {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let policy = self.engine.policy()?;
        let path = self.settings.display();
        let findings = check(&read_text(existing(&self.settings)?)?, &policy).with_context(|| path.to_string())?;
        let lines = Lines::new(&findings, &path.to_string());
        match self.output {
            Format::Text => tell(&path.to_string(), &lines, printer),
            format => printer.data(format, &lines)?,
        }
        if !lines.mistakes.is_empty() {
            return Ok(ExitStatus::Mistaken);
        }
        Ok(if self.strict && !lines.remarks.is_empty() { ExitStatus::Rejected } else { ExitStatus::Accepted })
    }
}

fn tell(path: &str, lines: &Lines, printer: &mut Printer) {
    lines.mistakes.iter().for_each(|line| print_stderr(&format!("error: {line}")));
    if lines.mistakes.is_empty() {
        printer.write(&format!("{path}: no mistakes"));
    }
    lines.remarks.iter().for_each(|line| printer.write(line));
}
