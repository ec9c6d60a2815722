//! What becomes of a Pod, or of the Pods of a workload, that are created now.

use anyhow::{Context, Result};
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    deployed::{Deployed, Enforcement, Refusal, Reply},
    gap::Gap,
};
use crate::{
    input::{json::text, manifests::Manifests},
    requests::{
        admission::{self, request, somebody},
        plain_pod, pod,
        resource::{REQUIRED_AFFINITY, resource_of},
        runtime_class, template,
    },
};

/// What the policy says to a workload and its Pods, or to a Pod. What decides on the node of a Pod is its PodSpec; of a
/// DaemonSet also, and first, that of its template, with which its controller compares nodes.
#[derive(Clone, Debug)]
pub enum Created {
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in, or neither is sent.
    LetIn {
        /// What decides on the node without the policy.
        before: Vec<Value>,
        /// The same with it.
        after: Vec<Value>,
        /// Whether the Pod, or its workload, gets anything.
        is_changed: bool,
        /// Why neither is sent, if so.
        not_sent: Option<String>,
    },
}

impl Deployed<'_> {
    /// What becomes of a workload, or of a Pod as it is created anew, by its `maker` if that is known.
    ///
    /// # Errors
    /// It makes no Pods, or the policy failed to answer.
    pub fn create(&self, object: &Value, maker: Option<&Value>, enforcement: Enforcement) -> Result<Created> {
        let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))
            .context("expected an object that makes Pods")?;
        if resource == Resource::Pod {
            let mut request = pod::creation(object, maker, &self.managed, self.cluster);
            runtime_class::merge(&mut request["object"]["spec"], self.cluster);
            return self.create_pod(request, enforcement);
        }
        let workload = self.ask(admission::creation(resource, object), enforcement)?;
        let is_daemon_set = resource == Resource::DaemonSet;
        let seen = |workload| template::seen_by_controller(workload).filter(|_| is_daemon_set);
        let make = |workload| match is_daemon_set {
            // The policy does not look at which node it is.
            true => template::creation_on(workload, "any", self.cluster).context("a DaemonSet without a template"),
            false => pod_of(workload, self.cluster),
        };
        let before = specs(seen(object), make(object)?["object"]["spec"].take());
        let changed = match &workload {
            Reply::LetIn(Some(changed)) => changed,
            _ => object,
        };
        let (request, seen) = (make(changed)?, seen(changed));
        self.answer(Some(workload), request, before, seen, enforcement)
    }

    /// What becomes of a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn create_plain_pod(&self, namespace: &str, enforcement: Enforcement) -> Result<Created> {
        self.create_pod(plain_pod::creation(namespace), enforcement)
    }

    fn create_pod(&self, request: Value, enforcement: Enforcement) -> Result<Created> {
        let before = vec![request["object"]["spec"].clone()];
        self.answer(None, request, before, None, enforcement)
    }

    /// What becomes of the Pod of a `request`, after what was said to its `workload`.
    fn answer(
        &self,
        workload: Option<Reply>,
        request: Value,
        before: Vec<Value>,
        seen: Option<Value>,
        enforcement: Enforcement,
    ) -> Result<Created> {
        let asked = request["object"]["spec"].clone();
        let pod = self.ask(request, enforcement)?;
        let is_changed =
            [workload.as_ref(), Some(&pod)].into_iter().flatten().any(|reply| matches!(reply, Reply::LetIn(Some(_))));
        let (is_of_pods, lacks_class) = (workload.is_some(), runtime_class::missing(&asked, self.cluster).is_some());
        Ok(match (workload, pod) {
            (None, Reply::NotSent(reason)) | (Some(Reply::NotSent(reason)), Reply::NotSent(_)) => {
                Created::LetIn { after: before.clone(), before, is_changed: false, not_sent: Some(reason) }
            }
            _ if lacks_class => {
                let name = text(&asked["runtimeClassName"]).to_owned();
                Created::Unknown(Gap::Object { kind: "RuntimeClass".to_owned(), name })
            }
            (Some(Reply::Refused(refusal)), _) => Created::Refused(refusal),
            (_, Reply::Refused(refusal)) => Created::Refused(Refusal { is_of_pods, ..refusal }),
            (Some(Reply::Unknown(gap)), _) | (_, Reply::Unknown(gap)) => Created::Unknown(gap),
            (_, Reply::LetIn(Some(mut pod))) => {
                Created::LetIn { before, after: specs(seen, pod["spec"].take()), is_changed, not_sent: None }
            }
            (_, Reply::LetIn(None) | Reply::NotSent(_)) => {
                Created::LetIn { before, after: specs(seen, asked), is_changed, not_sent: None }
            }
        })
    }
}

/// What decides on the node of a Pod: of a DaemonSet also what its controller has `seen`.
fn specs(seen: Option<Value>, mut spec: Value) -> Vec<Value> {
    if seen.is_some() {
        unpin(&mut spec);
    }
    seen.into_iter().chain([spec]).collect()
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
    pod["kind"] = Resource::Pod.kind().into();
    pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
    pod["metadata"]["generateName"] = format!("{}-", text(&workload["metadata"]["name"])).into();
    Ok(request(Resource::Pod, pod, somebody()))
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
