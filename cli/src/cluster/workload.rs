//! Workloads: objects whose controllers create Pods, with the Pods that they have now.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::StatefulSetUpdateStrategy,
        core::v1::{PersistentVolumeClaim, PodSpec, PodTemplateSpec, Volume},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
    jiff::Timestamp,
};
use node_placement_policy::resource::Resource;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Finished, Owner, Pod,
    gap::{Gap, OlderTemplate},
    manifests::Manifest,
    pod::thinned,
};
use crate::input::json::{list_of, text};

/// An object whose controller creates Pods, which is judged as its Pods would be created now.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The object as it was written down.
    pub json: Arc<Manifest>,
    /// The resource that it is.
    pub resource: Resource,
    /// The number of Pods that its `spec` wants; `None` for a DaemonSet, since that depends on nodes.
    pub replicas: Option<u64>,
    /// The template of its Pods.
    pub template: Template,
    /// The parts that create its other Pods: older ReplicaSets, Jobs of a former template, a StatefulSet's partition.
    pub revisions: Vec<Revision>,
    /// The Pods that are created from its template.
    pub pods: Vec<Pod>,
    /// Its controlling owner, if it has one.
    pub owner: Option<Owner>,
    /// Whether kubectl restarts it.
    pub restart: Restart,
    /// Whether it says that it has more Pods than the cluster as given has.
    pub lacks_pods: bool,
    /// Set if it has finished, and its owner may create more.
    pub finished: Option<Finished>,
    /// The report of its controller.
    pub(super) reported: Reported,
}

/// The report of a controller on its workload, from the metadata and the `status`.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    /// The time of its creation.
    pub created: Option<Timestamp>,
    /// The number of its Pods; `None` without a status.
    pub pods: Option<usize>,
    /// The names of the Jobs that a CronJob runs.
    pub jobs: Vec<String>,
    /// The older template that some of its Pods are still created from, unless older ReplicaSets are there.
    pub older: Option<OlderTemplate>,
}

/// An object of any kind of workload: the fields that a verdict depends on.
#[derive(Debug, Deserialize)]
pub(super) struct Object {
    /// Its owner, and whether it is being deleted.
    pub metadata: ObjectMeta,
    spec: Option<Spec>,
    status: Option<Status>,
}

/// The `spec` of a workload, whatever its kind is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    replicas: Option<i32>,
    parallelism: Option<i32>,
    paused: Option<bool>,
    selector: Option<LabelSelector>,
    template: Option<PodTemplateSpec>,
    job_template: Option<JobTemplate>,
    update_strategy: Option<StatefulSetUpdateStrategy>,
    volume_claim_templates: Option<Vec<PersistentVolumeClaim>>,
}

/// The `jobTemplate` of a CronJob.
#[derive(Debug, Deserialize)]
struct JobTemplate {
    spec: Option<Box<Spec>>,
}

/// The `status` of a workload, whatever its kind is.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    replicas: Option<i32>,
    updated_replicas: Option<i32>,
    current_number_scheduled: Option<i32>,
    observed_generation: Option<i64>,
    /// The number of Pods of a Job that run, or the Jobs of a CronJob.
    active: Value,
    conditions: Option<Vec<Condition>>,
    current_revision: String,
    update_revision: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// A part of a workload that creates Pods from an older template.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The name of the ReplicaSet, Job or ControllerRevision.
    pub name: String,
    /// The template of its Pods, or the gap if it is not known.
    pub template: Result<Template, Gap>,
    /// Its Pods.
    pub pods: Vec<Pod>,
}

/// A Pod template.
#[derive(Clone, Debug)]
pub struct Template {
    /// The object that contains it.
    pub json: Arc<Manifest>,
    /// The labels of its Pods.
    pub labels: BTreeMap<String, String>,
    /// The part of its `spec` that a verdict depends on.
    pub spec: PodSpec,
}

/// Whether `kubectl rollout restart` replaces the Pods of a workload, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It replaces them.
    Rollout,
    /// The Deployment is paused.
    Paused,
    /// The StatefulSet replaces Pods only when they are deleted.
    OnDelete,
    /// The StatefulSet keeps Pods below its partition.
    Partition,
    /// Its owner may undo a restart.
    Owned(Owner),
    /// A volume may not move with the Pod.
    Volume(BoundVolume),
    /// kubectl restarts no objects of its kind.
    NotOfItsKind,
}

/// A volume that may be bound to a node or a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundVolume {
    /// A claim, or the template of one, of this name.
    Claim(String),
    /// A folder of the node, as the volume of this name.
    HostPath(String),
}

impl Workload {
    /// Returns its namespace.
    pub fn namespace(&self) -> &str {
        self.json.identity.namespace.as_deref().unwrap_or_default()
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.json.identity.name
    }

    /// Returns all its Pods, those of older revisions too.
    pub fn all_pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().chain(self.revisions.iter().flat_map(|revision| &revision.pods))
    }

    /// Makes a workload without Pods; `None` if it has no template. `json` is what it was read from.
    pub(super) fn new(json: Arc<Manifest>, resource: Resource, object: Object) -> Option<Self> {
        let owner = Owner::of(&object.metadata);
        let reported = Reported::new(resource, &object);
        let mut spec = object.spec.unwrap_or_default();
        let of_jobs = spec.job_template.take().and_then(|job| job.spec).and_then(|job| job.template);
        let template = Template::new(json.clone(), spec.template.take().or(of_jobs)?);
        let replicas = match resource {
            Resource::DaemonSet | Resource::CronJob => None,
            Resource::Job => Some(spec.parallelism),
            _ => Some(spec.replicas),
        };
        Some(Self {
            restart: restart(resource, &spec, &template.spec, owner.as_ref()),
            replicas: replicas.map(|replicas| replicas.map_or(1, count)),
            json,
            resource,
            template,
            revisions: vec![],
            pods: vec![],
            owner,
            lacks_pods: false,
            finished: None,
            reported,
        })
    }
}

impl Object {
    /// Returns its selector, which is that of a Deployment.
    pub fn selector(&self) -> Option<&LabelSelector> {
        self.spec.as_ref()?.selector.as_ref()
    }

    /// Returns whether its `spec` wants no Pods.
    pub fn wants_no_pods(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.replicas == Some(0))
    }

    /// Returns whether it is a Job that has run to its end.
    pub fn has_ended(&self) -> bool {
        let mut conditions = self.status.iter().flat_map(|status| &status.conditions).flatten();
        conditions.any(|it| matches!(it.kind.as_str(), "Complete" | "Failed") && it.status == "True")
    }
}

impl Reported {
    fn new(resource: Resource, object: &Object) -> Self {
        let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let none = Status::default();
        let status = object.status.as_ref().filter(|status| **status != none);
        let Status { replicas, current_number_scheduled, active, .. } = status.unwrap_or(&none);
        let pods = [*replicas, *current_number_scheduled].into_iter().flatten().map(count).chain(active.as_u64()).max();
        let pods = status.map(|_| pods.and_then(|pods| pods.try_into().ok()).unwrap_or_default());
        let jobs = list_of(active).iter().map(|job| text(&job["name"]).to_owned()).collect();
        let partition = object.spec.as_ref().map_or(0, Spec::partition);
        Self { created, pods, jobs, older: older_template(resource, partition, status.unwrap_or(&none)) }
    }
}

impl Spec {
    fn partition(&self) -> i32 {
        let rolling = self.update_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        rolling.and_then(|rolling| rolling.partition).unwrap_or_default()
    }
}

fn count(number: i32) -> u64 {
    number.try_into().unwrap_or_default()
}

impl Template {
    fn new(json: Arc<Manifest>, PodTemplateSpec { metadata, spec }: PodTemplateSpec) -> Self {
        let labels = metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
        Self { json, labels, spec: thinned(spec.unwrap_or_default()) }
    }
}

impl OlderTemplate {
    /// Returns the name of the revision, as far as it is known.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Revision(name) => name,
            Self::ReplicaSet => "",
        }
    }
}

fn restart(resource: Resource, spec: &Spec, pod: &PodSpec, owner: Option<&Owner>) -> Restart {
    let strategy = spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    match resource {
        Resource::Deployment if spec.paused == Some(true) => Restart::Paused,
        Resource::StatefulSet if strategy == Some("OnDelete") => Restart::OnDelete,
        Resource::StatefulSet if spec.partition() > 0 => Restart::Partition,
        Resource::Deployment | Resource::StatefulSet => {
            if let Some(owner) = owner {
                return Restart::Owned(owner.clone());
            }
            let claim = spec.volume_claim_templates.iter().flatten().next();
            let of_template = claim.map(|it| BoundVolume::Claim(it.metadata.name.clone().unwrap_or_default()));
            let bound = of_template.or_else(|| pod.volumes.iter().flatten().find_map(bound_volume));
            bound.map_or(Restart::Rollout, Restart::Volume)
        }
        _ => Restart::NotOfItsKind,
    }
}

fn bound_volume(volume: &Volume) -> Option<BoundVolume> {
    if let Some(claim) = &volume.persistent_volume_claim {
        return Some(BoundVolume::Claim(claim.claim_name.clone()));
    }
    volume.host_path.is_some().then(|| BoundVolume::HostPath(volume.name.clone()))
}

/// Returns where the older template is that some Pods of a workload are still created from, if that is not known: unless
/// older ReplicaSets are there.
///
/// Upstream: `newVersionedStatefulSetPod` of `k8s.io/kubernetes/pkg/controller/statefulset`.
fn older_template(resource: Resource, partition: i32, status: &Status) -> Option<OlderTemplate> {
    let Status { current_revision: current, update_revision: update, updated_replicas, replicas, .. } = status;
    match resource {
        Resource::StatefulSet if partition > 0 && !update.is_empty() && current != update => {
            Some(OlderTemplate::Revision(current.clone()))
        }
        Resource::Deployment if updated_replicas.unwrap_or_default() < replicas.unwrap_or_default() => {
            Some(OlderTemplate::ReplicaSet)
        }
        _ => None,
    }
}
