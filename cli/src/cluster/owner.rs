//! Owners of objects.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Kind, manifests::Identity};

/// The controlling owner of an object, as its reference names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// As in `argoproj.io/v1alpha1`.
    pub api_version: String,
    /// As in `Rollout`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Several finished Pods or Jobs of one kind of owners, whose controller may create more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The number of those beside the newest, which stands for all.
    pub others: usize,
}

impl Owner {
    /// Returns the controlling owner that metadata names.
    pub fn of(metadata: &ObjectMeta) -> Option<Self> {
        let mut references = metadata.owner_references.iter().flatten();
        let OwnerReference { api_version, kind, name, .. } =
            references.find(|reference| reference.controller == Some(true))?.clone();
        Some(Self { api_version, kind, name })
    }

    /// Returns its API group, which is empty for `v1`.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns its kind, if Kubernetes' own controllers create Pods or parts for objects of that kind.
    pub fn workload_kind(&self) -> Option<Kind> {
        Kind::of(&self.api_version, &self.kind).filter(|kind| kind.is_workload())
    }

    /// Returns its identity, where it is in this namespace.
    pub(super) fn identity(&self, namespace: &str) -> Identity {
        Identity::new(&self.api_version, &self.kind, Some(namespace), &self.name)
    }
}

/// `Rollout web`
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
