//! Looking up: each object once, for all who need something of it; not at all, if nobody does.

use crate::cluster::{self, Cluster, LookupError, Namespace, Node, NodeName};
use crate::decision::{Decision, Rejection};
use crate::field_masks::FieldMasks;

/// The Namespace `name`, of which the fields that `masks` name are needed.
///
/// # Errors
/// It can't be read.
pub fn namespace(name: &str, masks: &FieldMasks, cluster: &impl Cluster) -> Result<Namespace, Rejection> {
    if masks.is_empty() {
        return Ok(Namespace::default());
    }
    match cluster::look_up_namespace(cluster, name, masks) {
        Ok(namespace) => Ok(namespace),
        Err(error) => Err(Rejection::internal(error.message())),
    }
}

/// The Node `name`, of which the fields that `masks` name are needed. Where it changes an object, the audit log is told.
pub fn node(
    name: Option<NodeName>,
    masks: &FieldMasks,
    cluster: &impl Cluster,
    decision: &mut Decision,
) -> Option<Result<Node, LookupError>> {
    if masks.is_empty() {
        return None;
    }
    let node = cluster::look_up_node(cluster, name?, masks);
    if let Ok(node) = &node {
        decision.record_node(node);
    }
    Some(node)
}

/// Only what can be a name is looked up: the host pastes it into the URL of the API server. A Node by any other name
/// does not exist.
pub fn no_such_node(what: &str) -> Rejection {
    Rejection::forbidden(format!("{what}, which does not exist: no Node can have this name; name an existing node"))
}

/// What becomes of a Pod that is to be held to its node, which could not be looked up: a node that does not exist is a
/// mismatch, and one that can't be read a failure. `what` says who names it.
pub fn unreadable_node(error: &LookupError, what: &str) -> Rejection {
    match error {
        LookupError::NotFound(message) => Rejection::forbidden(format!("{what}, which does not exist: {message}")),
        LookupError::Failed(message) => Rejection::internal(message.as_str()),
    }
}
