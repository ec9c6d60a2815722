//! What is wrong with settings, and with the policy around them.

pub mod finding;
pub mod settings;
pub mod yaml;
