//! The ClusterAdmissionPolicy around the settings: written and checked; and the backstop behind it.

pub mod backstop;
pub mod crd_validation;
pub mod policy_file;
pub mod policy_lint;
pub mod required_rules;
