//! Which nodes the tool says can run a Pod, against what the scheduler's code answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use cli::places::{
    fit::{Exclusion, Fit, Obstacle},
    node::Node,
    pod::{PodNeeds, PodSpecs},
    requests::PODS,
    room::selects,
    volumes::{Volumes, claims},
};
use k8s_openapi::api::core::v1;
use serde::Deserialize;
use serde_json::{Value, json};

fn lines<T: for<'de> Deserialize<'de>>(name: &str) -> Result<Vec<T>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(name);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn node(object: Value) -> Result<Node> {
    Ok(Node::from(&serde_json::from_value::<v1::Node>(object)?))
}

fn needs(spec: Value) -> Result<PodNeeds> {
    Ok(PodNeeds::new(&PodSpecs::of(&serde_json::from_value(spec)?)))
}

#[test]
fn pods_match_nodes_as_the_scheduler_has_it() -> Result<()> {
    let mut vectors: Vec<Value> = lines("nodeaffinity.jsonl")?;
    // What no API server stores is in no cluster.
    vectors.retain(|vector| vector["apiValid"] == true);
    for vector in &vectors {
        let node = node(json!({ "metadata": vector["node"] }))?;
        let mut spec = vector["pod"].clone();
        spec["containers"] = json!([]);
        let excluded = needs(spec)?.excluded_from(&node);
        assert_eq!(excluded.is_none(), vector["match"] == true, "{excluded:?}: {vector}");
    }
    assert_eq!(vectors.len(), 1229);
    Ok(())
}

#[test]
fn taints_are_tolerated_as_the_scheduler_has_it() -> Result<()> {
    let vectors: Vec<Value> = lines("taints.jsonl")?;
    for vector in &vectors {
        let mut tolerations = vector["tolerations"].clone();
        // The scheduler does not look at how long a taint is tolerated.
        for toleration in tolerations.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            toleration.remove("tolerationSeconds");
        }
        let pod = needs(json!({ "containers": [], "tolerations": tolerations }))?;
        let taints = vector["taints"].as_array().cloned().unwrap_or_default();
        // Each by itself: which of several comes first is another question.
        let excluded = taints.iter().find(|taint| {
            let node = node(json!({ "metadata": { "name": "n" }, "spec": { "taints": [taint] } }));
            node.is_ok_and(|node| pod.fit(&node, &BTreeSet::new()) != Fit::Now)
        });
        assert_eq!(excluded.unwrap_or(&Value::Null), &vector["untolerated"], "{vector}");
    }
    assert_eq!(vectors.len(), 1500);
    Ok(())
}

#[test]
fn the_taint_that_excludes_a_pod_is_named() -> Result<()> {
    let node = node(json!({
        "metadata": { "name": "n" },
        "spec": { "taints": [{ "key": "gpu", "value": "yes", "effect": "NoSchedule" }] },
    }))?;
    match needs(json!({ "containers": [] }))?.excluded_from(&node).map(|exclusion| exclusion.what) {
        Some(Obstacle::Taints { taints, .. }) => assert_eq!(taints[0].to_string(), "gpu=yes:NoSchedule"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// What kube-scheduler v1.36.2 answers about a Pod; `scheduling.jsonl` has those of 2,001 recorded cases that cover every
/// reason, every operator, every kind of request and every kind of quantity.
#[derive(Deserialize)]
struct Vector {
    id: String,
    group: String,
    nodes: Vec<v1::Node>,
    pod: v1::Pod,
    /// By node, and by plugin that refuses when it is asked alone: its reasons.
    #[serde(rename = "refusedBy")]
    refused_by: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// What the kubelet says of the node that the Pod names.
    #[serde(default)]
    kubelet: BTreeMap<String, Value>,
    /// Pods that run there.
    #[serde(default)]
    pods: Vec<v1::Pod>,
    #[serde(default)]
    volumes: Vec<Value>,
}

impl Vector {
    fn of_groups(groups: &[&str]) -> Result<Vec<Self>> {
        let mut vectors: Vec<Self> = lines("scheduling.jsonl")?;
        vectors.retain(|vector| groups.contains(&vector.group.as_str()));
        Ok(vectors)
    }

    fn spec(&self) -> Result<&v1::PodSpec> {
        self.pod.spec.as_ref().context("a Pod has a spec")
    }

    fn reasons(&self, node: &str, plugin: &str) -> BTreeSet<String> {
        self.refused_by.get(node).and_then(|plugins| plugins.get(plugin)).cloned().unwrap_or_default()
    }

    /// Whether a plugin refuses the Pod on a node.
    fn refuses(&self, node: &str, plugin: &str) -> bool {
        !self.reasons(node, plugin).is_empty()
    }

    /// Compares the answer for a node with those of the plugins.
    fn check(&self, pod: &PodNeeds, node: &Node) -> Result<()> {
        let is_known = !node.allocatable.is_empty();
        let lacking = pod.requests.lacking(&node.allocatable, &BTreeSet::new());
        let reasons = lacking.iter().map(|lack| match lack.resource.as_str() {
            PODS => "Too many pods".to_owned(),
            resource => format!("Insufficient {resource}"),
        });
        let reasons: BTreeSet<String> = reasons.collect();
        // A node that lists no resources is not compared.
        ensure!(!is_known || reasons == self.reasons(&node.name, "NodeResourcesFit"), "found {reasons:?}");
        let fit = pod.fit(node, &BTreeSet::new());
        if let Some(kubelet) = self.kubelet.get(&node.name) {
            let is_admitted = fit == Fit::Now || is_evicted_later(&fit);
            ensure!(is_admitted == (kubelet["admits"] == true), "found {fit:?}, the kubelet says {kubelet}");
            return Ok(());
        }
        let refuses = |plugin| self.refuses(&node.name, plugin);
        let is_right = match &fit {
            Fit::Now => {
                let plugins = self.refused_by.get(&node.name).into_iter().flat_map(BTreeMap::keys);
                plugins.filter(|plugin| is_known || *plugin != "NodeResourcesFit").count() == 0
            }
            Fit::NotNow(_) => refuses("NodeUnschedulable") || refuses("TaintToleration"),
            Fit::TooSmall(_) => refuses("NodeResourcesFit"),
            Fit::Unknown(_) | Fit::Unbindable(_) => false,
            Fit::No(exclusion) => match &exclusion.what {
                Obstacle::Name => refuses("NodeName") || refuses("NodeAffinity"),
                Obstacle::Label(_) | Obstacle::MatchesNothing => refuses("NodeAffinity"),
                Obstacle::Taints { .. } => is_evicted_later(&fit) != refuses("TaintToleration"),
                Obstacle::Volume { .. } => refuses("VolumeBinding"),
            },
        };
        ensure!(is_right, "found {fit:?}, the scheduler says {:?}", self.refused_by.get(&node.name));
        Ok(())
    }
}

/// Whether the Pod tolerates the taints for some seconds. The scheduler and the kubelet do not look at how many.
const fn is_evicted_later(fit: &Fit) -> bool {
    matches!(fit, Fit::No(Exclusion { what: Obstacle::Taints { for_a_time: true, .. }, .. }))
}

#[test]
fn pods_fit_nodes_as_the_scheduler_has_it() -> Result<()> {
    let mut answers = 0;
    for vector in Vector::of_groups(&["a", "b"])? {
        let pod = PodNeeds::new(&PodSpecs::of(vector.spec()?));
        for node in vector.nodes.iter().map(Node::from) {
            vector.check(&pod, &node).with_context(|| format!("{}, {}", vector.id, node.name))?;
            answers += 1;
        }
    }
    assert!(answers > 400, "{answers}");
    Ok(())
}

fn of_kind<T: for<'de> Deserialize<'de>>(objects: &[Value], kind: &str) -> Result<Vec<T>> {
    let objects = objects.iter().filter(|object| object["kind"] == kind).cloned();
    objects.map(|object| Ok(serde_json::from_value(object)?)).collect()
}

#[test]
fn volumes_keep_pods_on_nodes_as_the_scheduler_has_it() -> Result<()> {
    const ELSEWHERE: &str = "node(s) didn't match PersistentVolume's node affinity";
    // The scheduler looks at no node then.
    const BEFORE_NODES: [&str; 2] = ["unbound immediate", "waiting for ephemeral"];
    let (mut elsewhere, mut reached) = (0, 0);
    for vector in Vector::of_groups(&["c"])? {
        let of_claims = of_kind::<v1::PersistentVolumeClaim>(&vector.volumes, "PersistentVolumeClaim")?;
        let volumes = of_kind::<v1::PersistentVolume>(&vector.volumes, "PersistentVolume")?;
        let volumes = Volumes::new(&volumes, &of_claims);
        let name = vector.pod.metadata.name.as_deref().context("a Pod has a name")?;
        let claims = claims(vector.spec()?, name);
        let bound: Vec<_> = claims.iter().filter_map(|claim| volumes.of_claim("default", claim)).collect();
        for node in vector.nodes.iter().map(Node::from) {
            let reasons = vector.reasons(&node.name, "VolumeBinding");
            let is_before = |reason: &String| BEFORE_NODES.iter().any(|before| reason.contains(before));
            if reasons.iter().any(is_before) || vector.refuses(&node.name, "VolumeZone") {
                continue;
            }
            let is_elsewhere = bound.iter().any(|volume| !volume.is_reached_from(&node));
            assert_eq!(is_elsewhere, reasons.contains(ELSEWHERE), "{}, {}: {reasons:?}", vector.id, node.name);
            *(if is_elsewhere { &mut elsewhere } else { &mut reached }) += 1;
        }
    }
    assert!(elsewhere > 20 && reached > 20, "{elsewhere} {reached}");
    Ok(())
}

#[test]
fn replicas_are_kept_apart_as_the_scheduler_has_it() -> Result<()> {
    let (mut apart, mut together) = (0, 0);
    for vector in Vector::of_groups(&["d"])? {
        let affinity = vector.spec()?.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
        let required = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
        let terms: Vec<_> = required.into_iter().flatten().collect();
        if terms.is_empty() || terms.iter().any(|term| term.namespaces.is_some() || term.namespace_selector.is_some()) {
            continue;
        }
        let nodes: BTreeMap<String, Node> =
            vector.nodes.iter().map(Node::from).map(|node| (node.name.clone(), node)).collect();
        for node in nodes.values() {
            let is_beside = |term: &v1::PodAffinityTerm, other: &v1::Pod| {
                let host = other.spec.as_ref().and_then(|spec| nodes.get(spec.node_name.as_ref()?));
                let value = node.label(&term.topology_key);
                other.metadata.namespace == vector.pod.metadata.namespace
                    && selects(term, other.metadata.labels.as_ref().unwrap_or(&BTreeMap::new()))
                    && value.is_some()
                    && host.is_some_and(|host| host.label(&term.topology_key) == value)
            };
            let is_refused = terms.iter().any(|term| vector.pods.iter().any(|other| is_beside(term, other)));
            let reasons = vector.reasons(&node.name, "InterPodAffinity");
            if reasons.iter().any(|reason| reason.contains("pod affinity")) {
                continue;
            }
            let expected = reasons.contains("node(s) didn't match pod anti-affinity rules");
            assert_eq!(is_refused, expected, "{}, {}: {reasons:?}", vector.id, node.name);
            *(if expected { &mut apart } else { &mut together }) += 1;
        }
    }
    assert!(apart > 10 && together > 10, "{apart} {together}");
    Ok(())
}
