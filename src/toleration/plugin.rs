//! The in-tree admission plugin `PodTolerationRestriction`: what it makes of a Pod's tolerations.

use std::fmt;

use serde::Deserialize;

use super::cluster_added::of_memory_pressure;
use super::{Merged, Toleration, from_annotation, merge};
use crate::json::strict::{from_object, null_is_default};
use crate::json::{ReadError, StringMap};

/// The annotation of a namespace that holds what is added to its Pods (`NSDefaultTolerations`).
pub const DEFAULTS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";

/// The annotation of a namespace that holds what its Pods may tolerate (`NSWLTolerations`).
pub const WHITELIST_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// How the plugin says that a Pod is rejected; then it says whose whitelist forbids the tolerations.
pub const CONFLICT: &str = "pod tolerations (possibly merged with namespace default tolerations) conflict with its";

/// The plugin's configuration, as it stands in the API server's file: case matters, unknown fields don't.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PluginConfig"))]
#[serde(remote = "Self", default)]
pub struct PluginConfig {
    /// What is added to Pods of namespaces without an annotation.
    #[serde(deserialize_with = "null_is_default")]
    pub default: Vec<Toleration>,
    /// What Pods of namespaces without an annotation may tolerate; empty allows everything.
    #[serde(deserialize_with = "null_is_default")]
    pub whitelist: Vec<Toleration>,
}

from_object!(PluginConfig);

/// What is done with a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// CREATE
    Create,
    /// UPDATE
    Update,
}

/// What the plugin looks at in a request about a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTolerations {
    /// What is done with the Pod.
    pub operation: Operation,
    /// Its `spec.tolerations`.
    pub own: Vec<Toleration>,
    /// Whether its quality of service is `BestEffort`: others tolerate that a node is short of memory.
    pub is_best_effort: bool,
}

/// Whose whitelist it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The namespace's annotation.
    Namespace,
    /// The plugin's configuration.
    Cluster,
}

/// Why a Pod is rejected.
#[derive(Debug)]
pub enum Refusal {
    /// An annotation of the namespace can't be read.
    Malformed {
        /// Its key.
        annotation: &'static str,
        /// What is wrong with it.
        error: ReadError,
    },
    /// The Pod tolerates what the whitelist does not allow, perhaps since it was added.
    Conflict {
        /// Whose whitelist it is.
        scope: Scope,
        /// The first toleration that nothing on it covers.
        toleration: Toleration,
    },
}

/// What becomes of the Pod's tolerations, given the `annotations` of its namespace (`Plugin.Admit`).
///
/// The defaults are only read, and only added, at CREATE. The whitelist is only read if the Pod then tolerates
/// anything; it judges everything, whoever wrote it.
///
/// # Errors
/// An annotation that is needed can't be read, or the whitelist does not allow what results.
pub fn admit(pod: &PodTolerations, annotations: &StringMap<'_>, config: &PluginConfig) -> Result<Merged, Refusal> {
    let mut to_add = match pod.operation {
        Operation::Create => read(annotations, DEFAULTS_ANNOTATION)?.unwrap_or_else(|| config.default.clone()),
        Operation::Update => Vec::new(),
    };
    if !pod.is_best_effort {
        to_add.push(of_memory_pressure());
    }
    // With nothing to add upstream merges nothing, and so drops nothing.
    let merged = if to_add.is_empty() { Merged::nothing(&pod.own) } else { merge(&pod.own, to_add) };
    judge(merged.all(&pod.own), annotations, config)?;
    Ok(merged)
}

/// Checks what a Pod tolerates against its namespace's whitelist (`Plugin.Validate`).
fn judge<'t>(
    tolerations: impl Iterator<Item = &'t Toleration>,
    annotations: &StringMap<'_>,
    config: &PluginConfig,
) -> Result<(), Refusal> {
    let mut tolerations = tolerations.peekable();
    if tolerations.peek().is_none() {
        return Ok(());
    }
    let of_namespace = read(annotations, WHITELIST_ANNOTATION)?;
    let (whitelist, scope) = match &of_namespace {
        Some(whitelist) => (whitelist, Scope::Namespace),
        None => (&config.whitelist, Scope::Cluster),
    };
    match tolerations.find(|toleration| !is_allowed(toleration, whitelist)) {
        Some(toleration) => Err(Refusal::Conflict { scope, toleration: toleration.clone() }),
        None => Ok(()),
    }
}

/// Whether something on the plugin's `whitelist` covers `toleration`; an empty one allows everything
/// (`VerifyAgainstWhitelist`).
pub fn is_allowed(toleration: &Toleration, whitelist: &[Toleration]) -> bool {
    whitelist.is_empty() || whitelist.iter().any(|allowed| allowed.is_superset_of(toleration))
}

/// What the annotation holds, if it is there.
fn read(annotations: &StringMap<'_>, annotation: &'static str) -> Result<Option<Vec<Toleration>>, Refusal> {
    let Some(text) = annotations.get(annotation) else { return Ok(None) };
    match from_annotation(text) {
        Ok(tolerations) => Ok(Some(tolerations)),
        Err(error) => Err(Refusal::Malformed { annotation, error }),
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "namespace",
            Self::Cluster => "cluster",
        })
    }
}

impl fmt::Display for Refusal {
    /// A conflict in the plugin's own words, which stand alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { annotation, error } => {
                write!(f, "annotation {annotation} is not a list of tolerations: {error}")
            }
            Self::Conflict { scope, .. } => write!(f, "{CONFLICT} {scope} whitelist"),
        }
    }
}

impl std::error::Error for Refusal {}
