//! What proves the module: a host that runs it as policy-server does, beside the tool's two, and what tests are made of.
//!
//! [`Policy`] is a policy, whatever runs it: Wasmtime ([`Module`]), or what `cli` offers. Every evaluation gets a fresh
//! instance, and a [`Cluster`] to ask: a folder of [`Manifests`], a recorded [`Session`], a closure that plays a cluster in
//! trouble ([`Scripted`]), or [`NoCluster`].
//!
//! Without the feature `wasm` there is no module and no Wasmtime: the policy is the crate that the module is made of.
//! It answers the same, and mutation testing, which changes it a thousand times, can't wait for as many modules.

pub mod admission_policies;
mod clusters;
#[cfg(feature = "wasm")]
pub mod cost;
pub mod generated;
#[cfg(feature = "wasm")]
mod instructions;
mod session;
#[cfg(feature = "wasm")]
mod wasm;
mod workspace;

pub use cli::{
    Answer, Call, Cluster, Evaluation, GetResourceRequest, Identity, LogLevel, Manifests, Policy, PolicySpec,
    SettingsAnswer, SettingsFile, admission_request, payload, preview, read_document, read_documents, testing,
};
pub use clusters::{Metadata, NoCluster, Scripted};
#[cfg(feature = "wasm")]
pub use instructions::{Cost, InstructionCounter};
pub use session::Session;
#[cfg(feature = "wasm")]
pub use wasm::Module;
pub use workspace::{floor_module, policy_metadata, policy_module, policy_under_test, typed_twin_module};
