//! What becomes of a Pod, or of the Pods of a workload, that are created now.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    deployed::{Deployed, Enforcement, Refusal, Reply},
    gap::Gap,
};
use crate::{
    input::{json::text, manifests::Manifests, settings::ManagedKeys},
    requests::{
        admission::{self, request, somebody},
        plain_pod, pod,
        resource::{POD, REQUIRED_AFFINITY, Resource},
        runtime_class, template,
    },
};

/// What the policy says to a workload and its Pods, or to a Pod.
#[derive(Clone, Debug)]
pub enum Created {
    /// Neither is sent.
    NotAsked {
        /// Why.
        reason: String,
        /// What decides on the node, as in [`LetIn`].
        specs: Vec<Value>,
    },
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in.
    LetIn(LetIn),
}

/// A Pod without the policy, and with it.
#[derive(Clone, Debug)]
pub struct LetIn {
    /// What decides on its node: the Pod; of a DaemonSet also its template, with which its controller compares nodes.
    pub stages: Vec<Stage>,
    /// Whether the Pod, or its workload, gets anything.
    pub is_changed: bool,
}

/// A PodSpec without the policy, and with it.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Without.
    pub before: Value,
    /// With it.
    pub after: Value,
}

/// Creates Pods and workloads, for a trial.
pub struct Creation<'p> {
    /// The policy.
    pub deployed: &'p Deployed<'p>,
    /// The cluster.
    pub cluster: &'p Manifests,
    /// The keys of Pods that it manages.
    pub managed: &'p ManagedKeys,
}

impl Creation<'_> {
    /// What becomes of a workload, or of a Pod as it is created anew, by its `maker` if that is known.
    ///
    /// # Errors
    /// It makes no Pods, or the policy failed to answer.
    pub fn of(&self, object: &Value, maker: Option<&Value>, enforcement: Enforcement) -> Result<Created> {
        let resource = Resource::of(text(&object["apiVersion"]), text(&object["kind"]))
            .context("expected an object that makes Pods")?;
        if resource == POD {
            let mut request = pod::creation(object, maker, self.managed, self.cluster);
            runtime_class::merge(&mut request["object"]["spec"], self.cluster);
            return self.of_pod(request, enforcement);
        }
        let workload = self.deployed.ask(admission::creation(resource, object), enforcement)?;
        let changed = match &workload {
            Reply::LetIn(Some(changed)) => changed,
            _ => object,
        };
        let is_daemon_set = resource.kind == "DaemonSet";
        let make = |workload| match is_daemon_set {
            // The policy does not look at which node it is.
            true => template::creation_on(workload, "any", self.cluster).context("a DaemonSet without a template"),
            false => pod_of(workload, self.cluster),
        };
        let stand_for = |workload: &Value, mut spec: Value| {
            if !is_daemon_set {
                return Ok(vec![spec]);
            }
            unpin(&mut spec);
            let seen = template::seen_by_controller(workload).context("a DaemonSet without a template")?;
            anyhow::Ok(vec![seen, spec])
        };
        let (mut without, made) = (make(object)?, make(changed)?);
        let before = stand_for(object, without["object"]["spec"].take())?;
        let asked = made["object"]["spec"].clone();
        let pod = self.deployed.ask(made, enforcement)?;
        if let Some(created) = self.without_nodes(Some(&workload), &pod, &asked, &before) {
            return Ok(created);
        }
        let is_changed = matches!(workload, Reply::LetIn(Some(_))) || matches!(pod, Reply::LetIn(Some(_)));
        let after = stand_for(changed, spec_of(pod, &asked))?;
        let stages = before.into_iter().zip(after).map(|(before, after)| Stage { before, after }).collect();
        Ok(Created::LetIn(LetIn { stages, is_changed }))
    }

    /// What becomes of a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn of_plain_pod(&self, namespace: &str, enforcement: Enforcement) -> Result<Created> {
        self.of_pod(plain_pod::creation(namespace), enforcement)
    }

    fn of_pod(&self, request: Value, enforcement: Enforcement) -> Result<Created> {
        let before = request["object"]["spec"].clone();
        let reply = self.deployed.ask(request, enforcement)?;
        if let Some(created) = self.without_nodes(None, &reply, &before, std::slice::from_ref(&before)) {
            return Ok(created);
        }
        let is_changed = matches!(reply, Reply::LetIn(Some(_)));
        let after = spec_of(reply, &before);
        Ok(Created::LetIn(LetIn { stages: vec![Stage { before, after }], is_changed }))
    }

    /// What is said whatever nodes there are.
    fn without_nodes(&self, workload: Option<&Reply>, pod: &Reply, spec: &Value, before: &[Value]) -> Option<Created> {
        if let (None, Reply::NotSent(reason)) | (Some(Reply::NotSent(reason)), Reply::NotSent(_)) = (workload, pod) {
            return Some(Created::NotAsked { reason: reason.clone(), specs: before.to_vec() });
        }
        if runtime_class::missing(spec, self.cluster).is_some() {
            let name = text(&spec["runtimeClassName"]).to_owned();
            return Some(Created::Unknown(Gap::Object { kind: "RuntimeClass".to_owned(), name }));
        }
        match (workload, pod) {
            (Some(Reply::Refused(refusal)), _) => Some(Created::Refused(refusal.clone())),
            (_, Reply::Refused(refusal)) => {
                Some(Created::Refused(Refusal { is_of_pods: workload.is_some(), ..refusal.clone() }))
            }
            (Some(Reply::Unknown(gap)), _) | (_, Reply::Unknown(gap)) => Some(Created::Unknown(gap.clone())),
            _ => None,
        }
    }
}

/// The request that creates a Pod of a workload, without the policy.
///
/// # Errors
/// It has no Pod template.
pub fn pod_of(workload: &Value, cluster: &Manifests) -> Result<Value> {
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
    Ok(request(POD, pod, somebody()))
}

/// The PodSpec that was let in.
fn spec_of(reply: Reply, asked: &Value) -> Value {
    match reply {
        Reply::LetIn(Some(mut pod)) => pod["spec"].take(),
        _ => asked.clone(),
    }
}

/// Takes away the node that the DaemonSet controller names, as it does it for each node.
fn unpin(spec: &mut Value) {
    let affinity = &mut spec["affinity"]["nodeAffinity"];
    let Some(terms) = affinity[REQUIRED_AFFINITY]["nodeSelectorTerms"].as_array_mut() else { return };
    for term in terms.iter_mut().filter_map(Value::as_object_mut) {
        term.remove("matchFields");
    }
    let is_empty = |term: &Value| term["matchExpressions"].as_array().is_none_or(Vec::is_empty);
    if terms.iter().all(is_empty) {
        affinity[REQUIRED_AFFINITY] = json!(null);
    }
}
