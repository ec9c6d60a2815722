//! The one question behind every command: given a cluster and a deployment of the policy, what becomes of this workload or
//! Pod?

mod scheduler;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{NodeSelectorTerm, PodSpec};
use node_placement_policy::resource::Resource;
use serde_json::{Value, json};

pub use self::scheduler::{Fits, Scheduler};
use crate::{
    cluster::{Gap, Kind, kind::resource_of, manifests::Manifests, pod_template::template},
    input::json::{list_of, part, remove, set, text},
    places::{pod as needs, pod::PodNeeds},
    webhook::{
        defaults::{add_tolerations, containers, missing_runtime_class, push, runtime_class},
        delivery::KeptAway,
        deployment::{Admission, Of, Refusal, Review, Scenario},
        pods::{self, daemon_controller_spec, daemon_pod_request, plain_pod_request, pod_request},
        request::{Request, Requester, workload_request},
        resource::REQUIRED_AFFINITY,
    },
};

/// The PodSpecs that must fit a node. One, except for DaemonSets: `[template, pod]`, as the controller checks the template.
pub type PodSpecs = Vec<Value>;

/// What something else than the policy adds to Pods when they are created.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Others {
    /// Pairs of the node selector.
    pub node_selector: BTreeMap<String, String>,
    /// The terms of required node affinity that replace those of the template.
    pub terms: Vec<NodeSelectorTerm>,
    /// Tolerations.
    pub tolerations: Vec<Value>,
    /// `spec.nodeName`.
    pub node_name: Option<String>,
    /// Extended resources: the container, the resource and the quantity.
    pub resources: Vec<(String, String, String)>,
    /// Labels of the Pod.
    pub labels: BTreeMap<String, String>,
}

impl Others {
    fn add_to(&self, pod: &mut Value) {
        for (key, value) in &self.labels {
            set(&mut pod["metadata"], &["labels", key], value.clone().into());
        }
        let spec = &mut pod["spec"];
        for (key, value) in &self.node_selector {
            spec["nodeSelector"][key] = value.clone().into();
        }
        add_tolerations(spec, &self.tolerations);
        if !self.terms.is_empty() {
            let terms = json!({ "nodeSelectorTerms": self.terms });
            set(spec, &["affinity", "nodeAffinity", REQUIRED_AFFINITY], terms);
        }
        if let Some(node) = &self.node_name {
            spec["nodeName"] = node.clone().into();
        }
        for (name, resource, quantity) in &self.resources {
            if !containers(spec).any(|container| container["name"] == name.as_str()) {
                push(spec, "containers", json!({ "name": name }));
            }
            for container in containers(spec).filter(|container| container["name"] == name.as_str()) {
                for list in ["limits", "requests"] {
                    set(container, &["resources", list, resource], quantity.clone().into());
                }
            }
        }
    }
}

/// What the question is about.
#[derive(Clone, Copy)]
pub enum Subject<'c> {
    /// A workload or Pod of the cluster, as it would be created anew.
    Anew {
        /// The object.
        object: &'c Value,
        /// What makes the Pod, if the cluster has it.
        maker: Option<&'c Value>,
        /// What something else adds to the Pods of the workload.
        others: Option<&'c Others>,
    },
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

/// What becomes of a subject in a scenario, before nodes are looked at.
pub struct Draft {
    /// What becomes of it: the first of it and its Pods that is refused, or that could not be evaluated.
    pub admission: Admission,
    /// What its Pods require of nodes; nothing, if there are none.
    pub needs: Option<Rc<PodNeeds>>,
}

/// What becomes of a subject in a scenario, and where its Pods can run.
pub struct Verdict {
    /// What becomes of it: the first of it and its Pods that is refused, or that could not be evaluated.
    pub admission: Admission,
    /// What its Pods require of nodes; nothing, if there are none.
    pub needs: Option<Rc<PodNeeds>>,
    /// Every place, and whether its Pods can run there.
    pub places: Fits,
    /// Whether the node decides on its Binding, though the Pod itself is accepted everywhere.
    pub depends_on_bindings: bool,
}

impl Verdict {
    /// Returns whether both require the same labels and names of nodes.
    pub fn selects_nodes_as(&self, other: &Self) -> bool {
        match (&self.needs, &other.needs) {
            (Some(own), Some(other)) => own.selects_nodes_as(other),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns whether its Pods lack a toleration that those of another verdict have.
    pub fn lacks_toleration_of(&self, other: &Self) -> bool {
        self.needs.as_ref().zip(other.needs.as_ref()).is_some_and(|(own, other)| own.lacks_toleration_of(other))
    }

    /// Returns whether another lacks what this one requires or tolerates.
    pub fn requires_more_than(&self, other: &Self) -> bool {
        !self.selects_nodes_as(other) || other.lacks_toleration_of(self)
    }
}

/// A cluster in which subjects are created.
pub struct World<'w> {
    /// Its objects.
    pub cluster: &'w Manifests,
    /// What Pods require of nodes, each once.
    needs: RefCell<HashMap<String, Rc<PodNeeds>>>,
}

impl<'w> World<'w> {
    /// Returns the world of a cluster.
    pub fn new(cluster: &'w Manifests) -> Self {
        Self { cluster, needs: RefCell::default() }
    }

    /// Returns what a Pod requires of nodes for which these PodSpecs stand. Pods that require the same share it.
    ///
    /// # Errors
    /// A field has a type that no PodSpec has, or the RuntimeClass is none.
    pub fn needs(&self, specs: &[Value]) -> Result<Rc<PodNeeds>> {
        let identity: String = specs.iter().map(identity).collect();
        if let Some(known) = self.needs.borrow().get(&identity) {
            return Ok(known.clone());
        }
        let needs = Rc::new(needs_of(specs, self.cluster)?);
        self.needs.borrow_mut().insert(identity, needs.clone());
        Ok(needs)
    }

    /// Returns what all Pods require that were asked for so far.
    pub fn all_needs(&self) -> Vec<Rc<PodNeeds>> {
        self.needs.borrow().values().cloned().collect()
    }

    /// Creates a subject in front of the policies of a scenario.
    ///
    /// # Errors
    /// It makes no Pods, or a policy failed to answer.
    pub fn create(&self, subject: Subject<'_>, scenario: Scenario<'_>) -> Result<Created> {
        let pod = |request| Created::of_pod(scenario.review(request, self.cluster)?, self.cluster);
        match subject {
            Subject::Plain(namespace) => pod(plain_pod_request(namespace)),
            Subject::Request(request) if request.is_pod_creation() => pod(request.clone()),
            Subject::Request(request) => self.create_workload(request.clone(), None, scenario),
            Subject::Anew { object, maker, others } => {
                let resource = resource_of(text(&object["apiVersion"]), text(&object["kind"]))
                    .context("expected an object that makes Pods")?;
                if resource == Resource::Pod {
                    return pod(pods::recreation_request(object, maker, scenario.managed()));
                }
                self.create_workload(workload_request(resource, object), others, scenario)
            }
        }
    }

    /// Creates a subject, and returns what a verdict depends on.
    ///
    /// # Errors
    /// It makes no Pods, a field has a wrong type, or a policy failed to answer.
    pub fn draft(&self, subject: Subject<'_>, scenario: Scenario<'_>) -> Result<Draft> {
        let created = self.create(subject, scenario)?;
        let admission = created.admission();
        let has_pod = matches!(admission, Admission::NotSent(_) | Admission::Admitted { .. });
        let specs = created.specs().filter(|_| has_pod);
        Ok(Draft { admission, needs: specs.map(|specs| self.needs(&specs)).transpose()? })
    }

    /// Returns a Pod that waits for a node. It is not created again.
    ///
    /// # Errors
    /// A field has a wrong type.
    pub fn standing(&self, pod: &Value) -> Result<Draft> {
        Ok(Draft { admission: Admission::default(), needs: Some(self.needs(&[as_it_is(pod)])?) })
    }

    /// Creates a workload, and a Pod from its template as it is then.
    fn create_workload(&self, request: Request, others: Option<&Others>, scenario: Scenario<'_>) -> Result<Created> {
        let review = scenario.review(request, self.cluster)?;
        let object = review.object();
        let template = daemon_controller_spec(object).filter(|_| object["kind"] == Resource::DaemonSet.kind());
        let mut request = pod_of(object);
        if let (Some(request), Some(others)) = (&mut request, others) {
            others.add_to(&mut request.json["object"]);
        }
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

/// Returns the PodSpec of a Pod that waits, as it is.
fn as_it_is(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    remove(&mut spec, &["nodeName"]);
    spec
}

/// Returns a text that is the same for PodSpecs that require the same of nodes.
fn identity(spec: &Value) -> String {
    let of_containers = |list: &str| -> Vec<Value> {
        let containers = list_of(&spec[list]).iter();
        containers.map(|container| json!([container["resources"], container["restartPolicy"]])).collect()
    };
    json!([
        spec["nodeName"],
        spec["nodeSelector"],
        spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY],
        spec["tolerations"],
        spec["runtimeClassName"],
        of_containers("containers"),
        of_containers("initContainers"),
        spec["resources"],
        spec["overhead"],
    ])
    .to_string()
}

/// Reads what a Pod requires of nodes: of its own PodSpec, which is the last, and of a DaemonSet's template.
///
/// # Errors
/// A field has a type that no PodSpec has, or the RuntimeClass is none.
pub fn needs_of(specs: &[Value], cluster: &Manifests) -> Result<PodNeeds> {
    let (Some(own), template) = (specs.last(), specs.len().checked_sub(2).and_then(|at| specs.get(at))) else {
        return Ok(PodNeeds::new(&needs::PodSpecs::of(&PodSpec::default())));
    };
    let read = |spec: &Value| match spec {
        Value::Null => Ok(PodSpec::default()),
        spec => part(spec, "spec."),
    };
    let (pod, template, class) = (read(own)?, template.map(read).transpose()?, runtime_class(own, cluster)?);
    Ok(PodNeeds::new(&needs::PodSpecs { pod: &pod, template: template.as_ref(), class: class.as_ref() }))
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
    Some(Gap::Object(Kind::RuntimeClass, class.name))
}

impl Created {
    fn of_pod(review: Review, cluster: &Manifests) -> Result<Self> {
        let lacks_class = missing_class(&review.request["object"]["spec"], cluster);
        Ok(Self { object: None, pod: Some(review), template: None, lacks_class })
    }

    fn reviews(&self) -> impl Iterator<Item = &Review> {
        self.object.iter().chain(&self.pod)
    }

    /// Returns what keeps all of it away from the policy.
    pub fn not_sent(&self) -> Option<&KeptAway> {
        let mut kept_away = self.reviews().map(|review| match &review.admission {
            Admission::NotSent(by) => Some(by),
            _ => None,
        });
        let first = kept_away.next()??;
        kept_away.all(|by| by.is_some()).then_some(first)
    }

    /// Returns why it, or its Pods, are refused, if they are.
    pub fn refusal(&self) -> Option<Refusal> {
        let object = self.object.as_ref().and_then(Review::refusal);
        let pod = || Some(Refusal { of: self.of_pod_refusal(), ..self.pod.as_ref()?.refusal()?.clone() });
        object.cloned().or_else(pod)
    }

    const fn of_pod_refusal(&self) -> Of {
        if self.object.is_some() { Of::ItsPods } else { Of::Object }
    }

    /// Returns what becomes of it and its Pods together.
    pub fn admission(&self) -> Admission {
        if let Some(gap) = self.unknown() {
            return Admission::Unknown(gap.clone());
        }
        match (self.refusal(), self.not_sent()) {
            (Some(refusal), _) => Admission::Refused(refusal),
            (None, Some(by)) => Admission::NotSent(by.clone()),
            (None, None) => Admission::Admitted { is_changed: self.is_changed() },
        }
    }

    /// Returns what is not known, if the policies' answers depend on it.
    pub fn gap(&self) -> Option<&Gap> {
        self.reviews().find_map(Review::gap)
    }

    /// Returns what is not known, so that it can't be told what becomes of it: first of all the RuntimeClass, unless
    /// nothing is sent.
    pub fn unknown(&self) -> Option<&Gap> {
        if self.not_sent().is_some() {
            return None;
        }
        // A workload that is refused is refused whatever the class has.
        let is_refused = self.object.as_ref().is_some_and(|object| object.refusal().is_some());
        let lacks_class = self.lacks_class.as_ref().filter(|_| !is_refused);
        lacks_class.or_else(|| self.refusal().is_none().then(|| self.gap())?)
    }

    /// Returns what is not known, if no answer stands in its place: the RuntimeClass, or whether a policy is asked. What was
    /// recorded is complete, and stands for itself.
    pub fn unevaluated(&self, is_recorded: bool) -> Option<&Gap> {
        let unanswered = |review: &&Review| !review.is_answered;
        if is_recorded {
            return self.reviews().next().filter(unanswered).and_then(Review::gap);
        }
        let lacks_class = self.unknown().filter(|gap| self.lacks_class.as_ref() == Some(gap));
        lacks_class.or_else(|| self.reviews().find(unanswered).and_then(Review::gap))
    }

    /// Returns whether a policy changes the workload or its Pods.
    pub fn is_changed(&self) -> bool {
        self.reviews().any(|review| matches!(review.admission, Admission::Admitted { is_changed: true }))
    }

    /// Returns the PodSpecs that must fit a node; none, if there is no Pod.
    pub fn specs(&self) -> Option<PodSpecs> {
        let spec = self.pod.as_ref()?.object()["spec"].clone();
        Some(self.template.iter().cloned().chain([spec]).collect())
    }
}
