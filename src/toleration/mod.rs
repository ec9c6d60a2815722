//! Tolerations and taints: read, check, print, and compare them. It knows nothing else of Kubernetes' objects.
//!
//! A [`Toleration`] holds whatever an API object can carry, valid or not: requests arrive before the API server
//! validates them, and annotations are never validated at all. [`Toleration::check`] says what would be refused.
//!
//! Two questions are asked of two tolerations. One [covers](Toleration::covers) another if it tolerates all that the
//! other does: so whitelists allow. They [overlap](Toleration::overlaps) if some taint is tolerated by both: so
//! tolerations are forbidden.

mod list;
mod passing;
mod resources;
mod strict;

use std::fmt;

use k8s_openapi::api::core::v1;
use serde::{Deserialize, Serialize};

use crate::json::null_is_default;

pub use list::{Tolerations, missing, untolerated};
pub use resources::{AboveZero, Resources, is_extended, tolerations_of_extended};
pub use strict::from_annotation;

/// One entry of a Pod's `spec.tolerations`, whatever it says; absent texts are empty. It is read as the settings and
/// annotations of Namespaces have it, where a field that no toleration has is a mistake; as Pods have it, from that of
/// `k8s_openapi`.
///
/// ```
/// use k8s_openapi::api::core::v1;
/// use node_placement_policy::toleration::Toleration;
///
/// let every_value = Toleration::exists("dedicated", "");
/// let one_value: v1::Toleration = serde_json::from_str(r#"{"key": "dedicated", "value": "gpu"}"#).unwrap();
/// let one_value = Toleration::from(one_value);
/// assert!(every_value.covers(&one_value) && !one_value.covers(&every_value));
/// assert!(one_value.overlaps(&every_value));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
// The schema is that of Kubernetes, with its description.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "v1::Toleration", description = ""))]
pub struct Toleration {
    /// The key of the taints; empty stands for every key.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How the values of the taints are compared: [`EQUAL`], which an empty one means too, or [`EXISTS`]. Of `Lt` and
    /// `Gt` Kubernetes knows, but they are off by default (`TaintTolerationComparisonOperators`).
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The value of the taints; of no account with [`EXISTS`].
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect of the taints; empty stands for every effect.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// For how long a taint of effect [`NO_EXECUTE`] is tolerated; none is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// The operator of a toleration of taints that have its value.
pub const EQUAL: &str = "Equal";

/// The operator of a toleration of taints with any value.
pub const EXISTS: &str = "Exists";

/// The effect of a taint that Pods are not scheduled past.
pub const NO_SCHEDULE: &str = "NoSchedule";

/// The effect of a taint that Pods are scheduled past if there is no other place.
pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";

/// The effect of a taint that Pods are neither scheduled past, nor may stay with.
pub const NO_EXECUTE: &str = "NoExecute";

/// As the API server reads one: a field that no toleration has is passed over, `null` is an empty text, and of a field
/// that is repeated the last counts.
impl From<v1::Toleration> for Toleration {
    fn from(read: v1::Toleration) -> Self {
        Self {
            key: read.key.unwrap_or_default(),
            operator: read.operator.unwrap_or_default(),
            value: read.value.unwrap_or_default(),
            effect: read.effect.unwrap_or_default(),
            toleration_seconds: read.toleration_seconds,
        }
    }
}

impl fmt::Display for Toleration {
    /// Writes `key[=value][:effect]`, as taints are written for `kubectl taint`; with `*` for every key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.key.is_empty() { "*" } else { &self.key })?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        if self.effect.is_empty() { Ok(()) } else { write!(f, ":{}", self.effect) }
    }
}

impl Toleration {
    /// Returns the toleration of every taint that has this key and effect, whatever its value.
    pub fn exists(key: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), operator: EXISTS.to_owned(), effect: effect.to_owned(), ..Self::default() }
    }

    /// Returns whether values must be equal.
    pub fn compares_values(&self) -> bool {
        matches!(self.operator.as_str(), "" | EQUAL)
    }

    /// Returns the value that taints must have, or nothing if any will do.
    fn compared_value(&self) -> Option<&str> {
        self.compares_values().then_some(&self.value)
    }

    // In what follows, keys are compared last: they are the longest, and those that are looked for have the same key.

    /// Returns whether both are written the same, where an omitted operator is `Equal`.
    pub fn same_as(&self, other: &Self) -> bool {
        self.toleration_seconds == other.toleration_seconds
            && self.effect == other.effect
            && (self.operator == other.operator || self.compares_values() && other.compares_values())
            && self.value == other.value
            && self.key == other.key
    }

    /// Returns whether this tolerates every taint that `other` does, and for as long; an omitted operator is `Equal` in
    /// both.
    ///
    /// An operator that is none of Kubernetes' covers only itself. Upstream: `isSuperset` of `pkg/util/tolerations`.
    pub fn covers(&self, other: &Self) -> bool {
        if !includes(&self.effect, &other.effect) || !self.lasts_as_long_as(other) {
            return false;
        }
        match self.operator.as_str() {
            "" | EQUAL => other.compares_values() && self.value == other.value && self.key == other.key,
            EXISTS => self.key.is_empty() || self.key == other.key,
            _ => self.same_as(other),
        }
    }

    /// Returns whether this holds for at least as many seconds as `other`. They count only with the effect `NoExecute`.
    fn lasts_as_long_as(&self, other: &Self) -> bool {
        match (self.toleration_seconds, other.toleration_seconds) {
            (Some(own), Some(seconds)) if self.effect == NO_EXECUTE => seconds <= own,
            (Some(_), None) => self.effect != NO_EXECUTE,
            _ => true,
        }
    }

    /// Returns whether a Pod with this tolerates `taint`, for however long (`Toleration.ToleratesTaint`).
    ///
    /// An empty key is every key, with `Equal` too. Comparison operators tolerate nothing: they are off by default.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        includes(&self.effect, &taint.effect)
            && (self.operator == EXISTS || self.compares_values() && self.value == taint.value)
            && (self.key.is_empty() || self.key == taint.key)
    }

    /// Returns whether there is a taint that both tolerate, for however long.
    ///
    /// An operator other than `Equal` counts as `Exists`: what it may come to tolerate is not left out.
    pub fn overlaps(&self, other: &Self) -> bool {
        let share_effect = includes(&self.effect, &other.effect) || includes(&other.effect, &self.effect);
        let both_compare = self.compares_values() && other.compares_values();
        share_effect
            && (!both_compare || self.value == other.value)
            && (self.key.is_empty() || other.key.is_empty() || self.key == other.key)
    }
}

/// Returns whether a toleration of `effect` is one of taints with that of an `other`, or of all that have it and more.
fn includes(effect: &str, other: &str) -> bool {
    effect.is_empty() || effect == other
}

/// One entry of a Node's `spec.taints`; absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it does to Pods that don't tolerate it.
    pub effect: String,
}

impl Taint {
    /// Returns whether this tells a condition of the Node that passes, such as `node.kubernetes.io/not-ready`. A node
    /// that an autoscaler drains, or that is not ready yet, is still its tenant's node.
    pub fn is_passing(&self) -> bool {
        passing::is_passing(&self.key)
    }

    /// Returns whether Pods stay away that don't tolerate this, for as long as somebody wants them to.
    pub fn is_lasting(&self) -> bool {
        self.keeps_pods_away() && !self.is_passing()
    }

    /// Returns whether Pods stay away that don't tolerate this (`DoNotScheduleTaintsFilterFunc`).
    pub fn keeps_pods_away(&self) -> bool {
        matches!(self.effect.as_str(), NO_SCHEDULE | NO_EXECUTE)
    }
}

impl fmt::Display for Taint {
    /// Writes `key[=value]:Effect`, as for `kubectl taint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect)
    }
}
