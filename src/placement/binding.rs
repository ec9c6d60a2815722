//! Bindings: schedulers, and users who bind Pods themselves, are held to the namespace selector too.

use super::namespace_selector::NamespaceSelector;
use super::node_name::{found, labelled};
use crate::cluster::{Found, LookupError, NodeName};
use crate::decision::Rejection;
use crate::text::{quote, shorten};

/// Rejects a Binding of the Pod `pod` to a node that the namespace may not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
pub fn verify(
    pod: &str,
    target: &NodeName,
    selector: &NamespaceSelector,
    node: Result<&Found<'_>, &LookupError>,
) -> Result<(), Rejection> {
    let node = found(node, || format!("Pod {} is bound to node {}", quote(pod), quote(target.as_str())))?;
    let Some(demanded) = selector.unmet(&node.labels) else { return Ok(()) };
    let rejection = Rejection::forbidden(format!(
        "Pod {} can't be bound to node {}: {} demands {}, which the node does not meet; recreate the Pod if the demand is newer than it",
        quote(pod),
        quote(node.name),
        demanded.source,
        shorten(&demanded.requirement.to_string()),
    ));
    Err(rejection.with_detail(labelled(node, demanded.requirement.key())))
}
