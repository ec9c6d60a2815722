//! The routing table: which request is whose job. It joins the two jobs, which do not know each other.

use std::borrow::Cow;

use json::{Mismatch, Object};

use crate::cluster::{self, Answer, Cluster, LABELS, LookupError, NODE, NodeName};
use crate::decision::{Decision, Rejection};
use crate::metadata::{Metadata, Subject};
use crate::node_metadata;
use crate::placement::namespace_selector::NamespaceSelector;
use crate::placement::workload::{self, Workload};
use crate::placement::{binding, namespace, node_name, pod};
use crate::request::Request;
use crate::settings::{Dialect, NodeMetadata, OnBindings, Settings};
use crate::size;
use crate::text::quote;

/// Decides about `request`.
///
/// # Errors
/// The rejection.
pub fn decide<'a>(
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let workload = |workload| judge_workload(workload, request, settings, cluster);
    match request.asked() {
        ("", "pods", "", "CREATE") => create_pod(request, settings, cluster),
        ("", "pods", "", "UPDATE") => update_pod(request, settings, cluster),
        ("", "pods", "status", "UPDATE") => update_pod_status(request, settings),
        ("", "pods", "binding", "CREATE") | ("", "bindings", "", "CREATE") => bind_pod(request, settings, cluster),
        ("", "namespaces", "", "CREATE" | "UPDATE") => judge_namespace(request, settings),
        ("apps", "daemonsets", "", "CREATE" | "UPDATE") => workload(Workload::DaemonSet),
        ("apps", "deployments", "", "CREATE" | "UPDATE") => workload(Workload::Other("Deployment")),
        ("apps", "replicasets", "", "CREATE" | "UPDATE") => workload(Workload::Other("ReplicaSet")),
        ("apps", "statefulsets", "", "CREATE" | "UPDATE") => workload(Workload::Other("StatefulSet")),
        ("batch", "jobs", "", "CREATE" | "UPDATE") => workload(Workload::Other("Job")),
        ("batch", "cronjobs", "", "CREATE" | "UPDATE") => workload(Workload::CronJob),
        ("", "replicationcontrollers", "", "CREATE" | "UPDATE") => workload(Workload::Other("ReplicationController")),
        ("", "podtemplates", "", "CREATE" | "UPDATE") => workload(Workload::PodTemplate),
        // Nobody's job: other groups and kinds, DELETE, CONNECT, other subresources.
        _ => Ok(Decision::accept()),
    }
}

fn create_pod<'a>(
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut object = request.object()?;
    let is_mirror = is_mirror(request, &object)?;
    // A mirror Pod already runs. The in-tree plugin knows no such exemption, and neither does its configuration here.
    let rules =
        settings.placement(&request.namespace)?.filter(|rules| !is_mirror || rules.dialect() == Dialect::InTree);
    let subject = Subject::Pod(object.clone());
    let mut decision = Decision::accept();

    let mut spec = spec_of(&object)?;
    let name = spec.string("nodeName").map_err(|mismatch| mismatch.within(pod::SPEC))?;
    let node_name = NodeName::new(&name);
    if node_name.is_none() && !name.is_empty() && !is_mirror {
        return Err(no_such_node(&format!("{subject} names node {}", quote(&name))));
    }
    let selector = rules.as_ref().map(|rules| NamespaceSelector::look_up(rules, cluster)).transpose()?;
    let mut unverified = None;
    if let (Some(rules), Some(selector)) = (&rules, &selector) {
        let (pod, injected) = pod::admit(&mut spec, pod::SPEC, selector, rules, &subject)?;
        pod::record(&mut decision, &injected);
        let must_verify = node_name::must_verify(&pod, selector, rules, &subject)?;
        unverified = must_verify.then_some((pod, selector, rules));
    }
    object.set_object("spec", spec);

    let is_informed = !is_mirror && node_name.is_some();
    let is_protected = !is_mirror && settings.protects()?;
    let may_lack_room = !is_mirror && settings.has_node_metadata() && node_metadata::room::may_lack(&object)?;
    let node_metadata = if is_informed || is_protected || may_lack_room { settings.node_metadata()? } else { None };
    let informing = node_metadata.as_ref().filter(|_| is_informed);
    let answer = node_name.and_then(|name| look_up_node(cluster, &name, unverified.is_some(), informing));
    let node = answer.as_ref().map(|answer| cluster::found(answer, cluster, &mut decision));
    if let (Some((pod, selector, rules)), Some(node)) = (unverified, &node) {
        node_name::verify(&pod, selector, rules, &subject, node.as_ref())?;
    }
    if let Some(settings) = node_metadata {
        let node = node.as_ref().filter(|_| is_informed).map(Result::as_ref);
        node_metadata::pod::create(&settings, &mut object, node, &subject, &mut decision)?;
    }
    decision.mutate(object);
    if !is_mirror {
        size::check(request, &decision, &subject)?;
    }
    Ok(decision)
}

fn update_pod<'a>(
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut object = request.object()?;
    if is_mirror(request, &object)? {
        return Ok(decision);
    }
    // The in-tree plugin looks at Pods only when they are created.
    let rules = settings.placement(&request.namespace)?.filter(|rules| rules.dialect() == Dialect::Full);
    let subject = Subject::Pod(object.clone());
    if let Some(rules) = rules {
        pod::update(&spec_of(&object)?, &old_spec_of(request)?, &rules, &subject, cluster)?;
    }
    if let Some(settings) = settings.node_metadata()? {
        node_metadata::pod::update(&settings, request, &mut object, cluster, &mut decision)?;
        decision.mutate(object);
    }
    size::check(request, &decision, &subject)?;
    Ok(decision)
}

fn update_pod_status<'a>(request: &Request<'a>, settings: &Settings<'a>) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    if !settings.protects()? {
        return Ok(decision);
    }
    let mut object = request.object()?;
    if let (Some(settings), false) = (settings.node_metadata()?, is_mirror(request, &object)?) {
        node_metadata::pod::update_status(&settings, request, &mut object, &mut decision)?;
        decision.mutate(object);
    }
    Ok(decision)
}

fn bind_pod<'a>(
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut object = request.object()?;
    // Whatever else may be bound to, it is no node.
    let Some(target) = target_node(&object).map_err(|mismatch| mismatch.within("object"))? else {
        return Ok(decision);
    };
    let pod = Metadata::of(&object)?.name()?;
    let Some(target) = NodeName::new(&target) else {
        return Err(no_such_node(&format!("Pod {} is bound to node {}", quote(&pod), quote(&target))));
    };
    let rules = settings.placement(&request.namespace)?;
    let selector = match &rules {
        Some(rules) if rules.on_bindings()? == OnBindings::Verify => Some(NamespaceSelector::look_up(rules, cluster)?),
        _ => None,
    };
    let selector = selector.filter(|selector| !selector.is_empty());
    let node_metadata = settings.node_metadata()?;
    let answer = look_up_node(cluster, &target, selector.is_some(), node_metadata.as_ref());
    let Some(node) = answer.as_ref().map(|answer| cluster::found(answer, cluster, &mut decision)) else {
        return Ok(decision);
    };
    if let Some(selector) = selector {
        binding::verify(&pod, &target, &selector, node.as_ref())?;
    }
    if let Some(settings) = node_metadata {
        node_metadata::binding::write(&settings, &mut object, node.as_ref(), &mut decision)?;
        decision.mutate(object);
    }
    Ok(decision)
}

fn judge_namespace<'a>(request: &Request<'a>, settings: &Settings<'a>) -> Result<Decision<'a>, Rejection> {
    let object = request.object()?;
    let metadata = Metadata::of(&object)?;
    let Some(rules) = settings.placement(&metadata.name()?)? else { return Ok(Decision::accept()) };
    if metadata.is_terminating() {
        return Ok(Decision::accept());
    }
    namespace::admit(request, &metadata, &rules)
}

fn judge_workload<'a>(
    workload: Workload,
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let decision = match settings.placement(&request.namespace)? {
        Some(rules) => workload::admit(workload, request, &rules, cluster)?,
        None => Decision::accept(),
    };
    let object = request.object()?;
    if request.operation == "CREATE"
        && let Some(settings) = settings.node_metadata()?
    {
        node_metadata::workload::check(&settings, workload, &object)?;
    }
    size::check(request, &decision, &Subject::Workload(workload.kind(), object))?;
    Ok(decision)
}

/// Only what can be a name is looked up: the host pastes it into the URL of the API server. A Node by any other name
/// does not exist.
fn no_such_node(what: &str) -> Rejection {
    Rejection::forbidden(format!("{what}, which does not exist: no Node can have this name; name an existing node"))
}

/// A mirror Pod stands for one that a kubelet already runs. From anyone else than a kubelet, or the audit scanner that
/// judges what exists, the annotation exempts nobody.
fn is_mirror(request: &Request<'_>, object: &Object<'_>) -> Result<bool, Mismatch> {
    Ok((request.is_from_node()? || request.is_from_nobody()?) && Metadata::of(object)?.is_mirror()?)
}

fn spec_of<'a>(object: &Object<'a>) -> Result<Object<'a>, Mismatch> {
    let spec = object.object("spec").map_err(|mismatch| mismatch.within("object"))?;
    Ok(spec.unwrap_or_default())
}

fn old_spec_of<'a>(request: &Request<'a>) -> Result<Object<'a>, Mismatch> {
    let spec = request.old_object()?.object("spec").map_err(|mismatch| mismatch.within("oldObject"))?;
    Ok(spec.unwrap_or_default())
}

/// The node that a Binding's target names; nothing, if it is no Node or has no name.
fn target_node<'a>(binding: &Object<'a>) -> Result<Option<Cow<'a, str>>, Mismatch> {
    let Some(target) = binding.object("target")? else { return Ok(None) };
    let within = |mismatch: Mismatch| mismatch.within("target");
    let kind = target.string("kind").map_err(within)?;
    let name = target.string("name").map_err(within)?;
    Ok(Some(name).filter(|name| !name.is_empty() && (kind.is_empty() || kind == NODE)))
}

/// Reads a Node once for both jobs; not at all, if neither needs it.
fn look_up_node(
    cluster: &impl Cluster,
    name: &NodeName,
    labels: bool,
    node_metadata: Option<&NodeMetadata>,
) -> Option<Result<Answer, LookupError>> {
    let mut masks = node_metadata.map(node_metadata::source::masks).unwrap_or_default();
    if labels {
        masks.insert(LABELS.to_owned());
    }
    (!masks.is_empty()).then(|| cluster::look_up_node(cluster, name, &masks))
}
