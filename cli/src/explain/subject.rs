//! What is explained: a Pod, or a workload that makes Pods, by the name that kubectl has for it.

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1;
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::Value;

use super::fit::Fit;
use crate::{
    cluster::{
        Kind, makes_no_pods,
        manifests::{Identity, Manifests},
        pod_template::is_finished,
    },
    input::json::{list_of, text},
};

/// The kinds that have, or are, Pods, and what kubectl calls them for short.
const KINDS: [(Resource, &str); 9] = [
    (Resource::Pod, "po"),
    (Resource::Deployment, "deploy"),
    (Resource::ReplicaSet, "rs"),
    (Resource::StatefulSet, "sts"),
    (Resource::DaemonSet, "ds"),
    (Resource::Job, "job"),
    (Resource::CronJob, "cj"),
    (Resource::ReplicationController, "rc"),
    (Resource::PodTemplate, "podtemplate"),
];

/// An object by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectName {
    /// What it is.
    pub resource: Resource,
    /// Its name.
    pub name: String,
}

impl SubjectName {
    /// Reads what kubectl takes: `pod/web`, `deployments/web`, `sts/web`, `cronjob.batch/web`, `deployments.v1.apps/web`.
    ///
    /// # Errors
    /// It is not KIND/NAME, or no Pods come from the kind.
    pub fn read(text: &str) -> Result<Self> {
        let Some((kind, name)) = text.split_once('/') else {
            bail!("expected KIND/NAME, such as pod/{text} or deployment/{text}; found {text:?}");
        };
        ensure!(!name.is_empty() && !name.contains('/'), "expected KIND/NAME, with one name; found {text:?}");
        let lower = kind.to_lowercase();
        let is_meant = |(resource, short): &(Resource, &str)| {
            let (name, of_group) = lower.split_once('.').unwrap_or((&lower, resource.group()));
            let of_group = of_group.strip_prefix("v1").map_or(of_group, |group| group.trim_start_matches('.'));
            let names = [resource.kind().to_lowercase().as_str(), resource.plural(), short].contains(&name);
            names && of_group == resource.group()
        };
        let (resource, _) = KINDS.into_iter().find(is_meant).with_context(|| {
            let is_known = makes_no_pods(kind) || makes_no_pods(kind.trim_end_matches('s'));
            if !is_known && !kind.contains('.') {
                return format!(
                    "{text}: how a {kind} makes Pods is not known; explain one of its Pods, or its ReplicaSet or Job"
                );
            }
            let kinds: Vec<String> = KINDS.iter().map(|(resource, _)| resource.kind().to_lowercase()).collect();
            format!("{text}: no Pods come from a {kind}; expected one of {}", kinds.join(", "))
        })?;
        Ok(Self { resource, name: name.to_owned() })
    }
}

/// A Pod, or a workload.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Subject"))]
#[serde(rename_all = "camelCase")]
pub struct ExplainedSubject {
    /// Its kind; null for a Pod that requests nothing, which stands for all others.
    pub kind: Option<String>,
    /// Its name; null for such a Pod.
    pub name: Option<String>,
    /// The node that it runs on; null, if it runs on none.
    pub node: Option<String>,
    /// Why a Pod does not run: it has ended, its node does not exist, or it has scheduling gates. Else null.
    pub not_running: Option<String>,
    /// Whether it is a DaemonSet that fits fewer nodes with the policy.
    #[serde(skip)]
    pub leaves_nodes: bool,
    /// As it is: of a workload, its Pods without the policy.
    pub without_policy: Fit,
    /// As it would be created now.
    pub with_policy: Fit,
}

impl ExplainedSubject {
    /// Returns the subject of this name, before anything is known of where it fits; `object` is what the cluster has of
    /// it.
    pub fn new(name: Option<&SubjectName>, object: Option<&Value>, cluster: &Manifests) -> Self {
        let node = object.and_then(|object| object["spec"]["nodeName"].as_str());
        let not_running = object.and_then(|object| why_it_does_not_run(object, node, cluster));
        Self {
            kind: name.map(|name| name.resource.kind().to_owned()),
            name: name.map(|name| name.name.clone()),
            node: node.filter(|_| not_running.is_none()).map(str::to_owned),
            not_running,
            ..Self::default()
        }
    }

    /// Returns whether it is a Pod of the cluster.
    pub fn is_pod(&self) -> bool {
        self.kind.as_deref() == Some("Pod")
    }

    /// Returns whether it is a Pod that the scheduler looks for a node for.
    pub fn is_waiting(&self) -> bool {
        self.is_pod() && self.node.is_none() && self.not_running.is_none()
    }
}

/// Returns why a Pod that names a node does not run there, or why no scheduler looks at it.
fn why_it_does_not_run(pod: &Value, node: Option<&str>, cluster: &Manifests) -> Option<String> {
    let gates: Vec<&str> = list_of(&pod["spec"]["schedulingGates"]).iter().map(|gate| text(&gate["name"])).collect();
    if !gates.is_empty() {
        return Some(format!("waits while it has spec.schedulingGates: {}", gates.join(", ")));
    }
    let node = node?;
    if is_finished(pod) {
        return Some(format!("has ended ({}); it was on {node}", text(&pod["status"]["phase"])));
    }
    // Without any Node in the cluster as given, this one may exist.
    let is_missing = cluster.all::<v1::Node>().next().is_some() && cluster.node(node).is_none();
    is_missing.then(|| format!("names the node {node}, which does not exist, and does not run"))
}

/// Finds a Namespace, or an object in one.
///
/// # Errors
/// It does not exist, or could not be listed.
pub fn find<'l>(resource: Resource, namespace: Option<&str>, name: &str, cluster: &'l Manifests) -> Result<&'l Value> {
    let identity = Identity::new(resource.api_version(), resource.kind(), namespace, name);
    if let Some(found) = cluster.find(&identity) {
        return Ok(found);
    }
    let kind = Kind::Of(resource);
    if let Some(unlisted) = cluster.unlisted.iter().find(|it| it.kind == kind && !it.is_not_found) {
        let what = if namespace.is_some() { format!("becomes of {identity}") } else { format!("applies in {name}") };
        bail!("what {what} could not be evaluated: {}", unlisted.reason);
    }
    let option = namespace.map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
    bail!("there is no {identity}; kubectl get {}{option} lists those that are there", kind.for_kubectl())
}

#[cfg(test)]
mod tests {
    use super::SubjectName;

    #[rstest::rstest]
    #[case::a_pod("pod/web", "Pod")]
    #[case::a_plural("deployments/web", "Deployment")]
    #[case::a_short_name("sts/web", "StatefulSet")]
    #[case::with_its_group("cronjobs.batch/web", "CronJob")]
    #[case::a_kind("DaemonSet/web", "DaemonSet")]
    fn subjects_are_written_as_for_kubectl(#[case] written: &str, #[case] kind: &str) {
        assert_eq!(SubjectName::read(written).unwrap().resource.kind(), kind);
    }

    #[rstest::rstest]
    #[case::no_kind("web", "expected KIND/NAME, such as pod/web or deployment/web; found \"web\"")]
    #[case::no_name("pod/", "expected KIND/NAME, with one name; found \"pod/\"")]
    #[case::two_names("pod/a/b", "expected KIND/NAME, with one name; found \"pod/a/b\"")]
    #[case::another_group("deployment.batch/web", "deployment.batch/web: no Pods come from a deployment.batch")]
    #[case::another_kind("service/web", "service/web: no Pods come from a service; expected one of pod, deployment, ")]
    #[case::a_kind_of_somebodys_own(
        "rollout/web",
        "rollout/web: how a rollout makes Pods is not known; explain one of its"
    )]
    fn what_has_no_pods_is_told(#[case] written: &str, #[case] told: &str) {
        assert!(SubjectName::read(written).unwrap_err().to_string().starts_with(told));
    }
}
