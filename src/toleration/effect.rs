//! What a taint does.

use serde::Deserialize;

/// What a taint does to Pods that don't tolerate it (`TaintEffect`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
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
    /// Another word, which Kubernetes knows nothing of.
    Other(String),
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
    pub(super) fn includes(&self, effect: &Self) -> bool {
        *self == Self::Omitted || self == effect
    }
}

impl From<&str> for Effect {
    fn from(word: &str) -> Self {
        match word {
            "" => Self::Omitted,
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<String> for Effect {
    fn from(word: String) -> Self {
        Self::from(word.as_str())
    }
}
