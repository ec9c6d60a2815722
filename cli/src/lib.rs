//! What the policy would do, told offline: the library behind `kubectl node-placement`.
//!
//! Data flows one way: [`input`] → [`requests`] → [`engine`] → [`scheduling`] → [`preview`], [`explain`] → [`output`].
//!
//! | modules | what they know |
//! |---|---|
//! | [`input`] | files, kubectl, settings; a cluster as its objects |
//! | [`cluster`] | what is in a cluster, typed: workloads with their Pods, Nodes, what is not known |
//! | [`requests`] | what an API server would send to the policy |
//! | [`engine`] | a policy, what runs it, and what it answers |
//! | [`scheduling`] | which nodes, and which NodePools, take a Pod, and what excludes it from the others |
//! | [`policies`] | the ClusterAdmissionPolicy around the settings: as it is written, and what settings need of it; the backstop behind it |
//! | [`demands`] | which entry holds in a namespace, and all that is demanded there |
//! | [`check`] | what is wrong with settings, and with the policies around them |
//! | [`preview`], [`explain`] | what would become of a whole cluster; what holds in a namespace |
//! | [`trial`] | requests put to the policies, for `try` and [`testing`] |
//! | [`testing`] | settings held to expectations |
//! | [`convert`] | settings out of the in-tree plugins' configurations |
//! | [`output`], [`commands`] | renderings, and the command line |
//! | [`lists`] | counts and lists, as people read them |

pub mod check;
pub mod cluster;
pub mod commands;
pub mod convert;
pub mod demands;
pub mod engine;
pub mod explain;
pub mod input;
pub mod lists;
pub mod output;
pub mod places;
pub mod policies;
pub mod preview;
pub mod requests;
pub mod scheduling;
pub mod testing;
pub mod trial;

pub use engine::policy::{Answer, Call, Evaluation, Policy, SettingsAnswer, admission_request, payload};
pub use input::{
    documents::{read_document, read_documents},
    manifests::{Identity, Manifest, Manifests},
    policy_spec::PolicySpec,
    settings::ManagedKeys,
    settings_file::SettingsFile,
};
pub use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
pub use output::terminal::wrap;
