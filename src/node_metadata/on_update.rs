//! Pods that are updated: what others did to managed keys is undone, and what a bound Pod lacks is filled in.

use json::{Mismatch, Object, Within};

use super::changes::Changes;
use super::managed_keys::KeysAndValues;
use super::{NodeMetadata, room, source, values};
use crate::cluster::{Cluster, LookupError, Node, NodeName};
use crate::decision::{Decision, Rejection};
use crate::look_up;
use crate::object_meta::Named;
use crate::pod_spec;
use crate::request::{Request, Requester};

/// Undoes what others did to managed keys of `object`, if they are protected, and fills in what a bound Pod lacks.
///
/// Which node the Pod is bound to, only the old object tells: the new one is not validated yet.
///
/// # Errors
/// The request can't be read, or leaves no room for what a Binding brings.
pub fn write(
    settings: &NodeMetadata,
    request: &Request,
    object: &mut Object,
    named: &Named,
    cluster: &impl Cluster,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let old_object = request.old_object()?;
    let old = KeysAndValues::read(old_object).within("oldObject")?;
    let node_name = pod_spec::node_name(old_object).within("oldObject")?;
    let mut changes = Changes::of(object)?;
    if node_name.is_empty() {
        if room::may_lack(object)? && room::grew(settings, &changes.submitted, &old) {
            room::check(settings, &changes.submitted, named)?;
        }
        if settings.protect {
            changes.undo(settings, &old);
        }
    } else if settings.protect && changes.submitted.differs_in_managed(settings, &old) {
        let name = if may_take_time(request)? { NodeName::new(&node_name) } else { None };
        let node = look_up::node(name, &source::field_masks(settings), cluster, decision);
        heal(&mut changes, settings, &old, node, decision);
    } else if changes.stored.lacks_certain(settings)
        && runs_or_will(object)?
        && may_take_time(request)?
        && let Some(node) = look_up::node(NodeName::new(&node_name), &source::field_masks(settings), cluster, decision)
    {
        changes.stored.fill_in(&values::available_of(settings, node.as_ref(), decision));
    }
    changes.carry_out(object, decision)?;
    Ok(())
}

/// Undoes what others did to managed keys, in an update of the status. Nothing is ever filled in here: a kubelet's update
/// of the status fails where a webhook adds a label.
///
/// # Errors
/// The request can't be read.
pub fn write_status(
    settings: &NodeMetadata,
    request: &Request,
    object: &mut Object,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let mut changes = Changes::of(object)?;
    changes.undo(settings, &KeysAndValues::read(request.old_object()?).within("oldObject")?);
    changes.carry_out(object, decision)?;
    Ok(())
}

/// Sets all managed keys to what the node says, so that a forged one does not stay for good; to what they were, if there
/// is no node to ask, or it can't be read.
fn heal(
    changes: &mut Changes,
    settings: &NodeMetadata,
    old: &KeysAndValues,
    node: Option<Result<Node, LookupError>>,
    decision: &mut Decision,
) {
    match node {
        Some(Ok(node)) => {
            let values = values::available_of(settings, Ok(&node), decision);
            changes.heal(settings, &values, node.name.as_str());
        }
        Some(Err(error)) => {
            decision.warn(error.message());
            changes.undo(settings, old);
        }
        None => changes.undo(settings, old),
    }
}

/// Whether there is use in telling a bound Pod about its node.
fn runs_or_will(object: &Object) -> Result<bool, Mismatch> {
    let phase = match object.object("status").within("object")? {
        Some(status) => status.string("phase").within("object.status")?,
        None => "".into(),
    };
    Ok(matches!(phase.as_ref(), "" | "Pending" | "Running"))
}

/// Whether a look-up may be waited for: a kubelet tells what runs, and must not be held up; what goes away is let go.
fn may_take_time(request: &Request) -> Result<bool, Mismatch> {
    Ok(request.requester()? != Requester::Kubelet && !request.is_about_terminating()?)
}
