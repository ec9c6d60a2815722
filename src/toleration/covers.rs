//! Whether one toleration tolerates all that another does.

use super::{Effect, Operator, Toleration};

impl Toleration {
    /// Whether this tolerates every taint that `other` does, and for as long; an omitted operator is `Equal` in both.
    ///
    /// An operator that is none of Kubernetes' covers only itself.
    pub fn covers(&self, other: &Self) -> bool {
        self.same_as(other) || self.covers_unequal(other, other.operator.is_equal())
    }

    /// The same as the in-tree `PodTolerationRestriction` has it (`isSuperset` in `pkg/util/tolerations`): what has
    /// operator `Equal`, or none, covers what has `Equal`, but not what has none unless both are equal.
    pub fn is_superset_of(&self, other: &Self) -> bool {
        self == other || self.covers_unequal(other, other.operator == Operator::Equal)
    }

    /// Whether this covers `other`, which need not be equal, given whether that demands its value.
    fn covers_unequal(&self, other: &Self, demands_value: bool) -> bool {
        let has_the_key = self.key == other.key || self.key.is_empty() && self.operator == Operator::Exists;
        if !has_the_key || !self.effect.includes(&other.effect) || !self.lasts_as_long_as(other) {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => demands_value && self.value == other.value,
            Operator::Exists => true,
            Operator::Other(_) => false,
        }
    }

    /// Whether this holds for at least as many seconds as `other`. They count only with the effect `NoExecute`.
    pub(super) fn lasts_as_long_as(&self, other: &Self) -> bool {
        match (self.seconds, other.seconds) {
            (Some(own), Some(seconds)) if self.effect == Effect::NoExecute => seconds <= own,
            (Some(_), None) => self.effect != Effect::NoExecute,
            _ => true,
        }
    }
}
