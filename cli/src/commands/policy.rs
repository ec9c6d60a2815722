//! The command `policy`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{ExitStatus, args::existing};
use crate::{
    engine::policy::mistakes,
    input::documents::{read_text, yaml_documents},
    input::settings_file::SettingsFile,
    output::{printer::Printer, terminal::print_stderr},
    policies::{backstop::backstop_file, overrides::Overrides, policy_file::policy_file},
};

/// Write the ClusterAdmissionPolicy that settings need
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement policy settings.yml > policy.yml
  kubectl node-placement policy settings.yml --namespaces 'tenant=blue' | kubectl apply -f -
  kubectl node-placement policy policy.yml > new.yml     # after a change of its settings
  kubectl node-placement policy policy.yml --backstop    # what holds the fence while no policy-server answers

Review it before you apply it: the comments say why each field is there. Settings that need two policies, because of
another failurePolicy or of onNodes, become two documents. Of a whole policy, its metadata, module, policyServer,
namespaceSelector, mode, message, timeouts, own matchConditions and settings are kept; the rest follows from the
settings.")]
pub struct Policy {
    /// The settings, or a ClusterAdmissionPolicy that has them; - is the standard input
    #[arg(value_name = "SETTINGS")]
    settings: PathBuf,
    #[command(flatten)]
    overrides: Overrides,
    /// Write a ValidatingAdmissionPolicy instead: the API server itself refuses Pods that lack their namespace's
    /// requiredNodeSelector
    #[arg(long, conflicts_with_all = ["module", "policy_server"])]
    backstop: bool,
}

/// What is not kept of a policy, such as one that reports, or proves what another one does: a line for each field.
fn fields_not_kept(file: &SettingsFile) -> Vec<&'static str> {
    let Some(policy) = &file.policy else { return vec![] };
    let mut lines = vec![];
    if policy.mutating == Some(false) && !policy.is_about_nodes() {
        lines.push("spec.mutating: false is not kept: this command writes a policy that enforces, with mutating: true");
    }
    let selector = &policy.namespace_selector;
    if selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        lines.push("spec.namespaceSelector.matchLabels becomes matchExpressions: Kubewarden drops matchLabels");
    }
    if *selector == LabelSelector::default() && !policy.is_about_nodes() {
        lines.push(
            "spec.namespaceSelector is missing: what is written exempts kube-system, kube-node-lease and kubewarden",
        );
    }
    if policy.match_policy.as_deref().is_some_and(|written| written != "Equivalent") {
        lines.push("spec.matchPolicy is not kept: with Exact, requests of other API versions pass by");
    }
    if policy.object_selector != LabelSelector::default() {
        lines.push("spec.objectSelector is not kept: users choose the labels of their objects");
    }
    if policy.background_audit == Some(true) {
        lines.push("spec.backgroundAudit: true is not kept: the audit scanner can't run the rules that are written");
    }
    lines
}

impl Policy {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        let path = self.settings.display();
        let text = read_text(existing(&self.settings)?)?;
        for file in yaml_documents(&text).and_then(SettingsFile::read_all).with_context(|| path.to_string())? {
            let mistakes = mistakes(&file.settings);
            let lines: Vec<String> = mistakes.iter().map(|line| format!("{path}: {line}")).collect();
            ensure!(lines.is_empty(), "{}", lines.join("\nerror: "));
            if !self.backstop {
                for line in fields_not_kept(&file) {
                    print_stderr(&format!("warning: {path}: {line}"));
                }
            }
        }
        let write = if self.backstop { backstop_file } else { policy_file };
        printer.file(&write(&text, &self.overrides).with_context(|| path.to_string())?);
        Ok(ExitStatus::Accepted)
    }
}
