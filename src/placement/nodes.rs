//! Checks the labels of Nodes: a kubelet must not attract other teams' Pods by labels that node selectors name.

use std::collections::BTreeSet;

use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{Pairs, Within};
use crate::limits::MOST_NAMED;
use crate::message::{joined, shorten};
use crate::object_meta;
use crate::request::User;
use crate::review::Review;
use crate::selector::{self, Requirement};
use crate::settings::key::prefix_of;
use crate::settings::reference::{self, StandIns};
use crate::settings::{EntryAt, OnNodes, Placement, Setting, SettingPath, SettingsError, Source};

/// Rejects the creation or update of a Node by a kubelet, if it sets, changes or removes labels that a node selector of
/// the settings names, or that are listed in `guardedNodeLabels`.
///
/// # Errors
/// The Node and the labels.
pub fn validate(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    let Review { request, object: node, .. } = review;
    let is_guarded = match settings.on_nodes {
        OnNodes::Ignore => false,
        OnNodes::RejectChanges => request.is_update(),
        OnNodes::Reject => true,
    };
    if !is_guarded || request.user != User::Kubelet {
        return Ok(());
    }
    let labels = object_meta::labels(node).within("object")?;
    let mut old = Pairs::default();
    if request.is_update() {
        old = object_meta::labels(request.old_object()?).within("oldObject")?;
    }
    if labels == old {
        return Ok(());
    }
    let mut guarded = selected_labels(settings)?;
    // Keys, and prefixes with their slash. Each of 60,000 labels is looked up once, however many are guarded.
    guarded.extend(settings.guarded_node_labels.iter().map(|label| label.trim_end_matches('*').to_owned()));
    let is_guarded = |key: &str| guarded.contains(key) || prefix_of(key).is_some_and(|prefix| guarded.contains(prefix));
    let is_refused = |key: &&str| labels.get(key) != old.get(key) && is_guarded(key);
    // More would not fit into the message. Both are in order.
    let mut keys = BTreeSet::new();
    keys.extend(labels.keys().filter(is_refused).take(MOST_NAMED));
    keys.extend(old.keys().filter(is_refused).take(MOST_NAMED));
    if keys.is_empty() {
        return Ok(());
    }
    let keys = joined(keys.into_iter().take(MOST_NAMED).map(shorten), ", ");
    let explanation = format!(
        "{} must not set labels that decide which Pods it gets (placement.onNodes): {keys}; have an administrator set \
         them",
        review.name,
    );
    let cause = Cause::new(CauseKind::Requests).setting(SettingPath::Placement(Setting::OnNodes)).label(&keys);
    Err(Rejection::forbidden(cause, explanation))
}

/// Returns every node label that a selector of the settings names.
fn selected_labels(settings: &Placement) -> Result<BTreeSet<String>, SettingsError> {
    let cluster_default = Source::Placement(Setting::ClusterDefaultNodeSelector);
    let cluster_default = settings.cluster_default_node_selector.iter().map(|text| (cluster_default, text));
    let of_entries = EntryAt::all(settings).flat_map(|entry| {
        entry.entry.node_selectors().map(move |(setting, text)| (Source::Entry(entry, setting), text))
    });
    let mut keys = BTreeSet::new();
    for (source, text) in cluster_default.chain(of_entries) {
        // The labels are the same, whatever a reference in their values says.
        let text =
            reference::with_stand_ins(text, StandIns::Usual).map_err(|problem| SettingsError::new(&source, problem))?;
        match selector::parse(&text) {
            Ok(selector) => keys.extend(selector.requirements().iter().map(Requirement::key).map(str::to_owned)),
            Err(error) => return Err(SettingsError::new(&source, error)),
        }
    }
    Ok(keys)
}
