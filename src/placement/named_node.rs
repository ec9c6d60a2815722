//! Pods that name their node, and so never pass the scheduler.

use super::demands::NamespaceDemands;
use super::node_selection::NodeSelection;
use crate::cluster::{LookupError, Node};
use crate::decision::Rejection;
use crate::message::{quote, quote_pair, shorten};
use crate::object_meta::Named;
use crate::settings::{Mistake, OnNodeName};

/// Rejects a Pod that names its node, `node_name`, where none may. Returns whether the node must be one that the Pod may
/// run on: [`verify`].
///
/// # Errors
/// Such a rejection, or a mistake in the settings.
pub fn must_be_verified(node_name: &str, demands: &NamespaceDemands<'_>, named: &Named) -> Result<bool, Rejection> {
    if node_name.is_empty() || !is_anything_demanded(demands)? {
        return Ok(false);
    }
    match demands.settings.on_node_name()? {
        OnNodeName::Ignore => Ok(false),
        OnNodeName::Verify => Ok(true),
        OnNodeName::Reject => Err(Rejection::forbidden(format!(
            "{named} names its node, {}, which namespace {} does not permit (placement.onNodeName is Reject); remove \
             nodeName and let the scheduler choose",
            quote(node_name),
            quote(&demands.namespace)
        ))),
    }
}

fn is_anything_demanded(demands: &NamespaceDemands<'_>) -> Result<bool, Mistake> {
    Ok(!demands.select_every_node() || demands.whitelist()?.is_some())
}

/// Rejects a Pod that names a node which it may not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
pub fn verify(
    node: Result<&Node, &LookupError>,
    node_name: &str,
    selection: &NodeSelection,
    demands: &NamespaceDemands<'_>,
    named: &Named,
) -> Result<(), Rejection> {
    let node = match node {
        Ok(node) => node,
        Err(error) => return Err(unreadable(error, &format!("{named} names node {}", quote(node_name)))),
    };
    if let Some(demanded) = demands.unmet_by(&node.labels) {
        let rejection = Rejection::forbidden(format!(
            "{named} names node {}, but {} demands {}, which the node does not meet; name another node, or remove nodeName",
            quote(node_name),
            demanded.origin,
            shorten(&demanded.requirement.to_string()),
        ));
        return Err(rejection.with_detail(labelled(node, demanded.requirement.key())));
    }
    if !selection.matches(node_name, &node.labels) {
        return Err(Rejection::forbidden(format!(
            "{named} names node {}, which its own nodeSelector or node affinity does not match; change one of them, or \
             remove nodeName",
            quote(node_name)
        )));
    }
    verify_allowed(node, demands, named)
}

/// Rejects a Pod that names a node which the whitelist does not allow.
fn verify_allowed(node: &Node, demands: &NamespaceDemands<'_>, named: &Named) -> Result<(), Rejection> {
    let Some((whitelist, origin)) = demands.whitelist()? else { return Ok(()) };
    for requirement in whitelist.selector().requirements() {
        let Some(value) = node.labels.get(requirement.key()) else { continue };
        if !requirement.accepts(Some(value)) {
            let rejection = Rejection::forbidden(format!(
                "{named} names node {}, and {origin} allows only nodes with {}; name another node, or remove nodeName",
                quote(node.name.as_str()),
                shorten(&requirement.to_string()),
            ));
            return Err(rejection.with_detail(labelled(node, requirement.key())));
        }
    }
    Ok(())
}

/// A node that does not exist is a mismatch, and one that can't be read a failure.
pub(super) fn unreadable(error: &LookupError, what: &str) -> Rejection {
    match error {
        LookupError::NotFound(message) => Rejection::forbidden(format!("{what}, which does not exist: {message}")),
        LookupError::Failed(message) => Rejection::internal(message.as_str()),
    }
}

/// What a node has under `key`, for the log: a tenant may not read foreign Nodes, and reads messages.
pub(super) fn labelled(node: &Node, key: &str) -> String {
    match node.labels.get(key) {
        Some(value) => format!("the node has {}", quote_pair(key, value)),
        None => format!("the node has no label {}", quote(key)),
    }
}
