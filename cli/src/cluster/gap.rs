//! Gaps: things that a verdict depends on, and that are not known.

use std::fmt;

use node_placement_policy::resource::Resource;

use super::{Kind, Owner, kubectl::WRITE_CLUSTER, manifests::Identity};
use crate::lists::{listed, shortened};

/// Something that a verdict depends on and that is not known here: a gap in the input, never a rejection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// The cluster as given lacks this object.
    Object(Kind, String),
    /// Objects of these kinds were not listed, and why.
    Withheld(String, String),
    /// The cluster as given has no Nodes and no NodePools.
    Nodes,
    /// The cluster as given lacks Pods of workloads that have more.
    Pods,
    /// The cluster as given has no objects of this kind, and others depend on such.
    None(Kind),
    /// Objects of one kind can't be judged as they were written down, all for the same reason.
    Unusable(Vec<Identity>, Problem),
    /// Some Pods of a workload are created from an older template, which is not there.
    OlderTemplate(Identity, OlderTemplate),
    /// Whether a request is sent to the policy: a condition can't be evaluated here.
    Delivery(String),
    /// A condition raises an error: which, and what an API server does then.
    Condition(String),
    /// Whether a place accepts a Pod could not be evaluated, and why.
    Place(String),
    /// The policy could not read something.
    Unreadable(String),
}

/// At most this many names of objects with the same problem are listed.
const NAMED: usize = 2;

impl Gap {
    /// Returns what to do about it.
    pub fn advice(&self) -> String {
        match self {
            Self::Object(kind, name) => {
                format!("{self}: add what kubectl get {} {name} -o json prints", kind.plural())
            }
            Self::Nodes => format!("{self}: add what kubectl get nodes -o json prints"),
            Self::Pods => format!("{self}: add what kubectl get pods -A -o json prints"),
            Self::None(_) => {
                format!("{self}: write the cluster down again with all that kubectl get lists: {WRITE_CLUSTER}")
            }
            Self::Withheld(..) => format!("{self}: run it as somebody who may list them"),
            Self::Delivery(_) => format!("{self}: try it in a cluster with mode: monitor and failurePolicy: Ignore"),
            Self::Condition(_) => format!("{self}; ask first whether the field is there, with has(…)"),
            Self::Unusable(..) | Self::OlderTemplate(..) | Self::Place(_) | Self::Unreadable(_) => self.to_string(),
        }
    }
}

/// The reason why an object can't be judged as it was written down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// It has no namespace.
    NoNamespace,
    /// It is a Pod without a `spec`.
    NoSpec,
    /// It is metadata alone.
    MetadataAlone,
    /// It is there more than once, with different contents.
    Contradiction,
    /// Its `apiVersion` is not known.
    Version,
    /// Its `kind` is misspelt: it is written so.
    Misspelt(Kind),
    /// Kubernetes does not have its kind.
    NoSuchKind,
}

/// The older template of a workload, which is not there.
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
    /// The namespace; `None` if the gap is about the whole cluster.
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

/// Words the gap, as a sentence without its end.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(kind, name) => write!(f, "the cluster as given has no {kind} {name}"),
            Self::Nodes => f.write_str("the cluster as given has no Nodes and no NodePools"),
            Self::Pods => f.write_str("the cluster as given lacks Pods of workloads that have more"),
            Self::Withheld(kinds, reason) => write!(f, "the cluster did not list {kinds}: {reason}"),
            // A Pod is found by the name of its Deployment, too.
            Self::None(Kind::Of(Resource::ReplicaSet)) => {
                f.write_str("the cluster as given has no ReplicaSets or Deployments")
            }
            Self::None(kind) => write!(f, "the cluster as given has no {kind}s"),
            Self::Unusable(identities, problem) => match identities.as_slice() {
                [] => Ok(()),
                [identity] => write!(f, "{identity} {}", problem.of(identity)),
                [first, ..] => {
                    let names: Vec<String> = identities.iter().map(|identity| identity.name.clone()).collect();
                    let names = shortened(&names, NAMED).unwrap_or_else(|| listed(&names));
                    write!(f, "{} {}s ({names}): each {}", identities.len(), first.kind, problem.of(first))
                }
            },
            Self::Delivery(reason) => write!(f, "it can't be evaluated here whether the policy is asked: {reason}"),
            Self::Condition(reason) | Self::Place(reason) => f.write_str(reason),
            Self::Unreadable(reason) => write!(f, "the policy can't decide: {reason}"),
            Self::OlderTemplate(identity, older) => write!(f, "{identity} {older}"),
        }
    }
}

impl Problem {
    /// Returns what is wrong with an object, and what to do: `has no namespace; …`.
    pub fn of(&self, identity: &Identity) -> String {
        let (Identity { api_version, kind, .. }, group) = (identity, identity.group());
        match self {
            Self::NoNamespace => "has no namespace; write the one down that it is in".to_owned(),
            Self::NoSpec => "has no spec; list the object as a whole".to_owned(),
            Self::MetadataAlone => "is metadata alone; list the object as a whole".to_owned(),
            Self::Contradiction => "is there more than once, and differently; leave one of them".to_owned(),
            Self::Version => {
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
