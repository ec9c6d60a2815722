//! What becomes of a Pod, or of the Pods of a workload, that are created now.

use anyhow::{Context, Result};
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use super::{
    policy_chain::PolicyChain,
    reply::{Gap, Refusal, Reply},
};
use crate::{
    input::{json::text, manifests::Manifests},
    requests::{
        admission::{self, creation_request, ordinary_user},
        plugins, pod,
        resource::{REQUIRED_AFFINITY, resource_of},
        template,
    },
};

/// What decides on the node of a Pod: its PodSpec; of a DaemonSet also, and first, that of its template, with which its
/// controller compares nodes.
pub type PodSpecs = Vec<Value>;

/// What becomes of a workload and its Pods, or of a Pod. `P` is what is known of a Pod: at first its specs.
#[derive(Clone, Debug)]
pub enum Created<P = PodSpecs> {
    /// That depends on what is not known here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in, or neither is sent.
    LetIn(Admitted<P>),
}

/// A Pod that is let in.
#[derive(Clone, Debug)]
pub struct Admitted<P> {
    /// As it is without the policy.
    pub before: P,
    /// As it is with it.
    pub after: P,
    /// Whether the Pod, or its workload, gets anything.
    pub is_changed: bool,
    /// Why neither is sent, if so. The policy may still be asked about Bindings.
    pub not_sent: Option<String>,
}

impl<P> Created<P> {
    /// What becomes of it, with what `read` makes of the Pod in place of the Pod.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn try_map<Q>(self, mut read: impl FnMut(P) -> Result<Q>) -> Result<Created<Q>> {
        Ok(match self {
            Self::Unknown(gap) => Created::Unknown(gap),
            Self::Refused(refusal) => Created::Refused(refusal),
            Self::LetIn(Admitted { before, after, is_changed, not_sent }) => {
                Created::LetIn(Admitted { before: read(before)?, after: read(after)?, is_changed, not_sent })
            }
        })
    }
}

impl PolicyChain<'_> {
    /// What becomes of a workload, or of a Pod as it is created anew, by its `maker` if that is known.
    ///
    /// # Errors
    /// It makes no Pods, or the policy failed to answer.
    pub fn create(&self, object: &Value, maker: Option<&Value>) -> Result<Created> {
        let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))
            .context("expected an object that makes Pods")?;
        if resource == Resource::Pod {
            let mut request = pod::recreation_request(object, maker, &self.managed, self.cluster);
            plugins::merge_runtime_class(&mut request["object"]["spec"], self.cluster);
            return self.create_pod(request);
        }
        let workload = self.review(admission::workload_request(resource, object))?;
        let (mut request, template) = self.pod_request_and_template(resource, object)?;
        let before = specs(template, request["object"]["spec"].take());
        let changed = match &workload {
            Reply::LetIn(Some(changed)) => changed,
            _ => object,
        };
        let (request, template) = self.pod_request_and_template(resource, changed)?;
        self.create_pod_of(Some(workload), request, before, template)
    }

    /// What becomes of a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn create_plain_pod(&self, namespace: &str) -> Result<Created> {
        self.create_pod(pod::plain_pod_request(namespace))
    }

    fn create_pod(&self, request: Value) -> Result<Created> {
        let before = vec![request["object"]["spec"].clone()];
        self.create_pod_of(None, request, before, None)
    }

    /// The creation of a Pod of a workload; of a DaemonSet, also what its controller compares nodes with.
    fn pod_request_and_template(&self, resource: Resource, workload: &Value) -> Result<(Value, Option<Value>)> {
        if resource != Resource::DaemonSet {
            return Ok((pod_creation_request(workload, self.cluster)?, None));
        }
        // The policy does not look at which node it is.
        let request =
            template::daemon_pod_request(workload, "any", self.cluster).context("a DaemonSet without a template")?;
        Ok((request, template::daemon_controller_spec(workload)))
    }

    /// What becomes of the Pod of a `request`, after the reply to its `workload`.
    fn create_pod_of(
        &self,
        workload: Option<Reply>,
        request: Value,
        before: PodSpecs,
        template: Option<Value>,
    ) -> Result<Created> {
        let spec = request["object"]["spec"].clone();
        let pod = self.review(request)?;
        let is_of_pods = workload.is_some();
        let lacks_class = plugins::missing_runtime_class(&spec, self.cluster).is_some();
        let changes = |reply: &Reply| matches!(reply, Reply::LetIn(Some(_)));
        let is_changed = workload.as_ref().is_some_and(changes) || changes(&pod);
        let after = match (workload, pod) {
            (None, Reply::NotSent(reason)) | (Some(Reply::NotSent(reason)), Reply::NotSent(_)) => {
                let after = before.clone();
                return Ok(Created::LetIn(Admitted { before, after, is_changed, not_sent: Some(reason) }));
            }
            _ if lacks_class => {
                return Ok(Created::Unknown(Gap::object("RuntimeClass", text(&spec["runtimeClassName"]))));
            }
            (Some(Reply::Refused(refusal)), _) => return Ok(Created::Refused(refusal)),
            (_, Reply::Refused(refusal)) => return Ok(Created::Refused(Refusal { is_of_pods, ..refusal })),
            (Some(Reply::Unknown(gap)), _) | (_, Reply::Unknown(gap)) => return Ok(Created::Unknown(gap)),
            (_, Reply::LetIn(Some(mut pod))) => pod["spec"].take(),
            (_, Reply::LetIn(None) | Reply::NotSent(_)) => spec,
        };
        Ok(Created::LetIn(Admitted { before, after: specs(template, after), is_changed, not_sent: None }))
    }
}

fn specs(template: Option<Value>, mut spec: Value) -> PodSpecs {
    if template.is_some() {
        unpin(&mut spec);
    }
    template.into_iter().chain([spec]).collect()
}

/// The request that creates a Pod of a workload, without the policy.
///
/// # Errors
/// It has no Pod template.
pub fn pod_creation_request(workload: &Value, cluster: &Manifests) -> Result<Value> {
    if let Some(request) = template::pod_request(workload, cluster) {
        return Ok(request);
    }
    // Nobody makes Pods of a PodTemplate but whoever reads it.
    let mut pod = template::template(workload).context("there is no Pod template in it")?.clone();
    plugins::merge_runtime_class(&mut pod["spec"], cluster);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = Resource::Pod.kind().into();
    pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
    pod["metadata"]["generateName"] = format!("{}-", text(&workload["metadata"]["name"])).into();
    Ok(creation_request(Resource::Pod, pod, ordinary_user()))
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
