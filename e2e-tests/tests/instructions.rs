//! No evaluation takes more instructions than `instructions.tsv` says, unless the table says so too.
//!
//! A case that gets dearer by more than 3 % fails, and so does one that gets cheaper by more than 10 %, so that the
//! table stays true. Every line is a test, named for its case.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    InstructionCounter,
    cost::{Case, cases},
    policy_module,
};
use libtest_mimic::{Failed, Trial};

const TABLE: &str = "instructions.tsv";

pub fn trials() -> Result<Vec<Trial>> {
    let policy = Arc::new(InstructionCounter::load(&policy_module()?)?);
    let trial = |kept: Kept| {
        let policy = policy.clone();
        let name = format!("instructions::{}", kept.case);
        Trial::test(name, move || kept.check(&policy).map_err(|error| Failed::from(format!("{error:#}"))))
    };
    Ok(kept()?.into_iter().map(trial).collect())
}

/// A line of the table.
struct Kept {
    case: Case,
    instructions: u64,
}

impl Kept {
    fn check(&self, policy: &InstructionCounter) -> Result<()> {
        let Self { case, instructions } = self;
        let (call, counted) = case.count(policy);
        case.check(&call, case.mutates)?;
        let bounds = instructions * 90 / 100..=instructions * 103 / 100;
        let percent = 100.0 * counted as f64 / *instructions as f64 - 100.0;
        ensure!(
            bounds.contains(&counted),
            "{counted} instructions, {percent:+.1} % against {instructions}. If that is as it must be, the line in \
             e2e-tests/{TABLE} is:\n{counted}\t{case}"
        );
        Ok(())
    }
}

fn kept() -> Result<Vec<Kept>> {
    let table = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE)).context(TABLE)?;
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    ensure!(!lines.is_empty(), "{TABLE} has no lines");
    let mut cases: BTreeMap<String, Case> = cases::all().into_iter().map(|case| (case.to_string(), case)).collect();
    let mut read = |line: &str| -> Result<Kept> {
        let (instructions, name) = line.split_once('\t').context("expected instructions, a tab, and a case")?;
        let case = cases.remove(name).context("`make bench` has no such case, or it stands here twice")?;
        Ok(Kept { case, instructions: instructions.parse()? })
    };
    lines.into_iter().map(|line| read(line).with_context(|| format!("{TABLE}: {line}"))).collect()
}
