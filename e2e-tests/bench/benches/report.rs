//! After the measuring: the report.

use anyhow::Result;
use bench::{Contender, Measured, bounds, report};

fn main() -> Result<()> {
    let contenders = Contender::all()?;
    let [_, policy, _] = &contenders;
    let measured = Measured::collect(&contenders)?;
    let bounds = bounds::all(&measured, policy)?;
    report::write(&measured)?;
    println!("{}\n", report::cases_table(&measured));
    println!("{}\n", report::growth_table(&measured));
    println!("{}", report::bounds_table(&bounds));
    Ok(())
}
