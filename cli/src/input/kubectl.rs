//! The cluster of the kubeconfig, asked through kubectl: whatever logs in there, logs in here.

use std::{
    env,
    ffi::OsString,
    io::ErrorKind,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};
use node_placement_policy::resource::Resource;

use super::{documents, manifests::Manifests};

/// What the API server and Karpenter read besides, and what a restart has to mind.
const OTHERS: [&str; 3] = ["runtimeclasses.node.k8s.io", NODE_POOLS, "poddisruptionbudgets.policy"];

/// Only a cluster with Karpenter has them.
pub const NODE_POOLS: &str = "nodepools.karpenter.sh";

/// Writes a cluster down as [`Kubectl::list_all`] lists it; nodepools and podtemplates are not in every cluster, or hardly
/// ever. A test holds the help of `preview` to it.
pub const WRITE_CLUSTER: &str = "kubectl get namespaces,nodes,pods,deployments,replicasets,statefulsets,daemonsets,jobs,\
                                 cronjobs,replicationcontrollers,runtimeclasses,poddisruptionbudgets -A -o json > cluster.json";

/// What kubectl calls a resource: `deployments.apps`.
pub fn listed_as(resource: Resource) -> String {
    match resource.group() {
        "" => resource.plural().to_owned(),
        group => format!("{}.{group}", resource.plural()),
    }
}

/// `kubectl`, with the options of a user.
pub struct Kubectl {
    program: OsString,
    options: Vec<OsString>,
}

/// The objects of a cluster that could be listed.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    pub manifests: Manifests,
    /// The resources that could not.
    pub unreadable: Vec<Unreadable>,
}

/// A resource that kubectl may not list, or that the API server does not have.
#[derive(Clone, Debug)]
pub struct Unreadable {
    pub resource: String,
    /// There is none, in contrast to one that may not be read.
    pub is_not_found: bool,
    pub reason: String,
}

/// At most this many queries run at the same time: the API server must not feel it.
const AT_ONCE: usize = 4;

impl Kubectl {
    /// For the cluster of this context and kubeconfig; else for the one that kubectl would ask.
    pub fn new(context: Option<&str>, kubeconfig: Option<&Path>) -> Self {
        let context = context.map(|context| ["--context".into(), context.into()]);
        let kubeconfig = kubeconfig.map(|kubeconfig| ["--kubeconfig".into(), kubeconfig.into()]);
        Self { program: program(), options: context.into_iter().chain(kubeconfig).flatten().collect() }
    }

    /// Lists all that the policy has rules for, and [`OTHERS`], in all namespaces. Bindings can't be listed. `progress`
    /// gets a line for each.
    ///
    /// # Errors
    /// The cluster can't be reached.
    pub fn list_all(&self, progress: impl Fn(&str)) -> Result<Listed> {
        let resources = Resource::all().filter(|resource| *resource != Resource::Binding).map(listed_as);
        let resources: Vec<String> = resources.chain(OTHERS.map(str::to_owned)).collect();
        let queries: Vec<_> = resources.iter().map(|resource| vec![resource.as_str(), "--all-namespaces"]).collect();
        self.get(&queries, progress)
    }

    /// Gets objects: each query is the arguments of a `kubectl get`. `progress` gets a line for each.
    ///
    /// # Errors
    /// The cluster can't be reached.
    pub fn get(&self, queries: &[Vec<&str>], progress: impl Fn(&str)) -> Result<Listed> {
        let (mut objects, mut unreadable) = (vec![], vec![]);
        for batch in queries.chunks(AT_ONCE) {
            let started = batch.iter().map(|arguments| self.start(arguments)).collect::<Result<Vec<Child>>>()?;
            for (arguments, kubectl) in batch.iter().zip(started) {
                let resource = arguments.first().copied().unwrap_or_default();
                progress(&format!("asking the cluster for {resource}"));
                match wait(resource, arguments, kubectl)? {
                    Ok(text) => objects.extend(documents::objects(&text).context("kubectl printed no objects")?.texts),
                    Err(resource) => unreadable.push(resource),
                }
            }
        }
        Ok(Listed { manifests: Manifests::read(objects)?, unreadable })
    }

    /// The context that holds where none is named; a Pod in a cluster has none.
    pub fn current_context(&self) -> Option<String> {
        let mut kubectl = Command::new(&self.program);
        let output =
            kubectl.args(["config", "current-context"]).args(&self.options).stdin(Stdio::null()).output().ok()?;
        let context = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !context.is_empty()).then_some(context)
    }

    fn start(&self, arguments: &[&str]) -> Result<Child> {
        let mut kubectl = Command::new(&self.program);
        kubectl.arg("get").args(arguments).args(["-o", "json"]).args(&self.options);
        kubectl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        kubectl.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound if self.program == KUBECTL => {
                anyhow!("kubectl is not on the PATH: install it, or save the cluster to a file and pass -c FILE")
            }
            _ => anyhow!("{} can't be started: {error}", self.program.display()),
        })
    }
}

const KUBECTL: &str = "kubectl";

/// Returns the kubectl to ask: the one that called this plugin, if it says so (from 1.37 on), else the one on the `PATH`.
fn program() -> OsString {
    env::var_os("KUBECTL_PATH").filter(|path| !path.is_empty()).unwrap_or_else(|| KUBECTL.into())
}

/// Waits for what kubectl prints: objects as JSON, or that they may not be read.
fn wait(resource: &str, arguments: &[&str], kubectl: Child) -> Result<Result<String, Unreadable>> {
    let output = kubectl.wait_with_output().context("kubectl")?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8(output.stdout).context("kubectl printed no text")?));
    }
    let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let failed = format!("kubectl failed with {}", output.status);
    let error = error.lines().last().unwrap_or(&failed);
    // What may not be read is a gap; without a cluster, everything is.
    let is_unknown_kind = error.contains("doesn't have a resource type");
    let is_not_found = error.contains("(NotFound)");
    if (is_unknown_kind || is_not_found) && resource == NODE_POOLS {
        return Ok(Ok(String::new()));
    }
    if !(is_unknown_kind || is_not_found || error.contains("(Forbidden)")) {
        bail!(
            "kubectl get {}: {error}; save the cluster to a file and pass -c FILE, or correct the kubeconfig",
            arguments.join(" ")
        );
    }
    let reason = error.split_once("): ").map_or(error, |(_, reason)| reason);
    let reason = reason.trim_start_matches("error: ").to_owned();
    Ok(Err(Unreadable { resource: resource.to_owned(), is_not_found, reason }))
}

/// Of a file no gaps are known.
impl From<Manifests> for Listed {
    fn from(manifests: Manifests) -> Self {
        Self { manifests, unreadable: vec![] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_written_down_as_it_is_listed() {
        let listed =
            Resource::all().map(Resource::plural).chain(OTHERS.iter().filter_map(|name| name.split('.').next()));
        for name in listed.filter(|name| !["bindings", "podtemplates", "nodepools"].contains(name)) {
            assert!(WRITE_CLUSTER.contains(name), "{name}");
        }
    }
}
