//! The kinds of objects that a verdict depends on.

use std::{cmp::Ordering, fmt};

use node_placement_policy::resource::Resource;

/// A kind of objects that the tool reads: one that the policy has rules for, or one that placement depends on besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kind that the policy has rules for.
    Of(Resource),
    /// `policies.kubewarden.io/v1`: a deployed policy.
    ClusterAdmissionPolicy,
    /// `resource.k8s.io/v1`
    DeviceClass,
    /// `karpenter.sh/v1`
    NodePool,
    /// `v1`
    PersistentVolume,
    /// `v1`
    PersistentVolumeClaim,
    /// `policy/v1`
    PodDisruptionBudget,
    /// `scheduling.k8s.io/v1`
    PriorityClass,
    /// `node.k8s.io/v1`
    RuntimeClass,
}

/// The kinds beside those of the policy.
const OTHERS: [Kind; 8] = [
    Kind::ClusterAdmissionPolicy,
    Kind::DeviceClass,
    Kind::NodePool,
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::PodDisruptionBudget,
    Kind::PriorityClass,
    Kind::RuntimeClass,
];

impl Kind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        Resource::all().map(Self::Of).chain(OTHERS)
    }

    /// Returns the kind that an object has; `None` if no verdict depends on it, or if its version is not known.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        Self::all().find(|known| known.name() == kind && known.api_version() == api_version)
    }

    /// Returns the kind of this group and name, whatever its version.
    pub fn of_any_version(group: &str, kind: &str) -> Option<Self> {
        Self::all().find(|known| known.name() == kind && known.group() == group)
    }

    /// Returns its API group, which is empty for `v1`.
    pub fn group(self) -> &'static str {
        self.names().0
    }

    /// Returns `apiVersion` of its objects.
    pub fn api_version(self) -> &'static str {
        self.names().1
    }

    /// Returns `kind` of its objects: `Deployment`.
    pub fn name(self) -> &'static str {
        self.names().2
    }

    /// Returns its name in the plural: `deployments`.
    pub fn plural(self) -> &'static str {
        self.names().3
    }

    /// Returns what kubectl calls it: `deployments.apps`, `pods`.
    pub fn for_kubectl(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Returns whether its objects are in no namespace.
    pub const fn is_cluster_scoped(self) -> bool {
        !matches!(self, Self::PersistentVolumeClaim | Self::PodDisruptionBudget)
            && !matches!(self, Self::Of(resource) if !matches!(resource, Resource::Namespace | Resource::Node))
    }

    /// Returns whether its objects are Pods, or have a controller that creates Pods.
    pub fn makes_pods(self) -> bool {
        self == Self::Of(Resource::Pod) || self.is_workload()
    }

    /// Returns whether its objects have a controller that creates Pods.
    pub fn is_workload(self) -> bool {
        matches!(self, Self::Of(resource) if resource.has_template() && resource != Resource::PodTemplate)
    }

    /// Returns whether a preview is not ready as long as objects of this kind must not be listed.
    pub const fn holds_up_previews(self) -> bool {
        !matches!(
            self,
            Self::Of(Resource::PodTemplate | Resource::Binding)
                | Self::ClusterAdmissionPolicy
                | Self::PersistentVolume
                | Self::PersistentVolumeClaim
                | Self::PodDisruptionBudget
                | Self::PriorityClass
        )
    }

    /// Returns its group, its `apiVersion`, its `kind`, and that in the plural.
    fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Of(resource) => (resource.group(), resource.api_version(), resource.kind(), resource.plural()),
            Self::ClusterAdmissionPolicy => (
                "policies.kubewarden.io",
                "policies.kubewarden.io/v1",
                "ClusterAdmissionPolicy",
                "clusteradmissionpolicies",
            ),
            Self::DeviceClass => ("resource.k8s.io", "resource.k8s.io/v1", "DeviceClass", "deviceclasses"),
            Self::NodePool => ("karpenter.sh", "karpenter.sh/v1", "NodePool", "nodepools"),
            Self::PersistentVolume => ("", "v1", "PersistentVolume", "persistentvolumes"),
            Self::PersistentVolumeClaim => ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
            Self::PodDisruptionBudget => ("policy", "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
            Self::PriorityClass => ("scheduling.k8s.io", "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"),
            Self::RuntimeClass => ("node.k8s.io", "node.k8s.io/v1", "RuntimeClass", "runtimeclasses"),
        }
    }
}

/// Returns the resource of an object of a cluster; `None` if the policy has no rules for it.
pub fn resource_of(api_version: &str, kind: &str) -> Option<Resource> {
    Resource::all().find(|resource| (resource.api_version(), resource.kind()) == (api_version, kind))
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.group(), self.name()).cmp(&(other.group(), other.name()))
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `Deployment`
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_apart_by_its_group() {
        assert_eq!(Kind::of("v1", "Node"), Some(Kind::Of(Resource::Node)));
        assert_eq!(Kind::of("longhorn.io/v1beta2", "Node"), None);
        assert_eq!(Kind::of("karpenter.sh/v1beta1", "NodePool"), None);
        assert_eq!(Kind::of_any_version("karpenter.sh", "NodePool"), Some(Kind::NodePool));
    }

    #[test]
    fn each_kind_is_found_by_its_names() {
        for kind in Kind::all() {
            assert_eq!(Kind::of(kind.api_version(), kind.name()), Some(kind));
            assert!(!kind.plural().is_empty(), "{kind}");
        }
        assert_eq!(Kind::RuntimeClass.for_kubectl(), "runtimeclasses.node.k8s.io");
        assert!(Kind::RuntimeClass.is_cluster_scoped() && !Kind::Of(Resource::Pod).is_cluster_scoped());
    }
}
