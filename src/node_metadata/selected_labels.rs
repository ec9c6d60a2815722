//! Workloads that select their Pods by what a Binding brings.

use serde::Deserialize;

use super::propagation::Propagations;
use crate::decision::{CauseKind, Rejection};
use crate::json::{RawObject, ReadError, StringMap, Within};
use crate::message::shorten;
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::key::TargetKind;

/// Rejects a workload that selects its Pods by a managed label: a Binding would take its Pods away from it, or give it
/// others, and it would create Pods for ever.
///
/// # Errors
/// The label.
pub fn reject_managed(propagations: &Propagations, review: &Review<'_>) -> Result<(), Rejection> {
    if !is_new(review)? {
        return Ok(());
    }
    let keys = selected_labels(review.resource, &review.object).within("object")?;
    let Some(key) = keys.iter().find(|key| propagations.manage(TargetKind::Label, key)) else { return Ok(()) };
    let explanation = format!(
        "{} selects its Pods by the label {}, which this policy writes when a Pod is bound (nodeMetadata.propagate): it \
         would lose its Pods or get others, and create Pods for ever; select by another label",
        review.name,
        shorten(key)
    );
    let rejection = Rejection::forbidden(CauseKind::Metadata, explanation).by_setting("nodeMetadata.propagate");
    Err(rejection.about_label(key))
}

/// Whether the workload selects its Pods otherwise than before. The selector of all but a ReplicationController stays
/// what it was.
fn is_new(review: &Review<'_>) -> Result<bool, ReadError> {
    let Review { request, object, resource, .. } = review;
    if !request.is_update() {
        return Ok(true);
    }
    if *resource != Resource::ReplicationController {
        return Ok(false);
    }
    let new = object.object("spec").within("object")?.and_then(|spec| spec.member("selector"));
    let old = request.old_object()?.object("spec").within("oldObject")?.and_then(|spec| spec.member("selector"));
    Ok(new != old)
}

/// The labels that the workload selects its Pods by.
fn selected_labels(resource: Resource, object: &RawObject<'_>) -> Result<Vec<String>, ReadError> {
    let Some(spec) = object.object_at(resource.spec())? else { return Ok(Vec::new()) };
    let path = resource.spec().join(".");
    if resource == Resource::ReplicationController {
        let labels: StringMap<'_> = spec.get("selector").within(&path)?.unwrap_or_default();
        return Ok(labels.keys().map(ToString::to_string).collect());
    }
    let labels: StringMap<'_> = spec.get_at(&["selector", "matchLabels"]).within(&path)?.unwrap_or_default();
    let expressions: Option<Vec<Expression>> = spec.get_at(&["selector", "matchExpressions"]).within(&path)?;
    let keys = expressions.into_iter().flatten().filter_map(|expression| expression.key);
    Ok(keys.chain(labels.keys().map(ToString::to_string)).collect())
}

/// `LabelSelectorRequirement`
#[derive(Deserialize)]
struct Expression {
    key: Option<String>,
}
