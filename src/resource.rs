//! The resources that the policy has rules for, and the names that requests use for them.

/// A resource that the policy has rules for. Its names are those of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `v1`
    Pod,
    /// `v1`: binds a Pod to a node.
    Binding,
    /// `v1`
    Namespace,
    /// `v1`
    Node,
    /// `v1`, which is little else than a template.
    PodTemplate,
    /// `v1`
    ReplicationController,
    /// `apps/v1`
    Deployment,
    /// `apps/v1`
    ReplicaSet,
    /// `apps/v1`
    StatefulSet,
    /// `apps/v1`
    DaemonSet,
    /// `batch/v1`
    Job,
    /// `batch/v1`, which holds the template of a Job.
    CronJob,
}

impl Resource {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|known| known.0)
    }

    /// Its API group; empty for that of `v1`.
    pub fn group(self) -> &'static str {
        self.names().0
    }

    /// The kind of its objects, as in `Deployment`.
    pub fn kind(self) -> &'static str {
        self.names().1
    }

    /// Its name in requests, as in `deployments`.
    pub fn plural(self) -> &'static str {
        self.names().2
    }

    /// `apiVersion` of its objects. All groups are at their first version.
    pub fn api_version(self) -> &'static str {
        match self.group() {
            "apps" => "apps/v1",
            "batch" => "batch/v1",
            _ => "v1",
        }
    }

    /// Whether its objects hold a Pod template.
    pub const fn has_template(self) -> bool {
        !matches!(self, Self::Pod | Self::Binding | Self::Namespace | Self::Node)
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        let known = KNOWN.iter().find(|known| known.0 == self);
        known.map(|(_, group, kind, plural)| (*group, *kind, *plural)).unwrap_or_default()
    }
}

/// Each with its group, its kind, and its name in the plural.
const KNOWN: [(Resource, &str, &str, &str); 12] = [
    (Resource::Pod, "", "Pod", "pods"),
    (Resource::Binding, "", "Binding", "bindings"),
    (Resource::Namespace, "", "Namespace", "namespaces"),
    (Resource::Node, "", "Node", "nodes"),
    (Resource::PodTemplate, "", "PodTemplate", "podtemplates"),
    (Resource::ReplicationController, "", "ReplicationController", "replicationcontrollers"),
    (Resource::Deployment, "apps", "Deployment", "deployments"),
    (Resource::ReplicaSet, "apps", "ReplicaSet", "replicasets"),
    (Resource::StatefulSet, "apps", "StatefulSet", "statefulsets"),
    (Resource::DaemonSet, "apps", "DaemonSet", "daemonsets"),
    (Resource::Job, "batch", "Job", "jobs"),
    (Resource::CronJob, "batch", "CronJob", "cronjobs"),
];

impl Resource {
    /// The resource of `group` that `name` names, in the plural or by its kind: Kubewarden's audit scanner puts the
    /// kind where the resource belongs.
    pub fn named(group: &str, name: &str) -> Option<Self> {
        let mut known = KNOWN.iter();
        let (resource, ..) =
            known.find(|(_, own, kind, plural)| *own == group && (*kind == name || *plural == name))?;
        Some(*resource)
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
