//! A Pod is bound to a node, by its subresource or on the older endpoint.

use crate::cluster::{Answer, Cluster, NodeLookup, NodeName, look_up_node, no_such_node};
use crate::decision::{Decision, Rejection};
use crate::json::{RawObject, ReadError, Within};
use crate::message::quote;
use crate::node_metadata::on_binding;
use crate::node_metadata::propagation::Propagations;
use crate::object_meta::{self, ObjectName};
use crate::placement::bindings::BindingRules;
use crate::placement::holding_entry::CandidateEntries;
use crate::request::Request;
use crate::settings::{OnBindings, Settings};

/// Judges the Binding, and writes onto it what the Pod learns about its node.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    mut request: Request<'a>,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut binding = request.take_object()?;
    let Some(target) = target_node(&binding).within("object")? else { return Ok(decision) };
    let pod = ObjectName::Pod(object_meta::name(&binding).within("object")?);
    let Some(target) = NodeName::new(&target) else {
        return Err(no_such_node(&format!("{pod} is bound to node {}", quote(&target))));
    };

    let (namespace, node) = (Answer::new(), Answer::new());
    let holding = match &settings.placement {
        Some(placement) if placement.on_bindings == OnBindings::Verify => {
            Some(CandidateEntries::of(placement, &request.namespace).look_up(cluster, &namespace)?)
        }
        _ => None,
    };
    let rules = match &holding {
        Some(holding) => holding.enforce(BindingRules::of(holding, &request.requester), &mut decision)?,
        None => None,
    };
    let propagations = match &settings.node_metadata {
        Some(node_metadata) => Some(Propagations::of(node_metadata)?),
        None => None,
    };

    let mut masks = propagations.as_ref().map(Propagations::field_masks).unwrap_or_default();
    if let Some(rules) = &rules {
        masks.extend(&rules.field_masks());
    }
    let node = look_up_node(cluster, Some(&target), masks, &node);
    if let (Some(rules), Some(holding)) = (&rules, &holding) {
        holding.enforce(rules.verify(&node, &target, &pod), &mut decision)?;
    }
    if let Some(propagations) = &propagations {
        let node = match &node {
            NodeLookup::NotNeeded => return Ok(decision),
            NodeLookup::Found(node) => Ok(node),
            NodeLookup::Failed(error) => Err(error),
        };
        let is_changed = on_binding::write(propagations, &mut binding, &pod, node, &mut decision)?;
        if let Ok(node) = node
            && is_changed
        {
            decision.audit("node", node.name.as_str().to_owned());
        }
        decision.mutate(binding, is_changed);
    }
    Ok(decision)
}

/// The node that a Binding is to; nothing, if its target is no Node or has no name.
fn target_node(binding: &RawObject<'_>) -> Result<Option<String>, ReadError> {
    let Some(target) = binding.inner("target")? else { return Ok(None) };
    let (kind, name) = (target.string("kind").within("target")?, target.string("name").within("target")?);
    let is_node = matches!(kind.as_str(), "" | "Node");
    Ok(Some(name).filter(|name| is_node && !name.is_empty()))
}
