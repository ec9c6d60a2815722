//! Bindings: schedulers, and users who bind Pods themselves, are held to the namespace's node selector too.

use super::demands::NamespaceDemands;
use super::named_node::labelled;
use crate::cluster::{LookupError, Node, NodeName};
use crate::decision::Rejection;
use crate::look_up;
use crate::message::{quote, shorten};
use crate::object_meta::Named;

/// Rejects the Binding of a Pod to a node that the namespace may not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
pub fn verify(
    node: Result<&Node, &LookupError>,
    target: &NodeName,
    demands: &NamespaceDemands<'_>,
    pod: &Named,
) -> Result<(), Rejection> {
    let node = match node {
        Ok(node) => node,
        Err(error) => {
            return Err(look_up::unreadable_node(error, &format!("{pod} is bound to node {}", quote(target.as_str()))));
        }
    };
    let Some(demanded) = demands.unmet_by(&node.labels) else { return Ok(()) };
    let rejection = Rejection::forbidden(format!(
        "{pod} can't be bound to node {}: {} demands {}, which the node does not meet; recreate the Pod if the demand is \
         newer than it",
        quote(target.as_str()),
        demanded.origin,
        shorten(&demanded.requirement.to_string()),
    ));
    Err(rejection.with_detail(labelled(node, demanded.requirement.key())))
}
