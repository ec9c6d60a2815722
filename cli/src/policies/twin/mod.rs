//! The twin of the policy in the API server: a MutatingAdmissionPolicy. It adds to Pods what `requiredNodeSelector`
//! requires, and `defaultTolerations`, also while no policy-server answers.
//!
//! The policy makes the same of a Pod, whether the twin has seen it before or not. So the twin adds nothing to a Pod that
//! no node could match then: the policy rejects such a Pod only if it could match one before.
//!
//! - `additions`: what is added for an entry
//! - `twin.yml.j2`: the file around that

mod additions;

use anyhow::{Context, Result, ensure};
use node_placement_policy::{
    placement::toleration_rules::DEFAULTS_ANNOTATION,
    settings::{Enforcement, NamespaceEntry, OnDefaultConflict, Placement},
};
use serde_json::json;

use super::{backstop::backstop_file, cel::entries, in_process::InProcess, left_out, overrides::Overrides};
use crate::{
    input::settings::{entries_at, node_selector},
    template::render,
};

const TEMPLATE: &str = include_str!("twin.yml.j2");

/// Writes the twin and, after it, the backstop: for settings, or for the one policy in a file that places Pods.
///
/// # Errors
/// There is no backstop for these settings, or no entry with a `requiredNodeSelector` is enforced.
pub fn twin_file(text: &str, overrides: &Overrides) -> Result<String> {
    let in_process = InProcess::read(text, overrides)?;
    let InProcess { name, placement, .. } = &in_process;
    let is_enforced = |entry: &NamespaceEntry| entry.enforcement == Enforcement::Enforce;
    ensure!(
        placement.namespaces.iter().any(|entry| is_enforced(entry) && entry.required_node_selector.is_some()),
        "every entry with a requiredNodeSelector has enforcement: Warn, so there is nothing to add"
    );
    let (mut required, mut tolerations) = (vec![], vec![]);
    for at in entries_at(placement) {
        let is_added = is_enforced(at.entry);
        let adds_selector = is_added && !yields_what_is_required(placement, at.entry);
        required.push(additions::required(at.entry, adds_selector).with_context(|| at.to_string())?);
        tolerations.push(additions::tolerations(at.entry, is_added).with_context(|| at.to_string())?);
    }
    let adds_tolerations = tolerations.iter().any(|own| own != additions::NOTHING);
    let data = json!({
        "name": format!("{name}-twin"),
        "left_out": left_out::by_twin(&in_process, |entry| yields_what_is_required(placement, entry)),
        "matching": in_process.matching()?,
        "required": entries::of_entry(&required)?,
        "tolerations": adds_tolerations.then(|| entries::of_entry(&tolerations)).transpose()?,
        "annotation": placement.honors_toleration_annotations().then_some(DEFAULTS_ANNOTATION),
        // Where defaults yield, the policy looks at all terms that can match a node.
        "enough_terms": if placement.on_default_conflict == OnDefaultConflict::Yield { "all" } else { "exists" },
    });
    Ok(format!("{}---\n{}", render("twin.yml", TEMPLATE, data)?, backstop_file(text, overrides)?))
}

/// Returns whether a default of the entry that yields is on a label that `requiredNodeSelector` names. The policy would
/// take what the twin adds for the Pod's own choice, and leave the default out.
fn yields_what_is_required(placement: &Placement, entry: &NamespaceEntry) -> bool {
    let default = entry.default_node_selector.as_ref().or(placement.cluster_default_node_selector.as_ref());
    let [Some(required), Some(default)] = [entry.required_node_selector.as_ref(), default] else { return false };
    let [Some(required), Some(default)] = [node_selector(required), node_selector(default)] else { return false };
    placement.on_default_conflict == OnDefaultConflict::Yield
        && required.requirements().iter().any(|own| !default.on(own.key()).is_empty())
}
