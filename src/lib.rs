//! A [Kubewarden](https://kubewarden.io) policy that decides where Pods run, and copies labels of nodes to them.
//!
//! `host` is the interface to Kubewarden: the functions that the host calls, and the policy's calls to the host. This file
//! has the pure functions behind it: a request, settings and a [`cluster::Cluster`] go in, an answer comes out. Start
//! reading at [`policy`].
//!
//! Each module uses only modules above its own in this table.
//!
//! | module | what it does |
//! |---|---|
//! | [`limits`] | all limits, each with its reason |
//! | `memcmp` | compares texts quickly |
//! | `message` | escapes and shortens text in messages |
//! | [`json`] | reads and changes JSON |
//! | [`selector`] | label selectors, and the syntax of keys, values and names |
//! | [`toleration`] | tolerations and taints |
//! | [`settings`] | the settings, and their mistakes |
//! | [`resource`], [`object_meta`] | the kinds of objects, and their metadata |
//! | [`request`] | the request |
//! | [`decision`] | the answer |
//! | [`cluster`] | looks up Namespaces, Nodes and RuntimeClasses |
//! | [`review`] | the state of a request while it is decided |
//! | [`placement`] | decides which nodes the Pods of a namespace may use |
//! | [`node_metadata`] | copies data of the node to its Pods |
//! | [`policy`] | the routing table, with a function for each kind of request |

pub mod cluster;
pub mod decision;
#[cfg(all(target_arch = "wasm32", feature = "guest"))]
mod host;
pub mod json;
pub mod limits;
#[cfg(any(test, all(target_arch = "wasm32", feature = "guest")))]
mod memcmp;
mod message;
pub mod node_metadata;
pub mod object_meta;
pub mod placement;
pub mod policy;
pub mod request;
pub mod resource;
pub mod review;
pub mod selector;
pub mod settings;
pub mod toleration;

use cluster::{Cluster, LogLevel, Lookups};
use decision::{Cause, Rejection};
use settings::Settings;

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The answer as Kubewarden's host reads it.
    pub answer: Vec<u8>,
    /// The cause, if the request is rejected, or would be if its entry was enforced.
    pub cause: Option<Cause>,
}

/// Answers `validate`: decides about the request in `payload`, and logs a rejection.
pub fn validate(payload: &[u8], cluster: &impl Cluster) -> Vec<u8> {
    evaluate(payload, cluster).answer
}

/// Decides about the request in `payload` as [`validate`] does, and returns the cause of a rejection as data.
pub fn evaluate(payload: &[u8], cluster: &impl Cluster) -> Evaluation {
    match decide(payload, cluster) {
        Ok(evaluation) => evaluation,
        Err(rejection) => {
            cluster::log(cluster, LogLevel::Info, &rejection.for_log());
            Evaluation { answer: rejection.to_json(), cause: Some(rejection.cause().clone()) }
        }
    }
}

fn decide(payload: &[u8], cluster: &impl Cluster) -> Result<Evaluation, Rejection> {
    let (request, settings) = request::read(payload)?;
    let settings = Settings::read(settings)?;
    let lookups = Lookups::new(cluster);
    let mut decision = policy::decide(request, &settings, &lookups)?;
    for (level, message) in &decision.log {
        cluster::log(cluster, *level, message);
    }
    let evaluation = Evaluation { answer: decision.to_json(), cause: decision.cause.take() };
    if cfg!(all(target_family = "wasm", feature = "guest")) {
        // The instance ends after its answer. Freeing memory would cost a fiftieth of a Binding's instructions, and a
        // tenth of a Pod's if the settings have a thousand entries.
        std::mem::forget((settings, decision));
    }
    Ok(evaluation)
}

/// Answers `validate_settings`: finds every mistake in the settings in `payload`.
///
/// Returns the mistakes in words, or `None` if the settings are valid.
pub fn validate_settings(payload: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => return Some(format!("the settings are not text: {error}")),
    };
    let mistakes = message::joined(settings::mistakes(text), "; ");
    if mistakes.is_empty() { None } else { Some(message::escaped(&mistakes)) }
}
