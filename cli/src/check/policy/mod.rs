//! What a ClusterAdmissionPolicy lacks that its settings need, and what in it breaks them.

mod around;
mod conditions;
mod fields;
mod look_ups;
mod rules;
mod samples;

use super::finding::Findings;
use crate::{SettingsFile, input::policy_spec::PolicySpec};

/// Looks at all of a policy around its settings; `policies` are all of its deployment, itself among them.
pub fn findings(file: &SettingsFile, policy: &PolicySpec, policies: &[&SettingsFile]) -> Findings {
    let mut findings = Findings { mistakes: fields::find(policy), remarks: vec![] };
    findings.mistakes.extend(look_ups::find(file, policy));
    findings.extend(rules::find(file, policy, policies));
    findings.extend(conditions::find(file, policy));
    findings.extend(around::find(file, policy));
    findings
}
