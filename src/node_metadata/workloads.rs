//! Rejects workloads that select their Pods by a label which a Binding sets.

use serde::Deserialize;

use super::propagation::Propagations;
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{FromObject, ReadError, Text, Within};
use crate::message::shorten;
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::key::TargetKind;
use crate::settings::{Setting, SettingPath};

/// Rejects a workload that selects its Pods by a managed label. A Binding would take its Pods away from it or give it
/// others, and it would create Pods forever.
///
/// # Errors
/// It selects by such a label, or can't be read.
pub fn reject_managed(propagations: &Propagations<'_>, review: &Review<'_>) -> Result<(), Rejection> {
    if !is_new(review)? {
        return Ok(());
    }
    let Some(key) = first_managed(propagations, review).within("object")? else { return Ok(()) };
    let explanation = format!(
        "{} selects its Pods by the label {}, which this policy writes when a Pod is bound (nodeMetadata.propagate): it \
         would lose its Pods or get others, and create Pods forever; select by another label",
        review.name,
        shorten(&key)
    );
    let setting = SettingPath::NodeMetadata(Setting::Propagate);
    let cause = Cause::new(CauseKind::Metadata).setting(setting).label(&key);
    Err(Rejection::forbidden(cause, explanation))
}

/// Returns whether the workload is new, or selects its Pods otherwise than before. Only the selector of a
/// ReplicationController can change.
fn is_new(review: &Review<'_>) -> Result<bool, ReadError> {
    let Review { request, object, resource, .. } = review;
    if !request.is_update() {
        return Ok(true);
    }
    if *resource != Resource::ReplicationController {
        return Ok(false);
    }
    let spec = object.object("spec").within("object")?.unwrap_or_default();
    let old_spec = request.old_object()?.object("spec").within("oldObject")?.unwrap_or_default();
    Ok(spec.member("selector") != old_spec.member("selector"))
}

/// Returns the first managed label that the workload selects its Pods by.
fn first_managed(propagations: &Propagations<'_>, review: &Review<'_>) -> Result<Option<String>, ReadError> {
    let Review { object, resource, .. } = review;
    let path = resource.spec().join(".");
    let Some(spec) = object.object_at(resource.spec())? else { return Ok(None) };
    let mut first = None;
    let mut note = |key: &str| {
        if first.is_none() && propagations.manages(TargetKind::Label, key) {
            first = Some(key.to_owned());
        }
    };
    if *resource == Resource::ReplicationController {
        spec.for_each_pair("selector", &mut |key, _| note(&key)).within(&path)?;
    } else if let Some(selector) = spec.object("selector").within(&path)? {
        selector.for_each_pair("matchLabels", &mut |key, _| note(&key)).within("selector").within(&path)?;
        let mut take = |FromObject(read): FromObject<Expression<'_>>| note(&read.key.unwrap_or_default());
        selector.for_each("matchExpressions", &mut take).within("selector").within(&path)?;
    }
    Ok(first)
}

/// `LabelSelectorRequirement`
#[derive(Deserialize)]
struct Expression<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
}
