//! A workload, from whose template Pods are made, is created or updated.

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
    let mut decision = match settings.placement()? {
        Some(placement) => workloads::admit(workload, request, &mut object, &placement, cluster)?,
        None => Decision::accept(),
    };
    if !request.is_update()
        && let Some(block) = settings.node_metadata()?
    {
        selected_labels::reject_managed(&NodeMetadata::read(&block)?, workload, &object)?;
    }
    let named = Named::workload(workload.kind(), &object);
    size::check(&object, request.old_object().ok(), &named)?;
    decision.mutate(object);
    Ok(decision)
}
