//! Whom somebody asks about: a Pod, or a workload that makes Pods.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::input::manifests::{Identity, Manifests};

/// The kinds that have, or are, Pods: their API version, kind, resource as kubectl lists it, and short name.
const KINDS: [(&str, &str, &str, &str); 9] = [
    ("v1", "Pod", "pods", "po"),
    ("apps/v1", "Deployment", "deployments.apps", "deploy"),
    ("apps/v1", "ReplicaSet", "replicasets.apps", "rs"),
    ("apps/v1", "StatefulSet", "statefulsets.apps", "sts"),
    ("apps/v1", "DaemonSet", "daemonsets.apps", "ds"),
    ("batch/v1", "Job", "jobs.batch", "job"),
    ("batch/v1", "CronJob", "cronjobs.batch", "cj"),
    ("v1", "ReplicationController", "replicationcontrollers", "rc"),
    ("v1", "PodTemplate", "podtemplates", "podtemplate"),
];

/// An object by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectName {
    api_version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// As kubectl lists it: `deployments.apps`.
    pub resource: &'static str,
    /// Its name.
    pub name: String,
}

impl SubjectName {
    /// Reads what kubectl takes: `pod/web`, `deployments/web`, `sts/web`, `cronjob.batch/web`, `deployments.v1.apps/web`.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(written: &str) -> Result<Self> {
        let Some((written_kind, name)) = written.split_once('/') else {
            bail!("expected KIND/NAME, such as pod/{written} or deployment/{written}; found {written:?}");
        };
        ensure!(!name.is_empty() && !name.contains('/'), "expected KIND/NAME, with one name; found {written:?}");
        let lower = written_kind.to_lowercase();
        let is_meant = |(_, kind, resource, short): &(&str, &str, &str, &str)| {
            let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
            let (name, of_group) = lower.split_once('.').unwrap_or((&lower, group));
            let of_group = of_group.strip_prefix("v1").map_or(of_group, |group| group.trim_start_matches('.'));
            [kind.to_lowercase().as_str(), plural, short].contains(&name) && of_group == group
        };
        let (api_version, kind, resource, _) = KINDS.into_iter().find(is_meant).with_context(|| {
            let kinds: Vec<String> = KINDS.iter().map(|(_, kind, ..)| kind.to_lowercase()).collect();
            format!("{written}: no Pods come from a {written_kind}; expected one of {}", kinds.join(", "))
        })?;
        Ok(Self { api_version, kind, resource, name: name.to_owned() })
    }

    /// The object in a cluster.
    ///
    /// # Errors
    /// It is not there.
    pub fn find<'c>(&self, namespace: &str, cluster: &'c Manifests) -> Result<&'c Value> {
        let identity = Identity::new(self.api_version, self.kind, Some(namespace), &self.name);
        cluster.find(&identity).with_context(|| {
            format!("there is no {identity}; kubectl get {} -n {namespace} lists those that are there", self.resource)
        })
    }
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
        assert_eq!(SubjectName::read(written).unwrap().kind, kind);
    }

    #[rstest::rstest]
    #[case::no_kind("web", "expected KIND/NAME, such as pod/web or deployment/web; found \"web\"")]
    #[case::no_name("pod/", "expected KIND/NAME, with one name; found \"pod/\"")]
    #[case::two_names("pod/a/b", "expected KIND/NAME, with one name; found \"pod/a/b\"")]
    #[case::another_group("deployment.batch/web", "deployment.batch/web: no Pods come from a deployment.batch")]
    #[case::another_kind("service/web", "service/web: no Pods come from a service; expected one of pod, deployment, ")]
    fn what_has_no_pods_is_told(#[case] written: &str, #[case] told: &str) {
        assert!(SubjectName::read(written).unwrap_err().to_string().starts_with(told));
    }
}
