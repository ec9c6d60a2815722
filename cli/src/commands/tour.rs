//! The tour: tests that are shown, one case after the other.

use anyhow::{Result, bail};
use clap::Args;

use super::{ExitStatus, args::EngineArgs};
use crate::{
    Manifests,
    input::documents::objects,
    output::printer::Printer,
    testing::{Suite, file::NamedFiles},
};

const SHORT: &str = include_str!("../../tour/short.yml");
const ALL: &str = include_str!("../../tour/all.yml");
const AFTER_SHORT: &str = include_str!("../../tour/short.txt");
const AFTER_ALL: &str = include_str!("../../tour/all.txt");
/// The files that the tour calls `cluster`.
const CLUSTER: [&str; 3] = [
    include_str!("../../tour/cluster/namespaces.yml"),
    include_str!("../../tour/cluster/nodes.yml"),
    include_str!("../../tour/cluster/workloads.yml"),
];

/// Show what the policy does, with requests to a sample cluster
#[derive(Args, Default)]
pub struct Tour {
    /// Show every feature, not only three requests
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Tour {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let policy = self.engine.policy()?;
        let (suite, after) = tour(self.all)?;
        for test in &suite.tests {
            printer.scenario(&test.name, &test.description, &test.settings_as_written);
            for case in &test.cases {
                let answered = test.run(case, &policy)?;
                if let Some(message) = answered.invalid {
                    bail!("{}: {}: invalid settings: {message}", test.name, case.name);
                }
                printer.evaluation(&case.name, &answered.request, &answered.evaluation, test.cluster());
                if let Some(pod) = &answered.bound_pod {
                    printer.bound_pod(pod);
                }
                if self.all {
                    printer.gap();
                }
            }
            if !self.all {
                printer.gap();
            }
        }
        printer.write(after.trim_end());
        Ok(ExitStatus::Accepted)
    }
}

/// Returns the tour in short, or all of it; and what to try next.
///
/// # Errors
/// The built-in files have a mistake, and no test has found it.
pub fn tour(all: bool) -> Result<(Suite, &'static str)> {
    let (text, after) = if all { (ALL, AFTER_ALL) } else { (SHORT, AFTER_SHORT) };
    let objects = CLUSTER.iter().map(|text| Ok(objects(text)?.texts)).collect::<Result<Vec<_>>>()?.concat();
    Ok((Suite::parse(text, "the tour", NamedFiles::built_in("cluster", Manifests::read(objects)?))?, after))
}
