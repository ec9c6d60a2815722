//! What the cluster adds to Pods by itself, so that nobody is judged for it.

use super::{Effect, Operator, Toleration};

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

impl Toleration {
    /// Whether the cluster adds this by itself, to any Pod or, if it is `of_daemon_set`, to one that the DaemonSet
    /// controller makes. Any number of seconds will do: they are configured on the API server.
    pub fn is_added_by_cluster(&self, of_daemon_set: bool) -> bool {
        if self.operator != Operator::Exists {
            return false;
        }
        let key = self.key.as_str();
        match self.effect {
            Effect::NoExecute => UNTIL_EVICTED.contains(&key),
            Effect::NoSchedule => key == MEMORY_PRESSURE || of_daemon_set && ON_DAEMON_SETS.contains(&key),
            _ => false,
        }
    }
}

/// The toleration of nodes that are short of memory, which the in-tree plugin adds to Pods that have a claim to some.
pub fn of_memory_pressure() -> Toleration {
    Toleration::exists(MEMORY_PRESSURE, Effect::NoSchedule)
}
