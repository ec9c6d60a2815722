//! Workloads: what creates Pods, with the Pods that it has now.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec, Volume};
use node_placement_policy::resource::Resource;
use serde_json::Value;

use super::{
    Finished, Owner, Pod,
    gap::{Gap, OlderTemplate},
    manifests::Manifest,
    pod::thinned,
    pod_template::template,
};
use crate::input::json::{list_of, part, text};

/// An object whose controller creates Pods, which is judged as its Pods would be created now.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The object as it was written down.
    pub json: Arc<Manifest>,
    /// What it is.
    pub resource: Resource,
    /// How many Pods its `spec` wants; of a DaemonSet nothing, since that depends on nodes.
    pub replicas: Option<u64>,
    /// What its Pods are created from.
    pub template: Template,
    /// What creates its other Pods: older ReplicaSets, Jobs of a former template, a StatefulSet's partition.
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
}

/// A part of a workload that creates Pods from an older template.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The name of the ReplicaSet, Job or ControllerRevision.
    pub name: String,
    /// What its Pods are created from, or why that is not known.
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
    /// The annotations of its Pods.
    pub annotations: BTreeMap<String, String>,
    /// What a verdict depends on of its `spec`.
    pub spec: PodSpec,
}

/// Whether `kubectl rollout restart` replaces the Pods of a workload, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It does.
    Rollout,
    /// The Deployment is paused.
    Paused,
    /// The StatefulSet replaces Pods when somebody deletes them.
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

    /// Makes a workload without Pods of an object, which is `object`.
    pub(super) fn new(json: Arc<Manifest>, resource: Resource, owner: Option<Owner>, object: &Value) -> Option<Self> {
        let template = Template::of(json.clone(), object)?;
        let replicas = match resource {
            Resource::DaemonSet | Resource::CronJob => None,
            Resource::Job => Some(object["spec"]["parallelism"].as_u64().unwrap_or(1)),
            _ => Some(object["spec"]["replicas"].as_u64().unwrap_or(1)),
        };
        let restart = restart(resource, &object["spec"], &template.spec, owner.as_ref());
        let (revisions, pods) = (vec![], vec![]);
        Some(Self {
            json,
            resource,
            replicas,
            template,
            revisions,
            pods,
            owner,
            restart,
            lacks_pods: false,
            finished: None,
        })
    }
}

impl Template {
    /// Returns the template of a workload, whose types have been checked.
    pub(super) fn of(json: Arc<Manifest>, object: &Value) -> Option<Self> {
        let PodTemplateSpec { metadata, spec } = part(template(object)?, "").ok()?;
        let metadata = metadata.unwrap_or_default();
        Some(Self {
            json,
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            spec: thinned(spec.unwrap_or_default()),
        })
    }

    /// Parses the template. It has `metadata` and `spec`.
    pub fn parse(&self) -> Value {
        template(&self.json.parse()).cloned().unwrap_or_default()
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

fn restart(resource: Resource, spec: &Value, pod: &PodSpec, owner: Option<&Owner>) -> Restart {
    let strategy = &spec["updateStrategy"];
    match resource {
        Resource::Deployment if spec["paused"] == true => Restart::Paused,
        Resource::StatefulSet if strategy["type"] == "OnDelete" => Restart::OnDelete,
        Resource::StatefulSet if partition(spec) > 0 => Restart::Partition,
        Resource::Deployment | Resource::StatefulSet => {
            if let Some(owner) = owner {
                return Restart::Owned(owner.clone());
            }
            let claims = list_of(&spec["volumeClaimTemplates"]).iter();
            let of_template =
                claims.map(|claim| BoundVolume::Claim(text(&claim["metadata"]["name"]).to_owned())).next();
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

fn partition(spec: &Value) -> u64 {
    spec["updateStrategy"]["rollingUpdate"]["partition"].as_u64().unwrap_or_default()
}

/// Returns where the older template is that some Pods of a workload are still created from, if that is not known.
/// `has_older` is whether older ReplicaSets are there.
///
/// Upstream: `newVersionedStatefulSetPod` of `k8s.io/kubernetes/pkg/controller/statefulset`.
pub(super) fn older_template(resource: Resource, object: &Value, has_older: bool) -> Option<OlderTemplate> {
    let status = &object["status"];
    let (current, update) = (text(&status["currentRevision"]), text(&status["updateRevision"]));
    let count = |field: &str| status[field].as_u64().unwrap_or_default();
    match resource {
        Resource::StatefulSet if partition(&object["spec"]) > 0 && !update.is_empty() && current != update => {
            Some(OlderTemplate::Revision(current.to_owned()))
        }
        Resource::Deployment if !has_older && count("updatedReplicas") < count("replicas") => {
            Some(OlderTemplate::ReplicaSet)
        }
        _ => None,
    }
}
