//! A Pod, or its status, is updated.

use json::{Object, Within};

use crate::cluster::Cluster;
use crate::decision::{Decision, Rejection};
use crate::field_masks::FieldMasks;
use crate::look_up;
use crate::node_metadata::{NodeMetadata, on_update};
use crate::object_meta::Named;
use crate::placement::pods::{self, Judged};
use crate::placement::toleration_plugin;
use crate::request::Request;
use crate::settings::{Mode, Placement, Settings};
use crate::size;
use crate::toleration::{Operation, PluginConfig};

/// Judges the new Pod, undoes what others did to managed keys, and fills in what is missing.
///
/// # Errors
/// The rejection.
pub fn decide(request: &mut Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let mut pod = request.take_object()?;
    let named = Named::pod(&pod);
    let is_mirror = request.is_about_mirror(&pod)?;
    if !is_mirror {
        size::check(&pod, request.old_object().ok(), &named)?;
    }
    if let Some(config) = settings.toleration_plugin()? {
        restrict_tolerations(request, &mut pod, &config, cluster, &mut decision)?;
    }
    if is_mirror {
        decision.mutate(pod);
        return Ok(decision);
    }
    // The in-tree plugin looks at nodeSelectors of Pods only when they are created.
    if let Some(placement) = settings.placement()?.filter(|placement| placement.mode == Mode::Placement) {
        judge(request, &pod, &placement, &named, cluster)?;
    }
    if let Some(block) = settings.node_metadata()? {
        let settings = NodeMetadata::read(&block)?;
        on_update::write(&settings, request, &mut pod, &named, cluster, &mut decision)?;
    }
    if pod.is_changed() {
        size::check(&pod, request.old_object().ok(), &named)?;
    }
    decision.mutate(pod);
    Ok(decision)
}

/// The same for an update of the status, where only managed keys are looked at.
///
/// # Errors
/// The request can't be read.
pub fn decide_about_status(request: &mut Request, settings: &Settings) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let Some(block) = settings.node_metadata()? else { return Ok(decision) };
    if !block.protect()? {
        return Ok(decision);
    }
    let mut pod = request.take_object()?;
    if !request.is_about_mirror(&pod)? {
        on_update::write_status(&NodeMetadata::read(&block)?, request, &mut pod, &mut decision)?;
        decision.mutate(pod);
    }
    Ok(decision)
}

fn judge(
    request: &Request,
    pod: &Object,
    placement: &Placement<'_>,
    named: &Named,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    let none = Object::new();
    let spec = pod.object("spec").within("object")?.unwrap_or(&none);
    let old_spec = request.old_object()?.object("spec").within("oldObject")?.unwrap_or(&none);
    let judged = Judged::pod(pod, named, request)?;
    pods::judge_update(spec, old_spec, &judged, placement, &request.namespace, cluster)
}

fn restrict_tolerations(
    request: &Request,
    pod: &mut Object,
    config: &PluginConfig,
    cluster: &impl Cluster,
    decision: &mut Decision,
) -> Result<(), Rejection> {
    let tolerations = toleration_plugin::tolerations_of(pod, Operation::Update).within("object")?;
    let mut masks = FieldMasks::default();
    if toleration_plugin::needs_annotations(&tolerations) {
        masks.add(FieldMasks::ANNOTATIONS);
    }
    let namespace = look_up::namespace(&request.namespace, &masks, cluster)?;
    toleration_plugin::write(pod, &tolerations, &request.namespace, &namespace.annotations, config, decision)
}
