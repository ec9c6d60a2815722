//! Pods that are created: what they bring and must not, and what they learn at once if they have a node already.

use super::changes::Changes;
use super::managed_keys::KeysAndValues;
use super::propagation::Propagations;
use super::{annotation_budget, values};
use crate::cluster::NodeLookup;
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, Within};
use crate::object_meta::{self, ObjectName};

/// Takes managed keys that a new Pod brings away, if they are protected, and writes what there is to tell about its
/// `node`, if it has one: no Binding will ever come. Returns whether anything changed.
///
/// # Errors
/// The node lacks something required, or could not be read; the Pod brings what it must not, or too much.
pub fn write(
    propagations: &Propagations,
    object: &mut RawObject<'_>,
    node: &NodeLookup<'_>,
    name: &ObjectName,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let mut changes = Changes::of(object)?;
    annotation_budget::check(propagations, &changes.submitted, name)?;
    if propagations.protect {
        changes.reset_to_old(propagations, &KeysAndValues::default());
    }
    let values = match node {
        NodeLookup::NotNeeded => None,
        NodeLookup::Found(node) => Some(values::required_of(propagations, Ok(node), decision)?),
        NodeLookup::Failed(error) => Some(values::required_of(propagations, Err(error), decision)?),
    };
    if let Some(values) = values {
        changes.stored.set_managed(propagations, &values);
    }
    if propagations.protect && object_meta::kind_of_controller(object).within("object")?.is_some() {
        changes.reject_label_of_owned(name)?;
    }
    Ok(changes.carry_out(object, decision)?)
}
