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
//! | [`cluster`], [`field_masks`] | what is asked of the cluster |
//! | [`object_meta`], `pod_spec` | the parts of objects that many look at |
//! | [`placement`] | which nodes a namespace's Pods may use |
//! | [`node_metadata`] | what a Pod learns about its node |
//! | [`policy`] | the routing table; a file for each kind of request joins the two |
//! | [`decision`], `message`, `size` | what goes out: the answer, its words, and how large an object may be |

pub mod cluster;
pub mod decision;
pub mod field_masks;
#[cfg(target_arch = "wasm32")]
mod host;
pub mod json;
mod message;
pub mod node_metadata;
pub mod object_meta;
pub mod placement;
mod pod_spec;
pub mod policy;
pub mod request;
pub mod resource;
pub mod review;
pub mod selector;
pub mod settings;
mod size;
pub mod toleration;

use cluster::{Cluster, LogLevel};
use decision::Rejection;
use settings::Settings;

/// Answers `validate`: decides about the request in `payload`. A rejection is logged.
pub fn validate(payload: &[u8], cluster: &impl Cluster) -> Vec<u8> {
    match decide(payload, cluster) {
        Ok(answer) => answer,
        Err(rejection) => {
            cluster.log(LogLevel::Info, &rejection.for_log());
            rejection.to_json()
        }
    }
}

fn decide(payload: &[u8], cluster: &impl Cluster) -> Result<Vec<u8>, Rejection> {
    let (request, settings) = request::read(payload)?;
    let settings = Settings::read(settings)?;
    let decision = policy::decide(request, &settings, cluster)?;
    for (level, message) in &decision.log {
        cluster.log(*level, message);
    }
    let answer = decision.to_json();
    if cfg!(target_family = "wasm") {
        // The instance ends with its answer; taking all this apart before would be a tenth of the time.
        std::mem::forget((settings, decision));
    }
    Ok(answer)
}

/// Answers `validate_settings`: finds every mistake in the settings in `payload`.
///
/// Returns the mistakes, in words; none, if the settings are valid.
pub fn validate_settings(payload: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => return Some(format!("the settings are not text: {error}")),
    };
    let mistakes: Vec<String> = settings::mistakes(text).iter().map(ToString::to_string).collect();
    if mistakes.is_empty() { None } else { Some(mistakes.join("; ")) }
}
