//! Taints of Nodes, and what tolerates them.

use std::fmt;

use serde::Deserialize;

use super::{Effect, Operator, Toleration, equal};

/// What the keys of taints begin with that tell a condition of the Node which passes: those of Kubernetes itself, of
/// cloud providers, of the Node Readiness Controller, and of the Cluster Autoscaler.
const PASSING_PREFIXES: [&str; 6] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "readiness.k8s.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
];

/// The keys of taints that Karpenter and the Cluster Autoscaler put on Nodes which they start or drain.
const PASSING_KEYS: [&str; 4] = [
    "karpenter.sh/disrupted",
    "karpenter.sh/unregistered",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
];

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
    /// Whether this tells a condition of the Node that passes, such as `node.kubernetes.io/not-ready`. A node that an
    /// autoscaler drains, or that is not ready yet, is still its tenant's node.
    pub fn is_passing(&self) -> bool {
        PASSING_KEYS.contains(&self.key.as_str()) || PASSING_PREFIXES.iter().any(|prefix| self.key.starts_with(prefix))
    }

    /// Whether Pods stay away that don't tolerate this, for as long as somebody wants them to.
    pub fn is_lasting(&self) -> bool {
        self.keeps_pods_away() && !self.is_passing()
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
        let has_the_key = self.key.is_empty() || equal(&self.key, &taint.key);
        if !has_the_key || !self.effect.includes(&taint.effect) {
            return false;
        }
        match self.operator {
            Operator::Omitted | Operator::Equal => equal(&self.value, &taint.value),
            Operator::Exists => true,
            Operator::Other(_) => false,
        }
    }
}

impl fmt::Display for Taint {
    /// `key[=value]:Effect`, as for `kubectl taint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect.as_str())
    }
}

/// The first of `taints` that keeps away a Pod with these `tolerations`: its effect is `NoSchedule` or `NoExecute`, and
/// none tolerates it (`FindMatchingUntoleratedTaint`).
pub fn untolerated<'t>(tolerations: &[Toleration], taints: impl IntoIterator<Item = &'t Taint>) -> Option<&'t Taint> {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.into_iter().find(|taint| taint.keeps_pods_away() && !is_tolerated(taint))
}
