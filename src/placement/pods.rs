//! Pods: judged and completed when they are created, judged again while they may still change.

use super::entry::{CandidateEntries, MatchedEntry};
use super::injection::Injection;
use super::mutation::PodMutation;
use super::named_node::{self, NamedNode};
use super::node_rules::NodeRules;
use super::node_selection::{NODE_SELECTOR, NodeSelection, REQUIRED_AFFINITY, read_terms};
use super::preferences;
use super::rules::Rules;
use super::subject::RuntimeClass;
use super::subject::{PodSubject, SPEC};
use super::toleration_rules::TolerationRules;
use super::{conflict, tolerations, whitelist};
use crate::cluster::{LookupBuffer, NodeLookup, NodeRequest};
use crate::decision::Rejection;
use crate::json::{RawObject, Within};
use crate::review::Review;
use crate::settings::Placement;
use crate::toleration::Toleration;

/// The terms of a Pod's node affinity, where `rules` or its node's name depend on them; its nodeSelector always.
///
/// # Errors
/// They can't be read, or there are too many.
pub fn read_selection<'p>(subject: &PodSubject<'_, 'p>, rules: &NodeRules<'_>) -> Result<NodeSelection<'p>, Rejection> {
    let mut selection = NodeSelection { node_selector: subject.node_selector()?, terms: None };
    if rules.reads_terms() || named_node::is_judged(subject, rules)? {
        selection.terms = read_terms(subject.spec).map_err(|error| error.reject(subject.name, subject.path))?;
    }
    Ok(selection)
}

/// Judges a Pod that is created, a template, or any Pod of a Namespace, which asks for `own` nodes, and tells what its
/// namespace adds to it. Updates of Pods: [`validate_update`].
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'r>(
    own: NodeSelection<'r>,
    subject: &PodSubject<'_, '_>,
    rules: &'r Rules<'_>,
) -> Result<PodMutation<'r>, Rejection> {
    if subject.is_template() && rules.validates_anything() {
        // Its Pods have what their class brings.
        let class = subject.runtime_class.scheduling()?;
        conflict::reject(&own.clone().with_pairs(&class.node_selector), &rules.nodes, subject)?;
        tolerations::validate_runtime_class(subject, &rules.tolerations)?;
    } else {
        conflict::reject(&own, &rules.nodes, subject)?;
    }
    let injection = Injection::of(own, &rules.nodes).map_err(|error| error.reject(subject.name, subject.path))?;
    whitelist::check(&injection, subject, &rules.nodes)?;
    let tolerations = tolerations::admit(subject, &rules.tolerations)?;
    if named_node::is_judged(subject, &rules.nodes)? {
        named_node::reject_unless_verified(subject, &rules.nodes)?;
    }
    Ok(PodMutation { injection, tolerations, preferences: Vec::new() })
}

/// Judges a Pod that is created by the rules of its namespace, and adds what they demand. Returns the Node that it
/// names: it is looked up for these rules and for what node metadata has `asked` of it, at once.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn create<'t>(
    review: &mut Review<'_>,
    settings: &Placement,
    mut asked: NodeRequest<'t>,
) -> Result<NodeLookup<'t>, Rejection> {
    let Review { request, object, decision, is_changed, name, cluster, .. } = review;
    let buffer = LookupBuffer::new();
    let matched = CandidateEntries::new(settings, &request.namespace).look_up(*cluster, &buffer)?;
    let spec = object.object("spec").within("object")?.unwrap_or_default();
    let runtime_class = RuntimeClass::of(&spec, settings, *cluster).within(SPEC)?;
    let is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let subject = PodSubject { name, path: SPEC, spec: &spec, user: &request.user, is_of_daemon_set, runtime_class };

    let Some((rules, own)) = matched.enforce(rules_for(&subject, &matched), decision)? else {
        return Ok(asked.look_up(*cluster));
    };
    let admitted = admit(own, &subject, &rules);
    let Some(mut mutation) = matched.enforce(admitted, decision)? else { return Ok(asked.look_up(*cluster)) };
    let mut named_node = None;
    if named_node::is_judged(&subject, &rules.nodes)? {
        let read = NamedNode::of(&subject, &mutation, &rules);
        named_node = matched.enforce(read, decision)?;
    }
    asked.masks.extend(&named_node.as_ref().map(NamedNode::field_masks).unwrap_or_default());
    let node = asked.look_up(*cluster);
    if let Some(named_node) = &named_node
        && matched.enforce(named_node.verify(&node, &rules.nodes), decision)?.is_none()
    {
        return Ok(node);
    }
    if subject.node_name()?.is_empty() {
        let missing = preferences::missing(&subject, &matched, decision);
        let Some(preferences) = matched.enforce(missing, decision)? else { return Ok(node) };
        mutation.preferences = preferences;
    }
    if mutation.is_empty() {
        return Ok(node);
    }
    if !matched.is_enforced() {
        decision.would_add(&mutation.as_text());
        return Ok(node);
    }
    mutation.record(decision);
    mutation.apply(object.object_mut("spec").within("object")?).within(SPEC)?;
    *is_changed = true;
    Ok(node)
}

/// The rules that hold for a Pod, and what it asks for itself.
fn rules_for<'r>(
    subject: &PodSubject<'_, 'r>,
    matched: &MatchedEntry<'r>,
) -> Result<(Rules<'r>, NodeSelection<'r>), Rejection> {
    let mut rules = Rules::of(matched, subject.user)?;
    let own = read_selection(subject, &rules.nodes)?;
    rules.nodes = rules.nodes.yielding_to(&own, true);
    Ok((rules, own))
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can
/// be added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn validate_update(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    let Review { request, object, decision, name, cluster, .. } = review;
    let spec = object.object("spec").within("object")?.unwrap_or_default();
    let old_object = request.old_object()?;
    let old_spec = old_object.object("spec").within("oldObject")?.unwrap_or_default();
    let candidates = CandidateEntries::new(settings, &request.namespace);
    // A RuntimeClass can't change; that of the new object is not validated yet.
    let runtime_class = RuntimeClass::of(&old_spec, settings, *cluster).within(OLD)?;
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
    let is_exempt = request.user.is_among(&settings.exempt_usernames);
    let buffer = LookupBuffer::new();
    let matched = candidates.look_up(*cluster, &buffer)?;
    let mut verdict = Ok(());
    // What did not change is not read, or a malformed annotation would stop other updates.
    if selects_otherwise {
        verdict = validate_selection(&subject, &matched, is_exempt);
    }
    if verdict.is_ok() && !is_exempt {
        verdict = validate_new_tolerations(new_tolerations, &subject, &matched);
    }
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

fn validate_selection(
    subject: &PodSubject<'_, '_>,
    matched: &MatchedEntry<'_>,
    is_exempt: bool,
) -> Result<(), Rejection> {
    let mut rules = NodeRules::of(matched, true)?;
    rules.whitelist = rules.whitelist.filter(|_| !is_exempt);
    let mut selection = NodeSelection { node_selector: subject.node_selector()?, terms: None };
    if rules.reads_terms() {
        selection.terms = read_terms(subject.spec).map_err(|error| error.reject(subject.name, subject.path))?;
    }
    let rules = rules.yielding_to(&selection, true);
    conflict::reject(&selection, &rules, subject)?;
    whitelist::check(&Injection::nothing(selection), subject, &rules)
}

fn validate_new_tolerations(
    new: Result<Vec<Toleration>, Rejection>,
    subject: &PodSubject<'_, '_>,
    matched: &MatchedEntry<'_>,
) -> Result<(), Rejection> {
    if new.as_ref().is_ok_and(Vec::is_empty) {
        return Ok(());
    }
    let rules = TolerationRules::of(matched)?;
    if rules.validates_anything() { tolerations::validate_new(&new?, subject, &rules) } else { Ok(()) }
}
