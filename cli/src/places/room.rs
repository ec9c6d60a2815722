//! Room for many Pods: conditions that are necessary for all replicas to run. No scheduling is simulated.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PodAffinityTerm, PodSpec};

use super::{
    amount::Amount,
    fit::Fit,
    node::Node,
    node_map::{NodeMap, Place},
    pod::PodNeeds,
    requests::{Amounts, Lack, lacking, merge},
};
use crate::cluster::selectors;

/// The `topologyKey` of Pods that must be on different nodes.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pods of a workload that need room at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Replicas<'p> {
    /// What tells the workload from others.
    pub workload: usize,
    /// What each of them requires.
    pub pod: &'p PodNeeds,
    /// Whether a Pod can run in each place.
    pub fits: &'p [(Place, Fit)],
    /// How many there are.
    pub count: Count,
}

/// How many Pods a workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many, wherever they run.
    Replicas(usize),
    /// One for each node that it may use: a DaemonSet's.
    PerNode,
}

/// What Pods request of the nodes that they are confined to. Where Karpenter can create a node for Pods, they are confined
/// to none.
#[derive(Debug, Default)]
pub struct Loads {
    /// The workloads whose replicas can run on the nodes of these pools alone, and what they request.
    confined: BTreeMap<BTreeSet<usize>, (Vec<usize>, Amounts)>,
    /// What DaemonSets request on all nodes of a pool.
    of_daemon_sets: BTreeMap<usize, Amounts>,
}

/// Nodes that have less in all than the Pods request that can run nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// The positions of the pools of these nodes.
    pub pools: BTreeSet<usize>,
    /// The workloads whose Pods can run nowhere else.
    pub workloads: Vec<usize>,
    /// What all of them request, and what the nodes have in all.
    pub lacking: Vec<Lack>,
}

impl Loads {
    /// Adds the Pods of a workload.
    pub fn add(&mut self, map: &NodeMap, replicas: &Replicas<'_>) {
        let Replicas { workload, pod, fits, count } = replicas;
        let all = |count| pod.requests.0.iter().map(|(resource, one)| (resource.clone(), one.times(count))).collect();
        match count {
            Count::PerNode => {
                for (place, fit) in *fits {
                    let (Place::Nodes(pool), Fit::Now | Fit::NotNow(_)) = (place, fit) else { continue };
                    let nodes = map.pools.get(*pool).map_or(0, |pool| pool.nodes.len());
                    merge(self.of_daemon_sets.entry(*pool).or_default(), &all(nodes), Amount::plus);
                }
            }
            Count::Replicas(0) => {}
            Count::Replicas(count) => {
                let Some(pools) = own_pools(fits) else { return };
                let (workloads, requested) = self.confined.entry(pools).or_default();
                workloads.push(*workload);
                merge(requested, &all(*count), Amount::plus);
            }
        }
    }

    /// Returns every set of nodes that is some workload's own and has less than is requested of it. What is requested as much
    /// `before` is left out.
    pub fn overloads(&self, map: &NodeMap, before: &[&Self]) -> Vec<Overload> {
        let mut overloads = vec![];
        for pools in self.confined.keys() {
            let Some(available) = available(map, pools) else { continue };
            let mut lacking = lacking(&self.requested_of(pools), &available, &map.devices);
            if lacking.is_empty() {
                continue;
            }
            let before: Vec<Amounts> = before.iter().map(|before| before.requested_of(pools)).collect();
            let is_less = |amounts: &Amounts, lack: &Lack| {
                amounts.get(&lack.resource).copied().unwrap_or_default() < lack.requested
            };
            lacking.retain(|lack| before.iter().any(|before| is_less(before, lack)));
            if !lacking.is_empty() {
                let workloads = self.inside(pools).flat_map(|(workloads, _)| workloads.iter().copied()).collect();
                overloads.push(Overload { pools: pools.clone(), workloads, lacking });
            }
        }
        overloads
    }

    /// Returns what can run in these pools and nowhere else.
    fn inside(&self, pools: &BTreeSet<usize>) -> impl Iterator<Item = &(Vec<usize>, Amounts)> {
        self.confined.iter().filter(move |(own, _)| own.is_subset(pools)).map(|(_, load)| load)
    }

    fn requested_of(&self, pools: &BTreeSet<usize>) -> Amounts {
        let mut requested = Amounts::new();
        let of_daemon_sets = pools.iter().filter_map(|pool| self.of_daemon_sets.get(pool));
        for amounts in self.inside(pools).map(|(_, amounts)| amounts).chain(of_daemon_sets) {
            merge(&mut requested, amounts, Amount::plus);
        }
        requested
    }
}

/// Returns the pools whose nodes can run a Pod, sooner or later; `None` if there are none, or if Karpenter may create nodes for it.
fn own_pools(fits: &[(Place, Fit)]) -> Option<BTreeSet<usize>> {
    let mut pools = BTreeSet::new();
    for (place, fit) in fits {
        match (place, fit) {
            (Place::NodePool(_), Fit::Now | Fit::Unknown(_)) => return None,
            (Place::Nodes(pool), Fit::Now | Fit::NotNow(_)) => pools.extend([*pool]),
            _ => {}
        }
    }
    (!pools.is_empty()).then_some(pools)
}

/// Adds up what the nodes of these pools have; `None` if one of them lists no resources.
fn available(map: &NodeMap, pools: &BTreeSet<usize>) -> Option<Amounts> {
    let mut available = Amounts::new();
    for node in pools.iter().filter_map(|pool| map.pools.get(*pool)).flat_map(|pool| &pool.nodes) {
        if node.allocatable.is_empty() {
            return None;
        }
        merge(&mut available, &node.allocatable, Amount::plus);
    }
    Some(available)
}

/// Replicas that must be apart, and that are more than the places for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// The label that must have another value for each of them.
    pub topology_key: String,
    /// How many there are.
    pub replicas: usize,
    /// How many values of the label the nodes have that they may use.
    pub values: usize,
}

/// Returns every required anti-affinity of a Pod with these labels against Pods with the same labels that so many
/// replicas cannot meet on the nodes that they may use.
///
/// Terms with `matchLabelKeys`, `mismatchLabelKeys`, `namespaces` or `namespaceSelector` are passed over. Nodes without
/// the label accept every Pod.
pub fn crowds(
    map: &NodeMap,
    spec: &PodSpec,
    labels: &BTreeMap<String, String>,
    fits: &[(Place, Fit)],
    replicas: usize,
) -> Vec<Crowd> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    let against_itself = terms.into_iter().flatten().filter(|term| is_plain(term) && selects(term, labels));
    let mut crowds = vec![];
    for PodAffinityTerm { topology_key, .. } in against_itself {
        let values = values_of(map, topology_key, fits);
        if let Some(values) = values.filter(|values| *values > 0 && *values < replicas) {
            crowds.push(Crowd { topology_key: topology_key.clone(), replicas, values });
        }
    }
    crowds
}

fn is_plain(term: &PodAffinityTerm) -> bool {
    let is_empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    let lists = [&term.match_label_keys, &term.mismatch_label_keys, &term.namespaces];
    lists.into_iter().all(is_empty) && term.namespace_selector.is_none()
}

/// Returns whether a term selects Pods with these labels. Without a selector it selects none.
pub fn selects(term: &PodAffinityTerm, labels: &BTreeMap<String, String>) -> bool {
    let selector = term.label_selector.as_ref();
    selector.is_some_and(|selector| selectors::selects(selector, |key| labels.get(key).map(String::as_str)))
}

/// Counts the values of a label that the nodes have which a Pod may use; `None` if there is no limit.
fn values_of(map: &NodeMap, key: &str, fits: &[(Place, Fit)]) -> Option<usize> {
    let mut values = BTreeSet::new();
    for (place, fit) in fits {
        let pool = map.pools.get(place.pool())?;
        match (place, fit) {
            (Place::NodePool(_), Fit::Now | Fit::Unknown(_)) => {
                values.extend(pool.creates.as_ref()?.values_of(key)?.into_iter().map(str::to_owned));
            }
            (Place::Nodes(_), Fit::Now | Fit::NotNow(_)) => {
                let of_nodes: Option<Vec<&str>> = pool.nodes.iter().map(|node: &Node| node.label(key)).collect();
                values.extend(of_nodes?.into_iter().map(str::to_owned));
            }
            _ => {}
        }
    }
    Some(values.len())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::places::{
        node_map::{Machines, NodeTraits},
        pod::PodSpecs,
    };

    fn node(name: &str, pool: &str, zone: &str) -> Value {
        let labels = json!({ "pool": pool, "zone": zone, HOSTNAME: name });
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
            "status": { "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "5" } },
        })
    }

    /// Two blue nodes with 8 CPU in all, and a red one with 4.
    fn nodes() -> Vec<Value> {
        vec![node("a", "blue", "1"), node("b", "blue", "2"), node("c", "red", "1")]
    }

    fn node_pool(requirements: Value) -> Value {
        let template =
            json!({ "metadata": { "labels": { "pool": "blue" } }, "spec": { "requirements": requirements } });
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "blue" },
            "spec": { "template": template },
        })
    }

    fn spec(pool: Option<&str>, cpu: &str) -> Value {
        let selector = pool.map_or_else(|| json!({}), |pool| json!({ "pool": pool }));
        json!({
            "containers": [{ "name": "c", "resources": { "requests": { "cpu": cpu } } }],
            "nodeSelector": selector,
        })
    }

    fn needs(spec: Value) -> PodNeeds {
        PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec).unwrap()))
    }

    fn map(objects: Vec<Value>, pods: &[PodNeeds]) -> NodeMap {
        let traits = NodeTraits { labels: BTreeSet::from(["pool".to_owned()]), each_node: false };
        NodeMap::new(Machines::read(&objects.into_iter().collect()).unwrap(), traits, pods).unwrap()
    }

    const BLUE: Option<&str> = Some("blue");

    #[rstest]
    #[case::enough(&[(BLUE, "1", Count::Replicas(8))], "")]
    #[case::too_little(&[(BLUE, "1", Count::Replicas(9))], "cpu: 9 of 8, by [0]")]
    #[case::two_together(&[(BLUE, "1", Count::Replicas(5)), (BLUE, "2", Count::Replicas(2))], "cpu: 9 of 8, by [0, 1]")]
    #[case::of_other_nodes(&[(BLUE, "1", Count::Replicas(5)), (Some("red"), "1", Count::Replicas(4))], "")]
    #[case::what_may_run_elsewhere(&[(BLUE, "1", Count::Replicas(8)), (None, "1", Count::Replicas(1))], "")]
    #[case::inside_of_a_larger_set(
        &[(BLUE, "1", Count::Replicas(8)), (None, "1", Count::Replicas(5))],
        "cpu: 13 of 12, by [0, 1]"
    )]
    #[case::a_daemon_set_on_each_node(
        &[(BLUE, "1", Count::Replicas(8)), (None, "100m", Count::PerNode)],
        "cpu: 8200m of 8, by [0]"
    )]
    #[case::a_daemon_set_of_other_nodes(&[(BLUE, "1", Count::Replicas(8)), (Some("red"), "1", Count::PerNode)], "")]
    #[case::daemon_sets_alone(&[(None, "3", Count::PerNode), (None, "3", Count::PerNode)], "")]
    #[case::more_pods_than_nodes_may_have(&[(BLUE, "1m", Count::Replicas(11))], "pods: 11 of 10, by [0]")]
    #[case::no_replicas(&[(BLUE, "3", Count::Replicas(0))], "")]
    #[case::that_fit_no_node(&[(BLUE, "9", Count::Replicas(9))], "")]
    fn nodes_have_less_in_all_than_is_requested(
        #[case] workloads: &[(Option<&str>, &str, Count)],
        #[case] expected: &str,
    ) {
        assert_eq!(found(nodes(), workloads), expected);
    }

    #[rstest]
    #[case::that_accepts_them(json!([]), "")]
    #[case::that_does_not(json!([{ "key": "pool", "operator": "NotIn", "values": ["blue"] }]), "cpu: 9 of 8, by [0]")]
    fn a_node_pool_ends_the_question(#[case] requirements: Value, #[case] expected: &str) {
        let objects = nodes().into_iter().chain([node_pool(requirements)]).collect();
        assert_eq!(found(objects, &[(BLUE, "1", Count::Replicas(9))]), expected);
    }

    #[test]
    fn nothing_is_compared_with_nodes_that_list_nothing() {
        let mut nodes = nodes();
        nodes[0]["status"] = json!({});
        assert_eq!(found(nodes, &[(BLUE, "1", Count::Replicas(9))]), "");
    }

    fn found(objects: Vec<Value>, workloads: &[(Option<&str>, &str, Count)]) -> String {
        let pods: Vec<PodNeeds> = workloads.iter().map(|(pool, cpu, _)| needs(spec(*pool, cpu))).collect();
        let map = map(objects, &pods);
        let loads = loads(&map, &pods, workloads);
        let overloads = loads.overloads(&map, &[&Loads::default()]).into_iter();
        let texts = overloads.map(|Overload { lacking, workloads, .. }| {
            let Lack { resource, requested, largest } = &lacking[0];
            format!("{resource}: {requested} of {largest}, by {workloads:?}")
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    fn loads(map: &NodeMap, pods: &[PodNeeds], workloads: &[(Option<&str>, &str, Count)]) -> Loads {
        let mut loads = Loads::default();
        for (workload, (pod, (_, _, count))) in pods.iter().zip(workloads).enumerate() {
            loads.add(map, &Replicas { workload, pod, fits: &map.fits(pod), count: *count });
        }
        loads
    }

    #[rstest]
    #[case::as_much(&[(BLUE, "1", Count::Replicas(9))], 0)]
    #[case::less(&[(BLUE, "1", Count::Replicas(8))], 1)]
    #[case::elsewhere(&[(None, "1", Count::Replicas(9))], 1)]
    fn what_was_requested_before_is_left_out(#[case] before: &[(Option<&str>, &str, Count)], #[case] overloads: usize) {
        let after = [(BLUE, "1", Count::Replicas(9))];
        let pods = [BLUE, None].map(|pool| needs(spec(pool, "1")));
        let map = map(nodes(), &pods);
        let before_pods: Vec<PodNeeds> = before.iter().map(|(pool, cpu, _)| needs(spec(*pool, cpu))).collect();
        let before = loads(&map, &before_pods, before);
        assert_eq!(loads(&map, &pods[..1], &after).overloads(&map, &[&before]).len(), overloads);
    }

    fn apart(more: &Value) -> Value {
        let mut term = json!({ "topologyKey": HOSTNAME, "labelSelector": { "matchLabels": { "app": "web" } } });
        for (key, value) in more.as_object().unwrap() {
            term[key] = value.clone();
        }
        json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } })
    }

    #[rstest]
    #[case::as_many_as_nodes(json!({}), 2, None)]
    #[case::more_than_nodes(json!({}), 3, Some((HOSTNAME, 2)))]
    #[case::more_than_zones(json!({ "topologyKey": "zone" }), 3, Some(("zone", 2)))]
    #[case::a_label_that_nodes_lack(json!({ "topologyKey": "rack" }), 3, None)]
    #[case::of_other_pods(json!({ "labelSelector": { "matchLabels": { "app": "other" } } }), 3, None)]
    #[case::of_all_pods(json!({ "labelSelector": {} }), 3, Some((HOSTNAME, 2)))]
    #[case::without_a_selector(json!({ "labelSelector": null }), 3, None)]
    #[case::by_an_expression(
        json!({ "labelSelector": { "matchExpressions": [{ "key": "app", "operator": "In", "values": ["web"] }] } }),
        3,
        Some((HOSTNAME, 2))
    )]
    #[case::with_match_label_keys(json!({ "matchLabelKeys": ["pod-template-hash"] }), 3, None)]
    #[case::with_namespaces(json!({ "namespaces": ["other"] }), 3, None)]
    #[case::with_a_namespace_selector(json!({ "namespaceSelector": {} }), 3, None)]
    fn replicas_that_must_be_apart_are_counted(
        #[case] term: Value,
        #[case] replicas: usize,
        #[case] expected: Option<(&str, usize)>,
    ) {
        assert_eq!(crowd_among(nodes(), &term, replicas), expected.map(|(key, values)| (key.to_owned(), values)));
    }

    #[rstest]
    #[case::one_host_for_each(json!([]), HOSTNAME, None)]
    #[case::any_zone(json!([]), "zone", None)]
    #[case::some_zones(json!([{ "key": "zone", "operator": "In", "values": ["3", "1"] }]), "zone", Some(("zone".to_owned(), 3)))]
    fn karpenter_creates_hosts_for_replicas_and_no_zones(
        #[case] requirements: Value,
        #[case] key: &str,
        #[case] expected: Option<(String, usize)>,
    ) {
        let objects = nodes().into_iter().chain([node_pool(requirements)]).collect();
        assert_eq!(crowd_among(objects, &json!({ "topologyKey": key }), 4), expected);
    }

    fn crowd_among(objects: Vec<Value>, term: &Value, replicas: usize) -> Option<(String, usize)> {
        let mut spec = spec(BLUE, "1");
        spec["affinity"] = apart(term);
        let typed: PodSpec = serde_json::from_value(spec.clone()).unwrap();
        let pods = [needs(spec)];
        let map = map(objects, &pods);
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        let crowds = crowds(&map, &typed, &labels, &map.fits(&pods[0]), replicas);
        crowds.into_iter().next().map(|crowd| (crowd.topology_key, crowd.values))
    }
}
