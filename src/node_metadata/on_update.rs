//! Pods that are updated: what others did to managed keys is undone, and what a bound Pod lacks is filled in.

use serde::Deserialize;

use super::changes::Changes;
use super::managed_keys::KeysAndValues;
use super::propagation::Propagations;
use super::{annotation_budget, values};
use crate::cluster::{Answer, Cluster, NodeLookup, NodeName, look_up_node};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::object_meta::ObjectName;
use crate::pod_spec;
use crate::request::{Request, Requester};

/// Undoes what others did to managed keys of `object`, if they are protected, and fills in what a bound Pod lacks.
/// Returns whether anything changed.
///
/// Which node the Pod is bound to, only the old object tells: the new one is not validated yet.
///
/// # Errors
/// The request can't be read, or leaves too little for what a Binding brings.
pub fn write<'a>(
    propagations: &Propagations,
    request: &Request<'a>,
    object: &mut RawObject<'a>,
    name: &ObjectName,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let old_object = request.old_object()?;
    let old = KeysAndValues::read(old_object).within("oldObject")?;
    let node_name = pod_spec::node_name(old_object).within("oldObject")?;
    let mut changes = Changes::of(object)?;
    if node_name.is_empty() {
        annotation_budget::check_growth(propagations, &changes.submitted, &old, name)?;
        if propagations.protect {
            changes.reset_to_old(propagations, &old);
        }
        return Ok(changes.carry_out(object, decision)?);
    }
    // A kubelet tells what runs, and must not be held up; what goes away is let go.
    let may_take_time = request.requester != Requester::Kubelet && !request.is_about_terminating()?;
    let node = NodeName::new(&node_name).filter(|_| may_take_time);
    let answer = Answer::new();
    if propagations.protect && changes.submitted.differs_in_managed(propagations, &old) {
        let node = look_up_node(cluster, node.as_ref(), propagations.field_masks(), &answer);
        reset(&mut changes, propagations, &old, &node, decision);
    } else if changes.stored.misses_guaranteed_key(propagations) && runs_or_will(object)? {
        let node = look_up_node(cluster, node.as_ref(), propagations.field_masks(), &answer);
        fill_in(&mut changes, propagations, &node, decision);
    }
    Ok(changes.carry_out(object, decision)?)
}

/// Undoes what others did to managed keys, in an update of the status. Nothing is ever filled in here: a kubelet's
/// update of the status fails where a webhook adds a label. Returns whether anything changed.
///
/// # Errors
/// The request can't be read.
pub fn write_status<'a>(
    propagations: &Propagations,
    request: &Request<'a>,
    object: &mut RawObject<'a>,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let mut changes = Changes::of(object)?;
    changes.reset_to_old(propagations, &KeysAndValues::read(request.old_object()?).within("oldObject")?);
    Ok(changes.carry_out(object, decision)?)
}

/// Sets all managed keys to what the node says, so that a forged one does not stay for good; to what they were, if
/// there is no node to ask, or it can't be read.
fn reset<'a>(
    changes: &mut Changes<'a>,
    propagations: &Propagations,
    old: &KeysAndValues<'a>,
    node: &NodeLookup<'_>,
    decision: &mut Decision<'_>,
) {
    match node {
        NodeLookup::Found(node) => {
            decision.audit("node", node.name.as_str().to_owned());
            let values = values::available_of(propagations, Ok(node), decision);
            changes.reset_to_node(propagations, &values, node.name.as_str());
        }
        NodeLookup::Failed(error) => {
            decision.warn(error.message());
            changes.reset_to_old(propagations, old);
        }
        NodeLookup::NotNeeded => changes.reset_to_old(propagations, old),
    }
}

/// Writes what is missing.
fn fill_in(changes: &mut Changes, propagations: &Propagations, node: &NodeLookup, decision: &mut Decision<'_>) {
    let values = match node {
        NodeLookup::NotNeeded => return,
        NodeLookup::Found(node) => {
            decision.audit("node", node.name.as_str().to_owned());
            values::available_of(propagations, Ok(node), decision)
        }
        NodeLookup::Failed(error) => values::available_of(propagations, Err(error), decision),
    };
    changes.stored.fill_in(&values);
}

/// `PodStatus`
#[derive(Deserialize)]
struct Status {
    phase: Option<String>,
}

/// Whether there is use in telling a bound Pod about its node.
fn runs_or_will(object: &RawObject<'_>) -> Result<bool, ReadError> {
    let status: Option<Status> = object.get("status").within("object")?;
    let phase = status.and_then(|status| status.phase).unwrap_or_default();
    Ok(matches!(phase.as_str(), "" | "Pending" | "Running"))
}
