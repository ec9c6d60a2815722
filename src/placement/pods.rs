//! Validates and completes Pods that are created, and validates them again while they may still change. Templates, and any
//! Pod of a Namespace, are validated like Pods that are created.

use std::borrow::Cow;

use super::entry::{CandidateEntries, MatchedEntry};
use super::injection::{self, PodMutation};
use super::mode::Mode;
use super::named_node::{self, NamedNode};
use super::node_affinity::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, read_terms};
use super::rules::Rules;
use super::severity::Severity;
use super::subject::{PodSubject, RuntimeClass};
use super::{conflict, preferences, requests, tolerations};
use crate::cluster::LazyNode;
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, Within};
use crate::object_meta::{self, SPEC};
use crate::review::Review;
use crate::settings::Placement;
use crate::toleration::Toleration;

/// Validates a Pod that is created, and adds the requirements of its namespace. `node` is the node that the Pod names, if
/// it names one.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn admit_create(review: &mut Review<'_>, settings: &Placement, node: &mut LazyNode<'_>) -> Result<(), Rejection> {
    let Review { request, object, decision, name, lookups, .. } = review;
    let entries = CandidateEntries::new(settings, &request.namespace).look_up(lookups)?;
    let matched = entries.for_pod(|| object_meta::labels(object).within("object"))?;
    let severity = matched.severity();
    let spec = object.object(SPEC).within("object")?.unwrap_or_default();
    let runtime_class = RuntimeClass::new(&spec, settings, lookups).within(SPEC).within("object")?;
    let is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let user = Some(&request.user);
    let subject =
        PodSubject { name, is_template: false, path: SPEC, spec: &spec, user, is_of_daemon_set, runtime_class };

    let rules = Rules::for_request(&matched, user, Mode::Create);
    let Some(rules) = matched.answer(rules, severity, decision)? else { return Ok(()) };
    let verdict = complete(&subject, &matched, &rules, node, decision);
    let Some(mutation) = matched.answer(verdict, severity, decision)?.filter(|mutation| !mutation.is_empty()) else {
        return Ok(());
    };
    if severity == Severity::Report {
        decision.would_add(&mutation.as_text());
        return Ok(());
    }
    let written = object.change().object_mut(SPEC).within("object")?;
    Ok(mutation.apply(written, decision).within(SPEC).within("object")?)
}

/// Validates a Pod that is created, and the `node` that it names. Returns everything that is added to the Pod.
fn complete<'p, 'r>(
    subject: &PodSubject<'_, 'p>,
    matched: &MatchedEntry<'_>,
    rules: &'r Rules<'r>,
    node: &mut LazyNode<'_>,
    decision: &mut Decision<'_>,
) -> Result<PodMutation<'p, 'r>, Rejection> {
    let mutation = admit(subject, rules)?;
    if let Some(named_node) = NamedNode::new(subject, &mutation)? {
        node.require(named_node.field_masks());
        named_node.validate(node.look_up())?;
        return Ok(mutation);
    }
    let preferences = preferences::missing(subject, matched, decision)?;
    Ok(PodMutation { preferences, ..mutation })
}

/// Validates a Pod that is created, a template, or any Pod of a Namespace. Returns everything that the `rules` add to it.
/// [`validate_update`] is for updates of Pods.
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'p, 'r>(subject: &PodSubject<'_, 'p>, rules: &'r Rules<'r>) -> Result<PodMutation<'p, 'r>, Rejection> {
    let read = read_selection(subject, rules)?;
    let mut merged = Cow::Borrowed(&read);
    if subject.is_template && (rules.nodes.validates_anything() || rules.tolerations.validates_anything()) {
        // The API server adds the pairs of the RuntimeClass to Pods, and not to their templates.
        merged.to_mut().add_missing(&subject.runtime_class.scheduling()?.node_selector);
    }
    // The controller of DaemonSets replaces the node affinity of their Pods.
    let terms_choose = !(subject.is_template && subject.is_of_daemon_set);
    let required = rules.nodes.applicable_to(&merged, terms_choose);
    conflict::validate(&merged, &required, subject)?;
    let mut selection = read;
    let added = injection::inject(&mut selection, &required, subject)?;
    requests::validate(&selection, &added, subject, &rules.nodes)?;
    let tolerations = tolerations::admit(subject, &rules.tolerations)?;
    named_node::validate_naming(subject, rules, &required)?;
    Ok(PodMutation { added, selection, tolerations, preferences: Vec::new(), rules, required })
}

/// Reads the Pod's nodeSelector, and the terms of its node affinity if they are needed.
fn read_selection<'p>(subject: &PodSubject<'_, 'p>, rules: &Rules<'_>) -> Result<NodeSelection<'p>, Rejection> {
    let mut selection = NodeSelection { node_selector: subject.node_selector()?, terms: None };
    if rules.nodes.reads_terms() || named_node::is_checked(subject, rules, &rules.nodes.required)? {
        let read = read_terms(subject.spec).within(subject.path).within("object")?;
        selection.terms = read.map_err(|excess| subject.too_many(excess, &REQUIRED_AFFINITY.join(".")))?;
    }
    Ok(selection)
}

/// Validates an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can
/// be added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn validate_update(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    let Review { request, object, decision, name, lookups, .. } = review;
    let spec = object.object(SPEC).within("object")?.unwrap_or_default();
    let old_object = request.old_object()?;
    let old_spec = old_object.object(SPEC).within("oldObject")?.unwrap_or_default();
    let candidates = CandidateEntries::new(settings, &request.namespace);
    // A RuntimeClass can't change; that of the new object is not validated yet.
    let runtime_class = RuntimeClass::new(&old_spec, settings, lookups).within(SPEC).within("oldObject")?;
    let is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let user = Some(&request.user);
    let subject =
        PodSubject { name, is_template: false, path: SPEC, spec: &spec, user, is_of_daemon_set, runtime_class };

    // The new object's nodeName is not validated yet. Only the old one counts.
    let is_bound = !old_spec.string("nodeName").within(SPEC).within("oldObject")?.is_empty();
    let selects = !is_bound && is_selection_changed(&spec, &old_spec)?;
    let added = if candidates.may_validate_tolerations() {
        tolerations::new_of_pod(&subject, &old_spec)
    } else {
        Ok(Vec::new())
    };
    let changes = Changes { selects, tolerations: added };
    let (selects, tolerates) = (changes.selects, changes.tolerates());
    if !selects && !tolerates {
        return Ok(());
    }
    let matched = candidates.look_up(lookups)?.for_pod(|| object_meta::labels(old_object).within("oldObject"))?;
    let rules = Rules::for_request(&matched, subject.user, Mode::Update { selects, tolerates });
    let verdict = rules.and_then(|rules| changes.validate(&subject, &rules));
    matched.answer(verdict, matched.severity(), decision).map(drop)
}

/// The changes of an update that concern placement.
struct Changes {
    /// Whether the nodeSelector or the required node affinity changes.
    selects: bool,
    /// The tolerations that are added. Unreadable ones matter only if they are validated.
    tolerations: Result<Vec<Toleration>, Rejection>,
}

impl Changes {
    /// Returns whether tolerations are added. Unreadable ones count as added.
    fn tolerates(&self) -> bool {
        self.tolerations.as_ref().map_or(true, |added| !added.is_empty())
    }

    /// Validates the changes by `rules`, which were read for them.
    fn validate(self, subject: &PodSubject<'_, '_>, rules: &Rules<'_>) -> Result<(), Rejection> {
        if self.selects {
            let selection = read_selection(subject, rules)?;
            conflict::validate(&selection, &rules.nodes.applicable_to(&selection, true), subject)?;
            requests::validate(&selection, &[], subject, &rules.nodes)?;
        }
        if rules.tolerations.validates_anything() {
            tolerations::validate_new(&self.tolerations?, subject, &rules.tolerations)?;
        }
        Ok(())
    }
}

fn is_selection_changed(spec: &RawObject<'_>, old_spec: &RawObject<'_>) -> Result<bool, Rejection> {
    if spec.member(NODE_SELECTOR) != old_spec.member(NODE_SELECTOR) {
        return Ok(true);
    }
    let required = spec.object_at(&REQUIRED_AFFINITY).within(SPEC).within("object")?;
    // An unreadable old affinity counts as none.
    Ok(required != old_spec.object_at(&REQUIRED_AFFINITY).unwrap_or_default())
}
