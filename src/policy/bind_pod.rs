//! A Pod is bound to a node, by its subresource or on the older endpoint.

use std::borrow::Cow;

use json::{Mismatch, Object, Within};

use crate::cluster::{Cluster, NODE, NodeName};
use crate::decision::{Decision, Rejection};
use crate::look_up;
use crate::message::quote;
use crate::node_metadata::{NodeMetadata, on_binding, source};
use crate::object_meta::{self, Named};
use crate::placement::bindings::BindingRules;
use crate::placement::possible_demands::PossibleDemands;
use crate::request::Request;
use crate::settings::{OnBindings, Settings};

/// Judges the Binding, and writes onto it what the Pod learns about its node.
///
/// # Errors
/// The rejection.
pub fn decide(request: &mut Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let mut binding = request.take_object()?;
    // Whatever else may be bound to, it is no node.
    let Some(target) = target_node(&binding).within("object")? else { return Ok(decision) };
    let pod = Named::Pod(object_meta::name(&binding).within("object")?.into_owned());
    let Some(target) = NodeName::new(&target) else {
        return Err(look_up::no_such_node(&format!("{pod} is bound to node {}", quote(&target))));
    };

    let placement = settings.placement()?;
    let rules = match &placement {
        Some(placement) if placement.on_bindings()? == OnBindings::Verify => {
            let demands = PossibleDemands::read(placement, &request.namespace)?.look_up(None, cluster)?;
            BindingRules::of(demands, request.requester()?)?
        }
        _ => None,
    };
    let node_metadata = match settings.node_metadata()? {
        Some(block) => Some(NodeMetadata::read(&block)?),
        None => None,
    };

    let mut masks = node_metadata.as_ref().map(source::field_masks).unwrap_or_default();
    if let Some(rules) = &rules {
        masks.extend(&rules.field_masks());
    }
    let Some(node) = look_up::node(Some(target.clone()), &masks, cluster, &mut decision) else { return Ok(decision) };
    if let Some(rules) = rules {
        rules.verify(node.as_ref(), &target, &pod)?;
    }
    if let Some(settings) = node_metadata {
        on_binding::write(&settings, &mut binding, &pod, node.as_ref(), &mut decision)?;
        decision.mutate(binding);
    }
    Ok(decision)
}

/// The node that a Binding is to; nothing, if its target is no Node or has no name.
fn target_node(binding: &Object) -> Result<Option<Cow<'_, str>>, Mismatch> {
    let Some(target) = binding.object("target")? else { return Ok(None) };
    let kind = target.string("kind").within("target")?;
    let name = target.string("name").within("target")?;
    if name.is_empty() || !matches!(kind.as_ref(), "" | NODE) { Ok(None) } else { Ok(Some(name)) }
}
