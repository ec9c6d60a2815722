//! After the measuring: the report.

use anyhow::Result;
use bench::{Contender, Measured, bounds, report};

fn main() -> Result<()> {
    let contenders = Contender::all()?;
    let [_, policy, _] = &contenders;
    let measured = Measured::collect(&contenders)?;
    let bounds = bounds::all(&measured, policy)?;
    report::write(&measured, &bounds)?;
    println!("{}", report::bounds_table(&bounds));
    println!("Every case: docs/performance-cases.md");
    Ok(())
}
