//! Namespaces: their annotations are judged where they are written, not first where a Pod fails.

use super::holding_entry::{CandidateEntries, HoldingEntry};
use super::judged::{Judged, SPEC};
use super::node_selection::NodeSelection;
use super::pods;
use super::rules::Rules;
use super::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION};
use crate::decision::Rejection;
use crate::json::{RawObject, Within};
use crate::object_meta::{self, LabelsAndAnnotations, ObjectName};
use crate::request::Requester;
use crate::review::Review;
use crate::settings::{OnNamespaces, Settings};

/// Judges a Namespace that is created, whose annotations change, or that comes under another entry of the settings.
///
/// # Errors
/// What is wrong with the annotations.
pub fn judge(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let Review { request, object, decision, .. } = review;
    let Some(settings) = &settings.placement else { return Ok(()) };
    // An object that is being deleted is let through: to remove a finalizer is an update.
    if settings.on_namespaces == OnNamespaces::Ignore || request.is_about_terminating()? {
        return Ok(());
    }
    let name = object_meta::name(object).within("object")?;
    let found = LabelsAndAnnotations::read(object).within("object")?;
    let mut holding = CandidateEntries::of(settings, &name).find(found)?;
    let mut old = None;
    if request.is_update() {
        old = Some(LabelsAndAnnotations::read(request.old_object()?).within("oldObject")?);
    }
    let is_elsewhere = comes_under_another(&holding, old.as_ref())?;
    // Missing labels only get a warning: controllers often add them after the creation.
    if is_elsewhere {
        for unresolved in holding.unresolved()? {
            decision.warn_instead(&unresolved);
        }
    }
    if !must_be_judged(&holding, old.as_ref(), is_elsewhere) {
        return Ok(());
    }
    holding.ignores_unresolved = true;
    match judge_every_pod(&holding) {
        Err(rejection) if settings.on_namespaces == OnNamespaces::Warn => {
            decision.warn_instead(&rejection);
            Ok(())
        }
        judged => holding.enforce(judged, decision).map(drop),
    }
}

/// A Pod that asks for nothing gets what the annotations say.
fn judge_every_pod(holding: &HoldingEntry<'_>) -> Result<(), Rejection> {
    let (nobody, spec) = (Requester::Nobody, RawObject::default());
    let judged = Judged::new(&ObjectName::EveryPod, (SPEC, &spec), &nobody, String::new());
    pods::admit(NodeSelection::default(), &judged, &Rules::of(holding, &nobody)?).map(drop)
}

/// Whether an annotation that counts is there; and, in an update, one was changed, or another entry holds now, or its
/// entry says something else.
fn must_be_judged(holding: &HoldingEntry<'_>, old: Option<&LabelsAndAnnotations<'_>>, is_elsewhere: bool) -> bool {
    let HoldingEntry { settings, found, .. } = holding;
    let mut keys: Vec<&str> = settings.namespace_annotations.0.iter().map(String::as_str).collect();
    if settings.honors_toleration_annotations() {
        keys.extend([DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION]);
    }
    let Some(old) = old else { return keys.iter().any(|key| found.annotations.contains_key(*key)) };
    let is_changed = keys.iter().any(|key| found.annotations.get(*key) != old.annotations.get(*key));
    keys.iter().any(|key| found.annotations.contains_key(*key)) && (is_changed || is_elsewhere)
}

/// Whether the Namespace, which may have been an `old` one, comes under another entry, or has another value for a label
/// that its entry refers to.
fn comes_under_another(holding: &HoldingEntry<'_>, old: Option<&LabelsAndAnnotations<'_>>) -> Result<bool, Rejection> {
    let HoldingEntry { settings, namespace, entry, found, .. } = holding;
    let Some(old) = old else { return Ok(true) };
    if found.labels == old.labels {
        return Ok(false);
    }
    let is_other = |key: &str| found.labels.get(key) != old.labels.get(key);
    let mut labels = found.labels.keys().chain(old.labels.keys());
    if entry.is_some_and(|at| labels.any(|key| is_other(key) && at.entry.refers_to(key))) {
        return Ok(true);
    }
    let before = CandidateEntries::of(settings, namespace).find(old.clone())?;
    Ok(before.entry.map(|at| at.position) != entry.map(|at| at.position))
}
