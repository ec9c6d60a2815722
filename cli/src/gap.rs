//! What the tool was not given, and an answer depends on.

use std::fmt;

use crate::input::kubectl::WRITE_CLUSTER;

/// Something that an outcome depends on, and that is not known here: a gap in what the tool was given, never a rejection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gap {
    /// An object that the cluster lacks, as `Namespace blue`.
    Object {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// All Nodes and NodePools.
    Nodes,
    /// Pods of a workload that has more than are there.
    Pods,
    /// All objects of a kind: others belong to such, or it could not be listed, and why.
    Kind {
        /// The kind, in the plural: `Deployments`.
        kinds: String,
        /// Why it could not be listed.
        reason: Option<String>,
    },
    /// Whether a request is sent to the policy: a condition that can't be evaluated here.
    Delivery(String),
    /// A condition raises an error: which, and what an API server does then.
    Condition(String),
    /// The policy could not read something.
    Unreadable(String),
}

impl Gap {
    /// An object that the cluster lacks.
    pub fn object(kind: &str, name: &str) -> Self {
        Self::Object { kind: kind.to_owned(), name: name.to_owned() }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            Self::Object { kind, name } => {
                let plural = format!("{}s", kind.to_lowercase()).replace("classs", "classes");
                format!("{self}: add what kubectl get {plural} {name} -o json prints")
            }
            Self::Nodes => format!("{self}: add what kubectl get nodes -o json prints"),
            Self::Pods => format!("{self}: add what kubectl get pods -A -o json prints"),
            Self::Kind { reason: None, .. } => {
                format!("{self}: write the cluster down again with all that kubectl get lists: {WRITE_CLUSTER}")
            }
            Self::Kind { .. } => format!("{self}: run it as somebody who may list them"),
            Self::Delivery(_) => format!("{self}: try it in a cluster with mode: monitor and failurePolicy: Ignore"),
            Self::Condition(_) => format!("{self}; ask first whether the field is there, with has(…)"),
            Self::Unreadable(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { kind, name } => write!(f, "the cluster as given has no {kind} {name}"),
            Self::Nodes => f.write_str("the cluster as given has no Nodes and no NodePools"),
            Self::Pods => f.write_str("the cluster as given lacks Pods of workloads that have more"),
            Self::Kind { kinds, reason: None } => write!(f, "the cluster as given has no {kinds}"),
            Self::Kind { kinds, reason: Some(reason) } => write!(f, "the cluster did not list {kinds}: {reason}"),
            Self::Delivery(reason) => write!(f, "it can't be evaluated here whether the policy is asked: {reason}"),
            Self::Condition(reason) => f.write_str(reason),
            Self::Unreadable(reason) => write!(f, "the policy can't decide: {reason}"),
        }
    }
}
