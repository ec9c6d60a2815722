//! Fields that no ClusterAdmissionPolicy has, and values that they can't have.

use crate::{check::finding::Finding, input::policy_spec::PolicySpec, policies::crd_validation::crd_mistakes};

/// One for each.
pub fn find(policy: &PolicySpec) -> Vec<Finding> {
    crd_mistakes(&policy.spec).iter().map(|line| Finding::read(line)).collect()
}
