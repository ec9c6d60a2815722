use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Arguments, Outcome};
use crate::output::printer::Printer;

/// The name of the binary, without which shells complete nothing.
const BINARY: &str = "kubectl-node_placement";

/// Print a script that completes commands and flags in a shell
#[derive(Args)]
#[command(after_help = "Examples:
  source <(kubectl-node_placement completion bash)
  kubectl-node_placement completion zsh > \"${fpath[1]}/_kubectl-node_placement\"")]
pub struct Completion {
    shell: Shell,
}

impl Completion {
    pub fn run(&self, printer: &mut Printer) -> Result<Outcome> {
        let mut script = vec![];
        generate(self.shell, &mut Arguments::command().bin_name(BINARY), BINARY, &mut script);
        printer.write(String::from_utf8_lossy(&script).trim_end());
        Ok(Outcome::Accepted)
    }
}
