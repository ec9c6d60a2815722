//! Two tolerations: whether one tolerates all that the other does, and whether they have a taint in common.

use super::{Effect, Operator, Toleration};

impl Toleration {
    /// Whether both are written the same, where an omitted operator is `Equal`.
    pub fn same_as(&self, other: &Self) -> bool {
        self.key == other.key
            && self.value == other.value
            && self.effect == other.effect
            && self.toleration_seconds == other.toleration_seconds
            && (self.operator == other.operator || self.operator.is_equal() && other.operator.is_equal())
    }

    /// Whether this tolerates every taint that `other` does, and for as long; an omitted operator is `Equal` in both.
    ///
    /// An operator that is none of Kubernetes' covers only itself.
    pub fn covers(&self, other: &Self) -> bool {
        self.same_as(other) || self.covers_another(other)
    }

    /// Whether this covers `other`, which is written otherwise.
    ///
    /// Upstream: `isSuperset` of `pkg/util/tolerations`.
    fn covers_another(&self, other: &Self) -> bool {
        let has_the_key = self.key == other.key || self.key.is_empty() && self.operator == Operator::Exists;
        if !has_the_key || !self.effect.includes(&other.effect) || !self.lasts_as_long_as(other) {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => other.operator.is_equal() && self.value == other.value,
            Operator::Exists => true,
            Operator::Other(_) => false,
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

    /// Whether there is a taint that both tolerate, for however long.
    ///
    /// An operator other than `Equal` counts as `Exists`: what it may come to tolerate is not left out.
    pub fn overlaps(&self, other: &Self) -> bool {
        if !self.key.is_empty() && !other.key.is_empty() && self.key != other.key {
            return false;
        }
        let share_effect = self.effect.includes(&other.effect) || other.effect.includes(&self.effect);
        let both_demand_values = self.operator.is_equal() && other.operator.is_equal();
        share_effect && (!both_demand_values || self.value == other.value)
    }
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
