//! What is in a cluster, typed once when it is read, each object with its JSON beside it for requests.
//!
//! | module | has |
//! |---|---|
//! | [`manifests`] | reads objects from files, and keeps each as JSON for requests and look-ups |
//! | [`kubectl`], [`apply`] | lists the objects of a live cluster; adds those that are only planned |
//! | `find`, `family` | types workloads and Pods: an object is judged by itself, or as a part of its owner |
//! | `other_kinds` | objects whose Pods are not known |
//! | [`pod`], [`workload`], [`owner`], [`node_pool`] | what is kept of them, and of Karpenter's NodePools |
//! | [`gap`] | what is not known |
//! | [`kind`] | the kinds of objects that a verdict depends on |
//! | [`pod_template`], [`selectors`] | Pod templates in objects of any kind; LabelSelectors |
//! | [`controllers`] | Kubernetes' controllers: what each writes into its Pods, and which objects own which |

pub mod apply;
pub mod controllers;
mod family;
mod find;
pub mod gap;
pub mod kind;
pub mod kubectl;
pub mod manifests;
pub mod node_pool;
mod other_kinds;
pub mod owner;
pub mod pod;
pub mod pod_template;
pub mod selectors;
pub mod workload;

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use k8s_openapi::api::{
    core::v1::{self, PersistentVolume, PersistentVolumeClaim},
    node::v1::RuntimeClass,
    policy::v1::PodDisruptionBudget,
};
use serde_json::Value;

use self::manifests::Manifests;
pub use self::{
    gap::{Gap, LocatedGap, OlderTemplate, Problem, Unjudged},
    kind::Kind,
    node_pool::NodePool,
    other_kinds::makes_no_pods,
    owner::{Finished, Owner},
    pod::{NodeId, Pod, PoolId},
    workload::{BoundVolume, Restart, Revision, Template, Workload},
};

/// A cluster: what it contains, and what of it is not known.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// All objects as JSON, for requests and for the look-ups of the policy.
    pub objects: Manifests,
    /// The namespaces that are there, or that objects are in, by name; without those that are being deleted.
    pub namespaces: BTreeMap<String, Namespace>,
    /// The Nodes. Of their status, what is allocatable, the capacity and the conditions are kept.
    pub nodes: Vec<v1::Node>,
    /// The RuntimeClasses, by name.
    pub classes: BTreeMap<String, RuntimeClass>,
    /// The PersistentVolumes, by name.
    pub volumes: BTreeMap<String, PersistentVolume>,
    /// Their claims, by namespace and name.
    pub claims: BTreeMap<(String, String), PersistentVolumeClaim>,
    /// The workloads, by namespace, kind and name.
    pub workloads: Vec<Workload>,
    /// The Pods that are judged by themselves, by namespace and name.
    pub pods: Vec<Pod>,
    /// The PodDisruptionBudgets.
    pub budgets: Vec<PodDisruptionBudget>,
    /// What is known to be lacking, whatever the settings are.
    pub gaps: Vec<LocatedGap>,
    /// Objects of custom kinds that create Pods in a way that is not known, and have none.
    pub unjudged: Vec<Unjudged>,
    /// The positions of Nodes by name.
    positions: HashMap<NodeId, usize>,
}

/// A namespace.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Its labels; nothing, if there is no object of it.
    pub labels: Option<BTreeMap<String, String>>,
}

impl Cluster {
    /// Types what is in a cluster.
    ///
    /// # Errors
    /// A field has a wrong type: of which object, where, and what was expected.
    pub fn new(objects: Manifests) -> Result<Self> {
        let mut cluster = find::found(&objects)?;
        for node in objects.all::<v1::Node>() {
            cluster.add_node(node?);
        }
        cluster.classes = named(objects.all(), |class: &RuntimeClass| class.metadata.name.clone())?;
        cluster.volumes = named(objects.all(), |volume: &PersistentVolume| volume.metadata.name.clone())?;
        cluster.claims = named(objects.all(), |claim: &PersistentVolumeClaim| {
            Some((claim.metadata.namespace.clone()?, claim.metadata.name.clone()?))
        })?;
        cluster.budgets = objects.all().collect::<Result<_>>()?;
        cluster.objects = objects;
        Ok(cluster)
    }

    /// Returns a Node by its name.
    pub fn node(&self, id: &NodeId) -> Option<&v1::Node> {
        self.positions.get(id).and_then(|position| self.nodes.get(*position))
    }

    /// Returns whether a Node does not exist: others are there, and it is not. Pods on it run nowhere.
    pub fn is_gone(&self, id: &NodeId) -> bool {
        !self.nodes.is_empty() && self.node(id).is_none()
    }

    fn add_node(&mut self, mut node: v1::Node) {
        if let Some(status) = node.status.take() {
            let v1::NodeStatus { allocatable, capacity, conditions, .. } = status;
            node.status = Some(v1::NodeStatus { allocatable, capacity, conditions, ..v1::NodeStatus::default() });
        }
        node.metadata.managed_fields = None;
        let id = NodeId::from(node.metadata.name.as_deref().unwrap_or_default());
        self.positions.insert(id, self.nodes.len());
        self.nodes.push(node);
    }
}

/// Collects objects by their names.
fn named<T, K: Ord>(
    objects: impl Iterator<Item = Result<T>>,
    name: impl Fn(&T) -> Option<K>,
) -> Result<BTreeMap<K, T>> {
    let mut named = BTreeMap::new();
    for object in objects {
        let object = object?;
        named.extend(name(&object).map(|name| (name, object)));
    }
    Ok(named)
}

/// Returns whether a Namespace is being deleted: an API server creates nothing in it.
///
/// Upstream: the admission plugin `NamespaceLifecycle`.
pub fn is_terminating(namespace: &Value) -> bool {
    namespace["metadata"]["deletionTimestamp"].is_string() || namespace["status"]["phase"] == "Terminating"
}
