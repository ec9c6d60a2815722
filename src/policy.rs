//! The routing table: which request is whose job. It joins the two jobs, which do not know each other.

use std::borrow::Cow;

use crate::cluster::{self, Answer, Cluster, Found, Kind, LookupError};
use crate::decision::{Decision, Rejection};
use crate::json::Mismatch;
use crate::metadata::{Metadata, Subject};
use crate::node_metadata::protect::Protected;
use crate::node_metadata::{Marks, plan};
use crate::object::Object;
use crate::placement::namespace_selector::NamespaceSelector;
use crate::placement::workload::{self, Workload};
use crate::placement::{binding, namespace, node_name, pod};
use crate::request::Request;
use crate::settings::{Dialect, NodeMetadata, OnBindings, Settings};

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
    let selector = rules.as_ref().map(|rules| NamespaceSelector::look_up(rules, cluster)).transpose()?;
    let mut unverified = None;
    if let (Some(rules), Some(selector)) = (&rules, &selector) {
        let (pod, injected) = pod::admit(&mut spec, pod::SPEC, selector, rules, &subject)?;
        pod::record(&mut decision, &injected);
        let must_verify = node_name::must_verify(&pod, selector, rules, &subject)?;
        unverified = must_verify.then_some((pod, selector, rules));
    }
    object.set_object("spec", spec);

    let informs = !is_mirror && !name.is_empty() && settings.propagates()?;
    let protects = !is_mirror && settings.protects()?;
    let node_metadata = if informs || protects { settings.node_metadata()? } else { None };
    let informed = node_metadata.as_ref().filter(|_| informs);
    let answer = look_up_node(cluster, &name, unverified.is_some(), informed);
    let node = answer.as_ref().map(found);
    if let (Some((pod, selector, rules)), Some(node)) = (unverified, &node) {
        node_name::verify(&pod, selector, rules, &subject, node.as_ref())?;
    }
    if let Some(settings) = &node_metadata {
        let node = node.as_ref().filter(|_| informs);
        mark_created(settings, &mut object, node, &subject, &mut decision)?;
    }
    decision.mutate(object);
    Ok(decision)
}

/// Takes forged keys away and, where the Pod already names its node, writes what there is to tell about it.
fn mark_created(
    settings: &NodeMetadata,
    object: &mut Object<'_>,
    node: Option<&Result<Found<'_>, LookupError>>,
    subject: &Subject<'_>,
    decision: &mut Decision<'_>,
) -> Result<(), Rejection> {
    let mut metadata = Metadata::of(object)?;
    let submitted = Marks::read(&metadata)?;
    let mut restored = submitted.clone();
    if settings.protect {
        restored.restore(settings, &Marks::default());
    }
    let mut stored = restored.clone();
    if let Some(node) = node {
        stored.overwrite(settings, &planned(settings, node, false, decision)?);
    }
    let marks = Protected { submitted, restored, stored };
    if settings.protect && metadata.has_controller()? {
        marks.reject_owned(subject)?;
    }
    marks.warn(decision);
    marks.stored.store(&marks.submitted, &mut metadata)?;
    object.set_object("metadata", metadata.0);
    Ok(())
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
    let rules = settings.placement(&request.namespace)?;
    if let Some(rules) = rules.filter(|rules| rules.dialect() == Dialect::Full) {
        let old_spec = || spec_of(&request.old_object()?);
        pod::update(&spec_of(&object)?, old_spec, &rules, &Subject::Pod(object.clone()), cluster)?;
    }
    let Some(settings) = settings.node_metadata()? else { return Ok(decision) };
    let mut metadata = Metadata::of(&object)?;
    let (submitted, restored) = protected(&settings, request, &metadata)?;
    let mut stored = restored.clone();
    let node_name = node_to_learn_from(request, &object, &metadata)?;
    if let Some(name) = node_name.filter(|_| stored.lack(&settings)) {
        let answer = look_up_node(cluster, &name, false, Some(&settings));
        if let Some(node) = answer.as_ref().map(found) {
            stored.fill_in(&planned(&settings, &node, true, &mut decision)?);
        }
    }
    let marks = Protected { submitted, restored, stored };
    marks.warn(&mut decision);
    marks.stored.store(&marks.submitted, &mut metadata)?;
    object.set_object("metadata", metadata.0);
    decision.mutate(object);
    Ok(decision)
}

/// Never a label is written here: a kubelet's update fails where a webhook adds one.
fn update_pod_status<'a>(request: &Request<'a>, settings: &Settings<'a>) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    if !settings.protects()? {
        return Ok(decision);
    }
    let mut object = request.object()?;
    let Some(settings) = settings.node_metadata()? else { return Ok(decision) };
    if is_mirror(request, &object)? {
        return Ok(decision);
    }
    let mut metadata = Metadata::of(&object)?;
    let (submitted, restored) = protected(&settings, request, &metadata)?;
    let marks = Protected { submitted, stored: restored.clone(), restored };
    marks.warn(&mut decision);
    marks.stored.store(&marks.submitted, &mut metadata)?;
    object.set_object("metadata", metadata.0);
    decision.mutate(object);
    Ok(decision)
}

fn bind_pod<'a>(
    request: &Request<'a>,
    settings: &Settings<'a>,
    cluster: &impl Cluster,
) -> Result<Decision<'a>, Rejection> {
    let mut decision = Decision::accept();
    let mut object = request.object()?;
    let Some(target) = target_node(&object).map_err(|mismatch| mismatch.within("object"))? else {
        return Ok(decision);
    };
    let rules = settings.placement(&request.namespace)?;
    let selector = match &rules {
        Some(rules) if rules.on_bindings()? == OnBindings::Verify => Some(NamespaceSelector::look_up(rules, cluster)?),
        _ => None,
    };
    let selector = selector.filter(|selector| !selector.is_empty());
    let node_metadata = settings.node_metadata()?;
    let answer = look_up_node(cluster, &target, selector.is_some(), node_metadata.as_ref());
    let Some(node) = answer.as_ref().map(found) else { return Ok(decision) };
    let mut metadata = Metadata::of(&object)?;
    if let Some(selector) = selector {
        binding::verify(&metadata.name()?, &target, &selector, node.as_ref())?;
    }
    if let Some(settings) = node_metadata {
        let before = Marks::read(&metadata)?;
        let mut after = before.clone();
        after.overwrite(&settings, &planned(&settings, &node, false, &mut decision)?);
        after.store(&before, &mut metadata)?;
        object.set_object("metadata", metadata.0);
    }
    decision.mutate(object);
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
    match settings.placement(&request.namespace)? {
        Some(rules) => workload::admit(workload, request, &rules, cluster),
        None => Ok(Decision::accept()),
    }
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

/// The node that a Binding's target names; nothing, if it is no Node or has no name.
fn target_node<'a>(binding: &Object<'a>) -> Result<Option<Cow<'a, str>>, Mismatch> {
    let Some(target) = binding.object("target")? else { return Ok(None) };
    let within = |mismatch: Mismatch| mismatch.within("target");
    let kind = target.string("kind").map_err(within)?;
    let name = target.string("name").map_err(within)?;
    Ok(Some(name).filter(|name| !name.is_empty() && (kind.is_empty() || kind == Kind::Node.name())))
}

/// The labels and annotations of an updated Pod: as submitted, and with managed keys as they were, if they are protected.
fn protected<'a>(
    settings: &NodeMetadata,
    request: &Request<'a>,
    metadata: &Metadata<'a>,
) -> Result<(Marks<'a>, Marks<'a>), Rejection> {
    let submitted = Marks::read(metadata)?;
    let mut restored = submitted.clone();
    if settings.protect {
        let old = Metadata::of(&request.old_object()?)?;
        restored.restore(settings, &Marks::read(&old)?);
    }
    Ok((submitted, restored))
}

/// The node of an updated Pod, while there is use in telling the Pod about it. A kubelet tells what runs, and must not
/// be held up.
fn node_to_learn_from<'a>(
    request: &Request<'_>,
    object: &Object<'a>,
    metadata: &Metadata<'_>,
) -> Result<Option<Cow<'a, str>>, Rejection> {
    let status = object.object("status").map_err(|mismatch| mismatch.within("object"))?.unwrap_or_default();
    let phase = status.string("phase").map_err(|mismatch| mismatch.within("object.status"))?;
    if metadata.is_terminating() || !matches!(phase.as_ref(), "" | "Pending" | "Running") || request.is_from_node()? {
        return Ok(None);
    }
    let name = spec_of(object)?.string("nodeName").map_err(|mismatch| mismatch.within(pod::SPEC))?;
    Ok(Some(name).filter(|name| !name.is_empty()))
}

/// Reads a Node once for both jobs; not at all, if neither needs it.
fn look_up_node(
    cluster: &impl Cluster,
    name: &str,
    labels: bool,
    node_metadata: Option<&NodeMetadata>,
) -> Option<Result<Answer, LookupError>> {
    let mut masks = node_metadata.map(NodeMetadata::masks).unwrap_or_default();
    if labels {
        masks.insert("metadata.labels".to_owned());
    }
    (!masks.is_empty()).then(|| cluster::look_up(cluster, Kind::Node, name, &masks))
}

fn found(answer: &Result<Answer, LookupError>) -> Result<Found<'_>, LookupError> {
    answer.as_ref().map_err(Clone::clone).and_then(Answer::object)
}

/// What is to be written, with its warnings and its audit annotation.
fn planned(
    settings: &NodeMetadata,
    node: &Result<Found<'_>, LookupError>,
    lenient: bool,
    decision: &mut Decision<'_>,
) -> Result<crate::node_metadata::Plan, Rejection> {
    let plan = plan(settings, node.as_ref(), lenient)?;
    for warning in &plan.warnings {
        decision.warn(warning);
    }
    if let Ok(node) = node {
        decision.annotate("node", node.name.to_owned());
    }
    Ok(plan)
}
