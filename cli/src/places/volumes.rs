//! Volumes that keep Pods on some nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PodSpec};

use super::{
    fit::Fit,
    node::Node,
    node_map::{NodeMap, Place, Pool},
    node_pool::{NODE_POOL_LABEL, NodePool},
    term::Term,
};

/// The PersistentVolumes of a cluster that only some nodes can reach, by namespace and name of their claims.
#[derive(Debug, Default)]
pub struct Volumes(BTreeMap<(String, String), Volume>);

/// A PersistentVolume that only some nodes can reach, and that is bound to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// The terms of its node affinity, of which one must match: for volumes, only their labels count.
    terms: Vec<Term>,
}

impl Volumes {
    /// Sorts the volumes by their claims. A claim that was not listed is named by its volume.
    pub fn new<'c>(
        volumes: impl IntoIterator<Item = &'c PersistentVolume>,
        claims: impl IntoIterator<Item = &'c PersistentVolumeClaim>,
    ) -> Self {
        let mut by_name = BTreeMap::new();
        let mut by_claim = BTreeMap::new();
        for PersistentVolume { metadata, spec, .. } in volumes {
            let Some(spec) = spec else { continue };
            let Some(required) = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref()) else {
                continue;
            };
            let name = metadata.name.clone().unwrap_or_default();
            let volume = Volume { name: name.clone(), terms: Term::all(required) };
            let claim = spec.claim_ref.as_ref();
            let claim = claim.and_then(|claim| Some((claim.namespace.clone()?, claim.name.clone()?)));
            by_claim.extend(claim.map(|claim| (claim, volume.clone())));
            by_name.insert(name, volume);
        }
        for PersistentVolumeClaim { metadata, spec, .. } in claims {
            let name = spec.as_ref().and_then(|spec| spec.volume_name.as_ref());
            let volume = name.and_then(|name| by_name.get(name));
            let key = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
            by_claim.extend(volume.map(|volume| (key, volume.clone())));
        }
        Self(by_claim)
    }

    /// Returns the volume that is bound to a claim, if only some nodes can reach it.
    pub fn of_claim(&self, namespace: &str, claim: &str) -> Option<&Volume> {
        self.0.get(&(namespace.to_owned(), claim.to_owned()))
    }

    /// Returns such volumes of the claims that a StatefulSet created from `claim_template`, each with its Pod's ordinal.
    pub fn of_template<'v>(
        &'v self,
        namespace: &'v str,
        claim_template: &str,
        stateful_set: &str,
    ) -> impl Iterator<Item = (usize, &'v Volume)> {
        let prefix = format!("{claim_template}-{stateful_set}-");
        let ordinal = move |name: &str| name.strip_prefix(&prefix)?.parse().ok();
        let own = self.0.iter().filter(move |((own, _), _)| own == namespace);
        own.filter_map(move |((_, name), volume)| Some((ordinal(name)?, volume)))
    }
}

/// Returns the names of the claims of a Pod: those that it names, and those of its ephemeral volumes.
pub fn claims(spec: &PodSpec, pod: &str) -> Vec<String> {
    let mut claims = vec![];
    for volume in spec.volumes.iter().flatten() {
        claims.extend(volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone()));
        claims.extend(volume.ephemeral.as_ref().map(|_| format!("{pod}-{}", volume.name)));
    }
    claims
}

impl Volume {
    /// Returns whether a Pod can reach the volume from some place that it may use, sooner or later. A NodePool without Nodes counts
    /// as one that creates nodes which reach it.
    pub fn is_reached(&self, map: &NodeMap, fits: &[(Place, Fit)]) -> bool {
        fits.iter().any(|(place, fit)| match (place, fit, map.pools.get(place.pool())) {
            (Place::Nodes(_), Fit::Now | Fit::NotNow(_), Some(pool)) => {
                pool.nodes.iter().any(|node| self.is_reached_from(node))
            }
            (Place::NodePool(_), Fit::Now | Fit::Unknown(_), Some(Pool { creates: Some(creates), .. })) => {
                self.is_reached_by(creates, map)
            }
            _ => false,
        })
    }

    /// Returns whether a Pod on this node can reach the volume.
    ///
    /// Upstream: `CheckNodeAffinity` of `k8s.io/component-helpers/storage/volume`, which knows no names of nodes.
    pub fn is_reached_from(&self, node: &Node) -> bool {
        self.terms.iter().any(|term| term.first_unmet(node).is_none())
    }

    fn is_reached_by(&self, node_pool: &NodePool, map: &NodeMap) -> bool {
        let nodes = || map.pools.iter().flat_map(|pool| &pool.nodes);
        let has_nodes = nodes().any(|node| node.label(NODE_POOL_LABEL) == Some(&node_pool.name));
        !has_nodes || self.terms.iter().any(|term| node_pool.can_meet(term))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::places::{
        node_map::{Machines, NodeTraits},
        pod::{PodNeeds, PodSpecs},
    };

    fn volume(name: &str, claim: Value, key: &str, value: &str) -> PersistentVolume {
        let expression = json!({ "key": key, "operator": "In", "values": [value] });
        let terms = json!([{ "matchExpressions": [expression] }]);
        let spec = json!({ "claimRef": claim, "nodeAffinity": { "required": { "nodeSelectorTerms": terms } } });
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    fn claim(name: &str, volume: &str) -> PersistentVolumeClaim {
        let metadata = json!({ "name": name, "namespace": "blue" });
        serde_json::from_value(json!({ "metadata": metadata, "spec": { "volumeName": volume } })).unwrap()
    }

    #[test]
    fn volumes_are_found_by_their_claims() {
        let of_claim = json!({ "namespace": "blue", "name": "data-db-0" });
        let volumes = [volume("pv-0", of_claim, "zone", "1"), volume("pv-1", Value::Null, "zone", "1")];
        let volumes = Volumes::new(&volumes, &[claim("data-db-1", "pv-1"), claim("data-db-2", "pv-9")]);
        let name = |claim| volumes.of_claim("blue", claim).map(|volume| volume.name.as_str());
        assert_eq!(["data-db-0", "data-db-1", "data-db-2"].map(name), [Some("pv-0"), Some("pv-1"), None]);
        let of_template: Vec<_> =
            volumes.of_template("blue", "data", "db").map(|(ordinal, it)| (ordinal, &*it.name)).collect();
        assert_eq!(of_template, [(0, "pv-0"), (1, "pv-1")]);
        assert_eq!(volumes.of_template("red", "data", "db").count(), 0);
    }

    #[test]
    fn a_pod_names_claims_and_has_those_of_its_ephemeral_volumes() {
        let volumes = json!([
            { "name": "data", "persistentVolumeClaim": { "claimName": "shared" } },
            { "name": "scratch", "ephemeral": {} },
            { "name": "other", "emptyDir": {} },
        ]);
        let spec: PodSpec = serde_json::from_value(json!({ "containers": [], "volumes": volumes })).unwrap();
        assert_eq!(claims(&spec, "web"), ["shared", "web-scratch"]);
    }

    #[rstest]
    #[case::a_node_that_it_may_use("zone", "1", "blue", vec![], true)]
    #[case::only_another_node("zone", "2", "blue", vec![], false)]
    #[case::that_other_pods_may_use("zone", "2", "red", vec![], true)]
    #[case::a_node_pool_without_nodes("zone", "2", "blue", vec![node_pool("new", json!([]))], true)]
    #[case::a_node_pool_of_that_zone(
        "topology.kubernetes.io/zone",
        "2",
        "blue",
        vec![node_pool("own", json!([{ "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["1", "2"] }]))],
        true
    )]
    #[case::a_node_pool_of_another_zone(
        "topology.kubernetes.io/zone",
        "2",
        "blue",
        vec![node_pool("own", json!([{ "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["1"] }]))],
        false
    )]
    #[case::the_host_of_another_node("kubernetes.io/hostname", "b", "blue", vec![node_pool("own", json!([]))], false)]
    fn a_pod_can_reach_its_volume(
        #[case] key: &str,
        #[case] value: &str,
        #[case] pool: &str,
        #[case] node_pools: Vec<Value>,
        #[case] expected: bool,
    ) {
        let spec = serde_json::from_value(json!({ "containers": [], "nodeSelector": { "pool": pool } })).unwrap();
        let pod = PodNeeds::new(&PodSpecs::of(&spec));
        let objects = [node("a", "blue", "1"), node("b", "red", "2")].into_iter().chain(node_pools).collect();
        let map = NodeMap::new(Machines::read(&objects).unwrap(), NodeTraits::default(), [&pod]).unwrap();
        let of_claim = json!({ "namespace": "blue", "name": "data" });
        let volumes = Volumes::new(&[volume("pv", of_claim, key, value)], []);
        assert_eq!(volumes.of_claim("blue", "data").unwrap().is_reached(&map, &map.fits(&pod)), expected);
    }

    fn node(name: &str, pool: &str, zone: &str) -> Value {
        let labels = json!({
            "pool": pool, "zone": zone, "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name,
            NODE_POOL_LABEL: "own",
        });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels } })
    }

    fn node_pool(name: &str, requirements: Value) -> Value {
        let template =
            json!({ "metadata": { "labels": { "pool": "blue" } }, "spec": { "requirements": requirements } });
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": name },
            "spec": { "template": template },
        })
    }
}
