//! What the cluster adds to Pods by itself, so that nobody is judged for it.

use super::{Effect, Operator, Toleration};

/// Whose Pods are meant: what the cluster adds depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedTo {
    /// Any Pod.
    AnyPod,
    /// A Pod that the DaemonSet controller makes, or the template that it makes it from.
    DaemonSetPod,
}

/// What the `DefaultTolerationSeconds` plugin adds.
const UNTIL_EVICTED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// What the `PodTolerationRestriction` plugin adds, and the DaemonSet controller too.
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";

/// What the DaemonSet controller adds besides (`AddOrUpdateDaemonPodTolerations`).
const ON_DAEMON_SETS: [&str; 4] = [
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/network-unavailable",
];

impl AddedTo {
    /// Whether `toleration` is one that the cluster adds by itself to such Pods. Any number of seconds will do: they
    /// are configured on the API server.
    pub fn has(self, toleration: &Toleration) -> bool {
        if toleration.operator != Operator::Exists {
            return false;
        }
        let key = toleration.key.as_str();
        match toleration.effect {
            Effect::NoExecute => UNTIL_EVICTED.contains(&key),
            Effect::NoSchedule => key == MEMORY_PRESSURE || self == Self::DaemonSetPod && ON_DAEMON_SETS.contains(&key),
            _ => false,
        }
    }
}

/// The toleration of nodes that are short of memory, which the in-tree plugin adds to Pods that have a claim to some.
pub fn of_memory_pressure() -> Toleration {
    Toleration::exists(MEMORY_PRESSURE, Effect::NoSchedule)
}
