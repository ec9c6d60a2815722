//! Pods that are created: what they bring and must not, and what they learn at once if they have a node already.

use json::{Object, Within};

use super::changes::Changes;
use super::managed_keys::KeysAndValues;
use super::{NodeMetadata, room, values};
use crate::cluster::{LookupError, Node};
use crate::decision::{Decision, Rejection};
use crate::object_meta::{self, Named};

/// Takes managed keys that a new Pod brings away, if they are protected, and writes what there is to tell about its
/// `node`, if it has one: no Binding will ever come.
///
/// # Errors
/// The node lacks something required, or could not be read; the Pod brings what it must not, or too much.
pub fn write(
    settings: &NodeMetadata,
    object: &mut Object,
    node: Option<Result<&Node, &LookupError>>,
    named: &Named,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let mut changes = Changes::of(object)?;
    room::check(settings, &changes.submitted, named)?;
    if settings.protect {
        changes.undo(settings, &KeysAndValues::default());
    }
    if let Some(node) = node {
        changes.stored.set_managed(settings, &values::required_of(settings, node, decision)?);
    }
    if settings.protect && object_meta::kind_of_controller(object).within("object")?.is_some() {
        changes.reject_label_of_owned(named)?;
    }
    changes.carry_out(object, decision)?;
    Ok(())
}
