//! `kubectl node-placement`: what the policy would do, offline.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::commands::main()
}
