//! A workload, from whose template Pods are made, is created or updated.

use json::{Mismatch, Object, Within};

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::node_metadata::{NodeMetadata, selected_labels};
use crate::object_meta::Named;
use crate::placement::workloads;
use crate::request::Request;
use crate::settings::Settings;
use crate::size;
use crate::workload::Workload;

/// Judges the workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The rejection.
pub fn decide(
    workload: Workload,
    request: &mut Request,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision, Rejection> {
    let mut object = request.take_object()?;
    let named = Named::workload(workload.kind(), &object);
    size::check(&object, request.old_object().ok(), &named)?;
    let mut decision = match settings.placement()? {
        Some(placement) => workloads::admit(workload, request, &mut object, &placement, cluster)?,
        None => Decision::accept(),
    };
    if let Some(block) = settings.node_metadata()?
        && is_selector_new(workload, request, &object)?
    {
        selected_labels::reject_managed(&NodeMetadata::read(&block)?, workload, &object)?;
    }
    if object.is_changed() {
        size::check(&object, request.old_object().ok(), &named)?;
    }
    decision.mutate(object);
    Ok(decision)
}

/// Whether the workload selects its Pods otherwise than before. The selector of all but a ReplicationController stays what
/// it was.
fn is_selector_new(workload: Workload, request: &Request, object: &Object) -> Result<bool, Mismatch> {
    if !request.is_update() {
        return Ok(true);
    }
    let Some(path) = workload.selector().filter(|_| workload == Workload::ReplicationController) else {
        return Ok(false);
    };
    let old = request.old_object()?.object_at(path).within("oldObject")?;
    Ok(object.object_at(path).within("object")? != old)
}
