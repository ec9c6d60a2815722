//! A Pod is bound to a node, by its subresource or on the older endpoint.

use crate::cluster::{Answer, NodeName, look_up_node, no_such_node};
use crate::decision::Rejection;
use crate::json::{Raw, RawObject, ReadError, Within};
use crate::message::quote;
use crate::node_metadata::on_binding;
use crate::node_metadata::propagation::Propagations;
use crate::placement::bindings::BindingRules;
use crate::placement::holding_entry::CandidateEntries;
use crate::review::Review;
use crate::settings::{OnBindings, Settings};

/// Judges the Binding, and writes what the Pod learns about its node.
///
/// # Errors
/// The rejection.
pub fn judge(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let Some(target) = target_node(&review.object).within("object")? else { return Ok(()) };
    let Some(target) = NodeName::new(&target) else {
        return Err(no_such_node(&format!("{} is bound to node {}", review.name, quote(&target))));
    };

    let (namespace, node) = (Answer::new(), Answer::new());
    let holding = match &settings.placement {
        Some(placement) if placement.on_bindings == OnBindings::Verify => {
            Some(CandidateEntries::of(placement, &review.request.namespace).look_up(review.cluster, &namespace)?)
        }
        _ => None,
    };
    let rules = match &holding {
        Some(holding) => holding.enforce(BindingRules::of(holding, &review.request.requester), &mut review.decision)?,
        None => None,
    };
    let propagations = Propagations::of(settings)?;
    let mut masks = propagations.as_ref().map(Propagations::field_masks).unwrap_or_default();
    if let Some(rules) = &rules {
        masks.extend(&rules.field_masks());
    }
    let node = look_up_node(review.cluster, Some(&target), &masks, &node);
    if let (Some(rules), Some(holding)) = (&rules, &holding) {
        holding.enforce(rules.verify(&node, &target, &review.name), &mut review.decision)?;
    }
    match &propagations {
        Some(propagations) => on_binding::write(propagations, review, &node),
        None => Ok(()),
    }
}

/// The node that a Binding is to; nothing, if its target is no Node or has no name.
fn target_node(binding: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let Some(target) = binding.get::<Raw<'_>>("target")? else { return Ok(None) };
    let target = target.object().within("target")?;
    let (kind, name) = (target.string("kind").within("target")?, target.string("name").within("target")?);
    let is_node = matches!(kind.as_str(), "" | "Node");
    Ok(Some(name).filter(|name| is_node && !name.is_empty()))
}
