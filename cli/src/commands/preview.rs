use std::{
    io::{IsTerminal, Write, stderr},
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::{
    Outcome,
    input::{AskedCluster, Engine, Settings},
};
use crate::{
    paper::Paper,
    preview::{Preview as Previewed, Verdict, lines, report},
};

/// Who waits longer than this wants to see that something happens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Show what the policy would do to a whole cluster
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement preview -s settings.yml
  kubectl node-placement preview -s policy.yml -c cluster.json -o json

Without -c, kubectl lists what is in the cluster of your kubeconfig. This writes a cluster down:
  kubectl get namespaces,nodes,pods,deployments,daemonsets,statefulsets,jobs,cronjobs -A -o json > cluster.json")]
pub struct Preview {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    cluster: AskedCluster,
    /// How it is printed; json is one object a line
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
    /// Leave nothing out
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    engine: Engine,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    #[default]
    Text,
    Json,
}

impl Preview {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let progress = Progress::new();
        let policy = self.engine.policy()?;
        let file = self.settings.read(&policy)?;
        let listed = self.cluster.get(|kubectl| kubectl.list_all(|what| progress.tell(what)))?;
        let tally = Previewed::new(&policy, &file, listed, self.verbose)
            .run(|done, total| progress.tell(&format!("{done} of {total} objects")))?;
        progress.end();
        match self.output {
            Output::Text => paper.write(report(&tally, self.verbose).trim_end()),
            Output::Json => lines(&tally).iter().for_each(|line| paper.write(&line.to_string())),
        }
        Ok(if tally.total(Verdict::Rejected) > 0 { Outcome::Rejected } else { Outcome::Accepted })
    }
}

/// A line on the terminal that says how far it is.
struct Progress {
    start: Instant,
    is_watched: bool,
    is_told: Mutex<bool>,
}

impl Progress {
    fn new() -> Self {
        Self { start: Instant::now(), is_watched: stderr().is_terminal(), is_told: Mutex::new(false) }
    }

    fn tell(&self, what: &str) {
        if self.is_watched && self.start.elapsed() > PATIENCE {
            eprint!("\r\x1b[K{what}");
            let _ = stderr().flush();
            self.is_told.lock().map(|mut is_told| *is_told = true).unwrap_or_default();
        }
    }

    fn end(&self) {
        if self.is_told.lock().is_ok_and(|is_told| *is_told) {
            eprint!("\r\x1b[K");
        }
    }
}
