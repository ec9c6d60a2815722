//! The ClusterAdmissionPolicy around the settings: written and checked.

pub mod crd_validation;
pub mod policy_file;
pub mod policy_lint;
pub mod required_rules;
