//! The twin of the policy in the API server: a MutatingAdmissionPolicy. It adds to Pods what `requiredNodeSelector`
//! requires, and `defaultTolerations`, also while no policy-server answers.
//!
//! The policy makes the same of a Pod, whether the twin has seen it before or not, if no other webhook changes labels or
//! affinity between them. So the twin adds nothing to a Pod that no node could match then: the policy rejects such a Pod
//! only if it could match one before.
//!
//! - `additions`: what is added for an entry
//! - `twin.yml.j2`: the file around that

pub mod additions;

use anyhow::{Context, Result, ensure};
use node_placement_policy::{
    placement::toleration_rules::DEFAULTS_ANNOTATION,
    settings::{Enforcement, NamespaceEntry, OnNodeAffinity, Placement},
};
use serde_json::json;

use additions::Additions;

use super::{
    backstop::backstop_file,
    cel::{entries, list, text},
    in_process::InProcess,
    large_objects::one_file,
    left_out,
    overrides::Overrides,
};
use crate::{input::settings::entries_at, template::render};

const TEMPLATE: &str = include_str!("twin.yml.j2");

/// Writes the backstop and, after it, the twin: for settings, or for the one policy in a file that places Pods. If the
/// second can't be applied, the fence holds.
///
/// # Errors
/// There is no backstop for these settings, no entry with a `requiredNodeSelector` is enforced, or an API server would
/// refuse the twin.
pub fn twin_file(text: &str, overrides: &Overrides) -> Result<String> {
    let in_process = InProcess::read(text, overrides)?;
    let placement = &in_process.placement;
    let is_fence =
        |entry: &NamespaceEntry| entry.enforcement == Enforcement::Enforce && entry.required_node_selector.is_some();
    ensure!(
        placement.namespaces.iter().any(is_fence),
        "every entry with a requiredNodeSelector has enforcement: Warn, so there is nothing to add"
    );
    let (mut required, mut defaults, mut tolerations) = (vec![], vec![], vec![]);
    for at in entries_at(placement) {
        let additions = Additions::of_entry(placement, at.entry).with_context(|| at.to_string())?;
        required.push(additions.required);
        defaults.push(additions.default);
        tolerations.push(additions.tolerations);
    }
    let data = json!({
        "name": in_process.name_with("twin")?,
        "left_out": left_out::by_twin(&in_process),
        "matching": in_process.matching()?,
        "required": entries::of_entry(&required)?,
        "defaults": of_entry_if_any(&defaults)?,
        "tolerations": of_entry_if_any(&tolerations)?,
        "selector_annotations": selector_annotations(placement),
        "terms_choose": placement.on_node_affinity == OnNodeAffinity::Check,
        "tolerations_annotation": placement.honors_toleration_annotations().then_some(DEFAULTS_ANNOTATION),
    });
    one_file(&[backstop_file(text, overrides)?, render("twin.yml", TEMPLATE, data)?])
}

/// Returns the list of the entry that applies, if one of them is not empty.
fn of_entry_if_any(lists: &[String]) -> Result<Option<String>> {
    let has_any = lists.iter().any(|own| own != additions::NOTHING);
    has_any.then(|| entries::of_entry(lists)).transpose()
}

/// Returns the annotations that replace defaults, as a list in CEL.
fn selector_annotations(placement: &Placement) -> Option<String> {
    let keys: Vec<String> = placement.namespace_annotations.0.iter().map(|key| text(key)).collect();
    (!keys.is_empty()).then(|| list(&keys))
}
