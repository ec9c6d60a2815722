//! The command `policy`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{ExitStatus, args::existing};
use crate::{
    PolicySpec,
    engine::policy::mistakes,
    input::documents::{of_file, read_text, yaml_documents},
    output::{printer::Printer, terminal::print_stderr},
    policies::{
        backstop::backstop_file, large_objects::only_server_side, overrides::Overrides, policy_file::policy_file,
        twin::twin_file,
    },
    webhook::settings_file::SettingsFile,
};

/// Write the ClusterAdmissionPolicy that settings need
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement policy settings.yml > policy.yml
  kubectl node-placement policy settings.yml --namespaces 'tenant=blue' | kubectl apply -f -
  kubectl node-placement policy policy.yml > new.yml     # after a change of its settings
  kubectl node-placement policy policy.yml --backstop    # keeps Pods on their nodes while no policy-server answers
  kubectl node-placement policy policy.yml --in-process  # lets them start as well (Kubernetes 1.36)

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
    /// Write what --backstop writes and, after it, a MutatingAdmissionPolicy: the API server itself adds the
    /// requiredNodeSelector and defaultTolerations to Pods
    #[arg(long, conflicts_with_all = ["module", "policy_server"])]
    in_process: bool,
}

/// Lists the fields of a policy that a backstop and a twin do not have, or should not, a line for each.
fn fields_not_carried_over(file: &SettingsFile) -> Vec<&'static str> {
    let selector = file.policy.as_ref().map(|policy| &policy.namespace_selector);
    let has_labels = selector.is_some_and(|selector| selector.match_labels.as_ref().is_some_and(|own| !own.is_empty()));
    let mut lines = vec![];
    if file.policy.as_ref().is_some_and(PolicySpec::only_monitors) {
        lines.push(
            "spec.mode: monitor is not carried over: the policy refuses and adds nothing, but what is written does as \
             soon as it is applied",
        );
    }
    if has_labels {
        lines.push("spec.namespaceSelector.matchLabels is not carried over: Kubewarden drops it");
    }
    if file.policy.as_ref().is_some_and(|policy| policy.object_selector != LabelSelector::default()) {
        lines.push(
            "spec.objectSelector is carried over, since the deployed policy has it; users choose the labels of their \
             objects: write the policy anew without it",
        );
    }
    lines
}

/// Returns what is not kept of a policy, such as one that reports, or proves what another one does: a line for each
/// field.
fn fields_not_kept(file: &SettingsFile, overrides: &Overrides) -> Vec<&'static str> {
    let Some(policy) = &file.policy else { return vec![] };
    let mut lines = vec![];
    if policy.mutating == Some(false) && !policy.is_about_nodes() {
        lines.push("spec.mutating: false is not kept: this command writes a policy that enforces, with mutating: true");
    }
    let selector = &policy.namespace_selector;
    if selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        lines.push("spec.namespaceSelector.matchLabels becomes matchExpressions: Kubewarden drops matchLabels");
    }
    if *selector == LabelSelector::default() && overrides.namespaces.is_none() && !policy.is_about_nodes() {
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
        let is_in_process = self.backstop || self.in_process;
        ensure!(
            !(self.backstop && self.in_process),
            "--backstop cannot be used with --in-process, which writes the backstop, too: remove --backstop"
        );
        let files = yaml_documents(&text).and_then(SettingsFile::read_all);
        for file in files.map_err(|error| of_file(&self.settings, error))? {
            let mistakes = mistakes(&file.settings);
            let lines: Vec<String> = mistakes.iter().map(|line| format!("{path}: {line}")).collect();
            ensure!(lines.is_empty(), "{}", lines.join("\nerror: "));
            let lines =
                if is_in_process { fields_not_carried_over(&file) } else { fields_not_kept(&file, &self.overrides) };
            for line in lines {
                print_stderr(&format!("warning: {path}: {line}"));
            }
        }
        let write = match (self.in_process, self.backstop) {
            (true, _) => twin_file,
            (false, true) => backstop_file,
            (false, false) => policy_file,
        };
        let written = write(&text, &self.overrides).with_context(|| path.to_string())?;
        if is_in_process {
            for name in only_server_side(&written)? {
                print_stderr(&format!("warning: {name} is too large for kubectl apply without --server-side"));
            }
        }
        printer.file(&written);
        Ok(ExitStatus::Accepted)
    }
}
