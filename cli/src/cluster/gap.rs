//! What a verdict depends on, and what is not known.

use std::fmt;

use super::{Kind, Owner};
use crate::input::manifests::Identity;

/// Something that a verdict depends on and that is not known here: a gap in the input, never a rejection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// The cluster as given lacks this object.
    Object(Kind, String),
    /// The cluster as given has no Nodes and no NodePools.
    Nodes,
    /// The cluster as given lacks Pods of workloads that have more.
    Pods,
    /// The cluster as given has no objects of this kind, and others belong to such.
    Owners(Kind),
    /// Objects of a kind were not listed.
    Withheld(Kind, Withheld),
    /// An object can't be judged as it was written down.
    Unusable(Identity, Problem),
    /// Some Pods of a workload are created from an older template, which is not there.
    OlderTemplate(Identity, OlderTemplate),
}

/// Why objects of a kind were not listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Withheld {
    /// The user may not list them, in the API server's words.
    Forbidden(String),
    /// The API server has no such kind.
    NoSuchKind,
    /// There is no such object.
    NotFound(String),
}

/// Why an object can't be judged as it was written down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// It has no namespace.
    NoNamespace,
    /// It is a Pod without a `spec`.
    NoSpec,
    /// It is metadata alone.
    MetadataAlone,
    /// It stands there more than once, each time with another content.
    Contradiction,
    /// Its `apiVersion` is not known.
    Version,
    /// Its `kind` is misspelt: it is written so.
    Misspelt(Kind),
    /// Kubernetes does not have its kind.
    NoSuchKind,
}

/// Where the older template of a workload is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OlderTemplate {
    /// A StatefulSet creates Pods below its partition from a ControllerRevision of this name.
    Revision(String),
    /// A Deployment is being rolled out, and its older ReplicaSet is not there.
    ReplicaSet,
}

/// A gap, and the namespace that it is about, if it is about one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocatedGap {
    /// The gap.
    pub gap: Gap,
    /// The namespace; nothing, if the gap is about the whole cluster.
    pub namespace: Option<String>,
}

/// An object of a custom kind that contains a Pod template or PodSpec, and that no Pod belongs to. It could not be
/// evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Unjudged {
    /// The object.
    pub owner: Owner,
    /// Its namespace.
    pub namespace: Option<String>,
    /// The PodSpecs that it contains.
    pub specs: Vec<k8s_openapi::api::core::v1::PodSpec>,
}

/// What is lacking, as a sentence without its end.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(kind, name) => write!(f, "the cluster as given has no {kind} {name}"),
            Self::Nodes => f.write_str("the cluster as given has no Nodes and no NodePools"),
            Self::Pods => f.write_str("the cluster as given lacks Pods of workloads that have more"),
            Self::Owners(kind) => write!(f, "the cluster as given has no {}", kind.plural()),
            Self::Withheld(kind, Withheld::Forbidden(reason) | Withheld::NotFound(reason)) => {
                write!(f, "the cluster did not list {}: {reason}", kind.for_kubectl())
            }
            Self::Withheld(kind, Withheld::NoSuchKind) => write!(f, "the cluster has no kind {kind}"),
            Self::Unusable(identity, problem) => write!(f, "{identity} {}", problem.of(identity)),
            Self::OlderTemplate(identity, older) => write!(f, "{identity} {older}"),
        }
    }
}

impl Problem {
    /// Returns what is wrong with an object, and what to do: `has no namespace; …`.
    pub fn of(&self, Identity { api_version, kind, .. }: &Identity) -> String {
        match self {
            Self::NoNamespace => "has no namespace; write the one down that it is in".to_owned(),
            Self::NoSpec => "has no spec; list the object as a whole".to_owned(),
            Self::MetadataAlone => "is metadata alone; list the object as a whole".to_owned(),
            Self::Contradiction => "is there more than once, and differently; leave one of them".to_owned(),
            Self::Version => {
                let group = api_version.split_once('/').map_or("", |(group, _)| group);
                let known = Kind::of_any_version(group, kind).filter(|known| !known.group().is_empty());
                let listed = known.map(|known| format!(", as {}.v1.{group}", known.plural())).unwrap_or_default();
                format!("has apiVersion {api_version}, which is not known; list it anew{listed}")
            }
            Self::Misspelt(known) => format!("has kind {kind}; it is written {known}"),
            Self::NoSuchKind => format!("has kind {kind}, which {api_version} does not have; list it anew"),
        }
    }
}

impl fmt::Display for OlderTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(name) => write!(
                f,
                "makes Pods below its partition from its older revision {name}, which is not looked at; finish its \
                 rollout first"
            ),
            Self::ReplicaSet => {
                f.write_str("is being rolled out, and its older ReplicaSet is not there; list its ReplicaSets too")
            }
        }
    }
}
