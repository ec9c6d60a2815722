//! The labels that Karpenter knows without any NodePool naming them.

/// The label with which Karpenter says of which NodePool a Node is.
pub const NODE_POOL_LABEL: &str = "karpenter.sh/nodepool";

/// Labels that every NodePool can give, whether it names them or not: Karpenter's own, and those of its providers for
/// AWS, Azure and Google Cloud. Other keys with the same prefix are none.
///
/// Upstream: `WellKnownLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`, and what the providers' `labels.go` adds to it.
pub const WELL_KNOWN: [&str; 65] = [
    NODE_POOL_LABEL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/windows-build",
    "karpenter.k8s.aws/capacity-reservation-id",
    "karpenter.k8s.aws/capacity-reservation-interruptible",
    "karpenter.k8s.aws/capacity-reservation-type",
    "karpenter.k8s.aws/instance-accelerator-count",
    "karpenter.k8s.aws/instance-accelerator-manufacturer",
    "karpenter.k8s.aws/instance-accelerator-name",
    "karpenter.k8s.aws/instance-capability-flex",
    "karpenter.k8s.aws/instance-category",
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-cpu-manufacturer",
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz",
    "karpenter.k8s.aws/instance-ebs-bandwidth",
    "karpenter.k8s.aws/instance-encryption-in-transit-supported",
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-generation",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-gpu-manufacturer",
    "karpenter.k8s.aws/instance-gpu-memory",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.k8s.aws/instance-hypervisor",
    "karpenter.k8s.aws/instance-local-nvme",
    "karpenter.k8s.aws/instance-memory",
    "karpenter.k8s.aws/instance-network-bandwidth",
    "karpenter.k8s.aws/instance-size",
    "karpenter.k8s.aws/instance-tenancy",
    "topology.k8s.aws/zone-id",
    "karpenter.azure.com/sku-cpu",
    "karpenter.azure.com/sku-family",
    "karpenter.azure.com/sku-gpu-count",
    "karpenter.azure.com/sku-gpu-manufacturer",
    "karpenter.azure.com/sku-gpu-name",
    "karpenter.azure.com/sku-memory",
    "karpenter.azure.com/sku-name",
    "karpenter.azure.com/sku-networking-accelerated",
    "karpenter.azure.com/sku-series",
    "karpenter.azure.com/sku-storage-ephemeralos-maxsize",
    "karpenter.azure.com/sku-storage-premium-capable",
    "karpenter.azure.com/sku-version",
    "kubernetes.azure.com/cluster",
    "kubernetes.azure.com/mode",
    "kubernetes.azure.com/scalesetpriority",
    "kubernetes.azure.com/sku-cpu",
    "kubernetes.azure.com/sku-memory",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.gcp/instance-category",
    "karpenter.k8s.gcp/instance-cpu",
    "karpenter.k8s.gcp/instance-cpu-model",
    "karpenter.k8s.gcp/instance-family",
    "karpenter.k8s.gcp/instance-generation",
    "karpenter.k8s.gcp/instance-gpu-count",
    "karpenter.k8s.gcp/instance-gpu-manufacturer",
    "karpenter.k8s.gcp/instance-gpu-memory",
    "karpenter.k8s.gcp/instance-gpu-name",
    "karpenter.k8s.gcp/instance-memory",
    "karpenter.k8s.gcp/instance-shape",
    "karpenter.k8s.gcp/instance-size",
    "topology.k8s.gcp/zone-id",
];

/// The key that Karpenter takes another for, in NodePools as in Pods.
///
/// Upstream: `NormalizedLabels` of `sigs.k8s.io/karpenter/pkg/apis/v1`, and what the provider for AWS adds to it.
pub fn normalized(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" | "topology.ebs.csi.aws.com/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        _ => key,
    }
}
