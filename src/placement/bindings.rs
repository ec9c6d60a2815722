//! Checks Bindings against the node selector of the namespace, and those of users against the node's taints too.

use std::fmt::Display;

use super::entry::{CandidateEntries, NamespaceEntries};
use super::mode::Mode;
use super::rules::Rules;
use super::severity::Severity;
use super::toleration_rules::{Objection, TolerationRules};
use crate::cluster::{ALLOCATABLE, FieldMasks, LABELS, LazyNode, Node, NodeLookup, NodeName, TAINTS, TooManyTaints};
use crate::decision::{Cause, CauseKind, Rejection, Status};
use crate::json::{RawObject, ReadError, Within};
use crate::limits::MOST_COMPARISONS;
use crate::message::quote;
use crate::object_meta::ObjectName;
use crate::request::User;
use crate::review::Review;
use crate::settings::{OnBindings, Placement};
use crate::toleration::{EQUAL, NO_EXECUTE, NO_SCHEDULE, Taint, Toleration, is_extended};

/// The rules for a Binding. It does not show the labels of its Pod, so there are the rules of each entry that may apply.
#[derive(Debug)]
pub struct BindingRules<'s> {
    /// The rules of each entry. The last is the one for all Pods. An `Err` accepts no node.
    alternatives: Vec<Result<Rules<'s>, Rejection>>,
    /// The rules of annotations, which apply with each entry.
    annotated: Rules<'s>,
}

/// The node of a Binding.
struct Target<'n> {
    node: &'n Node<'n>,
    /// The lasting taints of the node; or that there are too many.
    taints: Result<Vec<LastingTaint<'n>>, TooManyTaints>,
    /// Whether the node meets what annotations require.
    annotated: Result<(), Rejection>,
    /// The beginning of messages.
    cannot: String,
    /// The comparisons that were made so far.
    comparisons: usize,
}

/// A lasting taint of the node of a Binding.
struct LastingTaint<'n> {
    taint: &'n Taint,
    /// The narrowest toleration of it.
    narrowest: Toleration,
    /// Why annotations permit no Pod to have that. This is the same for each entry.
    annotated: Option<Objection<'n>>,
}

/// Rejects the Binding of a Pod to the node `target` that its namespace must not use.
///
/// # Errors
/// No entry that may apply accepts the node, or something could not be read.
pub fn validate(
    review: &mut Review<'_>,
    settings: &Placement,
    target: &NodeName,
    node: &mut LazyNode<'_>,
) -> Result<(), Rejection> {
    if settings.on_bindings == OnBindings::Ignore {
        return Ok(());
    }
    let Review { request, lookups, decision, name, .. } = review;
    let entries = CandidateEntries::new(settings, &request.namespace).look_up(lookups)?;
    let (severity, namespace) = (severity(&entries), &entries.for_others);
    let rules = BindingRules::new(&entries, &request.user);
    let Some(rules) = namespace.answer(rules, severity, decision)? else { return Ok(()) };
    node.require(rules.field_masks());
    let verdict = rules.validate(node.look_up(), target, name);
    namespace.answer(verdict, severity, decision).map(drop)
}

impl<'s> BindingRules<'s> {
    /// Returns the rules for the Binding of a Pod by `user`, to which one of `entries` applies.
    ///
    /// # Errors
    /// The rejection of the last entry, if the rules of no entry can be read; or an annotation is malformed, or the
    /// settings have a mistake.
    pub fn new(entries: &NamespaceEntries<'s>, user: &User) -> Result<Self, Rejection> {
        let user = Some(user);
        let mut alternatives = Vec::new();
        for matched in entries.all() {
            let rules = Rules::for_request(matched, user, Mode::Binding);
            match rules {
                Err(rejection) if rejection.status() != Status::Forbidden => return Err(rejection),
                rules => alternatives.push(rules),
            }
        }
        if !alternatives.iter().any(Result::is_ok)
            && let Some(Err(rejection)) = alternatives.pop()
        {
            return Err(rejection);
        }
        Ok(Self { alternatives, annotated: Rules::for_request(&entries.for_others, user, Mode::BindingByAnnotations)? })
    }

    /// Returns the fields of the node that are needed. There are none if some entry accepts every node.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::new();
        for rules in self.alternatives.iter().flatten() {
            let mut of_entry = field_masks(rules);
            of_entry.extend(field_masks(&self.annotated));
            if of_entry.is_empty() {
                return of_entry;
            }
            if rules.tolerations.tolerate_extended_resources && of_entry.contains(TAINTS) {
                of_entry.insert(ALLOCATABLE.to_owned());
            }
            masks.extend(of_entry);
        }
        masks
    }

    /// Rejects the Binding of a Pod to a node that no entry accepts.
    ///
    /// # Errors
    /// The rejection of the last entry; or the node could not be read.
    pub fn validate(&self, node: &NodeLookup<'_>, target: &NodeName, pod: &ObjectName) -> Result<(), Rejection> {
        if self.field_masks().is_empty() {
            return Ok(());
        }
        let target = quote(target.as_str());
        let Some(node) = node.required_by(&format!("{pod} is bound to node {target}"))? else { return Ok(()) };
        let cannot = format!("{pod} can't be bound to node {target}:");
        let annotated = self.annotated.nodes.required.validate_node(node, &cannot, REMEDY);
        let lasting = |taint| {
            let narrowest = narrowest_toleration(taint);
            let annotated = self.annotated.tolerations.objection_to(&narrowest);
            LastingTaint { taint, narrowest, annotated }
        };
        let taints = node.lasting_taints().map(|taints| taints.map(lasting).collect());
        let mut target = Target { node, taints, annotated, cannot, comparisons: 0 };
        let mut verdict = Ok(());
        for rules in &self.alternatives {
            verdict = match rules {
                Ok(rules) => self.validate_target(rules, &mut target),
                Err(unreadable) => Err(unreadable.clone()),
            };
            if verdict.is_ok() {
                return Ok(());
            }
        }
        verdict
    }

    /// Rejects the Binding to a node that the entry with these `rules` does not accept.
    fn validate_target(&self, rules: &Rules<'_>, target: &mut Target<'_>) -> Result<(), Rejection> {
        let Target { node, taints, annotated, cannot, comparisons } = target;
        rules.nodes.required.validate_node(node, cannot, REMEDY)?;
        annotated.clone()?;
        if !rules.tolerations.validates_anything() && !self.annotated.tolerations.validates_anything() {
            return Ok(());
        }
        let limit = |problem: &dyn Display| {
            let explanation = format!("{cannot} it {problem}; remove some, or bind it to another node");
            Rejection::forbidden(CauseKind::Limit, explanation)
        };
        let taints = taints.as_ref().map_err(|problem| limit(problem))?;
        *comparisons += rules.tolerations.comparisons(taints.len());
        if *comparisons > MOST_COMPARISONS {
            let problem = format!("has so many taints that more than {MOST_COMPARISONS} comparisons are needed");
            return Err(limit(&problem));
        }
        for LastingTaint { taint, narrowest, annotated } in taints {
            if rules.tolerations.defaults_of_settings.tolerates(taint)
                || is_for_resource(taint, node, &rules.tolerations)
            {
                continue;
            }
            if let Some(objection) = rules.tolerations.objection_to(narrowest).or(*annotated) {
                return Err(untolerable(taint, objection, cannot, rules.nodes.required.namespace)?);
            }
        }
        Ok(())
    }
}

/// The remedy for a node that lacks a label.
const REMEDY: &str = "recreate the Pod if the setting is newer than the Pod";

/// Returns how the rejection of a Binding is answered: it is only reported if one of the entries that may apply is not
/// enforced.
pub fn severity(entries: &NamespaceEntries<'_>) -> Severity {
    let is_reported = entries.all().any(|matched| matched.severity() == Severity::Report);
    if is_reported { Severity::Report } else { Severity::Reject }
}

fn field_masks(rules: &Rules<'_>) -> FieldMasks {
    let mut masks = FieldMasks::new();
    if !rules.nodes.required.is_empty() {
        masks.insert(LABELS.to_owned());
    }
    if rules.tolerations.validates_anything() {
        masks.insert(TAINTS.to_owned());
    }
    masks
}

/// Rejects the Binding to a node with a taint that no Pod of the namespace may tolerate.
///
/// # Errors
/// The list has a reference that could not be resolved.
fn untolerable(
    taint: &Taint,
    Objection { list, forbidding }: Objection<'_>,
    cannot: &str,
    namespace: &str,
) -> Result<Rejection, Rejection> {
    list.reject_unresolved()?;
    let source = list.source;
    let verb = if forbidding.is_some() { "forbids" } else { "does not allow" };
    let explanation = format!(
        "{cannot} it has a taint that no Pod of namespace {} may tolerate, since {source} {verb} it; bind it to another \
         node",
        quote(namespace)
    );
    let cause = Cause::new(CauseKind::NodeName).at(source).taint(taint).detail(Node::taint_as_text(taint));
    Ok(Rejection::forbidden(cause, explanation))
}

/// Returns a toleration of `taint` alone, for the shortest time, so that whitelists don't refuse it for its seconds.
fn narrowest_toleration(taint: &Taint) -> Toleration {
    Toleration {
        key: taint.key.clone(),
        operator: EQUAL.to_owned(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
        toleration_seconds: (taint.effect == NO_EXECUTE).then_some(i64::MIN),
    }
}

/// Returns whether a Pod would get a toleration of `taint` for requesting a resource that `node` has.
fn is_for_resource(taint: &Taint, node: &Node<'_>, rules: &TolerationRules<'_>) -> bool {
    if !rules.tolerate_extended_resources || !node.has_resource(&taint.key) || !is_extended(&taint.key) {
        return false;
    }
    let toleration = Toleration::exists(&taint.key, NO_SCHEDULE);
    toleration.tolerates(taint) && rules.prohibition_of(&toleration).is_none()
}

/// Returns the node of a Binding, or `None` if its target is no Node or has no name.
///
/// # Errors
/// The target can't be read.
pub fn target_node(binding: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let Some(target) = binding.object("target")? else { return Ok(None) };
    let (kind, name) = (target.string("kind").within("target")?, target.string("name").within("target")?);
    let is_node = matches!(kind.as_str(), "" | "Node");
    Ok(Some(name).filter(|name| is_node && !name.is_empty()))
}
