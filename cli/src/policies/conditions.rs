//! The `matchConditions` that somebody added to a policy. Those that settings need are written anew.

use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use serde::Serialize;

use crate::{PolicySpec, wrap};

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

/// A condition, as templates have it.
#[derive(Serialize)]
pub struct OwnCondition {
    name: String,
    expression: String,
    /// The same on several lines, if its spaces say nothing.
    lines: Vec<String>,
}

impl From<&MatchCondition> for OwnCondition {
    fn from(MatchCondition { name, expression }: &MatchCondition) -> Self {
        let lines = wrap(expression, 112);
        let lines = if lines.join(" ") == *expression { lines } else { vec![] };
        Self { name: name.clone(), expression: expression.clone(), lines }
    }
}
