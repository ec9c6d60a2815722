//! The words of tolerations and taints: the operator and the effect.

use serde::Deserialize;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $(#[$omitted:meta])* Omitted $(, $(#[$word_doc:meta])* $word:ident)+ })+) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(from = "String")]
        pub enum $name {
            $(#[$omitted])*
            #[default]
            Omitted,
            $($(#[$word_doc])* $word,)+
            /// Another word, which Kubernetes does not know, or refuses as it is configured by default.
            Other(String),
        }

        impl $name {
            /// As it is written; empty, if it is omitted.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Omitted => "",
                    $(Self::$word => stringify!($word),)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    "" => Self::Omitted,
                    $(stringify!($word) => Self::$word,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                Self::from(word.as_str())
            }
        }
    )+ };
}

words! {
    /// How a toleration compares its value with a taint's (`TolerationOperator`). Of `Lt` and `Gt` Kubernetes knows,
    /// but they are off by default (`TaintTolerationComparisonOperators`).
    Operator {
        /// Absent or empty, which means [`Equal`](Self::Equal).
        Omitted,
        /// The taint's value is the toleration's.
        Equal,
        /// The taint may have any value.
        Exists
    }

    /// What a taint does to Pods that don't tolerate it (`TaintEffect`).
    Effect {
        /// Absent or empty: in a toleration, every effect.
        Omitted,
        /// Pods are not scheduled there.
        NoSchedule,
        /// Pods are scheduled there if there is no other place.
        PreferNoSchedule,
        /// Pods are neither scheduled there, nor may they stay.
        NoExecute
    }
}

impl Operator {
    /// Whether this means that values must be equal.
    pub const fn is_equal(&self) -> bool {
        matches!(self, Self::Omitted | Self::Equal)
    }
}

impl Effect {
    /// Whether a toleration with this effect is one of taints with that `effect`, or of all that have it and more.
    pub(super) fn includes(&self, effect: &Self) -> bool {
        *self == Self::Omitted || self == effect
    }
}
