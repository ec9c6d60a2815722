//! Tolerations and taints: read, check, print, and compare them. It knows nothing else of Kubernetes' objects.
//!
//! A [`Toleration`] holds whatever an API object can carry, valid or not: requests arrive before the API server
//! validates them, and annotations are never validated at all. [`Toleration::check`] says what would be refused.
//!
//! Two questions are asked of two tolerations. One [covers](Toleration::covers) another if it tolerates all that the
//! other does: so whitelists allow. They [overlap](Toleration::overlaps) if some taint is tolerated by both: so
//! tolerations are forbidden.

mod resources;
mod strict;

use std::fmt;

use k8s_openapi::api::core::v1;
use serde::{Deserialize, Serialize};

use crate::json::FromObject;

pub use resources::{AboveZero, Resources, is_extended, tolerations_of_extended};
pub use strict::{from_annotation, from_settings};

/// One entry of a Pod's `spec.tolerations`, whatever it says; absent texts are empty.
///
/// ```
/// use node_placement_policy::toleration::{Effect, Toleration};
///
/// let every_value = Toleration::exists("dedicated", Effect::Omitted);
/// let one_value: Toleration = serde_json::from_str(r#"{"key": "dedicated", "value": "gpu"}"#).unwrap();
/// assert!(every_value.covers(&one_value) && !one_value.covers(&every_value));
/// assert!(one_value.overlaps(&every_value));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", from = "FromObject<v1::Toleration>")]
// The schema is that of Kubernetes, with its description.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "v1::Toleration", description = ""))]
pub struct Toleration {
    /// The key of the taints; empty stands for every key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How the values of the taints are compared.
    #[serde(skip_serializing_if = "Operator::is_omitted")]
    pub operator: Operator,
    /// The value of the taints; of no account with [`Operator::Exists`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect of the taints.
    #[serde(skip_serializing_if = "Effect::is_omitted")]
    pub effect: Effect,
    /// For how long a taint of effect `NoExecute` is tolerated; none is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How a toleration compares its value with a taint's (`TolerationOperator`). Of `Lt` and `Gt` Kubernetes knows, but
/// they are off by default (`TaintTolerationComparisonOperators`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "String")]
pub enum Operator {
    /// Absent or empty, which means [`Equal`](Self::Equal).
    #[default]
    #[serde(rename = "")]
    Omitted,
    /// The taint's value is the toleration's.
    Equal,
    /// The taint may have any value.
    Exists,
    /// Another word, which Kubernetes does not know, or refuses as it is configured by default.
    #[serde(untagged)]
    Other(String),
}

/// What a taint does to Pods that don't tolerate it (`TaintEffect`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "String")]
pub enum Effect {
    /// Absent or empty: in a toleration, every effect.
    #[default]
    #[serde(rename = "")]
    Omitted,
    /// Pods are not scheduled there.
    NoSchedule,
    /// Pods are scheduled there if there is no other place.
    PreferNoSchedule,
    /// Pods are neither scheduled there, nor may they stay.
    NoExecute,
    /// Another word, which Kubernetes does not know.
    #[serde(untagged)]
    Other(String),
}

/// As the API server reads one: a field that no toleration has is passed over, `null` is an empty text, and of a field
/// that is repeated the last counts.
impl From<FromObject<v1::Toleration>> for Toleration {
    fn from(FromObject(read): FromObject<v1::Toleration>) -> Self {
        Self {
            key: read.key.unwrap_or_default(),
            operator: read.operator.unwrap_or_default().into(),
            value: read.value.unwrap_or_default(),
            effect: read.effect.unwrap_or_default().into(),
            toleration_seconds: read.toleration_seconds,
        }
    }
}

impl fmt::Display for Toleration {
    /// `key[=value][:effect]`, as taints are written for `kubectl taint`; with `*` for every key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.key.is_empty() { "*" } else { &self.key })?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        let effect = self.effect.as_str();
        if effect.is_empty() { Ok(()) } else { write!(f, ":{effect}") }
    }
}

impl Operator {
    /// As it is written; empty, if it is omitted.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Omitted => "",
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Other(word) => word,
        }
    }

    /// Whether this means that values must be equal.
    pub const fn is_equal(&self) -> bool {
        matches!(self, Self::Omitted | Self::Equal)
    }

    const fn is_omitted(&self) -> bool {
        matches!(self, Self::Omitted)
    }
}

impl From<String> for Operator {
    fn from(word: String) -> Self {
        match word.as_str() {
            "" => Self::Omitted,
            "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            _ => Self::Other(word),
        }
    }
}

impl Effect {
    /// As it is written; empty, if it is omitted.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Omitted => "",
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(word) => word,
        }
    }

    /// Whether a toleration with this effect is one of taints with that `effect`, or of all that have it and more.
    fn includes(&self, effect: &Self) -> bool {
        *self == Self::Omitted || self == effect
    }

    const fn is_omitted(&self) -> bool {
        matches!(self, Self::Omitted)
    }
}

impl From<String> for Effect {
    fn from(word: String) -> Self {
        match word.as_str() {
            "" => Self::Omitted,
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(word),
        }
    }
}

impl Toleration {
    /// The toleration of every taint that has this key and effect, whatever its value.
    pub fn exists(key: &str, effect: Effect) -> Self {
        Self { key: key.to_owned(), operator: Operator::Exists, effect, ..Self::default() }
    }

    /// Whether both are written the same, where an omitted operator is `Equal`.
    pub fn same_as(&self, other: &Self) -> bool {
        equal(&self.key, &other.key)
            && equal(&self.value, &other.value)
            && self.effect == other.effect
            && self.toleration_seconds == other.toleration_seconds
            && (self.operator == other.operator || self.operator.is_equal() && other.operator.is_equal())
    }

    /// Whether this tolerates every taint that `other` does, and for as long; an omitted operator is `Equal` in both.
    ///
    /// An operator that is none of Kubernetes' covers only itself. Upstream: `isSuperset` of `pkg/util/tolerations`.
    pub fn covers(&self, other: &Self) -> bool {
        if !self.effect.includes(&other.effect) || !self.lasts_as_long_as(other) {
            return false;
        }
        let has_the_key = equal(&self.key, &other.key) || self.key.is_empty() && self.operator == Operator::Exists;
        if !has_the_key {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => other.operator.is_equal() && equal(&self.value, &other.value),
            Operator::Exists => true,
            Operator::Other(_) => self.same_as(other),
        }
    }

    /// Whether this holds for at least as many seconds as `other`. They count only with the effect `NoExecute`.
    fn lasts_as_long_as(&self, other: &Self) -> bool {
        match (self.toleration_seconds, other.toleration_seconds) {
            (Some(own), Some(seconds)) if self.effect == Effect::NoExecute => seconds <= own,
            (Some(_), None) => self.effect != Effect::NoExecute,
            _ => true,
        }
    }

    /// Whether a Pod with this tolerates `taint`, for however long (`Toleration.ToleratesTaint`).
    ///
    /// An empty key is every key, with `Equal` too. Comparison operators tolerate nothing: they are off by default.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let has_the_key = self.key.is_empty() || equal(&self.key, &taint.key);
        if !has_the_key || !self.effect.includes(&taint.effect) {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => equal(&self.value, &taint.value),
            Operator::Exists => true,
            Operator::Other(_) => false,
        }
    }

    /// Whether there is a taint that both tolerate, for however long.
    ///
    /// An operator other than `Equal` counts as `Exists`: what it may come to tolerate is not left out.
    pub fn overlaps(&self, other: &Self) -> bool {
        if !self.key.is_empty() && !other.key.is_empty() && !equal(&self.key, &other.key) {
            return false;
        }
        let share_effect = self.effect.includes(&other.effect) || other.effect.includes(&self.effect);
        let both_demand_values = self.operator.is_equal() && other.operator.is_equal();
        share_effect && (!both_demand_values || equal(&self.value, &other.value))
    }
}

/// Whether two keys, or two values, are the same. A thousand may be compared with a thousand, and they differ at their
/// ends, as `dedicated.example.com/a` and `dedicated.example.com/b` do: read from there, the most of a request halves.
fn equal(own: &str, other: &str) -> bool {
    own.len() == other.len() && own.bytes().rev().eq(other.bytes().rev())
}

/// Those of `wanted` that must be appended to `own`, in order: all that nothing [covers](Toleration::covers) by then,
/// neither one of its own nor one that was appended before.
pub fn missing(own: &[Toleration], wanted: Vec<Toleration>) -> Vec<Toleration> {
    let mut missing: Vec<Toleration> = Vec::new();
    for toleration in wanted {
        if !own.iter().chain(&missing).any(|covering| covering.covers(&toleration)) {
            missing.push(toleration);
        }
    }
    missing
}

/// What the keys of taints begin with that tell a condition of the Node which passes: those of Kubernetes itself, of
/// cloud providers, of the Node Readiness Controller, and of the Cluster Autoscaler.
const PASSING_PREFIXES: [&str; 6] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "readiness.k8s.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
];

/// The keys of taints that Karpenter and the Cluster Autoscaler put on Nodes which they start or drain.
const PASSING_KEYS: [&str; 4] = [
    "karpenter.sh/disrupted",
    "karpenter.sh/unregistered",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
];

/// One entry of a Node's `spec.taints`; absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it does to Pods that don't tolerate it.
    pub effect: Effect,
}

impl Taint {
    /// Whether this tells a condition of the Node that passes, such as `node.kubernetes.io/not-ready`. A node that an
    /// autoscaler drains, or that is not ready yet, is still its tenant's node.
    pub fn is_passing(&self) -> bool {
        PASSING_KEYS.contains(&self.key.as_str()) || PASSING_PREFIXES.iter().any(|prefix| self.key.starts_with(prefix))
    }

    /// Whether Pods stay away that don't tolerate this, for as long as somebody wants them to.
    pub fn is_lasting(&self) -> bool {
        self.keeps_pods_away() && !self.is_passing()
    }

    /// Whether Pods stay away that don't tolerate this (`DoNotScheduleTaintsFilterFunc`).
    pub fn keeps_pods_away(&self) -> bool {
        matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
    }
}

impl fmt::Display for Taint {
    /// `key[=value]:Effect`, as for `kubectl taint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect.as_str())
    }
}

/// The first of `taints` that keeps away a Pod with these `tolerations`: its effect is `NoSchedule` or `NoExecute`, and
/// none tolerates it (`FindMatchingUntoleratedTaint`).
pub fn untolerated<'t>(tolerations: &[Toleration], taints: impl IntoIterator<Item = &'t Taint>) -> Option<&'t Taint> {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.into_iter().find(|taint| taint.keeps_pods_away() && !is_tolerated(taint))
}
