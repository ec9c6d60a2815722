//! Finds out which objects are judged by themselves, and which are a part of their owner.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use node_placement_policy::resource::Resource;

use super::{Kind, Owner, manifests::Identity, selectors::selects};

/// An object that is a Pod or creates some, and its controlling owner.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The resource that it is.
    pub resource: Resource,
    /// Its owner.
    pub owner: Option<Owner>,
    /// Whether it has finished, is being deleted, or was left behind: it creates no Pods.
    pub is_left_out: bool,
}

/// The objects that are Pods or create some.
#[derive(Default)]
pub(super) struct Family {
    members: HashMap<Identity, Member>,
    /// The selectors of Deployments, by namespace and name.
    deployments: HashMap<String, Vec<(String, LabelSelector)>>,
}

impl Family {
    /// Adds an object.
    pub fn add(&mut self, identity: Identity, member: Member) {
        self.members.insert(identity, member);
    }

    /// Returns whether the cluster has an object.
    pub fn has(&self, identity: &Identity) -> bool {
        self.members.contains_key(identity)
    }

    /// Adds the selector of a Deployment.
    pub fn add_selector(&mut self, namespace: &str, name: &str, selector: LabelSelector) {
        self.deployments.entry(namespace.to_owned()).or_default().push((name.to_owned(), selector));
    }

    /// Returns the owner of a Pod or part, with the Deployment in place of a ReplicaSet that the cluster lacks.
    pub fn owner_of(&self, owner: &Owner, namespace: &str, labels: &BTreeMap<String, String>) -> Identity {
        let identity = owner.identity(namespace);
        let is_replica_set = owner.workload_kind() == Some(Kind::Of(Resource::ReplicaSet));
        if !is_replica_set || self.members.contains_key(&identity) {
            return identity;
        }
        let deployments = self.deployments.get(namespace).into_iter().flatten();
        let named = deployments
            .filter(|(name, _)| owner.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('-')));
        let selecting = named.filter(|(_, selector)| selects(selector, |key| labels.get(key).map(String::as_str)));
        let Some((name, _)) = selecting.max_by_key(|(name, _)| name.len()) else { return identity };
        let deployment = Resource::Deployment;
        Identity::new(deployment.api_version(), deployment.kind(), Some(namespace), name)
    }

    /// Returns the workloads that an object is a part of, nearest first: the last one is judged, and the object with it.
    /// `None` if the object is judged by itself, since following its owners does not end at an object that is.
    pub fn owners(&self, identity: &Identity, owner: Option<Identity>) -> Vec<Identity> {
        let mut chain: Vec<Identity> = vec![];
        let mut next = owner;
        while let Some(current) = next {
            // Owners in a circle: the first of the circle is judged by itself.
            if current == *identity || chain.contains(&current) {
                let first = chain.iter().position(|own| *own == current);
                chain.truncate(first.map_or(0, |position| position + 1));
                return chain;
            }
            let Some(member) = self.members.get(&current) else { break };
            if member.is_left_out || member.resource == Resource::Pod {
                break;
            }
            let is_part = matches!(member.resource, Resource::ReplicaSet | Resource::Job);
            let namespace = current.namespace.clone().unwrap_or_default();
            next =
                member.owner.as_ref().filter(|_| is_part).map(|own| self.owner_of(own, &namespace, &BTreeMap::new()));
            chain.push(current);
        }
        chain
    }

    /// Returns the kinds of owners of which the cluster has no object at all.
    pub fn missing_kinds(&self, owners: &BTreeSet<Kind>) -> Vec<Kind> {
        let has = |kind: Resource| self.members.keys().any(|it| it.kind == kind.kind());
        let is_missing = |kind: &&Kind| match kind {
            // Dumps seldom have ReplicaSets, and those of a Deployment are not needed.
            Kind::Of(Resource::ReplicaSet) => !has(Resource::ReplicaSet) && !has(Resource::Deployment),
            Kind::Of(resource) => !has(*resource),
            _ => false,
        };
        owners.iter().filter(is_missing).copied().collect()
    }
}
