//! Nodes: a kubelet must not pull other teams' Pods to itself by the labels that fences are built from.

use std::collections::BTreeSet;

use json::{StringMap, Within};

use crate::decision::Rejection;
use crate::message::{quote, shorten};
use crate::object_meta;
use crate::request::{Request, Requester};
use crate::settings::{OnNodes, Placement};

/// Rejects the creation or update of a Node by a kubelet, if it sets labels that a node selector of the settings names.
///
/// # Errors
/// The Node and the labels.
pub fn judge(request: &Request, settings: &Placement<'_>) -> Result<(), Rejection> {
    let on_nodes = settings.on_nodes()?;
    let is_judged = match on_nodes {
        OnNodes::Ignore => false,
        OnNodes::RejectChanges => request.is_update(),
        OnNodes::Reject => true,
    };
    if !is_judged || request.requester()? != Requester::Kubelet {
        return Ok(());
    }
    let node = request.object()?;
    let labels = object_meta::labels(node).within("object")?;
    let old = if request.is_update() {
        object_meta::labels(request.old_object()?).within("oldObject")?
    } else {
        StringMap::new()
    };
    if labels == old {
        return Ok(());
    }
    let guarded = settings.selected_node_labels()?;
    let mut changed = BTreeSet::new();
    for key in &guarded {
        if labels.get(key) != old.get(key) {
            changed.insert(key.as_str());
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = changed.into_iter().map(shorten).collect();
    Err(Rejection::forbidden(format!(
        "Node {} must not set labels that decide which Pods it gets (placement.onNodes): {}; have an administrator set them",
        quote(&object_meta::name(node).within("object")?),
        keys.join(", ")
    )))
}
