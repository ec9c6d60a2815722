//! Pods that are created: managed keys that they bring are removed, and what their node has is written, if they name
//! it.

use super::changes::Changes;
use super::propagation::Propagations;
use super::{annotation_budget, values};
use crate::cluster::NodeLookup;
use crate::decision::Rejection;
use crate::json::Within;
use crate::object_meta;
use crate::review::Review;

/// Takes managed keys that a new Pod brings away, if they are protected, and writes what there is to tell about its
/// `node`, if it has one: no Binding will ever come.
///
/// # Errors
/// The node lacks something required, or could not be read; the Pod brings what it must not, or too much.
pub fn write(propagations: &Propagations, review: &mut Review<'_>, node: &NodeLookup<'_>) -> Result<(), Rejection> {
    let mut changes = Changes::new(&review.object, propagations)?;
    annotation_budget::check(propagations, &review.object, None, &review.name)?;
    if propagations.protect {
        changes.remove();
    }
    if let Some(values) = values::required_of(propagations, node, &mut review.decision)? {
        changes.set(&values);
    }
    if propagations.protect && object_meta::kind_of_controller(&review.object).within("object")?.is_some() {
        changes.reject_label_of_owned(&review.name)?;
    }
    changes.apply(review)
}
