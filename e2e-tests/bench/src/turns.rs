//! Times that are comparable though a machine changes its speed from second to second: what is measured takes turns with
//! the same small evaluation of the floor, and its time is told in units of that one's.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use e2e_tests::cost::Case;

use crate::{Contender, contender::FLOOR, measured::folder};

/// So many evaluations in a row, so that caches are as warm as in a server that has nothing else to do.
const TURN: u64 = 10;

/// Where the unit's own time is kept, beside what criterion keeps.
const UNIT: &str = "unit";

pub struct Turns<'a> {
    floor: &'a Contender,
    unit: Case,
    /// Times of the unit, in nanoseconds.
    units: Vec<f64>,
    /// Times of what is measured, in units.
    times: Vec<f64>,
}

impl<'a> Turns<'a> {
    pub fn with(contenders: &'a [Contender], unit: Case) -> Result<Self> {
        let floor = contenders.iter().find(|contender| contender.name == FLOOR).context("no floor")?;
        Ok(Self { floor, unit, units: vec![], times: vec![] })
    }

    /// One sample: the time of as many runs.
    pub fn sample(&mut self, runs: u64, run: impl Fn()) -> Duration {
        let (mut measured, mut unit) = (Duration::ZERO, Duration::ZERO);
        let mut left = runs;
        while left > 0 {
            let turn = left.min(TURN);
            measured += time(turn, &run);
            unit += time(turn, || drop(self.unit.evaluate(&self.floor.policy)));
            left -= turn;
        }
        self.times.push(measured.as_secs_f64() / unit.as_secs_f64());
        self.units.push(unit.as_secs_f64() * 1e9 / runs as f64);
        measured
    }

    /// Keeps the median of the samples since the last time.
    pub fn keep(&mut self, case: &str, contender: &str) -> Result<()> {
        write(&format!("{case}/{contender}"), median(std::mem::take(&mut self.times))?)
    }

    /// Keeps the median of all times of the unit.
    pub fn finish(self) -> Result<()> {
        write(UNIT, median(self.units)?)
    }
}

/// The time of `contender` for `case`, in nanoseconds.
pub fn kept(case: &str, contender: &str) -> Result<f64> {
    Ok(read(&format!("{case}/{contender}"))? * read(UNIT)?)
}

fn time(runs: u64, run: impl Fn()) -> Duration {
    let start = Instant::now();
    for _ in 0..runs {
        run();
    }
    start.elapsed()
}

fn median(mut samples: Vec<f64>) -> Result<f64> {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().context("no samples")
}

fn write(name: &str, figure: f64) -> Result<()> {
    let folder = folder().join(name);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join("in-turns.txt"), figure.to_string())?)
}

fn read(name: &str) -> Result<f64> {
    let file = folder().join(name).join("in-turns.txt");
    let text = fs::read_to_string(&file);
    Ok(text.with_context(|| format!("{} is missing: `make bench` makes it", file.display()))?.parse()?)
}
