//! `kubectl node-placement`: what the policy would do, told on the desk.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::commands::main()
}
