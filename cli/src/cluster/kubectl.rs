//! The cluster of the kubeconfig, asked through kubectl: whatever logs in there, logs in here.

use std::{
    env,
    ffi::OsString,
    io::ErrorKind,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};
use node_placement_policy::resource::Resource;

use super::{
    Kind,
    manifests::{Manifests, Unlisted},
};
use crate::input::documents;

/// Writes a cluster down as [`Kubectl::list_all`] lists it, without what is not in every cluster. A test holds the help of
/// `preview` to it.
pub const WRITE_CLUSTER: &str = "kubectl get namespaces,nodes,pods,deployments,replicasets,statefulsets,daemonsets,jobs,\
                                 cronjobs,replicationcontrollers,runtimeclasses,poddisruptionbudgets -A -o json > cluster.json";

/// A question for `kubectl get`.
pub struct Query<'q> {
    /// The kind of the objects.
    pub kind: Kind,
    /// The arguments behind the kind: a name, `--all-namespaces`.
    pub arguments: Vec<&'q str>,
}

/// `kubectl`, with the options of a user.
pub struct Kubectl {
    program: OsString,
    options: Vec<OsString>,
}

/// At most this many queries run at the same time: the API server must not feel it.
const AT_ONCE: usize = 4;

impl Kubectl {
    /// Makes a kubectl for the cluster of this context and kubeconfig; else for the one that kubectl would ask.
    pub fn new(context: Option<&str>, kubeconfig: Option<&Path>) -> Self {
        let context = context.map(|context| ["--context".into(), context.into()]);
        let kubeconfig = kubeconfig.map(|kubeconfig| ["--kubeconfig".into(), kubeconfig.into()]);
        Self { program: program(), options: context.into_iter().chain(kubeconfig).flatten().collect() }
    }

    /// Lists all that a preview depends on, in all namespaces. `progress` gets a line for each kind.
    ///
    /// # Errors
    /// The cluster can't be reached.
    pub fn list_all(&self, progress: impl Fn(&str)) -> Result<Manifests> {
        let kinds = Kind::all().filter(|kind| *kind != Kind::Of(Resource::Binding));
        let queries: Vec<Query<'_>> = kinds.map(Query::all).collect();
        self.get(&queries, progress)
    }

    /// Gets objects. `progress` gets a line for each kind.
    ///
    /// # Errors
    /// The cluster can't be reached.
    pub fn get(&self, queries: &[Query<'_>], progress: impl Fn(&str)) -> Result<Manifests> {
        let (mut objects, mut unlisted) = (vec![], vec![]);
        for batch in queries.chunks(AT_ONCE) {
            let started = batch.iter().map(|query| self.start(query)).collect::<Result<Vec<Child>>>()?;
            for (query, kubectl) in batch.iter().zip(started) {
                progress(&format!("asking the cluster for {}", query.kind.for_kubectl()));
                let output = kubectl.wait_with_output().context("kubectl")?;
                if output.status.success() {
                    let text = String::from_utf8(output.stdout).context("kubectl printed no text")?;
                    objects.extend(documents::objects(&text).context("kubectl printed no objects")?.texts);
                } else {
                    unlisted.extend(self.unlisted(query, &output)?);
                }
            }
        }
        Ok(Manifests::read(objects)?.lacking(unlisted))
    }

    /// Returns what could not be listed; `None` if the cluster has no such kind.
    fn unlisted(&self, query: &Query<'_>, output: &Output) -> Result<Option<Unlisted>> {
        let Query { kind, arguments } = query;
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let failed = format!("kubectl failed with {}", output.status);
        let error = error.lines().last().unwrap_or(&failed);
        // kubectl prints the reason of the API server's Status: `Error from server (Forbidden): …`.
        let (reason, message) = error
            .split_once(" (")
            .and_then(|(_, rest)| rest.split_once("): "))
            .map_or(("", error), |(reason, message)| (reason, message));
        let names_one = arguments.first().is_some_and(|argument| !argument.starts_with('-'));
        let is_not_found = reason == "NotFound";
        if reason == "Forbidden" || is_not_found && names_one {
            let (resource, reason) = (kind.for_kubectl(), message.to_owned());
            return Ok(Some(Unlisted { kind: *kind, resource, is_not_found, reason }));
        }
        if is_not_found || self.lacks(*kind) {
            return Ok(None);
        }
        let command = [&["kubectl", "get", &kind.for_kubectl()], arguments.as_slice()].concat().join(" ");
        bail!("{command}: {error}; save the cluster to a file and pass -c FILE, or correct the kubeconfig")
    }

    /// Returns whether the cluster is sure to have no such kind.
    fn lacks(&self, kind: Kind) -> bool {
        let mut kubectl = Command::new(&self.program);
        kubectl.arg("api-resources").arg(format!("--api-group={}", kind.group())).args(["-o", "name"]);
        let output = kubectl.args(&self.options).stdin(Stdio::null()).output();
        let lists = |text: &[u8]| String::from_utf8_lossy(text).lines().any(|name| name == kind.for_kubectl());
        output.is_ok_and(|output| output.status.success() && !lists(&output.stdout))
    }

    /// Returns the context that holds where none is named; a Pod in a cluster has none.
    pub fn current_context(&self) -> Option<String> {
        let mut kubectl = Command::new(&self.program);
        let output =
            kubectl.args(["config", "current-context"]).args(&self.options).stdin(Stdio::null()).output().ok()?;
        let context = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !context.is_empty()).then_some(context)
    }

    fn start(&self, Query { kind, arguments }: &Query<'_>) -> Result<Child> {
        let mut kubectl = Command::new(&self.program);
        kubectl.arg("get").arg(kind.for_kubectl()).args(arguments).args(["-o", "json"]);
        if *kind == Kind::Of(Resource::Pod) {
            // They say who wrote spec.nodeName.
            kubectl.arg("--show-managed-fields");
        }
        kubectl.args(&self.options);
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

impl Query<'_> {
    /// Makes the query for all objects of a kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, arguments: if kind.is_cluster_scoped() { vec![] } else { vec!["--all-namespaces"] } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_written_down_as_it_is_listed() {
        let optional = ["bindings", "podtemplates", "nodepools", "clusteradmissionpolicies", "deviceclasses"];
        let volumes = ["persistentvolumes", "persistentvolumeclaims", "priorityclasses"];
        for name in Kind::all().map(Kind::plural).filter(|name| !optional.contains(name) && !volumes.contains(name)) {
            assert!(WRITE_CLUSTER.contains(name), "{name}");
        }
    }
}
