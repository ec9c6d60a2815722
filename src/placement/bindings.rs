//! Bindings: schedulers, and users who bind Pods themselves, are held to the namespace's node selector too, and users
//! to the taints of the node.

use super::entry::MatchedEntry;
use super::rules::{Mode, Rules, Severity};
use super::toleration_rules::{Objection, TolerationRules};
use crate::cluster::{ALLOCATABLE, FieldMasks, LABELS, Node, NodeLookup, NodeName, TAINTS};
use crate::decision::{Cause, CauseKind, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::message::quote;
use crate::object_meta::ObjectName;
use crate::request::User;
use crate::toleration::{EQUAL, NO_EXECUTE, NO_SCHEDULE, Taint, Toleration, is_extended};

/// What the node of a Binding is held to: the rules of each entry that may hold for its Pod, whose labels a Binding does
/// not show.
#[derive(Debug)]
pub struct BindingRules<'s> {
    /// The last is that of the entry for all Pods. One that can't be read is not met.
    alternatives: Vec<Result<Rules<'s>, Rejection>>,
}

impl<'s> BindingRules<'s> {
    /// Returns the rules for the Binding of a Pod by `user`.
    ///
    /// # Errors
    /// No rules can be read: why the last can't; or the settings have a mistake.
    pub fn new(alternatives: &[MatchedEntry<'s>], user: &User) -> Result<Self, Rejection> {
        let (mut all, mut is_any_met) = (Vec::new(), false);
        for matched in alternatives {
            let rules = Rules::for_request(matched, Some(user), Mode::Binding);
            match rules {
                Err(rejection) if !rejection.is_forbidden() => return Err(rejection),
                rules => {
                    is_any_met |= rules.is_ok();
                    all.push(rules);
                }
            }
        }
        match all.pop() {
            Some(Err(rejection)) if !is_any_met => return Err(rejection),
            last => all.extend(last),
        }
        Ok(Self { alternatives: all })
    }

    /// Returns the fields that are needed of the node; none, if any node will do for some entry.
    pub fn field_masks(&self) -> FieldMasks {
        let mut masks = FieldMasks::new();
        for rules in self.alternatives.iter().flatten() {
            let own = field_masks(rules);
            if own.is_empty() {
                return own;
            }
            masks.extend(own);
        }
        masks
    }

    /// Rejects the Binding of a Pod to a node that no entry lets it use.
    ///
    /// # Errors
    /// Why the last entry does not; or the node could not be read.
    pub fn validate(&self, node: &NodeLookup<'_>, target: &NodeName, pod: &ObjectName) -> Result<(), Rejection> {
        let mut verdict = Ok(());
        for rules in &self.alternatives {
            verdict = match rules {
                Ok(rules) => validate(rules, node, target, pod),
                Err(unreadable) => Err(unreadable.clone()),
            };
            if verdict.is_ok() {
                return Ok(());
            }
        }
        verdict
    }
}

/// Returns how the rejection of a Binding is answered: it is only reported, if one of the entries that may hold is not
/// enforced.
pub fn severity(alternatives: &[MatchedEntry<'_>]) -> Severity {
    let is_reported = alternatives.iter().any(|matched| matched.severity() == Severity::WouldBe);
    if is_reported { Severity::WouldBe } else { Severity::Reject }
}

fn field_masks(rules: &Rules<'_>) -> FieldMasks {
    let mut masks = FieldMasks::new();
    if !rules.nodes.required.is_empty() {
        masks.insert(LABELS.to_owned());
    }
    if rules.tolerations.validates_anything() {
        masks.insert(TAINTS.to_owned());
        if rules.tolerations.tolerate_extended_resources {
            masks.insert(ALLOCATABLE.to_owned());
        }
    }
    masks
}

/// Rejects the Binding of a Pod to a node that the namespace must not use.
///
/// # Errors
/// What the node lacks; or that it could not be read.
fn validate(rules: &Rules<'_>, node: &NodeLookup<'_>, target: &NodeName, pod: &ObjectName) -> Result<(), Rejection> {
    if field_masks(rules).is_empty() {
        return Ok(());
    }
    let target = quote(target.as_str());
    let Some(node) = node.required_by(&format!("{pod} is bound to node {target}"))? else { return Ok(()) };
    let cannot = format!("{pod} can't be bound to node {target}:");
    rules.nodes.required.validate_node(node, &cannot, "recreate the Pod if the demand is newer than it")?;
    if !rules.tolerations.validates_anything() {
        return Ok(());
    }
    let taints = node.lasting_taints().map_err(|problem| {
        let explanation = format!("{cannot} it {problem}; remove some, or bind it to another node");
        Rejection::forbidden(CauseKind::Limit, explanation)
    })?;
    for taint in taints {
        let Some(Objection { list, forbidding }) = objection_to(taint, node, &rules.tolerations) else { continue };
        list.reject_unresolved()?;
        let verb = if forbidding.is_some() { "forbids" } else { "does not allow" };
        let (namespace, source) = (quote(rules.nodes.required.namespace), list.source);
        let explanation = format!(
            "{cannot} it has a taint that no Pod of namespace {namespace} may tolerate, since {source} {verb} it; bind \
             it to another node"
        );
        let cause = Cause {
            taint: Some(taint.to_string()),
            detail: Some(Node::taint_as_text(taint)),
            ..Cause::at(CauseKind::NodeName, source)
        };
        return Err(Rejection::forbidden(cause, explanation));
    }
    Ok(())
}

/// Returns why no Pod of the namespace may tolerate `taint` of `node`, or nothing if one may.
fn objection_to<'r>(taint: &Taint, node: &Node<'_>, rules: &'r TolerationRules<'_>) -> Option<Objection<'r>> {
    if rules.defaults_of_settings.tolerates(taint) || is_for_resource(taint, node, rules) {
        return None;
    }
    // The narrowest toleration of this taint. Its seconds are the fewest, so that no whitelist refuses it for them.
    let seconds = (taint.effect == NO_EXECUTE).then_some(i64::MIN);
    rules.objection_to(&Toleration {
        key: taint.key.clone(),
        operator: EQUAL.to_owned(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
        toleration_seconds: seconds,
    })
}

/// Returns whether a Pod would get a toleration of `taint` for requesting a resource that `node` has.
fn is_for_resource(taint: &Taint, node: &Node<'_>, rules: &TolerationRules<'_>) -> bool {
    let toleration = Toleration::exists(&taint.key, NO_SCHEDULE);
    rules.tolerate_extended_resources
        && is_extended(&taint.key)
        && toleration.tolerates(taint)
        && rules.prohibition_of(&toleration).is_none()
        && node.has_resource(&taint.key)
}

/// Returns the node that a Binding is to, or nothing if its target is no Node or has no name.
///
/// # Errors
/// The target can't be read.
pub fn target_node(binding: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let Some(target) = binding.object("target")? else { return Ok(None) };
    let (kind, name) = (target.string("kind").within("target")?, target.string("name").within("target")?);
    let is_node = matches!(kind.as_str(), "" | "Node");
    Ok(Some(name).filter(|name| is_node && !name.is_empty()))
}
