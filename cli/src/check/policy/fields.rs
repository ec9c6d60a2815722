//! Fields that no ClusterAdmissionPolicy has, and values that they can't have.

use crate::{check::finding::Finding, input::policy_spec::PolicySpec, policies::crd_validation::crd_mistakes};

pub fn find(policy: &PolicySpec) -> Vec<Finding> {
    let line = |line: String| match line.split_once(": ") {
        Some((path, text)) => Finding::new(path, text),
        None => Finding::new("spec", line),
    };
    crd_mistakes(&policy.spec).into_iter().map(line).collect()
}
