//! The `matchConditions` that somebody added to a policy. Those that settings need are written anew.

use k8s_openapi::api::admissionregistration::v1::MatchCondition;

use crate::PolicySpec;

/// The names of the conditions that are written, for all settings.
const WRITTEN: [&str; 11] = [
    "a-kubelet-changes-labels",
    "not-being-deleted",
    "not-being-deleted-or-annotations-change",
    "not-being-deleted-or-labels-change",
    "not-being-deleted-or-labels-or-annotations-change",
    "placement-or-tolerations-can-still-change",
    "placement-can-still-change",
    "pod-template-changes",
    "selector-changes",
    "pod-template-or-selector-changes",
    "namespace-labels-or-annotations-change",
];

/// Those that are not written for settings.
pub fn own_conditions(policy: &PolicySpec) -> impl Iterator<Item = &MatchCondition> {
    policy.match_conditions.written().filter(|condition| !WRITTEN.contains(&condition.name.as_str()))
}
