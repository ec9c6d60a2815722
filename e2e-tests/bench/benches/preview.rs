//! The preview of a large cluster: how long it takes, how that grows with the Pods, and how much memory.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Manifests, Policy, SettingsFile,
    generated::{Size, cluster, list},
    preview::PreviewInput,
};

const SMALL: Size = Size { nodes: 500, namespaces: 300, pods: 5_000 };
const LARGE: Size = Size { nodes: 500, namespaces: 300, pods: 20_000 };

/// What both jobs have to do with everything.
const SETTINGS: &str = "../fixtures/settings/bindings.yml";

/// A process of its own makes the cluster, and another previews it, so that memory and time are its own.
const GENERATE: &str = "generate";
const PREVIEW: &str = "preview";

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().collect();
    let size = if arguments.get(2).is_some_and(|size| size == "large") { LARGE } else { SMALL };
    match arguments.get(1).map(String::as_str) {
        Some(GENERATE) => return Ok(fs::write(file(&size), list(&cluster(size)).to_string())?),
        Some(PREVIEW) => return preview(&size),
        _ => {}
    }
    for size in ["small", "large"] {
        for task in [GENERATE, PREVIEW] {
            ensure!(Command::new(env::current_exe()?).args([task, size]).status()?.success(), "{task} {size}");
        }
    }
    println!(
        "Bounds for {} Pods: 8 s of processor time, 1500 MB of memory. The time is linear in the Pods, if each",
        LARGE.pods
    );
    println!("thousand takes no longer in the larger cluster than in the smaller one.");
    Ok(())
}

fn file(size: &Size) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-of-{}.json", size.pods))
}

fn preview(size: &Size) -> Result<()> {
    let files = SettingsFile::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(SETTINGS))?.0;
    let file = file(size);
    let cluster = Manifests::load(&file)?;
    let read = processor_seconds()?;
    let policy = Policy::native();
    let input = PreviewInput {
        policy: &policy,
        files: &files,
        old: None,
        cluster: &cluster,
        accepted: &[],
        fixed_nodes: false,
    };
    let preview = input.preview(|_, _| {})?;
    let Size { nodes, namespaces, pods } = size;
    println!("{nodes} nodes, {namespaces} namespaces and {pods} Pods, {} MB of JSON:", megabytes(&file)?);
    println!("  {} workloads; {}", preview.workloads.len(), preview.verdict.text);
    let seconds = processor_seconds()?;
    let thousands = f64::from(u32::try_from(*pods)?) / 1000.0;
    println!(
        "  {seconds:.1} s of processor time, of which reading is {read:.1}: {:.2} s a thousand Pods",
        seconds / thousands
    );
    println!("  at most {} MB of memory", peak_memory()?);
    Ok(())
}

/// Of this process, in user and kernel mode.
fn processor_seconds() -> Result<f64> {
    /// Linux tells times of processes in hundredths.
    const TICKS: f64 = 100.0;
    let status = fs::read_to_string("/proc/self/stat").context("times are read as Linux tells them")?;
    let (_, after_name) = status.rsplit_once(')').context("no name in /proc/self/stat")?;
    let times = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(times.sum::<Result<f64, _>>()? / TICKS)
}

fn megabytes(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file)?.len() / 1_000_000)
}

/// Of this process, in megabytes.
fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("the memory is read as Linux tells it")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024 / 1_000_000)
}
