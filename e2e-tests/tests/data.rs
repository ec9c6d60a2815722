//! Tests that are data: every case, and every line of a table, is a test that is named for it.
//!
//! `cargo test -p e2e-tests --test cases -- "a label that must not be there"` runs those of one case.

mod case;
mod cases;
#[cfg(feature = "wasm")]
mod engines;
#[cfg(feature = "wasm")]
mod instructions;

use std::process::ExitCode;

use anyhow::Result;
use libtest_mimic::Arguments;

fn main() -> Result<ExitCode> {
    let trials = [
        cases::trials()?,
        #[cfg(feature = "wasm")]
        engines::trials()?,
        #[cfg(feature = "wasm")]
        instructions::trials()?,
    ];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code())
}
