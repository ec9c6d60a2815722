//! What a ClusterAdmissionPolicy lacks that its settings need, and what in it breaks them.

mod conditions;
mod exempt_entries;
pub mod fields;
mod rules;
mod samples;
mod spec;

pub use exempt_entries::find as exempt_entries;

use super::finding::Findings;
use crate::{SettingsFile, input::policy_spec::PolicySpec};

/// What keeps a policy from doing its work at all, whatever it is asked, and what may do so.
pub fn broken(file: &SettingsFile, policy: &PolicySpec) -> Findings {
    let mut findings = Findings { mistakes: fields::find(policy), remarks: vec![] };
    findings.extend(spec::find(file, policy));
    findings
}

/// What the policy is not asked about, though its settings are; `policies` are all of its deployment, itself among them.
pub fn not_asked(file: &SettingsFile, policy: &PolicySpec, policies: &[SettingsFile]) -> Findings {
    let mut findings = rules::find(file, policy, policies);
    findings.extend(conditions::find(file, policy));
    findings.remarks.extend(exempt_entries(file, policy));
    findings
}
