use std::{
    io::{IsTerminal, Write, stderr},
    path::PathBuf,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::Value;
use terminal_size::{Width, terminal_size};

use super::{
    Format, Outcome,
    input::{AskedCluster, Engine, Settings, read_valid},
};
use crate::{
    input::kubectl::Listed,
    output::paper::Paper,
    preview::{
        Changes, Origin, Preview as Previewed, Verdict, WIDTH, lines, lines_of_changes, page, page_of_changes, report,
        report_of_changes,
    },
};

/// Who waits longer than this wants to see that something happens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Show what the policy would do to a whole cluster
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement preview -s settings.yml
  kubectl node-placement preview -s policy.yml -c cluster.json -o html > preview.html
  kubectl node-placement preview -s new.yml --old old.yml

Without -c, kubectl lists what is in the cluster of your kubeconfig. This writes a cluster down:
  kubectl get namespaces,nodes,pods,deployments,daemonsets,statefulsets,jobs,cronjobs -A -o json > cluster.json")]
pub struct Preview {
    #[command(flatten)]
    settings: Settings,
    /// The current settings: show only what the new ones change
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    #[command(flatten)]
    cluster: AskedCluster,
    /// The output format; json is one object per line
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
    /// Do not cut long lists
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
    Yaml,
    Html,
}

impl Preview {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let progress = Progress::new();
        let policy = self.engine.policy()?;
        let file = self.settings.read(&policy)?;
        let listed = self.cluster.get(|kubectl| kubectl.list_all(|what| progress.tell(what)))?;
        let old = self.old.as_deref().map(|old| read_valid(&policy, old)).transpose()?;
        let keep_names = self.verbose || old.is_some();
        let preview = |file, listed: Listed| {
            let preview = Previewed::new(&policy, file, listed, keep_names);
            preview.run(|done, total| progress.tell(&format!("{done} of {total} objects")))
        };
        let before = old.as_ref().map(|old| preview(old, listed.clone())).transpose()?;
        let tally = preview(&file, listed)?;
        progress.end();
        if let Some(before) = before {
            let changes = Changes::between(&before, &tally);
            match self.output {
                Output::Text => paper.write(report_of_changes(&changes, self.verbose).trim_end()),
                Output::Html => paper.write(page_of_changes(&changes, &self.origin())?.trim_end()),
                Output::Json | Output::Yaml => self.print(lines_of_changes(&changes), paper)?,
            }
            return Ok(if changes.reject() { Outcome::Rejected } else { Outcome::Accepted });
        }
        match self.output {
            Output::Text => paper.write(report(&tally, self.verbose, width()).trim_end()),
            Output::Html => paper.write(page(&tally, &self.origin())?.trim_end()),
            Output::Json | Output::Yaml => self.print(lines(&tally), paper)?,
        }
        Ok(if tally.total(Verdict::Rejected) > 0 { Outcome::Rejected } else { Outcome::Accepted })
    }

    fn origin(&self) -> Origin {
        let old = self.old.as_ref().map(|old| old.display().to_string());
        Origin::now(self.cluster.name(), self.settings.name(), old)
    }

    /// For scripts.
    fn print(&self, lines: Vec<Value>, paper: &mut Paper) -> Result<()> {
        if self.output == Output::Yaml {
            return paper.data(Format::Yaml, &lines.into());
        }
        lines.iter().for_each(|line| paper.write(&line.to_string()));
        Ok(())
    }
}

/// Of the terminal, if there is one.
fn width() -> usize {
    terminal_size().map_or(WIDTH, |(Width(width), _)| usize::from(width))
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
