//! The command `explain`.

use anyhow::{Result, bail};
use clap::Args;
use node_placement_policy::resource::Resource::{
    self, DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet,
};

use super::{
    ExitStatus, Format,
    args::{EngineArgs, LiveClusterArgs, SettingsArgs, formats},
};
use crate::{
    cluster::{
        Kind,
        kubectl::{Kubectl, Query},
        manifests::Manifests,
    },
    explain::{explain, subject::SubjectName},
    output::{explanation, printer::Printer, terminal::Progress},
};

/// Show which rules apply in a namespace, and why one of its Pods waits, is refused, or runs where it runs
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement explain -n team-blue
  kubectl node-placement explain -n team-blue pod/web-5d9c6b7f8-hkq2d
  kubectl node-placement explain -n team-blue deployment/web -s settings.yml
  kubectl node-placement explain -n team-blue -s settings.yml -c cluster.yml -o json

Exit status: 1 if it would be refused now, 2 if the namespace or the object does not exist, or if that could not be
evaluated. Where it would run does not count: without Nodes, that could not be evaluated, and the exit status is 0.")]
pub struct Explain {
    /// The namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: String,
    /// A Pod or a workload of it [default: a Pod without a node selector]
    #[arg(value_name = "KIND/NAME")]
    subject: Option<String>,
    /// As kubectl accepts it: the error says how to write it here
    #[arg(hide = true)]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    cluster: LiveClusterArgs,
    /// The output format
    #[arg(short, long, value_parser = formats(&["text", "json", "yaml"]), default_value = "text", value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Explain {
    pub fn run(&self, printer: &mut Printer) -> Result<ExitStatus> {
        if let (Some(kind), Some(name)) = (&self.subject, &self.name) {
            bail!("expected KIND/NAME; found {kind} {name}: write {kind}/{name}");
        }
        let subject = self.subject.as_deref().map(SubjectName::read).transpose()?;
        let policy = self.engine.policy()?;
        let given = self.settings.read_all(&policy)?;
        let listed = self.cluster.get(|kubectl| self.list(kubectl, subject.as_ref()))?;
        if let Some(gone) = listed.unlisted.iter().find(|unlisted| unlisted.is_not_found) {
            bail!("{}; kubectl get {} lists those that are there", gone.reason, gone.resource);
        }
        let (files, origin) = given.or_deployed(&listed)?;
        let explained = explain(&policy, &files, &listed, &self.namespace, subject.as_ref())?;
        match self.output {
            Format::Text => {
                origin.iter().for_each(|line| printer.write(line));
                explanation::write(&explained, printer);
            }
            format => printer.data(format, &explained)?,
        }
        if explained.is_unknown {
            return Ok(ExitStatus::Mistaken);
        }
        Ok(if explained.is_refused() { ExitStatus::Rejected } else { ExitStatus::Accepted })
    }

    /// Gets the Namespace, the subject with what made it, and all that decides on its places.
    fn list(&self, kubectl: &Kubectl, subject: Option<&SubjectName>) -> Result<Manifests> {
        let namespace = self.namespace.as_str();
        let of = |resource: Resource, arguments| Query { kind: Kind::Of(resource), arguments };
        let mut queries = vec![of(Resource::Namespace, vec![namespace]), Query::all(Kind::Of(Resource::Node))];
        queries.extend([Kind::NodePool, Kind::RuntimeClass].map(Query::all));
        if !self.settings.is_given() {
            queries.push(Query::all(Kind::ClusterAdmissionPolicy));
        }
        if let Some(subject) = subject {
            let related: &[Resource] = match subject.resource {
                // Its owner, and the Deployment of that.
                Resource::Pod => &[ReplicaSet, StatefulSet, DaemonSet, Job, ReplicationController, Deployment],
                // They may still make Pods from an older template.
                Resource::Deployment => &[ReplicaSet],
                Resource::CronJob => &[Job],
                _ => &[],
            };
            queries.push(of(subject.resource, vec![&subject.name, "--namespace", namespace]));
            queries.extend(related.iter().map(|related| of(*related, vec!["--namespace", namespace])));
        }
        let progress = Progress::begin();
        kubectl.get(&queries, |what| progress.update(what))
    }
}
