//! The command `preview`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    ExitStatus, Format,
    args::{EngineArgs, Given, LiveClusterArgs, SettingsArgs, formats},
};
use crate::{
    output::{
        preview::{Origin, commands, page, text},
        printer::Printer,
        terminal::{Progress, width},
    },
    preview::{Accepted, PreviewInput},
};

/// Show what the policy would do to a whole cluster
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement preview -s settings.yml
  kubectl node-placement preview -s policy.yml -c cluster.json -o html > preview.html
  kubectl node-placement preview -s new.yml --old deployed
  kubectl node-placement preview -s policy.yml -o commands > replace.sh

Without -c, kubectl lists what is in the cluster of your kubeconfig. This writes a cluster down:
  kubectl get namespaces,nodes,pods,deployments,replicasets,statefulsets,daemonsets,jobs,cronjobs,\\
replicationcontrollers,runtimeclasses,poddisruptionbudgets -A -o json > cluster.json
With Karpenter, add nodepools.

Exit status: 0 if the policy is ready to be enforced, 1 if something is refused, waits, leaves nodes, is misplaced or could
not be evaluated, 2 for a mistake in the input. With --old, 1 if something gets worse. --accept lets Misplaced,
LeavesNodes and, with --old, Opens pass.")]
pub struct Preview {
    #[command(flatten)]
    settings: SettingsArgs,
    /// The current settings, or the word deployed for those of the cluster: show only what the new ones change
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    #[command(flatten)]
    cluster: LiveClusterArgs,
    /// Outcomes that are intended and do not count against the verdict
    #[arg(long, value_parser = accepted(), value_delimiter = ',', value_name = "OUTCOMES", ignore_case = true)]
    accept: Vec<Accepted>,
    /// No nodes are added: where all nodes of a fence have less than is requested of them, Pods wait
    #[arg(long)]
    fixed_nodes: bool,
    /// The output format; commands is a script that replaces Pods that are misplaced
    #[arg(short, long, value_parser = formats(&["text", "json", "yaml", "html", "commands"]), default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// Do not cut long lists
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

fn accepted() -> impl TypedValueParser<Value = Accepted> {
    PossibleValuesParser::new(Accepted::ALL.map(Accepted::name)).try_map(|name| {
        Accepted::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(&name)).ok_or("unknown")
    })
}

impl Preview {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let progress = Progress::begin();
        let policy = self.engine.policy()?;
        let given = self.settings.read_all(&policy)?;
        let old = self.old.as_deref().map(|old| Given::read_old(&policy, old)).transpose()?;
        let cluster = self.cluster.get(|kubectl| kubectl.list_all(|what| progress.update(what)))?;
        let old = old.map(|old| old.or_deployed(&cluster)).transpose()?.map(|(files, _)| files);
        let (files, origin) = given.or_deployed(&cluster)?;
        let (files, old) = (files.as_slice(), old.as_deref());
        let (accepted, fixed_nodes) = (self.accept.as_slice(), self.fixed_nodes);
        let input = PreviewInput { policy: &policy, files, old, cluster: &cluster, accepted, fixed_nodes };
        let told = |done, total| progress.update(&format!("{done} of {total} workloads and namespaces"));
        let preview = input.preview(told)?;
        match self.output {
            Format::Text => {
                origin.iter().for_each(|line| printer.write(line));
                printer.write(text(&preview, width(), self.verbose).trim_end());
            }
            Format::Html => printer.write(page(&preview, &self.origin())?.trim_end()),
            Format::Commands => printer.file(&commands(&preview)),
            format => printer.data(format, &preview)?,
        }
        Ok(if preview.verdict.ready { ExitStatus::Accepted } else { ExitStatus::Rejected })
    }

    fn origin(&self) -> Origin {
        let old = self.old.as_ref().map(|old| old.display().to_string());
        Origin::now(self.cluster.name(), self.settings.name(), old)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use crate::cluster::kubectl::WRITE_CLUSTER;

    #[test]
    fn the_help_writes_a_cluster_down_as_everything_else_does() {
        let help = super::Preview::augment_args(Command::new("preview")).get_after_help().map(ToString::to_string);
        assert!(help.unwrap_or_default().replace("\\\n", "").contains(WRITE_CLUSTER));
    }
}
