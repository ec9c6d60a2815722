//! Bindings: what is written onto them, the API server copies to the Pod, in the write that sets its node.

use json::Object;

use super::plan;
use super::protect::Changes;
use crate::cluster::{Found, LookupError};
use crate::decision::{Decision, Rejection};
use crate::metadata::Metadata;
use crate::settings::NodeMetadata;

/// Writes what there is to tell about the node over what stands on the Binding `object`.
///
/// # Errors
/// The node lacks something required, or could not be read.
pub fn write(
    settings: &NodeMetadata,
    object: &mut Object<'_>,
    node: Result<&Found<'_>, &LookupError>,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let metadata = Metadata::of(object)?;
    let mut changes = Changes::of(&metadata)?;
    changes.stored.overwrite(settings, &plan::of(settings, node, decision)?);
    changes.carry_out(metadata, object, decision)
}
