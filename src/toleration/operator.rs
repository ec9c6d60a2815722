//! How a toleration compares values.

/// How a toleration compares its value with a taint's (`TolerationOperator`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// Absent or empty, which means [`Equal`](Self::Equal).
    #[default]
    Omitted,
    /// The taint's value is the toleration's.
    Equal,
    /// The taint may have any value.
    Exists,
    /// Another word. `Lt` and `Gt` are among them: API servers refuse them where `TaintTolerationComparisonOperators`
    /// is off, as it is by default.
    Other(String),
}

impl Operator {
    /// Whether this means that values must be equal.
    pub const fn is_equal(&self) -> bool {
        matches!(self, Self::Omitted | Self::Equal)
    }

    /// As it is written; empty, if it is omitted.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Omitted => "",
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Operator {
    fn from(word: &str) -> Self {
        match word {
            "" => Self::Omitted,
            "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            other => Self::Other(other.to_owned()),
        }
    }
}
