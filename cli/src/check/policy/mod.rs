//! What a ClusterAdmissionPolicy lacks that its settings need, and what in it breaks them.

mod around;
mod conditions;
mod fields;
mod look_ups;
pub mod object;
mod rules;
mod samples;

pub use around::exempt_entries;

use super::finding::Findings;
use crate::{SettingsFile, input::policy_spec::PolicySpec};

/// What keeps a policy from doing its work at all, whatever it is asked, and what may do so.
pub fn broken(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let mut findings = Findings { mistakes: fields::find(policy), remarks: vec![] };
    findings.mistakes.extend(look_ups::find(file, policy));
    findings.extend(around::find(file, policy));
    findings
}

/// What the policy is asked about, though no setting is. The settings are valid.
pub fn superfluous(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    rules::superfluous(file, policy)
}

/// What the policy is not asked about, though its settings are; `policies` are all of its deployment, itself among them.
pub fn not_asked(file: &SettingsFile, policy: &PolicySpec, policies: &[&SettingsFile]) -> Findings {
    let mut findings = rules::find(file, policy, policies);
    findings.extend(conditions::find(file, policy));
    findings
}
