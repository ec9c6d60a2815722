//! The command line: which commands there are, and how they end.
//!
//! Each command has a file, with its flags, and what it prints as text where that is short. Longer texts, and other formats,
//! are in [`output`](crate::output).
//!
//! | modules | what they do |
//! |---|---|
//! | [`tour`] | tells the policy's features by requests, and needs no file |
//! | [`try_manifests`], [`explain`] | what becomes of manifests, and why a Pod may run where it may |
//! | [`preview`] | what becomes of a whole cluster |
//! | [`check`], [`policy`] | what is wrong with settings and their policy; the policy that they need |
//! | [`convert`] | settings out of the configuration of the in-tree plugins |
//! | [`test`] | settings held to expectations |
//! | `args` | the flags that several commands take |

mod args;
mod check;
mod convert;
mod explain;
mod policy;
mod preview;
mod test;
pub mod tour;
mod try_manifests;

use std::process::ExitCode;

use anyhow::Result;
use clap::{ColorChoice, CommandFactory, Parser, Subcommand, error::ErrorKind};
use clap_complete::{Shell, generate};

pub use crate::output::printer::Format;
use crate::output::printer::Printer;
use crate::output::terminal::print_stderr;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    Accepted = 0,
    Rejected = 1,
    Mistaken = 2,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Shows what node-placement-policy would do, before it is deployed.
#[derive(Parser)]
#[command(
    name = "kubectl node-placement",
    bin_name = "kubectl node-placement",
    version,
    disable_help_subcommand = true
)]
#[command(after_help = "Examples:
  kubectl node-placement tour                                # what the policy does, in three requests
  kubectl node-placement preview -s settings.yml             # what it would do to the cluster of your kubeconfig
  kubectl node-placement try pod.yml -s settings.yml         # what it would do to one manifest
  kubectl node-placement policy settings.yml > policy.yml    # the ClusterAdmissionPolicy that the settings need

Exit status: 0 if nothing is refused, 1 if something is, 2 for a mistake in the input.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// When to use colors; auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    Tour(tour::Tour),
    Try(try_manifests::Try),
    Check(check::Check),
    Policy(policy::Policy),
    Explain(explain::Explain),
    Preview(preview::Preview),
    Convert(convert::Convert),
    Test(test::Test),
    /// Print a script that completes commands and flags in a shell
    #[command(after_help = "Examples:
  source <(kubectl-node_placement completion bash)
  kubectl-node_placement completion zsh > \"${fpath[1]}/_kubectl-node_placement\"")]
    Completion {
        shell: Shell,
    },
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let status = match Arguments::try_parse() {
        Ok(arguments) => arguments.run(),
        Err(error) => Ok(refuse(&error)),
    };
    let status = status.unwrap_or_else(|error| {
        print_stderr(&format!("error: {error:#}"));
        ExitStatus::Mistaken
    });
    status.into()
}

/// Prints an error in one line, as kubectl does.
fn refuse(error: &clap::Error) -> ExitStatus {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitStatus::Accepted;
    }
    let text = error.render().to_string();
    let (problem, _) = text.split_once("\nUsage:").or_else(|| text.split_once("\nFor more")).unwrap_or((&text, ""));
    let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
    print_stderr(&format!("{problem}; see kubectl node-placement --help"));
    ExitStatus::Mistaken
}

impl Arguments {
    fn run(self) -> Result<ExitStatus> {
        let mut printer = Printer::new(self.color);
        let status = match self.command.unwrap_or_else(|| Command::Tour(tour::Tour::default())) {
            Command::Tour(tour) => tour.run(&mut printer),
            Command::Try(try_manifests) => try_manifests.run(&mut printer),
            Command::Check(check) => check.run(&mut printer),
            Command::Policy(policy) => policy.run(&mut printer),
            Command::Explain(explain) => explain.run(&mut printer),
            Command::Preview(preview) => preview.run(&mut printer),
            Command::Convert(convert) => convert.run(&mut printer),
            Command::Test(test) => test.run(&mut printer),
            Command::Completion { shell } => Ok(complete(shell, &mut printer)),
        }?;
        printer.print()?;
        Ok(status)
    }
}

/// The name of the binary, without which shells complete nothing.
const BINARY: &str = "kubectl-node_placement";

fn complete(shell: Shell, printer: &mut Printer) -> ExitStatus {
    let mut script = vec![];
    generate(shell, &mut Arguments::command().bin_name(BINARY), BINARY, &mut script);
    printer.write(String::from_utf8_lossy(&script).trim_end());
    ExitStatus::Accepted
}
