//! A Pod is created.

use json::{Object, StringMap, Within};

use crate::cluster::{Cluster, NodeName};
use crate::decision::{Decision, Rejection};
use crate::field_masks::FieldMasks;
use crate::look_up;
use crate::message::quote;
use crate::node_metadata::{NodeMetadata, env, on_create, room, source};
use crate::object_meta::Named;
use crate::placement::asked::SpecAt;
use crate::placement::demands::NamespaceDemands;
use crate::placement::named_node::NamedNode;
use crate::placement::pods::{self, Judged};
use crate::placement::possible_demands::PossibleDemands;
use crate::placement::toleration_plugin;
use crate::pod_spec;
use crate::request::Request;
use crate::settings::{Mode, Placement, Settings};
use crate::size;
use crate::toleration::Operation;

/// Judges and completes the Pod.
///
/// # Errors
/// The rejection.
pub fn decide(request: &mut Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut pod = request.take_object()?;
    let named = Named::pod(&pod);
    let is_mirror = request.is_about_mirror(&pod)?;
    if !is_mirror {
        size::check(&pod, None, &named)?;
    }
    let node_name = pod_spec::node_name(&pod).within("object")?;
    let node = NodeName::new(&node_name);
    if node.is_none() && !node_name.is_empty() && !is_mirror {
        return Err(look_up::no_such_node(&format!("{named} names node {}", quote(&node_name))));
    }

    let mut decision = Decision::accept();
    // A mirror Pod already runs. The in-tree plugins know no such exemption, and neither do their configurations here.
    let placement = settings.placement()?.filter(|placement| !is_mirror || placement.mode == Mode::Plugin);
    let plugin = settings.toleration_plugin()?;
    let (demands, annotations) = look_up_namespace(request, &pod, placement.as_ref(), plugin.is_some(), cluster)?;
    let named_node = match &demands {
        Some(demands) => place(request, &mut pod, &node_name, demands, &named, &mut decision)?,
        None => None,
    };
    if let Some(config) = plugin {
        let tolerations = toleration_plugin::tolerations_of(&pod, Operation::Create).within("object")?;
        toleration_plugin::write(&mut pod, &tolerations, &request.namespace, &annotations, &config, &mut decision)?;
    }

    let node_metadata = if is_mirror { None } else { node_metadata_of(&pod, node.is_some(), settings)? };
    let mut masks = node.as_ref().and(node_metadata.as_ref()).map(source::field_masks).unwrap_or_default();
    if let Some(named_node) = &named_node {
        masks.extend(&named_node.field_masks());
    }
    let node = look_up::node(node, &masks, cluster, &mut decision);
    if let (Some(named_node), Some(node)) = (named_node, &node) {
        named_node.verify(node.as_ref(), &node_name, &named)?;
    }
    if let Some(settings) = &node_metadata {
        on_create::write(settings, &mut pod, node.as_ref().map(Result::as_ref), &named, &mut decision)?;
        env::add(settings, &mut pod).within("object")?;
    }
    if pod.is_changed() && !is_mirror {
        size::check(&pod, None, &named)?;
    }
    decision.mutate(pod);
    Ok(decision)
}

/// What the Pod's namespace demands, and its annotations where the plugin needs them. The Namespace is looked up once for
/// both.
fn look_up_namespace<'s>(
    request: &Request,
    pod: &Object,
    placement: Option<&'s Placement<'s>>,
    is_for_plugin: bool,
    cluster: &impl Cluster,
) -> Result<(Option<NamespaceDemands<'s>>, StringMap), Rejection> {
    let possible = match placement {
        Some(placement) => Some(PossibleDemands::read(placement, &request.namespace)?),
        None => None,
    };
    let mut masks = match &possible {
        Some(possible) => {
            let spec = pod.object("spec").within("object")?.map(|spec| SpecAt { spec, path: pods::SPEC });
            possible.field_masks(spec)?
        }
        None => FieldMasks::default(),
    };
    if is_for_plugin {
        masks.add(FieldMasks::ANNOTATIONS);
    }
    let namespace = look_up::namespace(&request.namespace, &masks, cluster)?;
    let annotations = if is_for_plugin { namespace.annotations.clone() } else { StringMap::new() };
    match possible {
        Some(possible) => Ok((Some(NamespaceDemands::of(possible, namespace)?), annotations)),
        None => Ok((None, annotations)),
    }
}

/// Adds to the Pod what its namespace demands, and judges what results. Returns what is to be verified of the node that
/// the Pod names, if anything.
fn place<'d>(
    request: &Request,
    pod: &mut Object,
    node_name: &str,
    demands: &'d NamespaceDemands<'d>,
    named: &Named,
    decision: &mut Decision,
) -> Result<Option<NamedNode<'d>>, Rejection> {
    let judged = Judged::pod(pod, named, request)?;
    let mut spec = pod.object("spec").within("object")?.cloned().unwrap_or_default();
    let admitted = pods::admit(&mut spec, &judged, demands)?;
    admitted.record(decision);
    let named_node = NamedNode::of(node_name, &admitted, &spec, demands, request.requester()?, named)?;
    if admitted.is_changed() {
        *pod.object_mut("spec").within("object")? = spec;
    }
    Ok(named_node)
}

/// What the settings say about node metadata, where a new Pod needs it.
fn node_metadata_of(pod: &Object, has_node: bool, settings: &Settings) -> Result<Option<NodeMetadata>, Rejection> {
    let Some(block) = settings.node_metadata()? else { return Ok(None) };
    if has_node || block.protect()? || block.has_env() || room::may_lack(pod)? {
        return Ok(Some(NodeMetadata::read(&block)?));
    }
    Ok(None)
}
