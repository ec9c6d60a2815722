//! The kinds of objects that Pods are made from.

/// A kind of object that holds a Pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// `apps/v1/Deployment`
    Deployment,
    /// `apps/v1/ReplicaSet`
    ReplicaSet,
    /// `apps/v1/StatefulSet`
    StatefulSet,
    /// `apps/v1/DaemonSet`
    DaemonSet,
    /// `batch/v1/Job`
    Job,
    /// `batch/v1/CronJob`, which holds the template of a Job.
    CronJob,
    /// `v1/ReplicationController`
    ReplicationController,
    /// `v1/PodTemplate`, which is little else than a template.
    PodTemplate,
}

impl Workload {
    /// As Kubernetes spells it.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::ReplicationController => "ReplicationController",
            Self::PodTemplate => "PodTemplate",
        }
    }

    /// The path of the Pod template.
    pub const fn template(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplate => &["template"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        }
    }

    /// The path of the object that holds the Pod template, and the selector that finds the Pods, if there is one.
    pub const fn spec(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplate => &[],
            Self::CronJob => &["spec", "jobTemplate", "spec"],
            _ => &["spec"],
        }
    }
}
