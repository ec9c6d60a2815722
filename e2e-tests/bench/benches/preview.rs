//! The preview of a large cluster: how long it takes, and how much memory.

use std::{
    env, fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Manifests, Policy, SettingsFile,
    generated::{Size, cluster, list},
    preview::{Preview, Verdict},
};

const LARGE: Size = Size { nodes: 500, namespaces: 300, pods: 20_000 };

/// What both jobs have to do with everything.
const SETTINGS: &str = "../fixtures/settings/bindings.yml";

/// A process of its own makes the cluster, so that its memory does not count.
const GENERATE: &str = "generate";

fn main() -> Result<()> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large-cluster.json");
    if env::args().nth(1).as_deref() == Some(GENERATE) {
        return Ok(fs::write(&file, list(&cluster(LARGE)).to_string())?);
    }
    ensure!(Command::new(env::current_exe()?).arg(GENERATE).status()?.success(), "no cluster was made");
    let settings = SettingsFile::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(SETTINGS))?;
    let policy = Policy::native();

    let start = Instant::now();
    let cluster = Manifests::load(&file)?;
    let read = start.elapsed();
    let tally = Preview::new(&policy, &settings, cluster, false).run(|_, _| {})?;
    let asked = start.elapsed();

    let verdicts = [Verdict::Unchanged, Verdict::Changed, Verdict::Rejected, Verdict::Unknown];
    let requests: usize = verdicts.into_iter().map(|verdict| tally.total(verdict)).sum();
    let Size { nodes, namespaces, pods } = LARGE;
    println!("A cluster of {nodes} nodes, {namespaces} namespaces and {pods} Pods, {} MB of JSON", megabytes(&file)?);
    println!("read in {}; {requests} requests answered after {}", seconds(read), seconds(asked));
    println!("at most {} MB of memory", peak_memory()?);
    Ok(())
}

fn megabytes(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file)?.len() / 1_000_000)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Of this process, in megabytes.
fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("the memory is read as Linux tells it")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024 / 1_000_000)
}
