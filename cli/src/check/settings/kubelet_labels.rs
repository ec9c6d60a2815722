//! Fences made of labels that a kubelet may set on its own Node, and so pull others' Pods to itself.

use std::collections::BTreeSet;

use node_placement_policy::settings::Placement;

use super::{
    Guards,
    entry::{Entry, entries},
};
use crate::check::finding::Finding;

/// Upstream: `kubeletLabels` of `k8s.io/kubelet/pkg/apis`.
const LISTED: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Upstream: `kubeletLabelNamespaces` there.
const LISTED_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// One for each such label, where it is demanded first.
pub fn find(placement: &Placement, guards: Guards) -> Vec<Finding> {
    if guards.nodes {
        return vec![];
    }
    let mut said = BTreeSet::new();
    let mut findings = vec![];
    for entry in entries(placement) {
        for requirement in entry.fence().iter().flat_map(|fence| fence.requirements()) {
            let key = requirement.key();
            if may_be_set_by_kubelets(key) && said.insert(key.to_owned()) {
                findings.push(remark(&entry, key));
            }
        }
    }
    findings
}

fn remark(entry: &Entry<'_>, key: &str) -> Finding {
    let text = format!(
        "every kubelet may set the label {key} of its own Node, and so get Pods that are not for it; use a label below \
         node-restriction.kubernetes.io/, or set onNodes"
    );
    Finding::new(format!("{}.requiredNodeSelector", entry.path()), text)
}

/// What the admission plugin NodeRestriction lets a kubelet do.
///
/// Upstream: `getModifiedLabels` and `getForbiddenUpdateLabels` of `plugin/pkg/admission/noderestriction`.
fn may_be_set_by_kubelets(key: &str) -> bool {
    let is_within = |prefix: &str, domain: &str| {
        prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let Some((prefix, _)) = key.split_once('/') else { return true };
    let is_of_kubernetes = is_within(prefix, "kubernetes.io") || is_within(prefix, "k8s.io");
    !is_of_kubernetes || LISTED.contains(&key) || LISTED_PREFIXES.iter().any(|listed| is_within(prefix, listed))
}
