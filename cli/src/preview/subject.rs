//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use crate::engine::gap::Gap;
use crate::{
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifest, Manifests},
    },
    requests::{
        owner::{Belongs, controller, is_part_of_its_owner},
        resource::{POD, Resource},
    },
};

/// Marks the Pods that stand for what a kubelet runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Kinds of Kubernetes' own that make Pods, or others that do, and what a person calls several.
const MAKERS: [(&str, &str); 7] = [
    ("Deployment", "Deployments"),
    ("ReplicaSet", "ReplicaSets"),
    ("StatefulSet", "StatefulSets"),
    ("DaemonSet", "DaemonSets"),
    ("Job", "Jobs"),
    ("CronJob", "CronJobs"),
    ("ReplicationController", "ReplicationControllers"),
];

/// A workload, or a Pod without one.
pub struct Subject<'c> {
    /// Where it is in the cluster.
    pub manifest: &'c Manifest,
    /// The kind and name of an owner that is not judged itself: the cluster lacks it, or it is of a kind of somebody's own.
    pub owner: Option<String>,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
    /// Whether it says that it has Pods, and the cluster as given has none of them.
    pub lacks_pods: bool,
}

/// All that is judged of a cluster.
pub struct Subjects<'c> {
    /// Workloads and Pods.
    pub all: Vec<Subject<'c>>,
    /// The names of the namespaces that are there, or that others are in, but for those that terminate.
    pub namespaces: BTreeSet<String>,
    /// For each namespace and node, how many Pods run there.
    pub running: BTreeMap<(String, String), usize>,
    /// Kinds of which there are no objects, though others belong to such.
    pub lacking: BTreeSet<Gap>,
}

impl<'c> Subjects<'c> {
    /// Finds what is judged. Left out is what has finished or is being deleted, what a kubelet runs by itself, and
    /// ReplicaSets that a Deployment has left behind.
    pub fn of(cluster: &'c Manifests) -> Self {
        let terminating: BTreeSet<&str> =
            cluster.namespaces().filter(|found| is_terminating(found)).map(name).collect();
        let there = cluster.namespaces().map(name).filter(|name| !terminating.contains(name)).map(str::to_owned);
        let mut subjects =
            Self { all: vec![], namespaces: there.collect(), running: BTreeMap::new(), lacking: BTreeSet::new() };
        let mut kinds: BTreeSet<&str> = BTreeSet::new();
        let mut absent: BTreeSet<String> = BTreeSet::new();
        let mut nodes: HashMap<Identity, Vec<String>> = HashMap::new();
        let mut with_pods: HashSet<Identity> = HashSet::new();
        for manifest in cluster.objects() {
            let Identity { api_version, kind, namespace, .. } = &manifest.identity;
            kinds.insert(kind);
            let Some(resource) = Resource::of(api_version, kind).filter(|resource| makes_pods(*resource)) else {
                subjects.lacking.extend(of_another_version(&manifest.identity));
                continue;
            };
            let namespace = namespace.as_deref().unwrap_or_default();
            if terminating.contains(namespace) {
                continue;
            }
            let object = manifest.parse();
            let node = (resource == POD).then(|| text(&object["spec"]["nodeName"])).filter(|node| !node.is_empty());
            if is_left_out(&object) {
                continue;
            }
            subjects.namespaces.insert(namespace.to_owned());
            if let Some(node) = node {
                *subjects.running.entry((namespace.to_owned(), node.to_owned())).or_default() += 1;
            }
            let owner = match Belongs::of(&object, cluster) {
                Belongs::ToNobody => None,
                Belongs::To(owner) if is_part_of_its_owner(&manifest.identity) && is_workload(&owner) => {
                    nodes.entry(owner.clone()).or_default().extend(node.map(str::to_owned));
                    with_pods.extend((resource == POD).then_some(owner));
                    continue;
                }
                // What such an owner makes of them is its own affair; its Pods are told one by one, if there are any.
                Belongs::To(_)
                    if resource != POD && !is_scaled_down(&object) && is_part_of_its_owner(&manifest.identity) =>
                {
                    continue;
                }
                Belongs::To(Identity { kind, name, .. }) => Some(format!("{kind} {name}")),
                Belongs::ToAbsent { kind, name } => {
                    let told = format!("{kind} {name}");
                    absent.insert(kind);
                    Some(told)
                }
            };
            let nodes = node.into_iter().map(str::to_owned).collect();
            let lacks_pods = pods_by_status(&object) > 0;
            subjects.all.push(Subject { manifest, owner, nodes, lacks_pods });
        }
        for subject in &mut subjects.all {
            subject.nodes.extend(nodes.remove(&subject.manifest.identity).unwrap_or_default());
            subject.nodes.sort();
            subject.lacks_pods &= !with_pods.contains(&subject.manifest.identity);
        }
        // In whatever order a cluster is listed, the preview is the same.
        subjects.all.sort_by_cached_key(|subject| {
            let Identity { namespace, kind, name, .. } = &subject.manifest.identity;
            (namespace.clone(), kind.clone(), name.clone())
        });
        // Dumps seldom have ReplicaSets; of a Deployment nobody misses them.
        let is_known = |kind: &str| kinds.contains(kind) || kind == "ReplicaSet" && kinds.contains("Deployment");
        for (kind, kinds) in MAKERS.iter().filter(|(kind, _)| absent.contains(*kind) && !is_known(kind)) {
            let kinds = if *kind == "ReplicaSet" { "ReplicaSets or Deployments" } else { kinds };
            subjects.lacking.insert(Gap::Kind { kinds: kinds.to_owned(), reason: None });
        }
        subjects
    }
}

/// How many Pods an object says that it has.
fn pods_by_status(object: &Value) -> usize {
    let status = &object["status"];
    let count = |field: &str| status[field].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let jobs = list_of(&status["active"]).len();
    count("replicas").max(count("currentNumberScheduled")).max(count("active")).max(jobs)
}

fn makes_pods(resource: Resource) -> bool {
    resource == POD || MAKERS.iter().any(|(maker, _)| *maker == resource.kind)
}

fn is_workload(identity: &Identity) -> bool {
    Resource::of(&identity.api_version, &identity.kind).is_some_and(|resource| resource != POD && makes_pods(resource))
}

/// An object of Kubernetes' own, of a version that no API server serves any more: it can't be judged.
fn of_another_version(identity: &Identity) -> Option<Gap> {
    let (group, version) = identity.api_version.split_once('/').unwrap_or(("", &identity.api_version));
    let is_own = ["", "apps", "batch", "extensions"].contains(&group) && version != "v1";
    let makes_pods = identity.kind == "Pod" || MAKERS.iter().any(|(maker, _)| *maker == identity.kind);
    let told = || format!("{identity} has apiVersion {}, which is not known; list it anew", identity.api_version);
    (is_own && makes_pods).then(|| Gap::Unreadable(told()))
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

fn is_terminating(namespace: &Value) -> bool {
    namespace["metadata"]["deletionTimestamp"].is_string() || namespace["status"]["phase"] == "Terminating"
}

/// A ReplicaSet that makes no Pods now. Deployments keep theirs to roll back; of other owners nobody knows what for.
fn is_scaled_down(object: &Value) -> bool {
    object["kind"] == "ReplicaSet" && object["spec"]["replicas"] == 0
}

fn is_deployment(owner: &Value) -> bool {
    owner["apiVersion"] == "apps/v1" && owner["kind"] == "Deployment"
}

fn is_left_out(object: &Value) -> bool {
    let status = &object["status"];
    let is_finished = match text(&object["kind"]) {
        "Pod" => matches!(text(&status["phase"]), "Succeeded" | "Failed"),
        "Job" => list_of(&status["conditions"]).iter().any(|condition| {
            matches!(text(&condition["type"]), "Complete" | "Failed") && condition["status"] == "True"
        }),
        "ReplicaSet" => is_scaled_down(object) && controller(object).is_some_and(is_deployment),
        _ => false,
    };
    let is_mirror = object["metadata"]["annotations"].get(MIRROR).is_some();
    is_finished || is_mirror || object["metadata"]["deletionTimestamp"].is_string()
}
