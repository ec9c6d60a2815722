//! Workloads that select their Pods by what a Binding brings.

use json::{Json, Mismatch, Object};

use crate::decision::Rejection;
use crate::metadata::Subject;
use crate::placement::workload::Workload;
use crate::settings::{NodeMetadata, TargetKind};
use crate::text::shorten;

use super::is_managed;

/// Rejects a workload that selects its Pods by a managed label: a Binding would take its Pods away from it, or give it
/// others, and it would create Pods for ever.
///
/// # Errors
/// The label.
pub fn check(settings: &NodeMetadata, workload: Workload, object: &Object<'_>) -> Result<(), Rejection> {
    let keys = selected_keys(workload, object).map_err(|mismatch| mismatch.within("object"))?;
    let Some(key) = keys.iter().find(|key| is_managed(settings, TargetKind::Label, key)) else { return Ok(()) };
    Err(Rejection::forbidden(format!(
        "{} selects its Pods by the label {}, which this policy writes when a Pod is bound (nodeMetadata.propagate): it would \
         lose its Pods or get others, and create Pods for ever; select by another label",
        Subject::Workload(workload.kind(), object.clone()),
        shorten(key)
    )))
}

/// The labels that the workload selects its Pods by.
fn selected_keys(workload: Workload, object: &Object<'_>) -> Result<Vec<String>, Mismatch> {
    let path = workload.template();
    let Some((_, holder)) = path.split_last() else { return Ok(Vec::new()) };
    let Some(holder) = object.descend(holder)? else { return Ok(Vec::new()) };
    let Some(selector) = holder.object("selector")? else { return Ok(Vec::new()) };
    if workload == Workload::Other("ReplicationController") {
        return Ok(keys(&selector));
    }
    let mut selected = selector.object("matchLabels")?.map_or_else(Vec::new, |labels| keys(&labels));
    for expression in selector.read("matchExpressions", Json::objects)?.unwrap_or_default() {
        selected.push(expression.string("key")?.into_owned());
    }
    Ok(selected)
}

fn keys(map: &Object<'_>) -> Vec<String> {
    map.members().map(|(key, _)| key.into_owned()).collect()
}
