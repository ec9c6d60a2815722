//! A workload, from whose template Pods are made, is created or updated.

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::node_metadata::propagation::Propagations;
use crate::node_metadata::selected_labels;
use crate::object_meta::ObjectName;
use crate::placement::workloads;
use crate::request::Request;
use crate::settings::Settings;
use crate::size;
use crate::workload::Workload;

/// Judges the workload, and completes the template of a DaemonSet.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    workload: Workload,
    mut request: Request<'a>,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut object = request.take_object()?;
    let name = ObjectName::workload(workload.kind(), &object);
    size::check(&object, request.old_object().ok(), &name)?;
    if let Some(node_metadata) = &settings.node_metadata {
        selected_labels::reject_managed(&Propagations::of(node_metadata)?, workload, &request, &object, &name)?;
    }
    let Some(placement) = &settings.placement else { return Ok(decision) };
    if workloads::admit(workload, &request, &mut object, placement, cluster, &mut decision)? {
        size::check(&object, request.old_object().ok(), &name)?;
        decision.mutate(object, true);
    }
    Ok(decision)
}
