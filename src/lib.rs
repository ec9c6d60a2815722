//! A [Kubewarden](https://kubewarden.io) policy that places Pods, and tells them where they landed.
//!
//! What the host calls of the policy, and the policy of the host, stands in `host`; this file has the functions behind
//! it. They are pure: a request, settings and a [`cluster::Cluster`] go in, an answer comes out. Who decides begins
//! with [`policy`].
//!
//! | module | what it knows |
//! |---|---|
//! | [`json`] | reading and changing JSON. Of Kubernetes it knows only which members are taken apart |
//! | [`selector`] | label selectors, and what keys, values and names look like |
//! | [`toleration`] | tolerations and taints |
//! | [`settings`], [`request`], [`resource`] | what comes in |
//! | [`review`] | a request while it is decided: all that the rules work on |
//! | [`cluster`] | what is asked of the cluster |
//! | [`object_meta`] | the parts of objects that many look at |
//! | [`placement`] | which nodes a namespace's Pods may use |
//! | [`node_metadata`] | what a Pod learns about its node |
//! | [`policy`] | the routing table, and for each kind of request what joins the two |
//! | [`decision`], `message` | what goes out: the answer, and its words |
//! | [`limits`] | all bounds, each with its reason |

pub mod cluster;
pub mod decision;
#[cfg(all(target_arch = "wasm32", feature = "guest"))]
mod host;
pub mod json;
pub mod limits;
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

/// What an evaluation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The answer as Kubewarden's host reads it.
    pub answer: Vec<u8>,
    /// Why it is a rejection; or, under `enforcement: Warn`, why it would be one.
    pub cause: Option<Cause>,
}

/// Answers `validate`: decides about the request in `payload`. A rejection is logged.
pub fn validate(payload: &[u8], cluster: &impl Cluster) -> Vec<u8> {
    evaluate(payload, cluster).answer
}

/// Decides about the request in `payload`, as [`validate`] does, and tells the cause of a rejection as data.
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
        // The instance ends with its answer; taking all this apart before would be a fiftieth of a
        // Binding's instructions, and a tenth of a Pod's where the settings have a thousand entries.
        std::mem::forget((settings, decision));
    }
    Ok(evaluation)
}

/// Answers `validate_settings`: finds every mistake in the settings in `payload`.
///
/// Returns the mistakes, in words; none, if the settings are valid.
pub fn validate_settings(payload: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => return Some(format!("the settings are not text: {error}")),
    };
    let mistakes = message::joined(settings::mistakes(text), "; ");
    if mistakes.is_empty() { None } else { Some(message::escaped(&mistakes)) }
}
