//! RuntimeClasses: the API server merges what they bring into Pods before it asks, so that it looks like the Pod's own.

use super::judged::NO_CLASS;
use super::node_rules::NodeRules;
use super::toleration_rules::TolerationRules;
use crate::cluster::{Cluster, Scheduling, look_up_runtime_class};
use crate::decision::Rejection;
use crate::json::{RawObject, ReadError};
use crate::settings::{OnRuntimeClasses, Placement};

/// The RuntimeClass that `spec` names, where it is to be looked up; empty otherwise.
///
/// # Errors
/// The spec can't be read.
pub fn name_to_resolve(spec: &RawObject<'_>, settings: &Placement) -> Result<String, ReadError> {
    match settings.on_runtime_classes {
        OnRuntimeClasses::Resolve => spec.string("runtimeClassName"),
        OnRuntimeClasses::Ignore => Ok(String::new()),
    }
}

/// What `judge` says; where a whitelist refuses something, what it says given what the class `name` brings.
///
/// # Errors
/// Those of `judge`; the RuntimeClass can't be read.
pub fn judge_with_class<T>(
    name: &str,
    cluster: &impl Cluster,
    judge: impl Fn(&Scheduling) -> Result<T, Rejection>,
) -> Result<T, Rejection> {
    match judge(&NO_CLASS) {
        Err(rejection) if rejection.is_by_whitelist() && !name.is_empty() => {
            judge(&look_up_runtime_class(cluster, name)?)
        }
        judged => judged,
    }
}

/// What the class `name` brings to the Pods of a template, which does not have it itself, if anything demands
/// something.
///
/// # Errors
/// The RuntimeClass can't be read.
pub fn of_template(
    name: &str,
    rules: &NodeRules<'_>,
    toleration_rules: &TolerationRules<'_>,
    cluster: &impl Cluster,
) -> Result<Scheduling, Rejection> {
    let is_judged = !rules.select_every_node() || rules.whitelist.is_some() || toleration_rules.judge_anything();
    if name.is_empty() || !is_judged {
        return Ok(Scheduling::default());
    }
    look_up_runtime_class(cluster, name)
}
