//! Arguments of several commands: the policy, its settings, a cluster.

use std::path::{Path, PathBuf};

#[cfg(feature = "module")]
use anyhow::Context;
use anyhow::{Result, bail, ensure};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::Format;
use crate::{
    Manifests, Policy, PolicySpec, SettingsFile,
    check::obstacles,
    cluster::{Kind, apply, kubectl::Kubectl},
    lists::{counted, listed, shortened},
    output::terminal::print_stderr,
    policies::{overrides::SYSTEM, policy_file::written_policies},
    webhook::settings_file::deployed_policies,
};

#[derive(Args, Default)]
pub struct EngineArgs {
    /// Run this module of the policy, in place of the policy that is built in
    #[cfg(feature = "module")]
    #[arg(long = "module", value_name = "FILE")]
    module: Option<PathBuf>,
}

impl EngineArgs {
    pub fn policy(&self) -> Result<Policy> {
        #[cfg(feature = "module")]
        if let Some(path) = &self.module {
            let module = std::fs::read(existing(path)?).with_context(|| path.display().to_string())?;
            return Policy::interpreted(&module).with_context(|| path.display().to_string());
        }
        Ok(Policy::native())
    }
}

/// Returns a parser of some of the output formats, by their names.
pub fn formats(names: &[&'static str]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(names).map(|name| Format::from_str(&name, false).unwrap_or_default())
}

#[derive(Args)]
pub struct SettingsArgs {
    /// Settings (the content of spec.settings), or a whole ClusterAdmissionPolicy [default: the policies of the cluster]
    #[arg(short, long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

/// The policies of a deployment, as they are given.
pub enum Given {
    /// The policies of a file.
    Policies(Vec<SettingsFile>, PathBuf),
    /// The settings of a file, without a policy.
    Settings(Vec<SettingsFile>, PathBuf),
    /// The policies that the cluster has.
    Deployed,
}

/// The word for the policies that a cluster has.
const DEPLOYED: &str = "deployed";

impl SettingsArgs {
    /// Returns the file.
    pub fn name(&self) -> String {
        self.settings.as_ref().map_or_else(|| DEPLOYED.to_owned(), |path| path.display().to_string())
    }

    /// Returns whether there is a file.
    pub const fn is_given(&self) -> bool {
        self.settings.is_some()
    }

    /// Reads the settings, which are valid: all policies of the file are one deployment.
    pub fn read_all(&self, policy: &Policy) -> Result<Given> {
        let Some(path) = self.settings.as_deref() else { return Ok(Given::Deployed) };
        Ok(Given::new(read_valid_settings(policy, path)?, path))
    }
}

impl Given {
    /// Reads old settings; `deployed` stands for the policies of the cluster.
    pub fn read_old(policy: &Policy, path: &Path) -> Result<Self> {
        if path.as_os_str() == DEPLOYED {
            return Ok(Self::Deployed);
        }
        Ok(Self::new(read_valid_settings(policy, path)?, path))
    }

    fn new(files: Vec<SettingsFile>, path: &Path) -> Self {
        match files.iter().any(|file| file.policy.is_some()) {
            true => Self::Policies(files, path.to_owned()),
            false => Self::Settings(files, path.to_owned()),
        }
    }

    /// Returns the policies; of those that the cluster has also a line that names them. Settings alone become the policies
    /// that `policy` writes for them, and a note says so.
    ///
    /// # Errors
    /// The cluster has none.
    pub fn or_deployed(self, cluster: &Manifests) -> Result<(Vec<SettingsFile>, Option<String>)> {
        match self {
            Self::Policies(files, path) => {
                let mut policies = files.iter().filter_map(|file| file.policy.as_ref());
                if policies.all(PolicySpec::only_monitors) {
                    let now = "nothing is refused or changed yet; this is what enforcing would do";
                    print_stderr(&format!("note: {}: mode: monitor: {now}", path.display()));
                }
                Ok((files, None))
            }
            Self::Settings(files, path) => {
                print_stderr(&format!(
                    "note: {}: settings alone are judged as the policy that kubectl node-placement policy writes for them; it \
                     exempts {}",
                    path.display(),
                    listed(&SYSTEM.map(str::to_owned))
                ));
                let written = files.iter().map(|file| written_policies(&file.settings)).collect::<Result<Vec<_>>>()?;
                Ok((written.concat(), None))
            }
            Self::Deployed => deployed(cluster).map(|(files, line)| (files, Some(line))),
        }
    }
}

/// Returns the policies that a cluster has, and a line that names them.
fn deployed(cluster: &Manifests) -> Result<(Vec<SettingsFile>, String)> {
    let kind = Kind::ClusterAdmissionPolicy;
    let files = deployed_policies(cluster)?;
    if files.is_empty() {
        let unlisted = cluster.unlisted.iter().find(|it| it.kind == kind);
        let why = unlisted.map_or_else(
            || format!("the cluster has no {kind} of this policy"),
            |it| format!("{} could not be listed: {}", it.resource, it.reason),
        );
        bail!(
            "no settings: {why}; add -s FILE, with the content of spec.settings, or a whole ClusterAdmissionPolicy, such as \
             examples/placement.yml"
        );
    }
    let names: Vec<String> = files.iter().filter_map(|file| file.name.clone()).collect();
    let policies = if names.len() == 1 { "policy" } else { "policies" };
    Ok((files, format!("Settings: as deployed, of the {policies} {}", listed(&names))))
}

/// Reads settings that are valid: all policies of a file are one deployment.
pub fn read_valid_settings(policy: &Policy, path: &Path) -> Result<Vec<SettingsFile>> {
    let (files, passed_over) = SettingsFile::load(existing(path)?)?;
    complain_about(&format!("{}: passed over, since it is no policy of this module", path.display()), passed_over);
    let mut lines = vec![];
    for file in &files {
        let (obstacles, others) = obstacles(file, policy)?;
        lines.extend(obstacles.iter().map(|mistake| format!("{}: {mistake}", path.display())));
        others.iter().for_each(|mistake| print_stderr(&format!("warning: {}: {mistake}", path.display())));
    }
    ensure!(lines.is_empty(), "{}", lines.join("\nerror: "));
    Ok(files)
}

#[derive(Args)]
pub struct ClusterArgs {
    /// The cluster: a file or a folder of manifests, as kubectl get -o json prints them; several if needed
    #[arg(short, long, value_name = "PATH")]
    pub cluster: Vec<PathBuf>,
    /// Manifests that count as applied to the cluster; several files if needed
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
}

impl ClusterArgs {
    /// Returns the paths.
    pub fn name(&self) -> String {
        self.cluster.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the objects of the files and folders, if there are some, with the manifests that count as applied.
    pub fn manifests(&self) -> Result<Option<Manifests>> {
        if self.cluster.is_empty() {
            return Ok(None);
        }
        let paths = self.cluster.iter().map(|path| existing(path)).collect::<Result<Vec<_>>>()?;
        let manifests = Manifests::load_all(paths)?;
        // What a command leaves that failed; of an empty cluster nothing could be told.
        let mut objects = manifests.objects().iter();
        ensure!(
            objects.any(|object| object.identity.api_version != Kind::ClusterAdmissionPolicy.api_version()),
            "{}: expected objects of a cluster, as kubectl get -o json prints them; found none",
            self.name()
        );
        let duplicates = manifests.duplicates.iter().map(ToString::to_string).collect();
        complain_about(&format!("{}: duplicate objects are ignored", self.name()), duplicates);
        complain_about("not read, since it is neither JSON nor YAML", shown(&manifests.unread));
        let passed_over = shown(&manifests.passed_over);
        if !passed_over.is_empty() {
            let files = counted(passed_over.len(), "file");
            complain_about(&format!("passed over {files} without a Kubernetes object"), passed_over);
        }
        complain_about("a key stands there twice, and the last one counts", manifests.repeated.to_vec());
        self.applied_to(manifests).map(Some)
    }

    /// Returns a cluster with the manifests that count as applied.
    fn applied_to(&self, cluster: Manifests) -> Result<Manifests> {
        if self.with.is_empty() {
            return Ok(cluster);
        }
        let paths = self.with.iter().map(|path| existing(path)).collect::<Result<Vec<_>>>()?;
        let (cluster, lost) = apply::apply(&cluster, apply::read(paths)?)?;
        complain_about("--with takes elements from lists that the cluster has", lost);
        Ok(cluster)
    }
}

fn shown(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

fn complain_about(problem: &str, names: Vec<String>) {
    if !names.is_empty() {
        print_stderr(&format!("{problem}: {}", shortened(&names, 1).unwrap_or_else(|| listed(&names))));
    }
}

/// A cluster from a file or folder, or else that of the kubeconfig.
#[derive(Args)]
pub struct LiveClusterArgs {
    #[command(flatten)]
    file: ClusterArgs,
    /// The context of the kubeconfig to use, where there is no -c
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    context: Option<String>,
    /// The kubeconfig to use, where there is no -c
    #[arg(long, value_name = "FILE", conflicts_with = "cluster")]
    kubeconfig: Option<PathBuf>,
}

impl LiveClusterArgs {
    /// Returns the objects of the files and folders, with the manifests that count as applied; of no cluster, if there
    /// are none.
    pub fn given(&self) -> Result<Manifests> {
        Ok(self.file.manifests()?.unwrap_or_else(Manifests::partial))
    }

    /// Returns the objects of the file or folder; else what `ask` gets from kubectl.
    pub fn get(&self, ask: impl FnOnce(&Kubectl) -> Result<Manifests>) -> Result<Manifests> {
        match self.file.manifests()? {
            Some(manifests) => Ok(manifests),
            None => self.file.applied_to(ask(&self.kubectl())?),
        }
    }

    /// Returns what people call the cluster: its path, or the context of the kubeconfig.
    pub fn name(&self) -> String {
        if !self.file.cluster.is_empty() {
            return self.file.name();
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
pub fn existing(path: &Path) -> Result<&Path> {
    if path.as_os_str() != "-" && !path.exists() {
        bail!("the path {:?} does not exist", path.display().to_string());
    }
    Ok(path)
}
