//! What the policy would do, told on the desk: the library behind `kubectl node-placement`.
//!
//! | modules | what they know |
//! |---|---|
//! | [`policy`], [`native`], [`interpreter`], [`host_calls`], [`metadata`], [`evaluation`] | a policy, what runs it, and what it answers |
//! | [`document`], [`manifests`], [`cluster`] | files, and a cluster that is written down in them |
//! | [`settings_file`], [`deployment`] | settings, and the ClusterAdmissionPolicy around them |
//! | [`required_rules`], [`policy_lint`], [`crd_validation`] | what such a policy needs, and what is wrong with it |
//! | [`story`], [`stored`] | requests, told one after the other |
//! | [`convert`] | settings out of the in-tree plugins' configurations |
//! | [`preview`] | what would become of a whole cluster |
//! | [`commands`], [`paper`] | the command line |

mod changes;
pub mod cluster;
pub mod commands;
pub mod convert;
pub mod crd_validation;
pub mod deployment;
pub mod document;
pub mod evaluation;
pub mod explain;
pub mod host_calls;
#[cfg(feature = "module")]
pub mod interpreter;
pub mod kubectl;
pub mod manifests;
pub mod match_conditions;
pub mod metadata;
pub mod namespace_rules;
pub mod native;
pub mod paper;
pub mod policy;
pub mod policy_file;
pub mod policy_lint;
pub mod preview;
pub mod required_rules;
pub mod resource;
pub mod scheduler;
pub mod settings;
pub mod settings_file;
pub mod stored;
pub mod story;
mod template;
mod unrepeated;
mod wrap;

pub use changes::changes;
pub use cluster::{Cluster, Lookup, NoCluster};
pub use deployment::Deployment;
pub use document::{read_document, read_documents};
pub use evaluation::{Answer, Evaluation, SettingsAnswer, admission_request, payload};
pub use manifests::{Identity, Manifest, Manifests};
pub use metadata::Metadata;
pub use policy::{Call, Policy};
pub use settings::ManagedKeys;
pub use settings_file::SettingsFile;
pub use story::{Chapter, Expect, Step, Story};
pub use wrap::wrap;
