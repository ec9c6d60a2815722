//! What a Pod requests of each resource, and whether a node has as much.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{Container, PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};

use super::amount::Amount;

/// Amounts by the names of their resources.
pub type Amounts = BTreeMap<String, Amount>;

/// The resource of which every Pod needs one.
pub const PODS: &str = "pods";

const CPU: &str = "cpu";

/// The resources that DeviceClasses stand for begin with this, where these name no other.
const OF_DEVICE_CLASSES: &str = "deviceclass.resource.kubernetes.io/";

/// What a Pod requests: an amount of each resource that is more than zero, and `pods: 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requests(pub Amounts);

/// A resource of which a node has too little for a Pod alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The resource.
    pub resource: String,
    /// What the Pod requests.
    pub requested: Amount,
    /// What the node has; of several nodes, what the largest has.
    pub largest: Amount,
}

impl Requests {
    /// Adds up what the containers of a Pod request: all that run at the same time, or an init container where that is
    /// more, and the overhead of the RuntimeClass. What is set for the Pod as a whole counts instead of its containers.
    ///
    /// Upstream: `PodRequests` of `k8s.io/component-helpers/resource`, and `SetDefaults_Pod` of
    /// `k8s.io/kubernetes/pkg/apis/core/v1`.
    pub fn new(spec: &PodSpec) -> Self {
        let mut total = Amounts::new();
        for container in &spec.containers {
            merge(&mut total, &of_container(container), Amount::plus);
        }
        let (mut sidecars, mut most_at_start) = (Amounts::new(), Amounts::new());
        for container in spec.init_containers.iter().flatten() {
            let mut running = of_container(container);
            if container.restart_policy.as_deref() == Some("Always") {
                merge(&mut total, &running, Amount::plus);
                merge(&mut sidecars, &running, Amount::plus);
                running.clone_from(&sidecars);
            } else {
                merge(&mut running, &sidecars, Amount::plus);
            }
            merge(&mut most_at_start, &running, Amount::max);
        }
        merge(&mut total, &most_at_start, Amount::max);
        if let Some(of_pod) = &spec.resources {
            set_for_the_pod(&mut total, of_pod);
        }
        merge(&mut total, &amounts(spec.overhead.as_ref()), Amount::plus);
        total.insert(PODS.to_owned(), Amount::whole(1));
        total.retain(|_, amount| *amount > Amount::default());
        Self(total)
    }

    /// Returns every resource of which an empty node with these `allocatable` amounts has too little.
    ///
    /// Upstream: the scheduler's plugin NodeResourcesFit.
    pub fn lacking(&self, allocatable: &Amounts, devices: &BTreeSet<String>) -> Vec<Lack> {
        // Nobody knows what a Node of a file has that lists nothing.
        if allocatable.is_empty() { vec![] } else { lacking(&self.0, allocatable, devices) }
    }
}

/// Returns every resource of which there is less than is `requested`. It skips `devices`, the extended resources that
/// DeviceClasses name: no node lists them.
pub fn lacking(requested: &Amounts, available: &Amounts, devices: &BTreeSet<String>) -> Vec<Lack> {
    let mut lacking = vec![];
    for (resource, requested) in requested {
        let largest = available.get(resource).copied().unwrap_or_default();
        if !is_enough(resource, *requested, largest) && !is_device(resource, devices) {
            lacking.push(Lack { resource: resource.clone(), requested: *requested, largest });
        }
    }
    lacking
}

/// Returns whether this amount of a resource is as much as is requested.
pub fn is_enough(resource: &str, requested: Amount, has: Amount) -> bool {
    if resource == CPU { requested <= has } else { requested.rounded_up() <= has.rounded_up() }
}

/// Returns whether a DeviceClass stands for this extended resource.
fn is_device(resource: &str, devices: &BTreeSet<String>) -> bool {
    devices.contains(resource) || resource.starts_with(OF_DEVICE_CLASSES)
}

/// Reads quantities as amounts, by the names of their resources.
pub fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> Amounts {
    quantities.into_iter().flatten().map(|(resource, quantity)| (resource.clone(), quantity.into())).collect()
}

/// Merges the amounts of `other` into `total`: of two of the same resource, `both` makes one.
pub fn merge(total: &mut Amounts, other: &Amounts, both: fn(Amount, Amount) -> Amount) {
    for (resource, amount) in other {
        let own = total.entry(resource.clone()).or_default();
        *own = both(*own, *amount);
    }
}

/// Returns what a container requests; its limit, where it requests nothing.
fn of_container(container: &Container) -> Amounts {
    let Some(ResourceRequirements { limits, requests, .. }) = &container.resources else { return Amounts::new() };
    let mut amounts_of_both = amounts(limits.as_ref());
    amounts_of_both.extend(amounts(requests.as_ref()));
    amounts_of_both
}

/// Replaces what the containers request by what is set for the Pod as a whole. A limit counts only where no container
/// requests anything of the resource.
fn set_for_the_pod(total: &mut Amounts, of_pod: &ResourceRequirements) {
    let has_pod_level = |resource: &str| [CPU, "memory"].contains(&resource) || resource.starts_with("hugepages-");
    for (resource, limit) in amounts(of_pod.limits.as_ref()) {
        if has_pod_level(&resource) {
            total.entry(resource).or_insert(limit);
        }
    }
    let requests = amounts(of_pod.requests.as_ref());
    total.extend(requests.into_iter().filter(|(resource, _)| has_pod_level(resource)));
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn requests(spec: Value) -> Requests {
        Requests::new(&serde_json::from_value(spec).unwrap())
    }

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
    #[case::a_limit_of_the_pod(json!({ "containers": [{ "name": "c" }], "resources": { "limits": { "cpu": "5" } } }), "5")]
    #[case::a_limit_of_the_pod_beside_containers(
        json!({ "containers": [container("1")], "resources": { "limits": { "cpu": "5" } } }),
        "1"
    )]
    #[case::rounded_before_it_is_added(json!({ "containers": [container("100.5m"), container("100.5m")] }), "202m")]
    fn a_pod_requests_what_runs_at_the_same_time(#[case] spec: Value, #[case] cpu: &str) {
        assert_eq!(requests(spec).0.get("cpu").copied(), Amount::read(cpu));
    }

    #[rstest]
    #[case::enough(&[("cpu", "4"), ("pods", "1")], "cpu", "4", &[])]
    #[case::too_little(&[("cpu", "4"), ("pods", "1")], "cpu", "4001m", &["cpu"])]
    #[case::bytes_are_whole(&[("memory", "1"), ("pods", "1")], "memory", "900m", &[])]
    #[case::nothing_of_it(&[("cpu", "4"), ("pods", "1")], "nvidia.com/gpu", "1", &["nvidia.com/gpu"])]
    #[case::zero_is_no_request(&[("cpu", "4"), ("pods", "1")], "nvidia.com/gpu", "0", &[])]
    #[case::no_room_for_pods(&[("cpu", "4")], "cpu", "1", &["pods"])]
    #[case::nobody_knows(&[], "cpu", "9", &[])]
    #[case::a_device(&[("pods", "1")], "example.com/device", "1", &[])]
    #[case::a_device_by_its_class(&[("pods", "1")], "deviceclass.resource.kubernetes.io/gpu", "1", &[])]
    fn a_node_lacks_what_it_has_too_little_of(
        #[case] allocatable: &[(&str, &str)],
        #[case] resource: &str,
        #[case] requested: &str,
        #[case] lacking: &[&str],
    ) {
        let resources = json!({ "requests": { resource: requested } });
        let requests = requests(json!({ "containers": [{ "name": "c", "resources": resources }] }));
        let allocatable = allocatable.iter().map(|(key, text)| ((*key).to_owned(), Amount::read(text).unwrap()));
        let found = requests.lacking(&allocatable.collect(), &BTreeSet::from(["example.com/device".to_owned()]));
        assert_eq!(found.iter().map(|lack| lack.resource.as_str()).collect::<Vec<_>>(), lacking);
    }
}
