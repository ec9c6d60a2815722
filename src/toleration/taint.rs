//! Taints of Nodes, and what tolerates them.

use serde::Deserialize;

use super::{Effect, Operator, Toleration};

/// What the keys of taints begin with that Kubernetes itself puts on Nodes, to tell a condition that passes.
const CONDITIONS: &str = "node.kubernetes.io/";

/// One entry of a Node's `spec.taints`; absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it does to Pods that don't tolerate it.
    pub effect: Effect,
}

impl Taint {
    /// Whether this tells a passing condition of the Node, such as `node.kubernetes.io/not-ready`.
    pub fn tells_a_condition(&self) -> bool {
        self.key.starts_with(CONDITIONS)
    }

    /// Whether Pods stay away that don't tolerate this (`DoNotScheduleTaintsFilterFunc`).
    pub fn keeps_pods_away(&self) -> bool {
        matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
    }
}

impl Toleration {
    /// Whether a Pod with this tolerates `taint`, for however long (`Toleration.ToleratesTaint`).
    ///
    /// An empty key is every key, with `Equal` too. Comparison operators tolerate nothing: they are off by default.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let has_the_key = self.key.is_empty() || self.key == taint.key;
        if !has_the_key || !self.effect.includes(&taint.effect) {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => self.value == taint.value,
            Operator::Exists => true,
            Operator::Other(_) => false,
        }
    }
}

/// The first of `taints` that keeps away a Pod with these `tolerations`: its effect is `NoSchedule` or `NoExecute`, and
/// none tolerates it (`FindMatchingUntoleratedTaint`).
pub fn untolerated<'t>(tolerations: &[Toleration], taints: impl IntoIterator<Item = &'t Taint>) -> Option<&'t Taint> {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.into_iter().find(|taint| taint.keeps_pods_away() && !is_tolerated(taint))
}
