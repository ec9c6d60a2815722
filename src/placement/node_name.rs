//! Pods that name their node, and so never pass the scheduler.

use super::namespace_selector::NamespaceSelector;
use super::pod_spec::PodSpec;
use crate::cluster::{Found, LookupError};
use crate::decision::Rejection;
use crate::metadata::Subject;
use crate::settings::{OnNodeName, PodNodeSelector};
use crate::text::{quote, shorten};

/// Whether the node that the Pod names must be looked up; rejects the Pod where it must not name one.
///
/// # Errors
/// Such a rejection, or a mistake in the settings.
pub fn must_verify(
    pod: &PodSpec<'_>,
    selector: &NamespaceSelector,
    rules: &PodNodeSelector<'_>,
    subject: &Subject<'_>,
) -> Result<bool, Rejection> {
    if pod.node_name.is_empty() || (selector.is_empty() && rules.allowed()?.is_none()) {
        return Ok(false);
    }
    match rules.on_node_name()? {
        OnNodeName::Ignore => Ok(false),
        OnNodeName::Verify => Ok(true),
        OnNodeName::Reject => Err(Rejection::forbidden(format!(
            "{subject} names its node, {}, which namespace {} does not permit (podNodeSelector.onNodeName is Reject); \
             remove nodeName and let the scheduler choose",
            quote(&pod.node_name),
            quote(rules.namespace())
        ))),
    }
}

/// Rejects a Pod that names a node which it may not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
pub fn verify(
    pod: &PodSpec<'_>,
    selector: &NamespaceSelector,
    rules: &PodNodeSelector<'_>,
    subject: &Subject<'_>,
    node: Result<&Found<'_>, &LookupError>,
) -> Result<(), Rejection> {
    let node = found(node, || format!("{subject} names node {}", quote(&pod.node_name)))?;
    if let Some(demanded) = selector.unmet(&node.labels) {
        let rejection = Rejection::forbidden(format!(
            "{subject} names node {}, but {} demands {}, which the node does not meet; name another node, or remove nodeName",
            quote(node.name),
            demanded.source,
            shorten(&demanded.requirement.to_string()),
        ));
        return Err(rejection.with_detail(labelled(node, demanded.requirement.key())));
    }
    if !pod.matches(node.name, &node.labels) {
        return Err(Rejection::forbidden(format!(
            "{subject} names node {}, which its own nodeSelector or node affinity does not match; change one of them, or remove nodeName",
            quote(node.name)
        )));
    }
    let Some((allowance, allowed_by)) = rules.allowed()? else { return Ok(()) };
    let refused = allowance.selector().requirements().iter().find(|requirement| {
        let value = node.labels.get(requirement.key());
        value.is_some_and(|value| !requirement.accepts(Some(value)))
    });
    let Some(requirement) = refused else { return Ok(()) };
    let rejection = Rejection::forbidden(format!(
        "{subject} names node {}, and {allowed_by} allows only nodes with {}; name another node, or remove nodeName",
        quote(node.name),
        shorten(&requirement.to_string()),
    ));
    Err(rejection.with_detail(labelled(node, requirement.key())))
}

/// The node; one that does not exist is a mismatch, and one that can't be read a failure.
pub(super) fn found<'n, 'f>(
    node: Result<&'n Found<'f>, &LookupError>,
    what: impl FnOnce() -> String,
) -> Result<&'n Found<'f>, Rejection> {
    node.map_err(|error| match error {
        LookupError::NotFound(message) => Rejection::forbidden(format!("{}, which does not exist: {message}", what())),
        LookupError::Failed(message) => Rejection::internal(message.as_str()),
    })
}

/// What a node has under `key`, for the log: a tenant may not read foreign Nodes, and reads messages.
pub(super) fn labelled(node: &Found<'_>, key: &str) -> String {
    match node.labels.get(key) {
        Some(value) => format!("the node has {}", quote(&format!("{key}={value}"))),
        None => format!("the node has no label {}", quote(key)),
    }
}
