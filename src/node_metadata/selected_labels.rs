//! Workloads that select their Pods by what a Binding brings.

use json::{Mismatch, Object, Within};

use super::NodeMetadata;
use super::managed_keys::is_managed;
use crate::decision::Rejection;
use crate::message::shorten;
use crate::object_meta::Named;
use crate::settings::TargetKind;
use crate::workload::Workload;

/// Rejects a workload that selects its Pods by a managed label: a Binding would take its Pods away from it, or give it
/// others, and it would create Pods for ever.
///
/// # Errors
/// The label.
pub fn reject_managed(settings: &NodeMetadata, workload: Workload, object: &Object) -> Result<(), Rejection> {
    let keys = selected_labels(workload, object).within("object")?;
    let Some(key) = keys.iter().find(|key| is_managed(settings, TargetKind::Label, key)) else { return Ok(()) };
    Err(Rejection::forbidden(format!(
        "{} selects its Pods by the label {}, which this policy writes when a Pod is bound (nodeMetadata.propagate): it would \
         lose its Pods or get others, and create Pods for ever; select by another label",
        Named::workload(workload.kind(), object),
        shorten(key)
    )))
}

/// The labels that the workload selects its Pods by.
fn selected_labels(workload: Workload, object: &Object) -> Result<Vec<String>, Mismatch> {
    let Some(path) = workload.selector() else { return Ok(Vec::new()) };
    let Some(selector) = object.object_at(path)? else { return Ok(Vec::new()) };
    if workload == Workload::ReplicationController {
        return Ok(keys(selector));
    }
    let mut selected = match selector.object("matchLabels")? {
        Some(labels) => keys(labels),
        None => Vec::new(),
    };
    for expression in selector.objects("matchExpressions")? {
        selected.push(expression.string("key")?.into_owned());
    }
    Ok(selected)
}

fn keys(map: &Object) -> Vec<String> {
    map.members().map(|(key, _)| key.into_owned()).collect()
}
