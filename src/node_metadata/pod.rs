//! Pods: what they learn when they are created with a node, what is filled in later, and what others may not write.

use std::borrow::Cow;

use json::{Mismatch, Object};

use super::protect::Changes;
use super::{Marks, plan, room, source};
use crate::cluster::{self, Cluster, Found, LookupError, NodeName};
use crate::decision::{Decision, Rejection};
use crate::metadata::{Metadata, Subject};
use crate::request::Request;
use crate::settings::NodeMetadata;

/// Takes managed keys that a new Pod brings away, if they are protected, and writes what there is to tell about its
/// `node`, if it has one: no Binding will ever come.
///
/// # Errors
/// The node lacks something required, or could not be read; or the Pod brings what it must not.
pub fn create(
    settings: &NodeMetadata,
    object: &mut Object<'_>,
    node: Option<Result<&Found<'_>, &LookupError>>,
    subject: &Subject<'_>,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let metadata = Metadata::of(object)?;
    let mut changes = Changes::of(&metadata)?;
    room::check(settings, changes.submitted(), subject)?;
    if settings.protect {
        changes.undo(settings, &Marks::default());
    }
    if let Some(node) = node {
        changes.stored.overwrite(settings, &plan::of(settings, node, decision)?);
    }
    if settings.protect && metadata.has_controller()? {
        changes.reject_owned(subject)?;
    }
    changes.carry_out(metadata, object, decision)
}

/// Undoes what others did to managed keys, if they are protected, and fills in what a bound Pod lacks.
///
/// Which node the Pod is bound to, only the old object tells: the new one is not validated yet.
///
/// # Errors
/// The request can't be read, or leaves no room for what a Binding brings.
pub fn update<'a>(
    settings: &NodeMetadata,
    request: &Request<'a>,
    object: &mut Object<'a>,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let metadata = Metadata::of(object)?;
    let old_object = request.old_object()?;
    let old = Marks::read(&Metadata::of(&old_object)?)?;
    let node_name = node_name_of(&old_object).map_err(|mismatch| mismatch.within("oldObject"))?;
    let mut changes = Changes::of(&metadata)?;
    if node_name.is_empty() {
        if room::may_lack(object)? && room::grew(settings, changes.submitted(), &old) {
            room::check(settings, changes.submitted(), &Subject::Pod(object.clone()))?;
        }
        if settings.protect {
            changes.undo(settings, &old);
        }
    } else if settings.protect && changes.submitted().differs_in_managed(settings, &old) {
        // A kubelet must not be held up, and what goes away is let go.
        let is_worth_it = !request.is_from_node()? && !metadata.is_terminating();
        let name = NodeName::new(&node_name).filter(|_| is_worth_it);
        heal(&mut changes, settings, &old, name.as_ref(), cluster, decision);
    } else if changes.stored.lack(settings) && can_be_filled_in(request, object, &metadata)? {
        // A node by an impossible name can't be read, and nothing is filled in from it.
        if let Some(name) = NodeName::new(&node_name) {
            let answer = cluster::look_up_node(cluster, &name, &source::masks(settings));
            let node = cluster::found(&answer, cluster, decision);
            changes.stored.fill_in(&plan::lenient(settings, node.as_ref(), decision));
        }
    }
    changes.carry_out(metadata, object, decision)
}

/// Sets all managed keys to what the node says, so that a forged one does not stay for good; to what they were, if the
/// node has no `name` to be looked up by, or can't be read.
fn heal<'a>(
    changes: &mut Changes<'a>,
    settings: &NodeMetadata,
    old: &Marks<'a>,
    name: Option<&NodeName>,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) {
    let answer = name.map(|name| cluster::look_up_node(cluster, name, &source::masks(settings)));
    let node = answer.as_ref().map(|answer| cluster::found(answer, cluster, decision));
    match &node {
        Some(Ok(node)) => changes.heal(settings, &plan::lenient(settings, Ok(node), decision), node.name),
        Some(Err(error)) => {
            decision.warn(error.message());
            changes.undo(settings, old);
        }
        None => changes.undo(settings, old),
    }
}

/// Undoes what others did to managed keys. Nothing is ever filled in here: a kubelet's update of the status fails where
/// a webhook adds a label.
///
/// # Errors
/// The request can't be read.
pub fn update_status<'a>(
    settings: &NodeMetadata,
    request: &Request<'a>,
    object: &mut Object<'a>,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let metadata = Metadata::of(object)?;
    let mut changes = Changes::of(&metadata)?;
    if settings.protect {
        let old = Metadata::of(&request.old_object()?)?;
        changes.undo(settings, &Marks::read(&old)?);
    }
    changes.carry_out(metadata, object, decision)
}

/// Whether there is use in telling a bound Pod about its node. A kubelet tells what runs, and must not be held up.
fn can_be_filled_in(request: &Request<'_>, object: &Object<'_>, metadata: &Metadata<'_>) -> Result<bool, Mismatch> {
    let within = |mismatch: Mismatch| mismatch.within("object");
    let status = object.object("status").map_err(within)?.unwrap_or_default();
    let phase = status.string("phase").map_err(|mismatch| within(mismatch.within("status")))?;
    let runs = matches!(phase.as_ref(), "" | "Pending" | "Running");
    Ok(runs && !metadata.is_terminating() && !request.is_from_node()?)
}

/// The node of a Pod, or empty.
fn node_name_of<'a>(pod: &Object<'a>) -> Result<Cow<'a, str>, Mismatch> {
    let spec = pod.object("spec")?.unwrap_or_default();
    spec.string("nodeName").map_err(|mismatch| mismatch.within("spec"))
}
