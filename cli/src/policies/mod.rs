//! The ClusterAdmissionPolicy around the settings: as it is written, and what its settings need of it.

pub mod crd_validation;
pub mod policy_file;
pub mod required_rules;
