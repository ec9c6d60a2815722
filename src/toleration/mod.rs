//! Tolerations and taints: read, check, print, and compare them. It knows nothing else of Kubernetes' objects.
//!
//! A [`Toleration`] holds whatever an API object can carry, valid or not: requests arrive before the API server
//! validates them, and annotations are never validated at all. [`Toleration::check`] says what would be refused.
//!
//! Two questions are asked of two tolerations. One [covers](Toleration::covers) another if it tolerates all that the
//! other does: so whitelists allow. They [overlap](Toleration::overlaps) if some taint is tolerated by both: so
//! tolerations are forbidden.

mod check;
mod compare;
mod resources;
mod strict;
mod taint;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::null_is_default;

pub use compare::missing;
pub use resources::{AboveZero, Resources, is_extended, tolerations_of_extended};
pub use strict::{from_annotation, from_settings};
pub use taint::{Taint, untolerated};

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
#[serde(default, rename_all = "camelCase")]
// The schema is that of Kubernetes, with its description.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "k8s_openapi::api::core::v1::Toleration", description = ""))]
pub struct Toleration {
    /// The key of the taints; empty stands for every key.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How the values of the taints are compared.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Operator::is_omitted")]
    pub operator: Operator,
    /// The value of the taints; of no account with [`Operator::Exists`].
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect of the taints.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Effect::is_omitted")]
    pub effect: Effect,
    /// For how long a taint of effect `NoExecute` is tolerated; none is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How a toleration compares its value with a taint's (`TolerationOperator`). Of `Lt` and `Gt` Kubernetes knows, but
/// they are off by default (`TaintTolerationComparisonOperators`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum Operator {
    /// Absent or empty, which means [`Equal`](Self::Equal).
    #[default]
    Omitted,
    /// The taint's value is the toleration's.
    Equal,
    /// The taint may have any value.
    Exists,
    /// Another word, which Kubernetes does not know, or refuses as it is configured by default.
    Other(String),
}

/// What a taint does to Pods that don't tolerate it (`TaintEffect`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum Effect {
    /// Absent or empty: in a toleration, every effect.
    #[default]
    Omitted,
    /// Pods are not scheduled there.
    NoSchedule,
    /// Pods are scheduled there if there is no other place.
    PreferNoSchedule,
    /// Pods are neither scheduled there, nor may they stay.
    NoExecute,
    /// Another word, which Kubernetes does not know.
    Other(String),
}

impl Toleration {
    /// The toleration of every taint that has this key and effect, whatever its value.
    pub fn exists(key: &str, effect: Effect) -> Self {
        Self { key: key.to_owned(), operator: Operator::Exists, effect, ..Self::default() }
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

impl From<&str> for Operator {
    fn from(word: &str) -> Self {
        match word {
            "" => Self::Omitted,
            "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            _ => Self::Other(word.to_owned()),
        }
    }
}

impl From<String> for Operator {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}

impl From<Operator> for String {
    fn from(operator: Operator) -> Self {
        operator.as_str().to_owned()
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

impl From<&str> for Effect {
    fn from(word: &str) -> Self {
        match word {
            "" => Self::Omitted,
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(word.to_owned()),
        }
    }
}

impl From<String> for Effect {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}

impl From<Effect> for String {
    fn from(effect: Effect) -> Self {
        effect.as_str().to_owned()
    }
}
