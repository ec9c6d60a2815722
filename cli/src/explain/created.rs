//! What becomes of a Pod, or of the Pods of a workload, that are created now.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    engine::{
        deployed::{Deployed, Enforcement, Reply},
        gap::Gap,
    },
    input::{json::text, manifests::Manifests, settings::ManagedKeys},
    requests::{
        admission::{self, administrator},
        owner::Owner,
        plain_pod, pod,
        resource::{POD, Resource},
        runtime_class, template,
    },
};

/// What a refusal begins with that is not about a workload itself.
pub const PODS: &str = "its Pods are refused: ";

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// A Pod without the policy, and what the policy makes of it.
#[derive(Debug)]
pub struct Created {
    /// What it is without the policy, as a PodSpec.
    pub as_is: Value,
    /// What becomes of it.
    pub as_new: Fate,
    /// Whether the policy adds something to the template of a DaemonSet: it is older than the rules.
    pub is_outdated: bool,
}

/// What becomes of a Pod that is created now.
#[derive(Debug)]
pub enum Fate {
    /// The policy is not asked, and why: it stays as it is.
    NotAsked(String),
    /// Nobody can tell here.
    Unknown(Gap),
    /// It, or the workload that it is made from, is refused, with this message.
    Refused(String),
    /// It is let in. All of these specs must suit its node: the controller of DaemonSets compares nodes with the template,
    /// the scheduler with the Pod.
    LetIn {
        /// The PodSpecs.
        specs: Vec<Value>,
        /// What would be refused if `enforcement` was not `Warn`.
        would_be_refused: Option<String>,
    },
}

/// What becomes of a Pod in `namespace` that asks for nothing.
///
/// # Errors
/// The policy failed to answer.
pub fn plain_pod(namespace: &str, deployed: &Deployed<'_>) -> Result<Created> {
    let request = plain_pod::creation(namespace);
    let as_is = request["object"]["spec"].clone();
    Ok(Created { as_is, as_new: create(&request, deployed)?, is_outdated: false })
}

/// What becomes of an object that is a Pod, or has a template of Pods.
///
/// # Errors
/// It is no such object, or the policy failed to answer.
pub fn again(object: &Value, managed: &ManagedKeys, deployed: &Deployed<'_>, cluster: &Manifests) -> Result<Created> {
    let resource = Resource::of(text(&object["apiVersion"]), text(&object["kind"]))
        .context("expected an object that makes Pods")?;
    if resource == POD {
        return pod_again(object, managed, deployed, cluster);
    }
    let as_is = pod_of(object, cluster)?["object"]["spec"].clone();
    if let Some(class) = missing_class(&as_is, cluster) {
        return Ok(Created { as_is, as_new: Fate::Unknown(class), is_outdated: false });
    }
    let request = admission::of(resource, object);
    let mut is_outdated = false;
    let as_new = match deployed.ask(request.clone(), Enforcement::AsWritten)? {
        Reply::Refused(refusal) => Fate::Refused(refusal.message),
        Reply::Unknown(gap) => Fate::Unknown(gap),
        Reply::NotSent(_) => pods_again(object, object, deployed, cluster)?,
        Reply::LetIn(changed) => {
            is_outdated = changed.is_some() && object["kind"] == "DaemonSet";
            let pods = pods_again(object, changed.as_ref().unwrap_or(object), deployed, cluster)?;
            would_be(pods, &request, deployed)?
        }
    };
    Ok(Created { as_is, as_new, is_outdated })
}

fn pod_again(pod: &Value, managed: &ManagedKeys, deployed: &Deployed<'_>, cluster: &Manifests) -> Result<Created> {
    let mut as_is = pod["spec"].clone();
    // Of a Pod that is bound nobody can tell who chose its node.
    if let Some(spec) = as_is.as_object_mut() {
        spec.remove("nodeName");
    }
    let owner = Owner::of(pod, cluster).filter(|owner| owner.kind != "Node");
    let mut request = pod::creation(pod, owner.as_ref(), managed, cluster);
    runtime_class::merge(&mut request["object"]["spec"], cluster);
    let as_new = match missing_class(&request["object"]["spec"], cluster) {
        Some(class) => Fate::Unknown(class),
        None => create(&request, deployed)?,
    };
    Ok(Created { as_is, as_new, is_outdated: false })
}

/// The Pods of `workload`, which the policy may have changed to `changed`.
fn pods_again(workload: &Value, changed: &Value, deployed: &Deployed<'_>, cluster: &Manifests) -> Result<Fate> {
    if workload["kind"] != "DaemonSet" {
        return Ok(of_pods(create(&pod_of(changed, cluster)?, deployed)?));
    }
    let of_template = pod_of(changed, cluster)?["object"]["spec"].take();
    // The policy does not look at which node it is.
    let made = template::creation_on(changed, "any", cluster).context("a DaemonSet without a template")?;
    Ok(match create(&made, deployed)? {
        Fate::LetIn { specs, would_be_refused } => {
            let specs = specs.into_iter().map(for_any_node).chain([of_template]).collect();
            Fate::LetIn { specs, would_be_refused }
        }
        fate => of_pods(fate),
    })
}

/// What becomes of the Pods of a workload that is let in itself.
fn of_pods(fate: Fate) -> Fate {
    match fate {
        Fate::Refused(message) => Fate::Refused(format!("{PODS}{message}")),
        fate => fate,
    }
}

/// The request that creates a Pod of a workload.
fn pod_of(workload: &Value, cluster: &Manifests) -> Result<Value> {
    if let Some(request) = template::creation_from(workload, cluster) {
        return Ok(request);
    }
    // Nobody makes Pods of a PodTemplate but whoever reads it.
    let mut pod = template::template(workload).context("there is no Pod template in it")?.clone();
    runtime_class::merge(&mut pod["spec"], cluster);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = POD.kind.into();
    pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
    pod["metadata"]["generateName"] = format!("{}-", text(&workload["metadata"]["name"])).into();
    Ok(admission::request(POD, pod, administrator()))
}

fn create(request: &Value, deployed: &Deployed<'_>) -> Result<Fate> {
    let fate = match deployed.ask(request.clone(), Enforcement::AsWritten)? {
        Reply::NotSent(reason) => return Ok(Fate::NotAsked(reason)),
        Reply::Unknown(gap) => return Ok(Fate::Unknown(gap)),
        Reply::Refused(refusal) => return Ok(Fate::Refused(refusal.message)),
        Reply::LetIn(changed) => {
            let pod = changed.as_ref().unwrap_or(&request["object"]);
            Fate::LetIn { specs: vec![pod["spec"].clone()], would_be_refused: None }
        }
    };
    would_be(fate, request, deployed)
}

/// Adds what would be refused if all entries were enforced.
fn would_be(fate: Fate, request: &Value, deployed: &Deployed<'_>) -> Result<Fate> {
    Ok(match (fate, deployed.ask(request.clone(), Enforcement::Everywhere)?) {
        (Fate::LetIn { specs, .. }, Reply::Refused(refusal)) => {
            Fate::LetIn { specs, would_be_refused: Some(refusal.message) }
        }
        (fate, _) => fate,
    })
}

/// Takes away the node that the DaemonSet controller names, as it does it for each node.
fn for_any_node(mut spec: Value) -> Value {
    let affinity = &mut spec["affinity"]["nodeAffinity"];
    let Some(terms) = affinity[REQUIRED]["nodeSelectorTerms"].as_array_mut() else { return spec };
    for term in terms.iter_mut().filter_map(Value::as_object_mut) {
        term.remove("matchFields");
    }
    if terms.iter().all(|term| term["matchExpressions"].as_array().is_none_or(Vec::is_empty)) {
        affinity[REQUIRED] = json!(null);
    }
    spec
}

fn missing_class(spec: &Value, cluster: &Manifests) -> Option<Gap> {
    runtime_class::missing(spec, cluster)?;
    Some(Gap::Object { kind: "RuntimeClass".to_owned(), name: text(&spec["runtimeClassName"]).to_owned() })
}
