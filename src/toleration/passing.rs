//! Passing taints: temporary conditions of a Node. Administrators don't use them to keep tenants apart, and a node that is
//! drained or not ready yet is still its tenant's node.
//!
//! The lists are complete: every other taint is lasting, as `node.kubernetes.io/os=windows` is.

/// The keys: those of Kubernetes itself, of cloud providers, and of Karpenter and the Cluster Autoscaler on Nodes that
/// they start or drain.
const KEYS: [&str; 17] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/out-of-service",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cluster.x-k8s.io/uninitialized",
    "node.gardener.cloud/critical-components-not-ready",
    "cloud.google.com/impending-node-termination",
    "karpenter.sh/disrupted",
    "karpenter.sh/unregistered",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
];

/// The beginnings of keys: those of the Node Readiness Controller and the Cluster Autoscaler.
const PREFIXES: [&str; 4] = [
    "readiness.k8s.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
];

/// The end of a key: agents such as CNI and CSI drivers remove their taint once they run.
const AGENT: &str = "/agent-not-ready";

/// Returns whether a taint with this `key` is temporary.
pub fn is_passing(key: &str) -> bool {
    KEYS.contains(&key) || key.ends_with(AGENT) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}
