//! The routing table, with a function for each kind of request. Placement and node metadata are independent of each
//! other, and are joined here.

use crate::cluster::{LazyNode, Lookups, NodeName, no_such_node};
use crate::decision::{Decision, Rejection};
use crate::json::Within;
use crate::message::quote;
use crate::node_metadata::propagation::Propagations;
use crate::node_metadata::{self, env};
use crate::object_meta;
use crate::placement::{bindings, in_tree, namespaces, nodes, pods, workloads};
use crate::request::Request;
use crate::resource::Resource;
use crate::review::Review;
use crate::settings::Settings;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    request: Request<'a>,
    settings: &Settings,
    lookups: &'a Lookups<'a>,
) -> Result<Decision<'a>, Rejection> {
    let Some(resource) = request.resource() else { return Ok(Decision::default()) };
    let decide = match (resource, &*request.sub_resource, &*request.operation) {
        (Resource::Pod, "", "CREATE") => create_pod,
        (Resource::Pod, "", "UPDATE") => update_pod,
        (Resource::Pod, "status", "UPDATE") => update_pod_status,
        (Resource::Pod, "binding", "CREATE") | (Resource::Binding, "", "CREATE") => bind_pod,
        (Resource::Namespace, "", "CREATE" | "UPDATE") => write_namespace,
        (Resource::Node, "", "CREATE" | "UPDATE") | (Resource::Node, "status", "UPDATE") => write_node,
        // Bindings are only created.
        (Resource::Binding, ..) => return Ok(Decision::default()),
        // All others hold a Pod template.
        (_, "", "CREATE" | "UPDATE") => write_workload,
        _ => return Ok(Decision::default()),
    };
    let mut review = Review::new(request, resource, lookups)?;
    decide(&mut review, settings)?;
    Ok(review.into_decision())
}

fn create_pod(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    // The in-tree plugin knows no exemption for mirror Pods, and neither does its configuration here.
    if review.request.is_about_mirror(&review.object)? {
        return run_in_tree_plugin(review, settings);
    }
    review.check_size()?;
    let name = object_meta::node_name(&review.object).within("object")?;
    let node_name = NodeName::new(&name);
    if node_name.is_none() && !name.is_empty() {
        return Err(no_such_node(&format!("{} names node {}", review.name, quote(&name))));
    }

    run_in_tree_plugin(review, settings)?;
    let propagations = Propagations::of(settings)?;
    let mut node = LazyNode::new(review.lookups, node_name.as_ref());
    node.require(propagations.as_ref().map(Propagations::field_masks).unwrap_or_default());
    if let Some(placement) = &settings.placement {
        pods::admit_create(review, placement, &mut node)?;
    }
    if let Some(propagations) = &propagations {
        node_metadata::pods::write_to_new(propagations, review, node.look_up())?;
        env::add(propagations, review)?;
    }
    review.audit_node_of_change(node.look_up());
    check_size_if_changed(review)
}

/// Runs the in-tree plugin if it is configured.
fn run_in_tree_plugin(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let Some(config) = &settings.pod_node_selector_plugin_config else { return Ok(()) };
    let annotations = review.lookups.namespace(&review.request.namespace)?.annotations;
    in_tree::admit(review, &annotations, config)
}

fn update_pod(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    if review.request.is_about_mirror(&review.object)? {
        return Ok(());
    }
    review.check_size()?;
    if let Some(placement) = &settings.placement {
        pods::validate_update(review, placement)?;
    }
    match Propagations::of(settings)? {
        Some(propagations) => node_metadata::pods::write_to_updated(&propagations, review),
        None => Ok(()),
    }
}

/// Undoes changes to managed keys in an update of the status.
fn update_pod_status(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    match Propagations::of(settings)?.filter(|propagations| propagations.settings.protect) {
        Some(propagations) if !review.request.is_about_mirror(&review.object)? => {
            node_metadata::pods::write_status(&propagations, review)
        }
        _ => Ok(()),
    }
}

/// Decides about the binding of a Pod to a node, by its subresource or on the older endpoint.
fn bind_pod(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    let Some(target) = bindings::target_node(&review.object).within("object")? else { return Ok(()) };
    let Some(target) = NodeName::new(&target) else {
        return Err(no_such_node(&format!("{} is bound to node {}", review.name, quote(&target))));
    };

    let propagations = Propagations::of(settings)?;
    let mut node = LazyNode::new(review.lookups, Some(&target));
    node.require(propagations.as_ref().map(Propagations::field_masks).unwrap_or_default());
    if let Some(placement) = &settings.placement {
        bindings::validate(review, placement, &target, &mut node)?;
    }
    match &propagations {
        Some(propagations) => node_metadata::bindings::write(propagations, review, node.look_up()),
        None => Ok(()),
    }
}

fn write_namespace(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    review.check_size()?;
    settings.placement.as_ref().map_or(Ok(()), |placement| namespaces::validate(review, placement))
}

fn write_node(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    settings.placement.as_ref().map_or(Ok(()), |placement| nodes::validate(review, placement))
}

/// Decides about a workload, from whose template Pods are made, that is created or updated.
fn write_workload(review: &mut Review<'_>, settings: &Settings) -> Result<(), Rejection> {
    review.check_size()?;
    if let Some(propagations) = Propagations::of(settings)? {
        node_metadata::workloads::reject_managed(&propagations, review)?;
    }
    if let Some(placement) = &settings.placement {
        workloads::admit(review, placement)?;
    }
    check_size_if_changed(review)
}

fn check_size_if_changed(review: &Review<'_>) -> Result<(), Rejection> {
    if review.object.is_changed() { review.check_size() } else { Ok(()) }
}
