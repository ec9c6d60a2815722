//! The resources that the policy has rules for, and their names in requests.

/// A resource that the policy has rules for, by its kind.
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
    /// `v1`
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
    /// `batch/v1`
    CronJob,
}

impl Resource {
    /// Returns all resources.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|known| known.0)
    }

    /// Returns its API group, which is empty for `v1`.
    pub fn group(self) -> &'static str {
        self.names().0
    }

    /// Returns the kind of its objects, as in `Deployment`.
    pub fn kind(self) -> &'static str {
        self.names().1
    }

    /// Returns its name in requests, as in `deployments`.
    pub fn plural(self) -> &'static str {
        self.names().2
    }

    /// Returns the `apiVersion` of its objects. All groups are at their first version.
    pub fn api_version(self) -> &'static str {
        match self.group() {
            "apps" => "apps/v1",
            "batch" => "batch/v1",
            _ => "v1",
        }
    }

    /// Returns whether its objects contain a Pod template.
    pub const fn has_template(self) -> bool {
        !matches!(self, Self::Pod | Self::Binding | Self::Namespace | Self::Node)
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        let known = KNOWN.iter().find(|known| known.0 == self);
        known.map(|(_, group, kind, plural)| (*group, *kind, *plural)).unwrap_or_default()
    }

    /// Returns the resource of `group` with this `name`, which is its plural or its kind. Kubewarden's audit scanner
    /// sends the kind in place of the resource.
    pub fn named(group: &str, name: &str) -> Option<Self> {
        let mut known = KNOWN.iter();
        let (resource, ..) =
            known.find(|(_, known, kind, plural)| *known == group && (*kind == name || *plural == name))?;
        Some(*resource)
    }

    /// Returns the path of the Pod template.
    pub const fn template(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplate => &["template"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        }
    }

    /// Returns the path of the object that contains the Pod template and, if there is one, the selector of the Pods.
    pub const fn spec(self) -> &'static [&'static str] {
        match self {
            Self::PodTemplate => &[],
            Self::CronJob => &["spec", "jobTemplate", "spec"],
            _ => &["spec"],
        }
    }
}

/// The resources, each with its group, its kind, and its name in the plural.
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
