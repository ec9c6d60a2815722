//! A small waPC host that runs a Kubewarden policy as policy-server and `kwctl` do.
//!
//! [`Policy`] is a compiled module. Every evaluation gets a fresh instance of it, and a [`Cluster`]
//! to ask: a folder of [`Manifests`], a recorded [`Session`], a closure that plays a cluster in
//! trouble, or [`NoCluster`]. The outcome is an [`Evaluation`]: the policy's answer, the JSON patch
//! that the API server would get, and everything the policy said to its host on the way.
//!
//! [`Policy::call`] is the raw door beneath: bytes in, bytes out.
//!
//! Without the feature `wasm` there is no module and no Wasm runtime: the policy is the crate that the module is made of.
//! It answers the same, and mutation testing, which changes it a thousand times, can't wait for as many modules.

mod changes;
mod cluster;
#[cfg(feature = "wasm")]
pub mod cost;
mod deployment;
mod desk;
mod document;
mod evaluation;
pub mod generated;
mod host;
#[cfg(feature = "wasm")]
mod instructions;
mod manifests;
mod metadata;
mod native;
mod needs;
pub mod preview;
mod refusals;
mod resource;
mod session;
mod settings_file;
pub mod stored;
mod story;
mod traps;
mod unrepeated;
#[cfg(feature = "wasm")]
mod wasm;
mod workspace;
mod wrap;

pub use changes::changes;
pub use cluster::{Cluster, Lookup, NoCluster};
pub use deployment::Deployment;
pub use document::{read_document, read_documents};
pub use evaluation::{Answer, Evaluation, SettingsAnswer, admission_request, payload};
pub use host::{Call, Policy};
#[cfg(feature = "wasm")]
pub use instructions::InstructionCounter;
pub use manifests::{Identity, Manifest, Manifests};
pub use metadata::Metadata;
pub use needs::{Lacks, lacks};
pub use session::Session;
pub use settings_file::{ManagedKeys, SettingsFile};
pub use story::{Chapter, Expect, Step, Story};
pub use traps::{Traps, traps};
pub use workspace::{
    floor_module, native_policy, policy_metadata, policy_module, policy_under_test, story_file, typed_twin_module,
};
pub use wrap::wrap;
