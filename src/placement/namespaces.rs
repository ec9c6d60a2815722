//! Validates annotations of Namespaces when they are written, before a Pod fails.

use super::entry::{CandidateEntries, MatchedEntry};
use super::mode::Mode;
use super::pods;
use super::resolve::Unresolved;
use super::rules::Rules;
use super::severity::Severity;
use super::subject::{PodSubject, RuntimeClass};
use super::toleration_rules::{DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION};
use crate::cluster::Lookups;
use crate::decision::Rejection;
use crate::json::{RawObject, Within};
use crate::object_meta::{self, LabelsAndAnnotations, ObjectName, SPEC};
use crate::review::Review;
use crate::settings::{OnRejectedPods, Placement, Setting, Source, reference};

/// Validates a Namespace that is created, whose annotations change, or to which another entry applies now.
///
/// # Errors
/// What is wrong with the annotations.
pub fn validate(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    let Review { request, object, decision, lookups, .. } = review;
    // Objects that are being deleted are accepted: removing a finalizer is an update.
    if settings.on_namespaces == OnRejectedPods::Ignore || request.is_for_terminating_object()? {
        return Ok(());
    }
    let given_name: Option<String> = object.get_at(&["metadata", "name"]).within("object")?;
    let name = object_meta::name(object).within("object")?;
    let candidates = if given_name.is_none_or(|given| given.is_empty()) {
        CandidateEntries::for_any_name(settings, &name)
    } else {
        CandidateEntries::new(settings, &name)
    };
    let metadata = LabelsAndAnnotations::read(object).within("object")?;
    let matched = candidates.find(metadata)?.for_others;
    let mut old = None;
    if request.is_update() {
        old = Some(LabelsAndAnnotations::read(request.old_object()?).within("oldObject")?);
    }
    let is_entry_changed = has_entry_changed(&matched, old.as_ref())?;
    // Missing labels only get a warning: controllers often add them after the creation.
    if is_entry_changed {
        for unresolved in unresolved(&matched)? {
            decision.warn_instead(unresolved.rejection());
        }
    }
    if !must_be_validated(&matched, old.as_ref(), is_entry_changed) {
        return Ok(());
    }
    let mut severity = matched.severity();
    if settings.on_namespaces == OnRejectedPods::Warn {
        severity = Severity::Warn;
    }
    matched.answer(validate_every_pod(&matched, lookups), severity, decision).map(drop)
}

/// Validates a Pod that requests nothing. The annotations are added to it.
fn validate_every_pod(matched: &MatchedEntry<'_>, lookups: &Lookups<'_>) -> Result<(), Rejection> {
    let rules = Rules::for_request(matched, None, Mode::Namespace)?;
    let spec = RawObject::default();
    let runtime_class = RuntimeClass::new(&spec, matched.settings, lookups)?;
    let name = &ObjectName::EveryPod;
    let subject = PodSubject {
        name,
        is_template: false,
        path: SPEC,
        spec: &spec,
        user: None,
        is_of_daemon_set: false,
        runtime_class,
    };
    pods::admit(&subject, &rules).map(drop)
}

/// Returns, for each setting of the entry that can't be resolved, why it can't.
fn unresolved(matched: &MatchedEntry<'_>) -> Result<Vec<Unresolved>, Rejection> {
    let Some(entry) = matched.entry else { return Ok(Vec::new()) };
    // With `generateName`, the name is not known yet, so it is not missing.
    let is_known = |text: &str| matched.has_name || !reference::keys(text).any(|key| key == reference::NAME);
    let preferred = entry.preferred_node_selector.iter();
    let preferred = preferred.map(|preferred| (Setting::PreferredNodeSelector, &preferred.selector));
    let mut unresolved = Vec::new();
    for (setting, text) in entry.node_selectors().chain(preferred).filter(|(_, text)| is_known(text)) {
        unresolved.extend(matched.selector(Source::Entry(entry, setting), text)?.err());
    }
    for (setting, list) in entry.toleration_lists() {
        if list.iter().all(|toleration| is_known(&toleration.value)) {
            let mut errors = list.iter().filter_map(|one| matched.toleration(Source::Entry(entry, setting), one).err());
            unresolved.extend(errors.next());
        }
    }
    Ok(unresolved)
}

/// Returns whether there are annotations to validate, and they or the entry are new.
fn must_be_validated(
    matched: &MatchedEntry<'_>,
    old: Option<&LabelsAndAnnotations<'_>>,
    is_entry_changed: bool,
) -> bool {
    let MatchedEntry { settings, metadata, .. } = matched;
    let mut keys: Vec<&str> = settings.namespace_annotations.0.iter().map(String::as_str).collect();
    if settings.honors_toleration_annotations() {
        keys.extend([DEFAULTS_ANNOTATION, WHITELIST_ANNOTATION]);
    }
    let has_changed = |old: &LabelsAndAnnotations<'_>| {
        keys.iter().any(|key| metadata.annotations.get(key) != old.annotations.get(key))
    };
    keys.iter().any(|key| metadata.annotations.contains_key(key)) && (is_entry_changed || old.is_some_and(has_changed))
}

/// Returns whether another entry applies than to `old`, or a label that the entry refers to has another value. Returns
/// true without `old`.
fn has_entry_changed(matched: &MatchedEntry<'_>, old: Option<&LabelsAndAnnotations<'_>>) -> Result<bool, Rejection> {
    let MatchedEntry { settings, namespace, entry, metadata, .. } = matched;
    let Some(old) = old else { return Ok(true) };
    if metadata.labels == old.labels {
        return Ok(false);
    }
    let has_changed = |key: &str| metadata.labels.get(key) != old.labels.get(key);
    if entry.is_some_and(|entry| entry.references().any(has_changed)) {
        return Ok(true);
    }
    let before = CandidateEntries::new(settings, namespace).find(old.clone())?.for_others;
    Ok(before.entry != *entry)
}
