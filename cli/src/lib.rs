//! What the policy would do, told offline: the library behind `kubectl node-placement`.
//!
//! Data flows one way: [`input`] → [`cluster`] → [`engine`] → [`webhook`], [`places`] → [`verdict`] → [`preview`], [`explain`], [`trial`] → [`output`].
//!
//! | modules | what they know |
//! |---|---|
//! | [`input`] | files of JSON and YAML; settings |
//! | [`cluster`] | the objects of a cluster, from files or kubectl; typed: workloads with their Pods, Nodes; what is not known |
//! | [`engine`] | a policy, what runs it, and what it answers |
//! | [`webhook`] | the deployment: which requests an API server sends to the policies, and what becomes of them |
//! | [`verdict`] | the one question: what becomes of a workload or a Pod |
//! | [`places`] | which nodes, and which NodePools, can run a Pod, and what excludes it from the others |
//! | [`policies`] | the ClusterAdmissionPolicy around the settings: as it is written, and what settings need of it; the backstop behind it |
//! | [`rules`] | which entry applies in a namespace, and what is required, added and allowed there |
//! | [`check`] | what is wrong with settings, and with the policies around them |
//! | [`preview`], [`explain`] | what would become of a whole cluster; what holds in a namespace |
//! | [`trial`] | requests put to the policies, for `try` and [`testing`] |
//! | [`testing`] | settings held to expectations |
//! | [`convert`] | settings out of the in-tree plugins' configurations |
//! | [`output`], [`commands`] | renderings, and the command line |
//! | [`words`], [`text`], [`lists`], [`template`] | words for places; texts on lines that fit; counts and lists; files from templates |

pub mod check;
pub mod cluster;
pub mod commands;
pub mod convert;
pub mod engine;
pub mod explain;
pub mod input;
pub mod lists;
pub mod output;
pub mod places;
pub mod policies;
pub mod preview;
pub mod rules;
pub mod template;
pub mod testing;
pub mod text;
pub mod trial;
pub mod verdict;
pub mod webhook;
pub mod words;

pub use cluster::manifests::{Identity, Manifest, Manifests};
pub use engine::policy::{Answer, Call, Evaluation, Policy, SettingsAnswer, admission_request, payload};
pub use input::{
    documents::{read_document, read_documents},
    settings::ManagedKeys,
};
pub use node_placement_policy::cluster::{Cluster, GetResourceRequest, LogLevel};
pub use text::wrap;
pub use webhook::{policy_spec::PolicySpec, settings_file::SettingsFile};
