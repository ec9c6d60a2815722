//! Tolerations and taints: read, check, print, and compare them. It knows nothing else of Kubernetes' objects.
//!
//! A [`Toleration`] holds whatever an API object can carry, valid or not: requests arrive before the API server
//! validates them, and annotations are never validated at all. [`Toleration::check`] says what would be refused.
//!
//! Two questions are asked of two tolerations. One [covers](Toleration::covers) another if it tolerates all that the
//! other does: so whitelists allow. They [overlap](Toleration::overlaps) if some taint is tolerated by both: so
//! tolerations are forbidden.

mod check;
mod cluster_added;
mod compare;
mod extended_resources;
mod merge;
mod plugin_config;
mod print;
mod read;
mod resources;
mod taint;
mod words;

pub use cluster_added::of_memory_pressure;
pub use compare::missing;
pub use extended_resources::{is_extended, tolerations_of_extended};
pub use merge::{Merged, merge};
pub use plugin_config::{PluginConfig, is_allowed};
pub use read::{from_annotation, from_settings};
pub use resources::{AboveZero, Resources};
pub use taint::{Taint, untolerated};
pub use words::{Effect, Operator};

/// One entry of a Pod's `spec.tolerations`, whatever it says; absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
// The schema is that of Kubernetes, with its description.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "k8s_openapi::api::core::v1::Toleration", description = ""))]
pub struct Toleration {
    /// The key of the taints; empty stands for every key.
    pub key: String,
    /// How the values of the taints are compared.
    pub operator: Operator,
    /// The value of the taints; of no account with [`Operator::Exists`].
    pub value: String,
    /// The effect of the taints.
    pub effect: Effect,
    /// `tolerationSeconds`: for how long a taint of effect `NoExecute` is tolerated; none is for ever.
    pub seconds: Option<i64>,
}

impl Toleration {
    /// The toleration of every taint that has this key and effect, whatever its value.
    pub fn exists(key: &str, effect: Effect) -> Self {
        Self { key: key.to_owned(), operator: Operator::Exists, effect, ..Self::default() }
    }
}
