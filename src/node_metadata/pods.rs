//! Pods that are created or updated: writes their managed keys, undoes changes by others, and adds missing keys to bound
//! Pods.

use super::changes::{Goal, ManagedKeys, check_annotations, managed};
use super::propagation::{Managed, Propagations};
use super::values;
use crate::cluster::{NodeLookup, NodeName};
use crate::decision::Rejection;
use crate::json::{RawObject, ReadError, Within};
use crate::object_meta;
use crate::request::User;
use crate::review::Review;

/// Removes the managed keys of a new Pod, if they are protected. If the Pod names its `node`, writes the node's values,
/// because there will be no Binding.
///
/// # Errors
/// The node lacks something required, the node could not be read, or the Pod has a managed label that it must not have,
/// or annotations that are too large.
pub fn write_to_new(
    propagations: &Propagations<'_>,
    review: &mut Review<'_>,
    node: &NodeLookup<'_>,
) -> Result<(), Rejection> {
    let keys = ManagedKeys::new(&review.object, Managed::default(), propagations)?;
    check_annotations(propagations, &review.object, None, &review.name)?;
    let protects = propagations.settings.protect;
    let goal = match values::required_of(propagations, node, &mut review.decision)? {
        Some(values) => Goal::values(values, protects),
        None if protects => Goal::old(),
        None => return Ok(()),
    };
    if protects && object_meta::kind_of_controller(&review.object).within("object")?.is_some() {
        keys.reject_label_of_owned(&goal, &review.name)?;
    }
    keys.store(&goal, review)
}

/// Undoes changes to managed keys of the Pod, if they are protected, and adds missing keys to a bound Pod.
///
/// The old object says to which node the Pod is bound. The new one can claim anything, because it is not validated yet.
///
/// # Errors
/// The request can't be read, or the annotations of a waiting Pod leave too little room for what a Binding adds.
pub fn write_to_updated(propagations: &Propagations<'_>, review: &mut Review<'_>) -> Result<(), Rejection> {
    let old_object = review.request.old_object()?;
    let old = managed(old_object, propagations).within("oldObject")?;
    let node_name = object_meta::node_name(old_object).within("oldObject")?;
    let protects = propagations.settings.protect;
    let keys = ManagedKeys::new(&review.object, old, propagations)?;
    if node_name.is_empty() {
        check_annotations(propagations, &review.object, Some(old_object), &review.name)?;
        return if protects { keys.store(&Goal::old(), review) } else { Ok(()) };
    }

    let must_reset = protects && keys.are_changed();
    if !(must_reset || keys.lacks_guaranteed_key() && runs_or_will(&review.object)?) {
        return Ok(());
    }
    // Skips the look-up for kubelets, and for Pods that are being deleted.
    let may_take_time = review.request.user != User::Kubelet && !review.request.is_for_terminating_object()?;
    let node_name = NodeName::new(&node_name).filter(|_| may_take_time);
    let node = review.lookups.node(node_name.as_ref(), &propagations.field_masks());
    if let NodeLookup::Found(node) = &node {
        review.decision.audit("node", node.name.as_str());
    }
    let values = values::available_of(propagations, &node, &mut review.decision);
    let goal = match (values, &node) {
        // Corrects forged keys, whoever forged them and when.
        (Some(values), NodeLookup::Found(node)) if protects => keys.corrected(&values, node.name.as_str()),
        // The Node was not looked up, or can't be read.
        _ if must_reset => Goal::old(),
        (Some(values), _) => keys.filled_in(&values),
        (None, _) => return Ok(()),
    };
    keys.store(&goal, review)
}

/// Undoes changes to managed keys in an update of the status. Never adds missing keys: a kubelet's update of the status
/// fails if a webhook adds a label. Looks up no Node.
///
/// # Errors
/// The request can't be read.
pub fn write_status(propagations: &Propagations<'_>, review: &mut Review<'_>) -> Result<(), Rejection> {
    let old = managed(review.request.old_object()?, propagations).within("oldObject")?;
    ManagedKeys::new(&review.object, old, propagations)?.store(&Goal::old(), review)
}

/// Returns whether a bound Pod runs or will run, so that its metadata is of use.
fn runs_or_will(object: &RawObject<'_>) -> Result<bool, ReadError> {
    let phase: String = object.get_at(&["status", "phase"]).within("object")?.unwrap_or_default();
    Ok(matches!(phase.as_str(), "" | "Pending" | "Running"))
}
