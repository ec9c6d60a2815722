//! Pods: judged and completed when they are created, judged again while they may still change.

use super::additions::Additions;
use super::holding_entry::CandidateEntries;
use super::injection::Injection;
use super::judged::{self, Judged, SPEC};
use super::named_node::{self, NamedNode};
use super::node_rules::NodeRules;
use super::node_selection::NodeSelection;
use super::preferences;
use super::rules::Rules;
use super::runtime_classes;
use super::toleration_rules::TolerationRules;
use super::{conflict, tolerations, whitelist};
use crate::cluster::{Answer, NodeLookup};
use crate::decision::Rejection;
use crate::field_masks::FieldMasks;
use crate::json::{RawObject, Within};
use crate::review::Review;
use crate::settings::Placement;

/// Judges a Pod that is created, a template, or any Pod of a Namespace, which asks for `own` nodes, and tells what its
/// namespace adds to it. Updates of Pods: [`judge_update`].
///
/// # Errors
/// The first rule that the Pod breaks.
///
/// Upstream: `Admit` and `Validate` of the `PodNodeSelector` plugin.
pub fn admit<'r>(
    own: NodeSelection<'r>,
    judged: &Judged<'_>,
    rules: &'r Rules<'_>,
) -> Result<Additions<'r>, Rejection> {
    if judged.is_template() {
        // Its Pods have what their class brings.
        conflict::reject(&own.clone().with_pairs(&judged.class.node_selector), &rules.nodes, judged)?;
        tolerations::judge_class(judged, &rules.tolerations)?;
    } else {
        conflict::reject(&own, &rules.nodes, judged)?;
    }
    let injection = Injection::of(own, &rules.nodes);
    whitelist::check(&injection, judged, &rules.nodes)?;
    let tolerations = tolerations::admit(judged, &rules.tolerations)?;
    let must_match_node = named_node::must_match(judged, &rules.nodes)?;
    Ok(Additions { injection, tolerations, preferences: Vec::new(), must_match_node })
}

/// Judges a Pod that is created by the rules of its namespace, and adds what they demand. Returns the Node that it
/// names, as `look_up` reads it: node metadata may need it even where these rules do not.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn place<'t>(
    review: &mut Review<'_>,
    settings: &Placement,
    look_up: impl FnOnce(FieldMasks) -> NodeLookup<'t>,
) -> Result<NodeLookup<'t>, Rejection> {
    let Review { request, object, decision, name, cluster, .. } = review;
    let (answer, empty) = (Answer::new(), RawObject::default());
    let holding = CandidateEntries::of(settings, &request.namespace).look_up(*cluster, &answer)?;
    let spec = object.object("spec").within("object")?.unwrap_or(&empty);
    let own = NodeSelection::read(spec).within(SPEC)?;
    let class_name = judged::class_name(spec, settings).within(SPEC)?;
    let mut judged = Judged::new(name, (SPEC, spec), &request.requester, class_name);
    judged.is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;

    let rules = Rules::of(&holding, &request.requester).map(|rules| rules.for_pod(&own));
    let Some(rules) = holding.enforce(rules, decision)? else { return Ok(look_up(FieldMasks::default())) };
    let additions =
        runtime_classes::judge_with_class(&mut judged, *cluster, |judged| admit(own.clone(), judged, &rules));
    let Some(mut additions) = holding.enforce(additions, decision)? else {
        return Ok(look_up(FieldMasks::default()));
    };
    let named_node = NamedNode::of(&judged, &additions, &rules)?;
    let node = look_up(named_node.as_ref().map(NamedNode::field_masks).unwrap_or_default());
    if let Some(named_node) = named_node
        && holding.enforce(named_node.verify(&node), decision)?.is_none()
    {
        return Ok(node);
    }
    if judged.node_name()?.is_empty() {
        additions.preferences = preferences::missing(&judged, &holding, decision)?;
    }
    if additions.are_empty() {
        return Ok(node);
    }
    if !holding.is_enforced() {
        decision.would_add(&additions.in_words());
        return Ok(node);
    }
    additions.record(decision);
    additions.write(object.object_mut("spec").within("object")?).within(SPEC)?;
    review.is_changed = true;
    Ok(node)
}

/// Judges an update of a Pod: until it is bound, its nodeSelector and node affinity can still change; tolerations can
/// be added as long as it lives.
///
/// # Errors
/// The first rule that the Pod breaks.
pub fn judge_update(review: &mut Review<'_>, settings: &Placement) -> Result<(), Rejection> {
    const OLD: &str = "oldObject.spec";
    let Review { request, object, decision, name, cluster, .. } = review;
    let empty = RawObject::default();
    let spec = object.object("spec").within("object")?.unwrap_or(&empty);
    let old_spec = request.old_object()?.object("spec").within("oldObject")?.unwrap_or(&empty);
    // The new object's nodeName is not validated yet. Only the old one counts.
    let is_bound = !old_spec.string("nodeName").within(OLD)?.is_empty();
    let selection = NodeSelection::read(spec).within(SPEC)?;
    let is_selection_judged = !is_bound && selection != NodeSelection::read(old_spec).within(OLD)?;
    let candidates = CandidateEntries::of(settings, &request.namespace);
    let mut new_tolerations = Vec::new();
    if candidates.may_judge_tolerations() {
        let old = tolerations::read(old_spec).within(OLD)?;
        new_tolerations = tolerations::new_among(tolerations::read(spec).within(SPEC)?, &old);
    }
    if !is_selection_judged && new_tolerations.is_empty() {
        return Ok(());
    }

    let answer = Answer::new();
    let holding = candidates.look_up(*cluster, &answer)?;
    let is_exempt = request.requester.is_among(&settings.exempt_usernames);
    // A RuntimeClass can't change; that of the new object is not validated yet.
    let class_name = judged::class_name(old_spec, settings).within(OLD)?;
    let mut judged = Judged::new(name, (SPEC, spec), &request.requester, class_name);
    judged.is_of_daemon_set = request.is_about_pod_of_daemon_set(object)?;
    let verdict = runtime_classes::judge_with_class(&mut judged, *cluster, |judged| {
        // Not `Rules::of`: what is not judged is not read, or a malformed annotation would stop other updates.
        let mut rules = NodeRules::of(&holding, true)?.yielding_to(&selection);
        rules.whitelist = rules.whitelist.filter(|_| !is_exempt);
        if is_selection_judged {
            conflict::reject(&selection, &rules, judged)?;
            whitelist::check(&Injection::nothing(selection.clone()), judged, &rules)?;
        }
        if !new_tolerations.is_empty() && !is_exempt {
            tolerations::judge_new(&new_tolerations, judged, &TolerationRules::of(&holding)?)?;
        }
        Ok(())
    });
    holding.enforce(verdict, decision).map(drop)
}
