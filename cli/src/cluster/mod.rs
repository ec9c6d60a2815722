//! The objects of a cluster: as they were read, and typed.
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

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
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
    pod::{NodeId, Pod},
    workload::{BoundVolume, Restart, Revision, Template, Workload},
};

/// A cluster: what it contains, and what of it is not known.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The names of the namespaces that are there, or that objects are in; without those that are being deleted.
    pub namespaces: BTreeSet<String>,
    /// The names of the Nodes.
    pub nodes: BTreeSet<NodeId>,
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
    /// The gaps that are known whatever the settings are.
    pub gaps: Vec<LocatedGap>,
    /// Objects of custom kinds that create Pods in a way that is not known, and have none.
    pub unjudged: Vec<Unjudged>,
}

impl Cluster {
    /// Types what is in a cluster.
    ///
    /// # Errors
    /// A field has a wrong type: of which object, where, and what was expected.
    pub fn new(objects: &Manifests) -> Result<Self> {
        let mut cluster = find::found(objects)?;
        let nodes = objects.of_kind("v1", "Node").map(|node| NodeId::from(node.identity.name.as_str()));
        cluster.nodes = nodes.collect();
        cluster.classes = named(objects.all(), |class: &RuntimeClass| class.metadata.name.clone())?;
        cluster.volumes = named(objects.all(), |volume: &PersistentVolume| volume.metadata.name.clone())?;
        cluster.claims = named(objects.all(), |claim: &PersistentVolumeClaim| {
            Some((claim.metadata.namespace.clone()?, claim.metadata.name.clone()?))
        })?;
        cluster.budgets = objects.all().collect::<Result<_>>()?;
        Ok(cluster)
    }

    /// Returns whether a Node does not exist: others are there, and it is not. Pods on it run nowhere.
    pub fn is_gone(&self, id: &NodeId) -> bool {
        !self.nodes.is_empty() && !self.nodes.contains(id)
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
