//! The command `test`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{
    ExitStatus, Format,
    args::{ClusterArgs, EngineArgs, Given, existing, formats},
};
use crate::{
    Manifests, Policy,
    output::{
        printer::Printer,
        terminal::{Progress, print_stderr},
    },
    testing::{
        Report, Suite,
        init::{FirstFile, write_tests},
        report::{CaseResult, lines},
    },
    trial::Trial,
    webhook::deployment::Deployment,
};

/// Test settings against expectations
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement test tests.yml
  kubectl node-placement test tests.yml --junit junit.xml                               # for CI
  kubectl node-placement test --init -s settings.yml -c cluster.json > tests.yml        # a first file

A file has tests, each with settings, a cluster and cases; docs/tool.md describes it. No cluster is asked.

Exit status: 0 if all cases pass, 1 if one fails, 2 for a mistake in a file.")]
pub struct Test {
    /// Files of tests
    #[arg(required_unless_present = "init", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The output format
    #[arg(short, long, value_parser = formats(&["text", "json", "yaml", "junit"]), default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// Write the results for CI systems into this file, beside what is printed
    #[arg(long, value_name = "FILE", conflicts_with = "init")]
    junit: Option<PathBuf>,
    /// Write a first file: one case for each workload, Pod and namespace, as things are now
    #[arg(long, requires = "settings", requires = "cluster", conflicts_with = "files")]
    init: bool,
    /// The settings that --init is about
    #[arg(short, long, value_name = "FILE", requires = "init")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Test {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let policy = self.engine.policy()?;
        if self.init {
            return self.write_first_file(&policy, printer);
        }
        let report = self.report(&policy)?;
        if let Some(path) = &self.junit {
            fs::write(path, report.junit()?).with_context(|| format!("cannot write {}", path.display()))?;
        }
        match self.output {
            Format::Text if report.mistake.is_some() => {}
            Format::Text => write(&report, printer),
            Format::Junit => printer.write(report.junit()?.trim_end()),
            format => printer.data(format, &report.data())?,
        }
        if report.mistake.is_some() {
            return Ok(ExitStatus::Mistaken);
        }
        Ok(if report.failed().next().is_some() { ExitStatus::Rejected } else { ExitStatus::Accepted })
    }

    /// Runs all cases, up to a mistake in a file.
    fn report(&self, policy: &Policy) -> Result<Report> {
        let progress = Progress::begin();
        let mut report = Report::default();
        for path in &self.files {
            match results(path, policy, &progress) {
                Ok(results) => report.results.extend(results),
                // CI systems read the report, and not what is printed beside it.
                Err(error) if self.output == Format::Junit || self.junit.is_some() => {
                    report.mistake = Some(format!("{error:#}"));
                    print_stderr(&format!("error: {error:#}"));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    fn write_first_file(&self, policy: &Policy, printer: &mut Printer) -> Result<ExitStatus> {
        let settings = self.settings.as_deref().context("--init: add -s FILE")?;
        let files = Given::read_old(policy, settings)?.or_deployed(&Manifests::default())?.0;
        let cluster = self.cluster.manifests()?.context("--init: add -c PATH")?;
        let [path] = self.cluster.cluster.as_slice() else {
            bail!("--init: expected one -c, which the tests then name; found {}", self.cluster.cluster.len());
        };
        let progress = Progress::begin();
        let deployment = Deployment::new(policy, &files);
        let trial = Trial { deployment: &deployment, known: &cluster };
        let FirstFile { text, left_out } = write_tests(&trial, [settings, path], |what| progress.update(what))?;
        for line in left_out {
            print_stderr(&format!("warning: left out: {line}"));
        }
        printer.file(&text);
        Ok(ExitStatus::Accepted)
    }
}

fn results(path: &Path, policy: &Policy, progress: &Progress) -> Result<Vec<CaseResult>> {
    let suite = Suite::load(existing(path)?)?;
    let file = path.display().to_string();
    let mut results = vec![];
    for test in &suite.tests {
        for case in &test.cases {
            progress.update(&format!("{file}: {}: {}", test.name, case.name));
            let position = case.position.map(|position| format!(":{position}")).unwrap_or_default();
            let title = || format!("{file}{position}: {}: {}", test.name, case.name);
            let (_, mismatches) = test.check(case, policy).with_context(title)?;
            let (file, test, case) = (file.clone(), test.name.clone(), case.name.clone());
            results.push(CaseResult { file, test, case, passed: mismatches.is_empty(), mismatches });
        }
    }
    Ok(results)
}

fn write(report: &Report, printer: &mut Printer) {
    for result in report.failed() {
        printer.heading(&format!("{}: {}: {}", result.file, result.test, result.case));
        lines(&result.mismatches).iter().for_each(|line| printer.write(&format!("  {line}")));
        printer.gap();
    }
    printer.write(&report.summary());
}
