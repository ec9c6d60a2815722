//! Bindings: what is written onto them, the API server copies to the Pod, in the write that sets its node.

use json::Object;

use super::changes::Changes;
use super::{NodeMetadata, values};
use crate::cluster::{LookupError, Node};
use crate::decision::{Decision, Rejection};

/// Writes what there is to tell about the node over what stands on the Binding `object`.
///
/// # Errors
/// The node lacks something required, or could not be read.
pub fn write(
    settings: &NodeMetadata,
    object: &mut Object,
    node: Result<&Node, &LookupError>,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let mut changes = Changes::of(object)?;
    changes.stored.set_managed(settings, &values::required_of(settings, node, decision)?);
    changes.carry_out(object, decision)?;
    Ok(())
}
