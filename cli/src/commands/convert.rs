//! The command `convert`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{
    ExitStatus, Format,
    args::{ClusterArgs, EngineArgs, existing, formats},
};
use crate::{
    check::kept_away::exempt_entries,
    convert::{Plugins, Target, write_settings},
    input::documents::yaml_documents,
    output::{printer::Printer, terminal::print_stderr},
    policies::{overrides::Overrides, policy_file::policy_file},
    webhook::settings_file::SettingsFile,
};

/// Turn the configuration of PodNodeSelector and PodTolerationRestriction into settings
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement convert admission-configuration.yml > settings.yml
  kubectl node-placement convert podnodeselector.yml -c cluster.json
  kubectl node-placement convert admission-configuration.yml -o policy > policy.yml

FILE is what --admission-control-config-file of the API server names, or the file of one of the two plugins. Files that
it names are read relative to it. Comments say where placement decides otherwise than the plugin.")]
pub struct Convert {
    /// An AdmissionConfiguration, or the configuration of one plugin; - is the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The output: settings, or the ClusterAdmissionPolicy that they need
    #[arg(short, long, value_parser = formats(&["settings", "policy"]), default_value = "settings", value_name = "FORMAT")]
    output: Format,
    /// Make every entry warn only, and add one that warns for all other namespaces
    #[arg(long)]
    warn: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Convert {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let plugins = Plugins::load(existing(&self.file)?)?;
        let is_standard_input = self.file.as_os_str() == "-";
        let from = if is_standard_input { "the standard input".to_owned() } else { self.file.display().to_string() };
        let (cluster, policy) = (self.cluster.manifests()?, self.engine.policy()?);
        let target = cluster.as_ref().map(|cluster| Target { name: self.cluster.name(), cluster, policy: &policy });
        let mut text = write_settings(&plugins, &from, target.as_ref(), self.warn)?;
        if self.output == Format::Policy {
            text = policy_file(&text, &Overrides::default())?;
            for file in SettingsFile::read_all(yaml_documents(&text)?)? {
                let exempt = file.policy.iter().flat_map(|policy| exempt_entries(&file, policy));
                exempt.for_each(|finding| print_stderr(&format!("warning: {finding}")));
            }
        }
        printer.file(&text);
        Ok(ExitStatus::Accepted)
    }
}
