//! A Pod is created.

use crate::cluster::{Answer, Cluster, NodeLookup, NodeName, look_up_namespace, look_up_node, no_such_node};
use crate::decision::{Decision, Rejection};
use crate::field_masks::FieldMasks;
use crate::json::{RawObject, Within};
use crate::message::quote;
use crate::node_metadata::propagation::Propagations;
use crate::node_metadata::{env, on_create};
use crate::object_meta::ObjectName;
use crate::placement::holding_entry::{CandidateEntries, HoldingEntry};
use crate::placement::judged::{Judged, SPEC};
use crate::placement::named_node::{self, NamedNode};
use crate::placement::node_selection::NodeSelection;
use crate::placement::rules::Rules;
use crate::placement::{node_selector_plugin, pods, preferences, runtime_classes, toleration_plugin, tolerations};
use crate::pod_spec;
use crate::request::Request;
use crate::settings::Settings;
use crate::size;
use crate::toleration::Operation;

/// Judges and completes the Pod.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    mut request: Request<'a>,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut pod = request.take_object()?;
    let name = ObjectName::pod(&pod);
    // The in-tree plugins know no exemption for mirror Pods, and neither do their configurations here.
    let is_mirror = request.is_about_mirror(&pod)?;
    if is_mirror {
        let is_changed = run_plugins(&request, &mut pod, settings, cluster, &mut decision)?;
        decision.mutate(pod, is_changed);
        return Ok(decision);
    }
    size::check(&pod, None, &name)?;
    let node_name = pod_spec::node_name(&pod).within("object")?;
    let node = NodeName::new(&node_name);
    if node.is_none() && !node_name.is_empty() {
        return Err(no_such_node(&format!("{name} names node {}", quote(&node_name))));
    }

    let mut is_changed = run_plugins(&request, &mut pod, settings, cluster, &mut decision)?;
    let propagations = match &settings.node_metadata {
        Some(node_metadata) => Some(Propagations::of(node_metadata)?),
        None => None,
    };
    let masks = propagations.as_ref().map(Propagations::field_masks).unwrap_or_default();
    let (namespace_answer, node_answer) = (Answer::new(), Answer::new());
    let look_up = |for_placement: &FieldMasks| {
        let mut masks = masks.clone();
        masks.extend(for_placement);
        look_up_node(cluster, node.as_ref(), masks, &node_answer)
    };
    let (node, is_placed) = match &settings.placement {
        Some(placement) => {
            let holding = CandidateEntries::of(placement, &request.namespace).look_up(cluster, &namespace_answer)?;
            place(&request, &mut pod, &name, &holding, cluster, look_up, &mut decision)?
        }
        None => (look_up(&FieldMasks::default()), false),
    };
    is_changed |= is_placed;
    if let Some(propagations) = &propagations {
        is_changed |= on_create::write(propagations, &mut pod, &node, &name, &mut decision)?;
        is_changed |= env::add(propagations, &mut pod).within("object")?;
    }
    if let NodeLookup::Found(node) = &node
        && is_changed
    {
        decision.audit("node", node.name.as_str().to_owned());
    }
    if is_changed {
        size::check(&pod, None, &name)?;
    }
    decision.mutate(pod, is_changed);
    Ok(decision)
}

/// Judges the Pod by the rules of its namespace, and adds what they demand. Returns the Node that it names, if anybody
/// needs it, and whether anything was added.
fn place<'t>(
    request: &Request<'_>,
    pod: &mut RawObject<'_>,
    name: &ObjectName,
    holding: &HoldingEntry<'_>,
    cluster: &impl Cluster,
    look_up: impl Fn(&FieldMasks) -> NodeLookup<'t>,
    decision: &mut Decision<'_>,
) -> Result<(NodeLookup<'t>, bool), Rejection> {
    let empty = RawObject::default();
    let spec = pod.object("spec").within("object")?.unwrap_or(&empty);
    let own = NodeSelection::read(spec).within(SPEC)?;
    let node_name = spec.string("nodeName").within(SPEC)?;
    let class_name = runtime_classes::name_to_resolve(spec, holding.settings).within(SPEC)?;
    let judged = Judged { class_name: &class_name, ..Judged::pod(pod, name, request)? };

    let rules = Rules::of(holding, &request.requester).map(|rules| rules.for_pod(&own));
    let Some(rules) = holding.enforce(rules, decision)? else {
        return Ok((look_up(&FieldMasks::default()), false));
    };
    let Rules { nodes, tolerations: toleration_rules } = &rules;
    let admitted = runtime_classes::judge_with_class(&class_name, cluster, |class| {
        pods::admit(own.clone(), spec, &Judged { class, ..judged }, nodes, toleration_rules)
    });
    let admitted = admitted
        .and_then(|additions| Ok((additions, named_node::must_match(&node_name, nodes, &request.requester, name)?)));
    let Some((mut additions, must_match)) = holding.enforce(admitted, decision)? else {
        return Ok((look_up(&FieldMasks::default()), false));
    };
    let mut node_masks = FieldMasks::default();
    let named_node = if must_match {
        let own = tolerations::read(spec).within(SPEC)?;
        let named_node = NamedNode::of(own, &additions, nodes, toleration_rules, name);
        node_masks = named_node.field_masks();
        Some(named_node)
    } else {
        None
    };
    let node = look_up(&node_masks);
    if let Some(named_node) = named_node
        && holding.enforce(named_node.verify(&node, &node_name), decision)?.is_none()
    {
        return Ok((node, false));
    }
    if node_name.is_empty() {
        additions.preferences = preferences::missing(spec, SPEC, holding, decision)?;
    }
    if additions.are_empty() {
        return Ok((node, false));
    }
    if !holding.is_enforced() {
        decision.would_add(&additions.in_words());
        return Ok((node, false));
    }
    additions.record(decision);
    additions.write(pod.object_mut("spec").within("object")?).within(SPEC)?;
    Ok((node, true))
}

/// Gives the Pod what the in-tree plugins would, where their configurations are given. Returns whether that was
/// anything.
fn run_plugins(
    request: &Request<'_>,
    pod: &mut RawObject<'_>,
    settings: &Settings,
    cluster: &impl Cluster,
    decision: &mut Decision<'_>,
) -> Result<bool, Rejection> {
    let node_selectors = &settings.pod_node_selector_plugin_config;
    let tolerations = &settings.pod_toleration_restriction_plugin_config;
    if node_selectors.is_none() && tolerations.is_none() {
        return Ok(false);
    }
    let namespace = &request.namespace;
    let answer = Answer::new();
    let annotations = look_up_namespace(cluster, namespace, &answer)?.annotations;
    let mut is_changed = false;
    if let Some(config) = node_selectors {
        is_changed |= node_selector_plugin::write(pod, namespace, &annotations, config, decision)?;
    }
    if let Some(config) = tolerations {
        let tolerations = toleration_plugin::tolerations_of(pod, Operation::Create).within("object")?;
        is_changed |= toleration_plugin::write(pod, &tolerations, namespace, &annotations, config, decision)?;
    }
    Ok(is_changed)
}
