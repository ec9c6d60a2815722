//! Reads, checks, prints and compares tolerations and taints.
//!
//! A [`Toleration`] may be invalid: requests arrive before the API server validates them, and annotations are never
//! validated. [`Toleration::check`] finds what the API server would refuse.
//!
//! There are two comparisons. A toleration [covers](Toleration::covers) another if it tolerates every taint that the other
//! does: whitelists compare so. Two [overlap](Toleration::overlaps) if both tolerate some taint: forbidden tolerations are
//! compared so.

mod check;
mod list;
mod passing;
mod resources;

use std::fmt;

use k8s_openapi::api::core::v1;
use serde::{Deserialize, Serialize};

use crate::json::{FromObject, RawObject, ReadError, null_is_default};

pub use check::from_annotation;
pub use list::{Tolerations, missing, untolerated};
pub use resources::{AboveZero, Resources, is_extended, tolerations_of_extended};

/// One entry of a Pod's `spec.tolerations`. Absent texts are empty. This type reads settings and annotations of Namespaces,
/// where an unknown field is a mistake. Those of Pods are read by the type of `k8s_openapi`.
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
    /// The key of the taints. An empty one stands for every key.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The comparison of values: [`EQUAL`], which an empty operator means too, or [`EXISTS`]. Kubernetes also has `Lt` and
    /// `Gt`, but they are off by default (`TaintTolerationComparisonOperators`).
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The value of the taints. It is ignored with [`EXISTS`].
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect of the taints. An empty one stands for every effect.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// The seconds for which a taint of effect [`NO_EXECUTE`] is tolerated. `None` is for ever.
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

/// The effect of a taint that evicts Pods too.
pub const NO_EXECUTE: &str = "NoExecute";

/// The member of a PodSpec, and of the scheduling of a RuntimeClass, that lists tolerations.
pub const TOLERATIONS: &str = "tolerations";

/// Reads the first tolerations in `parent`, at most `most`, as the API server reads them. Returns whether there are more.
///
/// # Errors
/// They can't be read.
pub fn read_first(parent: &RawObject<'_>, most: usize) -> Result<(Vec<Toleration>, bool), ReadError> {
    // `null` is an empty toleration, as in Go.
    let list = parent.first::<Option<FromObject<v1::Toleration>>>(TOLERATIONS, most)?;
    let tolerations = list.elements.into_iter().map(|read| read.map(|read| read.0.into()).unwrap_or_default());
    Ok((tolerations.collect(), list.has_more))
}

/// Reads a toleration as the API server does: unknown fields are ignored, `null` is an empty text, and the last of repeated
/// fields counts.
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
    /// Writes `key[=value][:effect]`, as in `kubectl taint`, with `*` for every key.
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

    /// Returns the value that taints must have, or `None` for every value.
    fn compared_value(&self) -> Option<&str> {
        self.compares_values().then_some(&self.value)
    }

    // The following functions compare keys last: they are the longest, and often known to be the same.

    /// Returns whether both are written the same, where an omitted operator is `Equal`.
    pub fn same_as(&self, other: &Self) -> bool {
        self.toleration_seconds == other.toleration_seconds
            && self.effect == other.effect
            && (self.operator == other.operator || self.compares_values() && other.compares_values())
            && self.value == other.value
            && self.key == other.key
    }

    /// Returns whether this tolerates every taint that `other` does, and for as long. An omitted operator is `Equal`.
    ///
    /// An unknown operator covers only itself. Upstream: `isSuperset` of `pkg/util/tolerations`.
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

    /// Returns whether this lasts at least as many seconds as `other`. They count only with the effect `NoExecute`.
    fn lasts_as_long_as(&self, other: &Self) -> bool {
        match (self.toleration_seconds, other.toleration_seconds) {
            (Some(longest), Some(seconds)) if self.effect == NO_EXECUTE => seconds <= longest,
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
    /// An operator other than `Equal` counts as `Exists`, so that nothing it may tolerate is missed.
    pub fn overlaps(&self, other: &Self) -> bool {
        let share_effect = includes(&self.effect, &other.effect) || includes(&other.effect, &self.effect);
        let both_compare = self.compares_values() && other.compares_values();
        share_effect
            && (!both_compare || self.value == other.value)
            && (self.key.is_empty() || other.key.is_empty() || self.key == other.key)
    }
}

/// Returns whether a toleration of `effect` tolerates every effect that one of `other` does.
fn includes(effect: &str, other: &str) -> bool {
    effect.is_empty() || effect == other
}

/// One entry of a Node's `spec.taints`. Absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The effect on Pods that don't tolerate it.
    pub effect: String,
}

impl Taint {
    /// Returns whether this is a temporary condition of the Node, such as `node.kubernetes.io/not-ready`. A node that an
    /// autoscaler drains, or that is not ready yet, is still its tenant's node.
    pub fn is_passing(&self) -> bool {
        passing::is_passing(&self.key)
    }

    /// Returns whether this keeps Pods away and is not temporary.
    pub fn is_lasting(&self) -> bool {
        self.keeps_pods_away() && !self.is_passing()
    }

    /// Returns whether this keeps Pods away that don't tolerate it (`DoNotScheduleTaintsFilterFunc`).
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
