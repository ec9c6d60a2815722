//! Pods: what they learn when they are created with a node, what is filled in later, and what others may not write.

use std::borrow::Cow;

use json::Object;

use super::protect::Changes;
use super::{Marks, plan, source};
use crate::cluster::{self, Cluster, Found, LookupError};
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
/// # Errors
/// The request can't be read.
pub fn update<'a>(
    settings: &NodeMetadata,
    request: &Request<'a>,
    object: &mut Object<'a>,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let metadata = Metadata::of(object)?;
    let mut changes = undone(settings, request, &metadata)?;
    let node_name = node_to_learn_from(request, object, &metadata)?;
    if let Some(name) = node_name.filter(|_| changes.stored.lack(settings)) {
        let answer = cluster::look_up_node(cluster, &name, &source::masks(settings));
        let node = cluster::found(&answer, cluster, decision);
        changes.stored.fill_in(&plan::lenient(settings, node.as_ref(), decision));
    }
    changes.carry_out(metadata, object, decision)
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
    undone(settings, request, &metadata)?.carry_out(metadata, object, decision)
}

fn undone<'a>(
    settings: &NodeMetadata,
    request: &Request<'a>,
    metadata: &Metadata<'a>,
) -> Result<Changes<'a>, Rejection> {
    let mut changes = Changes::of(metadata)?;
    if settings.protect {
        let old = Metadata::of(&request.old_object()?)?;
        changes.undo(settings, &Marks::read(&old)?);
    }
    Ok(changes)
}

/// The node of an updated Pod, while there is use in telling the Pod about it. A kubelet tells what runs, and must not
/// be held up.
fn node_to_learn_from<'a>(
    request: &Request<'_>,
    object: &Object<'a>,
    metadata: &Metadata<'_>,
) -> Result<Option<Cow<'a, str>>, Rejection> {
    let member = |name: &'static str, key: &'static str| {
        let object = object.object(name).map_err(|mismatch| mismatch.within("object"))?.unwrap_or_default();
        object.string(key).map_err(|mismatch| mismatch.within(name).within("object"))
    };
    let phase = member("status", "phase")?;
    if metadata.is_terminating() || !matches!(phase.as_ref(), "" | "Pending" | "Running") || request.is_from_node()? {
        return Ok(None);
    }
    Ok(Some(member("spec", "nodeName")?).filter(|name| !name.is_empty()))
}
