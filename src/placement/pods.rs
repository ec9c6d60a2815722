//! Pods: validated and completed when they are created, validated again while they may still change. Templates of Pods, and
//! any Pod of a Namespace, are validated as Pods that are created.

use std::borrow::Cow;

use super::entry::{CandidateEntries, MatchedEntry};
use super::injection::{self, PodMutation};
use super::named_node::{self, NamedNode};
use super::node_affinity::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, read_terms};
use super::node_rules::NodeRules;
use super::subject::{PodSubject, RuntimeClass, SPEC};
use super::toleration_rules::TolerationRules;
use super::{conflict, preferences, tolerations, whitelist};
use crate::cluster::{FieldMasks, NodeLookup, NodeName};
use crate::decision::Rejection;
use crate::json::{RawObject, Within};
use crate::review::Review;
use crate::settings::Placement;
use crate::toleration::Toleration;

/// Validates a Pod that is created by the rules of its namespace, and adds what they demand. Returns the Node that it
/// names, the `node`: it is looked up for these rules and for what node metadata asks of it by its `masks`, at once.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn admit_create<'t, 'a: 't>(
    review: &mut Review<'a>,
    settings: &Placement,
    node: Option<&'t NodeName>,
    mut masks: FieldMasks,
) -> Result<NodeLookup<'t>, Rejection> {
    let Review { request, object, decision, is_changed, name, lookups, .. } = review;
    let matched = CandidateEntries::new(settings, &request.namespace).look_up(lookups)?;
    let spec = object.object("spec").within("object")?.unwrap_or_default();
    let runtime_class = RuntimeClass::new(&spec, settings, lookups).within(SPEC)?;
    let is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let subject = PodSubject { name, path: SPEC, spec: &spec, user: &request.user, is_of_daemon_set, runtime_class };

    let admitted = matched.enforce(admit(&subject, &matched), decision)?;
    let Some(mut mutation) = admitted else { return Ok(lookups.node(node, &masks)) };
    let named_node = matched.enforce(NamedNode::new(&subject, &mutation), decision)?;
    let Some(named_node) = named_node else { return Ok(lookups.node(node, &masks)) };
    masks.extend(named_node.iter().flat_map(NamedNode::field_masks));
    let node = lookups.node(node, &masks);
    let preferences = match named_node {
        Some(named_node) => named_node.validate(&node).map(|()| Vec::new()),
        None => preferences::missing(&subject, &matched, decision),
    };
    let Some(preferences) = matched.enforce(preferences, decision)? else { return Ok(node) };
    mutation.preferences = preferences;
    if matched.is_enforced && !mutation.is_empty() {
        mutation.apply(object.object_mut("spec").within("object")?, decision).within(SPEC)?;
        *is_changed = true;
    } else if !mutation.is_empty() {
        decision.would_add(&mutation.as_text());
    }
    Ok(node)
}

/// Validates a Pod that is created, a template, or any Pod of a Namespace, by the rules that hold for it, and tells what
/// these add to it. Updates of Pods: [`validate_update`].
///
/// # Errors
/// The first rule that the Pod breaks; or the rules can't be told.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'r>(subject: &PodSubject<'_, 'r>, matched: &MatchedEntry<'r>) -> Result<PodMutation<'r>, Rejection> {
    let mut rules = NodeRules::new(matched, subject.user)?;
    let toleration_rules = TolerationRules::for_creation(matched, subject.user)?;
    rules.is_limited |= toleration_rules.is_limited;
    let own = read_selection(subject, &rules)?;
    let mut merged = Cow::Borrowed(&own);
    let validates_nodes = !rules.selects_every_node() || rules.whitelist.is_some();
    if subject.is_template() && (validates_nodes || toleration_rules.validates_anything()) {
        // The API server merges what the RuntimeClass brings into Pods, and not into their templates.
        merged.to_mut().add_missing(&subject.runtime_class.scheduling()?.node_selector);
    }
    // The controller of DaemonSets replaces the node affinity of their Pods.
    let terms_choose = !(subject.is_template() && subject.is_of_daemon_set);
    rules.yield_to(&merged, terms_choose);
    conflict::validate(&merged, &rules, subject)?;
    let mut selection = own;
    let added = injection::inject(&mut selection, &rules, subject)?;
    whitelist::validate(&selection, &added, subject, &rules)?;
    let tolerations = tolerations::admit(subject, &toleration_rules)?;
    named_node::validate_naming(subject, &rules)?;
    Ok(PodMutation { added, selection, tolerations, preferences: Vec::new(), rules, toleration_rules })
}

/// The Pod's nodeSelector; and the terms of its node affinity, where `rules` or its node's name depend on them.
fn read_selection<'p>(subject: &PodSubject<'_, 'p>, rules: &NodeRules<'_>) -> Result<NodeSelection<'p>, Rejection> {
    let mut selection = NodeSelection { node_selector: subject.node_selector()?, terms: None };
    if rules.reads_terms() || named_node::is_held(subject, rules)? {
        let (terms, too_many) = read_terms(subject.spec).within(subject.path)?;
        if let Some((most, what)) = too_many {
            return Err(subject.too_many(most, what, &REQUIRED_AFFINITY.join(".")));
        }
        selection.terms = terms;
    }
    Ok(selection)
}

/// Validates an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can
/// be added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn validate_update(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    let Review { request, object, decision, name, lookups, .. } = review;
    let spec = object.object("spec").within("object")?.unwrap_or_default();
    let old_object = request.old_object()?;
    let old_spec = old_object.object("spec").within("oldObject")?.unwrap_or_default();
    let candidates = CandidateEntries::new(settings, &request.namespace);
    // A RuntimeClass can't change; that of the new object is not validated yet.
    let runtime_class = RuntimeClass::new(&old_spec, settings, lookups).within(OLD)?;
    let is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let subject = PodSubject { name, path: SPEC, spec: &spec, user: &request.user, is_of_daemon_set, runtime_class };

    // The new object's nodeName is not validated yet. Only the old one counts.
    let is_bound = !old_spec.string("nodeName").within(OLD)?.is_empty();
    let selects_otherwise = !is_bound && is_selection_changed(&spec, &old_spec)?;
    let mut new_tolerations = Ok(Vec::new());
    if candidates.may_validate_tolerations() {
        new_tolerations = tolerations::new_of_pod(&subject, &old_spec);
    }
    if !selects_otherwise && new_tolerations.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(());
    }
    let matched = candidates.look_up(lookups)?;
    let verdict = validate_changes(selects_otherwise, new_tolerations, &subject, &matched);
    matched.enforce(verdict, decision).map(drop)
}

fn is_selection_changed(spec: &RawObject<'_>, old_spec: &RawObject<'_>) -> Result<bool, Rejection> {
    if spec.member(NODE_SELECTOR) != old_spec.member(NODE_SELECTOR) {
        return Ok(true);
    }
    let required = spec.object_at(&REQUIRED_AFFINITY).within(SPEC)?;
    // What the old object has was valid, or is of no account.
    Ok(required != old_spec.object_at(&REQUIRED_AFFINITY).unwrap_or_default())
}

/// What did not change is not read, or a malformed annotation would stop other updates.
fn validate_changes(
    selects_otherwise: bool,
    new_tolerations: Result<Vec<Toleration>, Rejection>,
    subject: &PodSubject<'_, '_>,
    matched: &MatchedEntry<'_>,
) -> Result<(), Rejection> {
    if selects_otherwise {
        let mut rules = NodeRules::new(matched, subject.user)?;
        let own = read_selection(subject, &rules)?;
        rules.yield_to(&own, true);
        conflict::validate(&own, &rules, subject)?;
        whitelist::validate(&own, &[], subject, &rules)?;
    }
    if new_tolerations.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(());
    }
    match TolerationRules::for_validation(matched, subject.user)? {
        Some(rules) => tolerations::validate_new(&new_tolerations?, subject, &rules),
        None => Ok(()),
    }
}
