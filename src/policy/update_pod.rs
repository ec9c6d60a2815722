//! A Pod, or its status, is updated.

use crate::cluster::{Answer, Cluster, Namespace, look_up_namespace};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, Within};
use crate::node_metadata::on_update;
use crate::node_metadata::propagation::Propagations;
use crate::object_meta::ObjectName;
use crate::placement::judged::Judged;
use crate::placement::{pods, toleration_plugin};
use crate::request::Request;
use crate::settings::{Placement, Settings};
use crate::size;
use crate::toleration::{Operation, PluginConfig};

/// Judges the new Pod, undoes what others did to managed keys, and fills in what is missing.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    mut request: Request<'a>,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut pod = request.take_object()?;
    let name = ObjectName::pod(&pod);
    let is_mirror = request.is_about_mirror(&pod)?;
    let mut is_changed = false;
    if !is_mirror {
        size::check(&pod, request.old_object().ok(), &name)?;
    }
    // The in-tree plugins know no exemption for mirror Pods, and neither do their configurations here.
    if let Some(config) = &settings.pod_toleration_restriction_plugin_config {
        is_changed |= restrict_tolerations(&request, &mut pod, config, cluster, &mut decision)?;
    }
    if is_mirror {
        decision.mutate(pod, is_changed);
        return Ok(decision);
    }
    if let Some(placement) = &settings.placement {
        judge(&request, &pod, placement, &name, cluster, &mut decision)?;
    }
    if let Some(node_metadata) = &settings.node_metadata {
        let propagations = Propagations::of(node_metadata)?;
        is_changed |= on_update::write(&propagations, &request, &mut pod, &name, cluster, &mut decision)?;
    }
    if is_changed {
        size::check(&pod, request.old_object().ok(), &name)?;
    }
    decision.mutate(pod, is_changed);
    Ok(decision)
}

/// The same for an update of the status, where only managed keys are looked at.
///
/// # Errors
/// The request can't be read.
pub fn decide_about_status<'a>(mut request: Request<'a>, settings: &Settings) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let Some(node_metadata) = settings.node_metadata.as_ref().filter(|settings| settings.protect) else {
        return Ok(decision);
    };
    let mut pod = request.take_object()?;
    if !request.is_about_mirror(&pod)? {
        let propagations = Propagations::of(node_metadata)?;
        let is_changed = on_update::write_status(&propagations, &request, &mut pod, &mut decision)?;
        decision.mutate(pod, is_changed);
    }
    Ok(decision)
}

fn judge(
    request: &Request<'_>,
    pod: &RawObject<'_>,
    placement: &Placement,
    name: &ObjectName,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let empty = RawObject::default();
    let spec = pod.object("spec").within("object")?.unwrap_or(&empty);
    let old_spec = request.old_object()?.object("spec").within("oldObject")?.unwrap_or(&empty);
    let judged = Judged::pod(pod, name, request)?;
    pods::judge_update(spec, old_spec, &judged, request, placement, cluster, decision)
}

/// Returns whether anything changed.
fn restrict_tolerations(
    request: &Request<'_>,
    pod: &mut RawObject<'_>,
    config: &PluginConfig,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let tolerations = toleration_plugin::tolerations_of(pod, Operation::Update).within("object")?;
    let answer = Answer::new();
    let mut found = Namespace::default();
    if toleration_plugin::needs_annotations(&tolerations) {
        found = look_up_namespace(cluster, &request.namespace, &answer)?;
    }
    toleration_plugin::write(pod, &tolerations, &request.namespace, &found.annotations, config, decision)
}
