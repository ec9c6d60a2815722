//! The routing table: which request is whose business. It joins placement and node metadata, which do not know each
//! other.

use json::{Object, Within};

use crate::cluster::{self, Cluster, LookupError, Node, NodeName};
use crate::decision::{Decision, Rejection};
use crate::field_masks::FieldMasks;
use crate::message::quote;
use crate::node_metadata::{self, NodeMetadata, on_binding, on_create, on_update, room, selected_labels};
use crate::object_meta::{self, Named};
use crate::placement::demands::NamespaceDemands;
use crate::placement::pods::Admitted;
use crate::placement::{bindings, named_node, namespaces, pods, workloads};
use crate::request::Request;
use crate::settings::{Mode, OnBindings, Placement, Settings};
use crate::size;
use crate::workload::Workload;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide(request: Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let action = &request.action;
    let asked = (&*action.group, &*action.resource, &*action.sub_resource, &*action.operation);
    let workload = match asked {
        ("", "pods", "", "CREATE") => return create_pod(request, settings, cluster),
        ("", "pods", "", "UPDATE") => return update_pod(request, settings, cluster),
        ("", "pods", "status", "UPDATE") => return update_pod_status(request, settings),
        ("", "pods", "binding", "CREATE") | ("", "bindings", "", "CREATE") => {
            return bind_pod(request, settings, cluster);
        }
        ("", "namespaces", "", "CREATE" | "UPDATE") => return judge_namespace(&request, settings),
        ("apps", "deployments", "", "CREATE" | "UPDATE") => Workload::Deployment,
        ("apps", "replicasets", "", "CREATE" | "UPDATE") => Workload::ReplicaSet,
        ("apps", "statefulsets", "", "CREATE" | "UPDATE") => Workload::StatefulSet,
        ("apps", "daemonsets", "", "CREATE" | "UPDATE") => Workload::DaemonSet,
        ("batch", "jobs", "", "CREATE" | "UPDATE") => Workload::Job,
        ("batch", "cronjobs", "", "CREATE" | "UPDATE") => Workload::CronJob,
        ("", "replicationcontrollers", "", "CREATE" | "UPDATE") => Workload::ReplicationController,
        ("", "podtemplates", "", "CREATE" | "UPDATE") => Workload::PodTemplate,
        // Nobody's business: other groups and kinds, DELETE, CONNECT, other subresources.
        _ => return Ok(Decision::accept()),
    };
    judge_workload(workload, request, settings, cluster)
}

fn create_pod(mut request: Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut pod = request.take_object()?;
    let submitted = pod.text();
    let named = Named::pod(&pod);
    let is_mirror = request.is_about_mirror(&pod)?;
    let mut spec = pod.object("spec").within("object")?.cloned().unwrap_or_default();
    let node_name = spec.string("nodeName").within(pods::SPEC)?.into_owned();
    let node = NodeName::new(&node_name);
    if node.is_none() && !node_name.is_empty() && !is_mirror {
        return Err(no_such_node(&format!("{named} names node {}", quote(&node_name))));
    }

    let mut decision = Decision::accept();
    let mut masks = FieldMasks::default();
    // A mirror Pod already runs. The in-tree plugin knows no such exemption, and neither does its configuration here.
    let placement = settings.placement()?.filter(|placement| !is_mirror || placement.mode == Mode::Plugin);
    let demands = match &placement {
        Some(placement) => Some(NamespaceDemands::look_up(placement, &request.namespace, cluster)?),
        None => None,
    };
    let mut to_verify = None;
    if let Some(demands) = &demands {
        let Admitted { selection, injected } = pods::admit(&mut spec, pods::SPEC, demands, &named)?;
        injected.record(&mut decision);
        if injected.first().is_some() {
            pod.set("spec", spec);
        }
        if named_node::must_be_verified(&node_name, demands, &named)? {
            to_verify = Some((demands, selection));
            masks.add(FieldMasks::LABELS);
        }
    }
    let node_metadata = if is_mirror { None } else { node_metadata_of(&pod, node.is_some(), settings)? };
    if let (Some(settings), Some(_)) = (&node_metadata, &node) {
        masks.extend(&node_metadata::source::field_masks(settings));
    }
    let node = look_up_node(node, &masks, cluster, &mut decision);
    if let (Some((demands, selection)), Some(node)) = (to_verify, &node) {
        named_node::verify(node.as_ref(), &node_name, &selection, demands, &named)?;
    }
    if let Some(settings) = &node_metadata {
        on_create::write(settings, &mut pod, node.as_ref().map(Result::as_ref), &named, &mut decision)?;
    }
    if !is_mirror {
        size::check(&submitted, &pod, None, &named)?;
    }
    decision.mutate(pod);
    Ok(decision)
}

fn update_pod(mut request: Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let mut pod = request.take_object()?;
    if request.is_about_mirror(&pod)? {
        return Ok(decision);
    }
    let submitted = pod.text();
    let named = Named::pod(&pod);
    // The in-tree plugin looks at Pods only when they are created.
    if let Some(placement) = settings.placement()?.filter(|placement| placement.mode == Mode::Placement) {
        judge_updated_pod(&request, &pod, &placement, &named, cluster)?;
    }
    if let Some(block) = settings.node_metadata()? {
        let settings = NodeMetadata::read(&block)?;
        on_update::write(&settings, &request, &mut pod, &named, cluster, &mut decision)?;
    }
    size::check(&submitted, &pod, request.old_object().ok(), &named)?;
    decision.mutate(pod);
    Ok(decision)
}

fn judge_updated_pod(
    request: &Request,
    pod: &Object,
    placement: &Placement<'_>,
    named: &Named,
    cluster: &impl Cluster,
) -> Result<(), Rejection> {
    let none = Object::new();
    let spec = pod.object("spec").within("object")?.unwrap_or(&none);
    let old_spec = request.old_object()?.object("spec").within("oldObject")?.unwrap_or(&none);
    pods::judge_update(spec, old_spec, placement, &request.namespace, named, cluster)
}

fn update_pod_status(mut request: Request, settings: &Settings) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let Some(block) = settings.node_metadata()? else { return Ok(decision) };
    if !block.protect()? {
        return Ok(decision);
    }
    let mut pod = request.take_object()?;
    if !request.is_about_mirror(&pod)? {
        on_update::write_status(&NodeMetadata::read(&block)?, &request, &mut pod, &mut decision)?;
        decision.mutate(pod);
    }
    Ok(decision)
}

fn bind_pod(mut request: Request, settings: &Settings, cluster: &impl Cluster) -> Result<Decision, Rejection> {
    let mut decision = Decision::accept();
    let mut binding = request.take_object()?;
    // Whatever else may be bound to, it is no node.
    let Some(target) = cluster::target_node(&binding).within("object")? else { return Ok(decision) };
    let pod = Named::Pod(object_meta::name(&binding).within("object")?.into_owned());
    let Some(target) = NodeName::new(&target) else {
        return Err(no_such_node(&format!("{pod} is bound to node {}", quote(&target))));
    };

    let placement = settings.placement()?;
    let demands = match &placement {
        Some(placement) if placement.on_bindings()? == OnBindings::Verify => {
            Some(NamespaceDemands::look_up(placement, &request.namespace, cluster)?)
        }
        _ => None,
    };
    let demands = demands.filter(|demands| !demands.select_every_node());
    let node_metadata = match settings.node_metadata()? {
        Some(block) => Some(NodeMetadata::read(&block)?),
        None => None,
    };

    let mut masks = node_metadata.as_ref().map(node_metadata::source::field_masks).unwrap_or_default();
    if demands.is_some() {
        masks.add(FieldMasks::LABELS);
    }
    let Some(node) = look_up_node(Some(target.clone()), &masks, cluster, &mut decision) else { return Ok(decision) };
    if let Some(demands) = demands {
        bindings::verify(node.as_ref(), &target, &demands, &pod)?;
    }
    if let Some(settings) = node_metadata {
        on_binding::write(&settings, &mut binding, node.as_ref(), &mut decision)?;
        decision.mutate(binding);
    }
    Ok(decision)
}

fn judge_namespace(request: &Request, settings: &Settings) -> Result<Decision, Rejection> {
    match settings.placement()? {
        Some(placement) => namespaces::judge(request, &placement),
        None => Ok(Decision::accept()),
    }
}

fn judge_workload(
    workload: Workload,
    mut request: Request,
    settings: &Settings,
    cluster: &impl Cluster,
) -> Result<Decision, Rejection> {
    let mut object = request.take_object()?;
    let submitted = object.text();
    let mut decision = match settings.placement()? {
        Some(placement) => workloads::admit(workload, &request, &mut object, &placement, cluster)?,
        None => Decision::accept(),
    };
    if !request.is_update()
        && let Some(block) = settings.node_metadata()?
    {
        selected_labels::reject_managed(&NodeMetadata::read(&block)?, workload, &object)?;
    }
    let named = Named::workload(workload.kind(), &object);
    size::check(&submitted, &object, request.old_object().ok(), &named)?;
    decision.mutate(object);
    Ok(decision)
}

/// What the settings say about node metadata, where a new Pod needs it.
fn node_metadata_of(pod: &Object, has_node: bool, settings: &Settings) -> Result<Option<NodeMetadata>, Rejection> {
    let Some(block) = settings.node_metadata()? else { return Ok(None) };
    if has_node || block.protect()? || room::may_lack(pod)? {
        return Ok(Some(NodeMetadata::read(&block)?));
    }
    Ok(None)
}

/// Reads a Node once for all who need something of it; not at all, if nobody does.
fn look_up_node(
    name: Option<NodeName>,
    masks: &FieldMasks,
    cluster: &impl Cluster,
    decision: &mut Decision,
) -> Option<Result<Node, LookupError>> {
    if masks.is_empty() {
        return None;
    }
    let node = cluster::look_up_node(cluster, name?, masks);
    if let Ok(node) = &node {
        decision.record_node(node);
    }
    Some(node)
}

/// Only what can be a name is looked up: the host pastes it into the URL of the API server. A Node by any other name
/// does not exist.
fn no_such_node(what: &str) -> Rejection {
    Rejection::forbidden(format!("{what}, which does not exist: no Node can have this name; name an existing node"))
}
