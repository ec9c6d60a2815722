use std::io::{IsTerminal, Write, stderr};

use anyhow::Result;
use e2e_tests::{
    Manifests, Policy, SettingsFile,
    preview::{Preview, Tally, Verdict, lines, report},
};

/// With fewer objects, nobody waits.
const WORTH_A_PROGRESS_LINE: usize = 500;

/// Asks the policy about a whole cluster.
pub fn preview(policy: &Policy, file: &SettingsFile, cluster: Manifests, verbose: bool) -> Result<Tally> {
    let is_watched = stderr().is_terminal() && cluster.objects().len() > WORTH_A_PROGRESS_LINE;
    let tally = Preview::new(policy, file, cluster, verbose).run(|done, total| {
        if is_watched {
            eprint!("\r{done} of {total} objects");
            let _ = stderr().flush();
        }
    })?;
    if is_watched {
        eprint!("\r{:40}\r", "");
    }
    Ok(tally)
}

/// For people.
pub fn page(tally: &Tally, file: &SettingsFile, verbose: bool) -> String {
    let conditions = file.deployment.as_ref().map_or(0, |deployment| deployment.match_conditions.len());
    report(tally, conditions, verbose)
}

/// For scripts: a JSON object a line.
pub fn json(tally: &Tally) -> String {
    lines(tally).iter().map(|line| format!("{line}\n")).collect()
}

pub fn rejects(tally: &Tally) -> bool {
    tally.total(Verdict::Rejected) > 0
}
