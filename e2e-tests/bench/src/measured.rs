//! Everything that was measured, in one place.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use e2e_tests::{
    GetResourceRequest, InstructionCounter,
    cost::{Case, Family, cases},
};

use crate::{
    Contender,
    contender::{FLOOR, LIMIT, POLICY, TWIN},
    memory, turns,
};

pub struct Measured {
    pub rows: Vec<Row>,
    /// Compiling the module.
    pub compile: Costs,
    /// Bytes of the modules.
    pub size: Costs,
}

/// One case.
pub struct Row {
    pub case: Case,
    pub time: Costs,
    /// The time of the limit, in nanoseconds.
    pub limit: f64,
    pub instructions: Costs,
    pub memory: Costs,
    /// What the policy looked up.
    pub lookups: Vec<GetResourceRequest>,
}

/// One figure of each contender: nanoseconds, instructions or bytes. The typed twin's is not there where it does not take part.
#[derive(Clone, Copy)]
pub struct Costs {
    pub floor: f64,
    pub policy: f64,
    pub twin: Option<f64>,
}

impl Costs {
    pub fn over_floor(&self) -> f64 {
        self.policy / self.floor
    }

    pub fn under_twin(&self) -> Option<f64> {
        self.twin.map(|twin| twin / self.policy)
    }
}

impl Row {
    pub fn over_limit(&self) -> f64 {
        self.time.policy / self.limit
    }
}

impl Measured {
    /// Reads the times, and measures the memory.
    pub fn collect(contenders: &[Contender; 3]) -> Result<Self> {
        let [floor, policy, twin] = contenders;
        let counters = [floor.counter()?, policy.counter()?, twin.counter()?];
        let rows = cases::all().into_iter().map(|case| {
            let name = case.to_string();
            let needed = |contender: &Contender| memory::needed(contender, &case).map(as_f64).context(name.clone());
            let compared = case.family.has_twin();
            Ok(Row {
                time: times(&name, compared)?,
                limit: turns::kept(&name, LIMIT)?,
                instructions: instructions(&counters, &case, compared),
                memory: Costs {
                    floor: needed(floor)?,
                    policy: needed(policy)?,
                    twin: compared.then(|| needed(twin)).transpose()?,
                },
                lookups: policy.check(&case)?.record.lookups,
                case,
            })
        });
        let bytes = |contender: &Contender| as_f64(contender.bytes.len());
        Ok(Self {
            rows: rows.collect::<Result<_>>()?,
            compile: times(COMPILE, true)?,
            size: Costs { floor: bytes(floor), policy: bytes(policy), twin: Some(bytes(twin)) },
        })
    }

    pub fn family(&self, family: Family) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.case.family == family)
    }

    pub fn row(&self, family: Family, size: usize) -> Result<&Row> {
        self.family(family).find(|row| row.case.size == size).with_context(|| format!("no {family:?} of {size}"))
    }
}

/// What criterion calls the compilation of the modules.
pub const COMPILE: &str = "compile";

/// Where criterion leaves its estimates, and [`turns`] the times.
pub fn folder() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("criterion")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn times(case: &str, compared: bool) -> Result<Costs> {
    Ok(Costs {
        floor: turns::kept(case, FLOOR)?,
        policy: turns::kept(case, POLICY)?,
        twin: compared.then(|| turns::kept(case, TWIN)).transpose()?,
    })
}

fn instructions(counters: &[InstructionCounter; 3], case: &Case, compared: bool) -> Costs {
    let [floor, policy, twin] = counters;
    let count = |counter: &InstructionCounter| case.count(counter).1 as f64;
    Costs { floor: count(floor), policy: count(policy), twin: compared.then(|| count(twin)) }
}

pub fn as_f64(count: usize) -> f64 {
    count as f64
}
