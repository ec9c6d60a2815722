//! Whom somebody asks about: a Pod, or a workload that makes Pods.

use anyhow::{Context, Result, bail, ensure};
use node_placement_policy::resource::Resource;

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
    /// It is something else.
    pub fn read(written: &str) -> Result<Self> {
        let Some((written_kind, name)) = written.split_once('/') else {
            bail!("expected KIND/NAME, such as pod/{written} or deployment/{written}; found {written:?}");
        };
        ensure!(!name.is_empty() && !name.contains('/'), "expected KIND/NAME, with one name; found {written:?}");
        let lower = written_kind.to_lowercase();
        let is_meant = |(resource, short): &(Resource, &str)| {
            let (name, of_group) = lower.split_once('.').unwrap_or((&lower, resource.group()));
            let of_group = of_group.strip_prefix("v1").map_or(of_group, |group| group.trim_start_matches('.'));
            let names = [resource.kind().to_lowercase().as_str(), resource.plural(), short].contains(&name);
            names && of_group == resource.group()
        };
        let (resource, _) = KINDS.into_iter().find(is_meant).with_context(|| {
            let kinds: Vec<String> = KINDS.iter().map(|(resource, _)| resource.kind().to_lowercase()).collect();
            format!("{written}: no Pods come from a {written_kind}; expected one of {}", kinds.join(", "))
        })?;
        Ok(Self { resource, name: name.to_owned() })
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
        assert_eq!(SubjectName::read(written).unwrap().resource.kind(), kind);
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
