//! How much linear memory an evaluation needs.

use anyhow::{Context, Result};
use e2e_tests::cost::{Case, KB};
use gag::Gag;

use crate::Contender;

const PAGE: usize = 64 * KB;
/// More than any contender asks for.
const PAGES: usize = 4096;

/// The least linear memory, in bytes, with which the contender still answers as it should.
pub fn needed(contender: &Contender, case: &Case) -> Result<usize> {
    let answer = case.evaluate(&contender.policy).result.ok().context("an answer")?;
    let suffices = |pages: usize| -> Result<bool> {
        let bounded = contender.module.policy(Some(pages * PAGE))?;
        Ok(case.evaluate(&bounded).result.is_ok_and(|bounded| bounded == answer))
    };
    // Who runs out of memory complains there.
    let _quiet = Gag::stderr()?;
    let (mut too_little, mut enough) = (0, PAGES);
    while enough - too_little > 1 {
        let middle = usize::midpoint(too_little, enough);
        match suffices(middle)? {
            true => enough = middle,
            false => too_little = middle,
        }
    }
    Ok(enough * PAGE)
}
