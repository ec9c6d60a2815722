//! The one question behind every command: given a cluster and a deployment of the policy, what becomes of this workload or
//! Pod?

use anyhow::{Context, Result};
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

use crate::{
    gap::Gap,
    input::{json::text, manifests::Manifests},
    webhook::{
        defaults::missing_runtime_class,
        delivery::KeptAway,
        deployment::{Admission, Of, Refusal, Review, Scenario},
        pods::{self, daemon_controller_spec, daemon_pod_request, plain_pod_request, pod_request, template},
        request::{Request, Requester, workload_request},
        resource::resource_of,
    },
};

/// The PodSpecs that must fit a node. One, except for DaemonSets: `[template, pod]`, as the controller checks the template.
pub type PodSpecs = Vec<Value>;

/// What the question is about.
#[derive(Clone, Copy)]
pub enum Subject<'c> {
    /// A workload or Pod of the cluster, as it would be created anew; and what makes the Pod, if the cluster has it.
    Anew { object: &'c Value, maker: Option<&'c Value> },
    /// A Pod that requests nothing, in the namespace of this name.
    Plain(&'c str),
    /// What a request is about.
    Request(&'c Request),
}

/// What becomes of a workload and its Pods, or of a Pod, in one scenario.
pub struct Created {
    /// What becomes of the workload; none, if the subject is a Pod.
    pub object: Option<Review>,
    /// What becomes of a Pod; none, if there is none, or its workload is refused.
    pub pod: Option<Review>,
    /// Of a DaemonSet, the PodSpec with which its controller compares nodes.
    template: Option<Value>,
    /// The RuntimeClass that the Pod names, and the cluster lacks.
    lacks_class: Option<Gap>,
}

/// A cluster, and the keys of Pods that are no part of a manifest.
#[derive(Clone, Copy)]
pub struct World<'w> {
    pub cluster: &'w Manifests,
}

impl World<'_> {
    /// Creates a subject in front of the policies of a scenario.
    ///
    /// # Errors
    /// It makes no Pods, or a policy failed to answer.
    pub fn create(&self, subject: Subject<'_>, scenario: Scenario<'_>) -> Result<Created> {
        let pod = |request| Created::of_pod(scenario.review(request, self.cluster)?, self.cluster);
        match subject {
            Subject::Plain(namespace) => pod(plain_pod_request(namespace)),
            Subject::Request(request) if request.is_pod_creation() => pod(request.clone()),
            Subject::Request(request) => self.create_workload(request.clone(), scenario),
            Subject::Anew { object, maker } => {
                let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))
                    .context("expected an object that makes Pods")?;
                if resource == Resource::Pod {
                    return pod(pods::recreation_request(object, maker, scenario.managed()));
                }
                self.create_workload(workload_request(resource, object), scenario)
            }
        }
    }

    /// Creates a workload, and a Pod from its template as it is then.
    fn create_workload(&self, request: Request, scenario: Scenario<'_>) -> Result<Created> {
        let review = scenario.review(request, self.cluster)?;
        let object = review.object();
        let template = daemon_controller_spec(object).filter(|_| object["kind"] == Resource::DaemonSet.kind());
        let request = pod_of(object);
        let lacks_class =
            request.as_ref().and_then(|request| missing_class(&request.json["object"]["spec"], self.cluster));
        let pod = match request {
            // Of a workload that is refused, nothing more is asked.
            Some(request) if review.refusal().is_none() => Some(scenario.review(request, self.cluster)?),
            _ => None,
        };
        Ok(Created { object: Some(review), pod, template, lacks_class })
    }
}

/// Returns the request that creates a Pod of a workload; none, if it has no Pods.
fn pod_of(workload: &Value) -> Option<Request> {
    if workload["kind"] == Resource::DaemonSet.kind() {
        // The policy does not look at which node it is.
        return daemon_pod_request(workload, "any");
    }
    pod_request(workload).or_else(|| {
        // No controller makes Pods of a PodTemplate, but whoever reads it.
        let mut pod = template(workload)?.clone();
        if !pod["metadata"].is_object() {
            pod["metadata"] = json!({});
        }
        pod["apiVersion"] = "v1".into();
        pod["kind"] = Resource::Pod.kind().into();
        pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
        pod["metadata"]["generateName"] = format!("{}-", text(&workload["metadata"]["name"])).into();
        Some(Request::creation(Resource::Pod, pod, Requester::Somebody))
    })
}

/// Returns the RuntimeClass that a PodSpec names, if the cluster lacks it.
fn missing_class(spec: &Value, cluster: &Manifests) -> Option<Gap> {
    let class = missing_runtime_class(spec, cluster)?;
    Some(Gap::object(&class.kind, &class.name))
}

impl Created {
    fn of_pod(review: Review, cluster: &Manifests) -> Result<Self> {
        let lacks_class = missing_class(&review.request["object"]["spec"], cluster);
        Ok(Self { object: None, pod: Some(review), template: None, lacks_class })
    }

    fn reviews(&self) -> impl Iterator<Item = &Review> {
        self.object.iter().chain(&self.pod)
    }

    /// What keeps all of it away from the policy.
    pub fn not_sent(&self) -> Option<&KeptAway> {
        let mut kept_away = self.reviews().map(|review| match &review.admission {
            Admission::NotSent(by) => Some(by),
            _ => None,
        });
        let first = kept_away.next()??;
        kept_away.all(|by| by.is_some()).then_some(first)
    }

    /// Why it, or its Pods, are refused, if they are.
    pub fn refusal(&self) -> Option<Refusal> {
        let object = self.object.as_ref().and_then(Review::refusal);
        let pod = || Some(Refusal { of: self.of_pod_refusal(), ..self.pod.as_ref()?.refusal()?.clone() });
        object.cloned().or_else(pod)
    }

    const fn of_pod_refusal(&self) -> Of {
        if self.object.is_some() { Of::ItsPods } else { Of::Object }
    }

    /// What is not known, if the policies' answers depend on it.
    pub fn gap(&self) -> Option<&Gap> {
        self.reviews().find_map(Review::gap)
    }

    /// Returns what is not known, so that it could not be evaluated: first of all the RuntimeClass, unless nothing is sent.
    pub fn unknown(&self) -> Option<&Gap> {
        if self.not_sent().is_some() {
            return None;
        }
        self.lacks_class.as_ref().or_else(|| self.refusal().is_none().then(|| self.gap())?)
    }

    /// The RuntimeClass that the Pod names, and the cluster lacks.
    pub const fn lacks_class(&self) -> Option<&Gap> {
        self.lacks_class.as_ref()
    }

    /// Whether a policy changes the workload or its Pods.
    pub fn is_changed(&self) -> bool {
        self.reviews().any(|review| matches!(review.admission, Admission::Admitted { is_changed: true }))
    }

    /// The PodSpecs that must fit a node; none, if there is no Pod.
    pub fn specs(&self) -> Option<PodSpecs> {
        let spec = self.pod.as_ref()?.object()["spec"].clone();
        Some(self.template.iter().cloned().chain([spec]).collect())
    }
}
