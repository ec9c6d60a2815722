//! Whether two tolerations have a taint in common.

use super::Toleration;

impl Toleration {
    /// Whether there is a taint that both tolerate, for however long.
    ///
    /// An operator other than `Equal` counts as `Exists`: what it may come to tolerate is not left out.
    pub fn overlaps(&self, other: &Self) -> bool {
        let share_key = self.key.is_empty() || other.key.is_empty() || self.key == other.key;
        let share_effect = self.effect.includes(&other.effect) || other.effect.includes(&self.effect);
        let both_demand_values = self.operator.is_equal() && other.operator.is_equal();
        share_key && share_effect && (!both_demand_values || self.value == other.value)
    }
}
