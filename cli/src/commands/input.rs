//! What several commands take: the policy, its settings, a cluster.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{
    Manifests, Policy, SettingsFile,
    engine::native,
    input::kubectl::{Kubectl, Listed},
    policies::policy_lint::{Findings, lint},
};

#[derive(Args, Default)]
pub struct Engine {
    /// Run this module of the policy, in place of the policy that is built in
    #[arg(long = "module", value_name = "FILE")]
    module: Option<PathBuf>,
}

impl Engine {
    pub fn policy(&self) -> Result<Policy> {
        let Some(path) = &self.module else { return Ok(Policy::native()) };
        let module = fs::read(there(path)?).with_context(|| path.display().to_string())?;
        Policy::interpreted(&module).with_context(|| path.display().to_string())
    }
}

#[derive(Args)]
pub struct Settings {
    /// The settings: what stands under spec.settings of a policy, or a whole ClusterAdmissionPolicy
    #[arg(short, long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

impl Settings {
    /// The file.
    pub fn name(&self) -> String {
        self.settings.iter().map(|path| path.display().to_string()).collect()
    }

    /// The settings, which are valid. What is to be said about the policy around them goes to the standard error.
    pub fn read(&self, policy: &Policy) -> Result<SettingsFile> {
        let path = self.settings.as_deref().context(
            "no settings: add -s FILE, with what stands under spec.settings of a policy, or a whole \
             ClusterAdmissionPolicy, such as examples/placement.yml",
        )?;
        read_valid(policy, path)
    }
}

/// Settings that are valid; remarks go to the standard error.
pub fn read_valid(policy: &Policy, path: &Path) -> Result<SettingsFile> {
    let file = SettingsFile::load(there(path)?)?;
    let Findings { mistakes, remarks } = findings(policy, &file)?;
    let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("{}: {line}", path.display()));
    ensure!(mistakes.is_empty(), "{}", lines(mistakes).collect::<Vec<_>>().join("\nerror: "));
    lines(remarks).for_each(|line| eprintln!("{line}"));
    Ok(file)
}

/// What is wrong with settings, and with the policy around them.
pub fn findings(policy: &Policy, file: &SettingsFile) -> Result<Findings> {
    let mut findings = match &file.policy {
        Some(deployment) => lint(&file.settings, deployment),
        None => Findings::default(),
    };
    findings.mistakes.splice(0..0, invalid(policy, file)?);
    Ok(findings)
}

/// The mistakes that the policy finds in its settings. It tells all of them in one sentence; the crate that it is made
/// of has them one by one.
fn invalid(policy: &Policy, file: &SettingsFile) -> Result<Vec<String>> {
    let answer = policy.validate_settings(&file.settings)?;
    if answer.valid {
        return Ok(vec![]);
    }
    let message = answer.message.unwrap_or_default();
    let mistakes = native::mistakes(&file.settings);
    Ok(if mistakes.join("; ") == message { mistakes } else { vec![message] })
}

#[derive(Args)]
pub struct Cluster {
    /// The cluster: a file or a folder of manifests, as kubectl get -o json prints them
    #[arg(short, long, value_name = "PATH")]
    pub cluster: Option<PathBuf>,
}

impl Cluster {
    /// What is written down, if something is.
    pub fn manifests(&self) -> Result<Option<Manifests>> {
        let Some(path) = &self.cluster else { return Ok(None) };
        let manifests = Manifests::load(there(path)?)?;
        // What a command leaves that failed; of an empty cluster nothing could be told.
        let mut objects = manifests.objects().iter();
        ensure!(
            objects.any(|object| object.identity.api_version != "policies.kubewarden.io/v1"),
            "{}: expected objects of a cluster, as kubectl get -o json prints them; found none",
            path.display()
        );
        if let [object, others @ ..] = manifests.repeated() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            eprintln!("{}: duplicate objects are ignored: {object}{others}", path.display());
        }
        Ok(Some(manifests))
    }
}

/// A cluster that is written down, or that kubectl asks.
#[derive(Args)]
pub struct AskedCluster {
    #[command(flatten)]
    written: Cluster,
    /// The context of the kubeconfig to use, where there is no -c
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    context: Option<String>,
    /// The kubeconfig to use, where there is no -c
    #[arg(long, value_name = "FILE", conflicts_with = "cluster")]
    kubeconfig: Option<PathBuf>,
}

impl AskedCluster {
    /// What is written down; else what `ask` gets from kubectl.
    pub fn get(&self, ask: impl FnOnce(&Kubectl) -> Result<Listed>) -> Result<Listed> {
        match self.written.manifests()? {
            Some(manifests) => Ok(manifests.into()),
            None => ask(&self.kubectl()),
        }
    }

    /// What a person would call the cluster: the file that is written down, or the context of the kubeconfig.
    pub fn name(&self) -> String {
        if let Some(path) = &self.written.cluster {
            return path.display().to_string();
        }
        self.context
            .clone()
            .or_else(|| self.kubectl().current_context())
            .unwrap_or_else(|| "of the kubeconfig".to_owned())
    }

    fn kubectl(&self) -> Kubectl {
        Kubectl::new(self.context.as_deref(), self.kubeconfig.as_deref())
    }
}

/// Fails, as kubectl does, if a path leads nowhere.
pub fn there(path: &Path) -> Result<&Path> {
    if path.as_os_str() != "-" && !path.exists() {
        bail!("the path {:?} does not exist", path.display().to_string());
    }
    Ok(path)
}
