//! Whether a node is large enough for a Pod.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use k8s_openapi::{
    api::core::v1::{PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};
use serde_json::Value;

use super::{node::Node, quantity::Amount};
use crate::requests::defaults::add_requests;

/// What a Pod requests of each resource, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(pub BTreeMap<String, Amount>);

impl Requests {
    /// Adds up what the containers of `spec`, a PodSpec, request: all that run at the same time; or an init container,
    /// where that is more; with the overhead of the RuntimeClass. What is said for the Pod as a whole counts instead.
    ///
    /// Upstream: `PodRequests` of `k8s.io/component-helpers/resource`.
    ///
    /// # Errors
    /// It is no PodSpec.
    pub fn read(spec: &Value) -> Result<Self> {
        let mut spec = spec.clone();
        add_requests(&mut spec);
        let spec: Result<PodSpec, _> = serde_path_to_error::deserialize(&spec);
        let spec = spec.map_err(|error| anyhow!("spec.{}: {}", error.path(), error.inner()))?;
        let mut total = Self::default();
        for container in &spec.containers {
            total.add(&Self::of(container.resources.as_ref()));
        }
        let (mut sidecars, mut most_at_start) = (Self::default(), Self::default());
        for container in spec.init_containers.iter().flatten() {
            let mut running = Self::of(container.resources.as_ref());
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars.add(&running);
                total.add(&running);
                running = sidecars.clone();
            } else {
                running.add(&sidecars);
            }
            most_at_start.raise(&running);
        }
        total.raise(&most_at_start);
        let of_pod = Self::of(spec.resources.as_ref());
        total.0.extend(of_pod.0);
        total.add(&Self(amounts(spec.overhead.as_ref())));
        total.0.retain(|_, amount| *amount > Amount::default());
        Ok(total)
    }

    /// Whether `node`, were it empty, has as much.
    pub fn fit(&self, node: &Node) -> bool {
        self.lacking(node).is_none()
    }

    /// The first resource of which `node`, were it empty, has too little.
    pub fn lacking(&self, node: &Node) -> Option<&str> {
        let has = |resource: &String| node.allocatable.get(resource).copied().unwrap_or_default();
        // A Node in a file may say nothing of what it has.
        let mut counted = self.0.iter().filter(|_| !node.allocatable.is_empty());
        counted.find(|(resource, amount)| has(resource) < **amount).map(|(resource, _)| resource.as_str())
    }

    fn of(resources: Option<&ResourceRequirements>) -> Self {
        Self(amounts(resources.and_then(|resources| resources.requests.as_ref())))
    }

    fn add(&mut self, other: &Self) {
        for (resource, amount) in &other.0 {
            let own = self.0.entry(resource.clone()).or_default();
            *own = *own + *amount;
        }
    }

    fn raise(&mut self, other: &Self) {
        for (resource, amount) in &other.0 {
            let own = self.0.entry(resource.clone()).or_default();
            *own = (*own).max(*amount);
        }
    }
}

fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> BTreeMap<String, Amount> {
    quantities.into_iter().flatten().map(|(resource, quantity)| (resource.clone(), quantity.into())).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } })
    }

    fn sidecar(cpu: &str) -> Value {
        let mut sidecar = container(cpu);
        sidecar["restartPolicy"] = "Always".into();
        sidecar
    }

    #[rstest]
    #[case::containers(json!({ "containers": [container("1"), container("500m")] }), "1500m")]
    #[case::limits(json!({ "containers": [{ "name": "c", "resources": { "limits": { "cpu": 2 } } }] }), "2")]
    #[case::a_larger_init_container(
        json!({ "containers": [container("1")], "initContainers": [container("3")] }),
        "3"
    )]
    #[case::a_sidecar(json!({ "containers": [container("1")], "initContainers": [sidecar("1"), container("3")] }), "4")]
    #[case::a_sidecar_that_starts_later(
        json!({ "containers": [container("1")], "initContainers": [container("3"), sidecar("1")] }),
        "3"
    )]
    #[case::overhead(json!({ "containers": [container("1")], "overhead": { "cpu": "250m" } }), "1250m")]
    #[case::the_pod_as_a_whole(
        json!({ "containers": [container("1")], "resources": { "requests": { "cpu": "5" } } }),
        "5"
    )]
    fn a_pod_requests_what_runs_at_the_same_time(#[case] spec: Value, #[case] cpu: &str) {
        let requests = Requests::read(&spec).unwrap();
        assert_eq!(requests.0.get("cpu").copied(), Amount::read(cpu));
    }

    #[test]
    fn a_node_without_a_resource_is_too_small_for_it() {
        let amount = |text| Amount::read(text).unwrap();
        let allocatable = BTreeMap::from([("cpu".to_owned(), amount("4"))]);
        let node = Node { allocatable, ..Node::default() };
        let requests = |resource: &str, text| Requests(BTreeMap::from([(resource.to_owned(), amount(text))]));
        assert!(requests("cpu", "4").fit(&node));
        assert_eq!(requests("cpu", "4001m").lacking(&node), Some("cpu"));
        assert_eq!(requests("nvidia.com/gpu", "1").lacking(&node), Some("nvidia.com/gpu"));
        assert!(requests("cpu", "9").fit(&Node::default()), "nobody knows what it has");
    }
}
