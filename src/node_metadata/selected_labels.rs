//! Workloads that select their Pods by what a Binding brings.

use super::propagation::Propagations;
use crate::decision::Rejection;
use crate::json::{RawObject, ReadError, StringMap, Within};
use crate::message::shorten;
use crate::object_meta::ObjectName;
use crate::request::Request;
use crate::settings::key::TargetKind;
use crate::workload::Workload;

/// Rejects a workload that selects its Pods by a managed label: a Binding would take its Pods away from it, or give it
/// others, and it would create Pods for ever.
///
/// # Errors
/// The label.
pub fn reject_managed(
    propagations: &Propagations,
    workload: Workload,
    request: &Request<'_>,
    object: &RawObject<'_>,
    name: &ObjectName,
) -> Result<(), Rejection> {
    if !is_new(workload, request, object)? {
        return Ok(());
    }
    let keys = selected_labels(workload, object).within("object")?;
    let Some(key) = keys.iter().find(|key| propagations.manage(TargetKind::Label, key)) else { return Ok(()) };
    Err(Rejection::forbidden(format!(
        "{name} selects its Pods by the label {}, which this policy writes when a Pod is bound (nodeMetadata.propagate): it \
         would lose its Pods or get others, and create Pods for ever; select by another label",
        shorten(key)
    )))
}

/// Whether the workload selects its Pods otherwise than before. The selector of all but a ReplicationController stays
/// what it was.
fn is_new(workload: Workload, request: &Request<'_>, object: &RawObject<'_>) -> Result<bool, ReadError> {
    if !request.is_update() {
        return Ok(true);
    }
    if workload != Workload::ReplicationController {
        return Ok(false);
    }
    let new = object.object("spec").within("object")?.and_then(|spec| spec.member("selector"));
    let old = request.old_object()?.object("spec").within("oldObject")?.and_then(|spec| spec.member("selector"));
    Ok(new != old)
}

/// The labels that the workload selects its Pods by.
fn selected_labels(workload: Workload, object: &RawObject<'_>) -> Result<Vec<String>, ReadError> {
    let Some(spec) = object.object_at(workload.spec())? else { return Ok(Vec::new()) };
    let path = workload.spec().join(".");
    if workload == Workload::ReplicationController {
        let map: Option<StringMap<'_>> = spec.get("selector").within(&path)?;
        return Ok(map.into_iter().flatten().map(|(key, _)| key.to_string()).collect());
    }
    match spec.inner("selector").within(&path)? {
        Some(selector) => labels_in(&selector).within("selector").within(&path),
        None => Ok(Vec::new()),
    }
}

/// The labels that `selector` names (`LabelSelector`).
fn labels_in(selector: &RawObject<'_>) -> Result<Vec<String>, ReadError> {
    let labels: StringMap<'_> = selector.get("matchLabels")?.unwrap_or_default();
    let mut keys: Vec<String> = labels.keys().map(ToString::to_string).collect();
    for (position, expression) in selector.list("matchExpressions")?.iter().enumerate() {
        let key = expression.object().and_then(|expression| expression.string("key"));
        keys.push(key.at(position).within("matchExpressions")?);
    }
    Ok(keys)
}
