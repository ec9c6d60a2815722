//! The ClusterAdmissionPolicy around the settings: as it is written, and what its settings need of it; and the backstop
//! behind it.

pub mod backstop;
pub mod overrides;
pub mod policy_file;
pub mod required_rules;
mod settings_text;
