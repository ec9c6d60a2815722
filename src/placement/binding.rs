//! Bindings: schedulers, and users who bind Pods themselves, are held to the namespace selector too.

use super::namespace_selector::NamespaceSelector;
use super::node_name::{found, label};
use crate::cluster::{Found, LookupError};
use crate::decision::Rejection;
use crate::text::quote;

/// Rejects a Binding of the Pod `pod` to a node that the namespace may not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
pub fn verify(
    pod: &str,
    target: &str,
    selector: &NamespaceSelector,
    node: Result<&Found<'_>, &LookupError>,
) -> Result<(), Rejection> {
    let node = found(node, || format!("Pod {} is bound to node {}", quote(pod), quote(target)))?;
    selector.unmet(&node.labels).map_or(Ok(()), |demanded| {
        Err(Rejection::forbidden(format!(
            "Pod {} can't be bound to node {}: {} demands {}, and the node has {}; recreate the Pod if the demand is newer than it",
            quote(pod),
            quote(node.name),
            demanded.source,
            demanded.requirement,
            label(node, demanded.requirement.key())
        )))
    })
}
