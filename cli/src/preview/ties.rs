//! What Pods need of nodes beyond one Pod on one node: volumes that only some nodes reach, and replicas that must be apart.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use node_placement_policy::resource::Resource;

use super::unschedulable::Unschedulable;
use crate::{
    cluster::{Cluster, Pod, Workload},
    input::json::{list_of, text},
    places::{
        fit::Fit,
        node_map::{NodeMap, Place},
        room::crowds,
        volumes::{Volume, Volumes, claims},
    },
};

/// What the Pods of a subject need of nodes together, or by their volumes.
#[derive(Debug, Default)]
pub struct Ties<'c> {
    /// Volumes that only some nodes reach, each with the name of its Pod.
    volumes: Vec<(String, &'c Volume)>,
    /// What says that Pods must be apart: their PodSpec, their labels, and how many there are.
    apart: Option<(&'c PodSpec, &'c BTreeMap<String, String>, usize)>,
}

impl<'c> Ties<'c> {
    /// Returns those of a workload: the volumes of its Pods, and of a StatefulSet those that its Pods had once.
    pub fn of_workload(workload: &'c Workload, cluster: &Cluster, volumes: &'c Volumes) -> Self {
        let mut ties = Self::default();
        for pod in workload.all_pods().filter(|pod| pod.node.is_some()) {
            ties.add_volumes_of(pod, volumes);
        }
        if workload.resource == Resource::StatefulSet && !cluster.volumes.is_empty() {
            let object = workload.json.parse();
            for template in list_of(&object["spec"]["volumeClaimTemplates"]) {
                let template = text(&template["metadata"]["name"]);
                let own = volumes.of_template(workload.namespace(), template, workload.name());
                let named = own.map(|(ordinal, volume)| (format!("{}-{ordinal}", workload.name()), volume));
                ties.volumes.extend(named);
            }
        }
        let replicas = workload.replicas.and_then(|replicas| usize::try_from(replicas).ok());
        ties.apart = replicas.map(|replicas| (&workload.template.spec, &workload.template.labels, replicas));
        ties
    }

    /// Returns those of a Pod.
    pub fn of_pod(pod: &Pod, volumes: &'c Volumes) -> Self {
        let mut ties = Self::default();
        ties.add_volumes_of(pod, volumes);
        ties
    }

    fn add_volumes_of(&mut self, pod: &Pod, volumes: &'c Volumes) {
        let own = claims(&pod.spec, pod.name()).into_iter();
        let own = own.filter_map(|claim| volumes.of_claim(pod.namespace(), &claim));
        self.volumes.extend(own.map(|volume| (pod.name().to_owned(), volume)));
    }

    /// Returns the volumes that none of these places reaches, each after the name of its Pod.
    pub fn unreached(&self, map: &NodeMap, places: &[(Place, Fit)]) -> impl Iterator<Item = (&str, &str)> {
        let unreached = self.volumes.iter().filter(|(_, volume)| !volume.is_reached(map, places));
        unreached.map(|(pod, volume)| (pod.as_str(), volume.name.as_str()))
    }

    /// Returns what keeps some of the Pods from running in these places.
    pub fn obstacles(&self, map: &NodeMap, places: &[(Place, Fit)]) -> Vec<Unschedulable> {
        let mut obstacles = vec![];
        for (pod, volume) in self.unreached(map, places) {
            obstacles.push(Unschedulable::Volume { pod: pod.to_owned(), volume: volume.to_owned() });
        }
        if let Some((spec, labels, replicas)) = self.apart {
            obstacles.extend(crowds(map, spec, labels, places, replicas).into_iter().map(Unschedulable::Crowd));
        }
        obstacles
    }
}
