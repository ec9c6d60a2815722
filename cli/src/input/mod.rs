//! What the tool is given: files, a cluster, settings.
//!
//! A [`manifests::Manifests`] is a cluster: its objects as JSON, each typed (`k8s-openapi`) when somebody asks for it.
//! [`kubectl`] asks a live cluster for the same. [`settings_file`] reads settings, or the policy that has them.

pub mod apply;
pub mod documents;
pub mod json;
pub mod kubectl;
pub mod manifests;
pub mod settings;
pub mod settings_file;
pub mod yaml;
