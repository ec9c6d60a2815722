//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::{CronJob, Job},
    core::v1::{Namespace, Pod, ReplicationController},
};
use serde_json::Value;

use crate::{
    engine::gap::Gap,
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifest, Manifests},
    },
    requests::{
        admission::is_terminating,
        owner::{Belongs, controller, is_part_of_its_owner},
        pod,
        resource::{POD, Resource},
    },
};

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

/// Other kinds that an outcome may depend on, and their API versions.
const LOOKED_AT: [(&str, &str); 4] =
    [("v1", "Namespace"), ("v1", "Node"), ("node.k8s.io/v1", "RuntimeClass"), ("karpenter.sh/v1", "NodePool")];

/// A workload, or a Pod without one.
pub struct Subject<'c> {
    /// Where it is in the cluster.
    pub manifest: &'c Manifest,
    /// The kind and name of an owner that is not judged itself: the cluster lacks it, or it is of a kind of somebody's own.
    pub owner: Option<String>,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
    /// Whether it says that it has more Pods than the cluster as given has.
    pub lacks_pods: bool,
    /// Its ReplicaSets or Jobs, which make Pods too, perhaps from an older template.
    pub parts: Vec<Part<'c>>,
}

impl Subject<'_> {
    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.manifest.identity.namespace.as_deref().unwrap_or_default()
    }
}

/// A ReplicaSet or a Job that is part of its owner.
pub struct Part<'c> {
    /// Where it is in the cluster.
    pub manifest: &'c Manifest,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
}

/// What a workload has of its own in a cluster.
#[derive(Default)]
struct Own<'c> {
    nodes: Vec<String>,
    pods: usize,
    parts: Vec<&'c Manifest>,
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
    ///
    /// # Errors
    /// An object has a field of a wrong type: which, and where.
    pub fn of(cluster: &'c Manifests) -> Result<Self> {
        let terminating: BTreeSet<&str> =
            cluster.namespaces().filter(|found| is_terminating(found)).map(name).collect();
        let there = cluster.namespaces().map(name).filter(|name| !terminating.contains(name)).map(str::to_owned);
        let mut subjects =
            Self { all: vec![], namespaces: there.collect(), running: BTreeMap::new(), lacking: BTreeSet::new() };
        let mut kinds: BTreeSet<&str> = BTreeSet::new();
        let mut absent: BTreeSet<String> = BTreeSet::new();
        let mut own: HashMap<Identity, Own<'c>> = HashMap::new();
        let mut nodes_of_parts: HashMap<Identity, Vec<String>> = HashMap::new();
        for manifest in cluster.objects() {
            let Identity { api_version, kind, namespace, .. } = &manifest.identity;
            kinds.insert(kind);
            check_types(manifest)?;
            let Some(resource) = Resource::of(api_version, kind).filter(|resource| makes_pods(*resource)) else {
                subjects.lacking.extend(misnamed(&manifest.identity));
                continue;
            };
            let namespace = namespace.as_deref().unwrap_or_default();
            if terminating.contains(namespace) {
                continue;
            }
            let object = manifest.parse();
            let node = (resource == POD).then(|| text(&object["spec"]["nodeName"])).filter(|node| !node.is_empty());
            if is_left_out(&object) {
                if resource == POD && !is_finished(&object) {
                    // Its controller may still count it.
                    if let Belongs::To(owner) = Belongs::of(&object, cluster) {
                        own.entry(owner).or_default().pods += 1;
                    }
                }
                continue;
            }
            if resource == POD && !object["spec"].is_object() {
                let told = format!("{} has no spec; list the object as a whole", manifest.identity);
                subjects.lacking.insert(Gap::Unreadable(told));
            }
            subjects.namespaces.insert(namespace.to_owned());
            if let Some(node) = node {
                *subjects.running.entry((namespace.to_owned(), node.to_owned())).or_default() += 1;
            }
            let owner = match Belongs::of(&object, cluster) {
                Belongs::ToNobody => None,
                Belongs::To(owner) if is_part_of_its_owner(&manifest.identity) && is_workload(&owner) => {
                    let own = own.entry(owner).or_default();
                    if resource != POD {
                        own.parts.push(manifest);
                        continue;
                    }
                    own.pods += 1;
                    own.nodes.extend(node.map(str::to_owned));
                    if let (Some(maker), Some(node)) = (controller_of(&object), node) {
                        nodes_of_parts.entry(maker).or_default().push(node.to_owned());
                    }
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
            subjects.lacking.extend(older_revision(&manifest.identity, &object));
            let nodes = node.into_iter().map(str::to_owned).collect();
            subjects.all.push(Subject { manifest, owner, nodes, lacks_pods: false, parts: vec![] });
        }
        for subject in &mut subjects.all {
            let Own { nodes, pods, parts } = own.remove(&subject.manifest.identity).unwrap_or_default();
            subject.nodes.extend(nodes);
            subject.nodes.sort();
            subject.lacks_pods = expected_pods(subject.manifest, &parts, pods, cluster) > pods;
            subject.parts = parts.into_iter().map(|manifest| part(manifest, &mut nodes_of_parts)).collect();
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
        let contradictory = cluster.contradictory.iter().filter(|identity| is_looked_at(identity));
        subjects.lacking.extend(contradictory.map(|identity| {
            Gap::Unreadable(format!("{identity} is there more than once, and differently; leave one of them"))
        }));
        Ok(subjects)
    }
}

fn part<'c>(manifest: &'c Manifest, nodes: &mut HashMap<Identity, Vec<String>>) -> Part<'c> {
    Part { manifest, nodes: nodes.remove(&manifest.identity).unwrap_or_default() }
}

/// The object that the reference to the controlling owner names.
fn controller_of(object: &Value) -> Option<Identity> {
    let reference = controller(object)?;
    let namespace = object["metadata"]["namespace"].as_str();
    Some(Identity::new(text(&reference["apiVersion"]), text(&reference["kind"]), namespace, text(&reference["name"])))
}

/// Fields of wrong types are told here: nothing that an outcome depends on may be taken to be absent.
fn check_types(manifest: &Manifest) -> Result<()> {
    let Identity { api_version, kind, .. } = &manifest.identity;
    match (api_version.as_str(), kind.as_str()) {
        ("v1", "Namespace") => manifest.typed::<Namespace>().map(drop),
        ("v1", "Pod") => manifest.typed::<Pod>().map(drop),
        ("v1", "ReplicationController") => manifest.typed::<ReplicationController>().map(drop),
        ("apps/v1", "Deployment") => manifest.typed::<Deployment>().map(drop),
        ("apps/v1", "ReplicaSet") => manifest.typed::<ReplicaSet>().map(drop),
        ("apps/v1", "StatefulSet") => manifest.typed::<StatefulSet>().map(drop),
        ("apps/v1", "DaemonSet") => manifest.typed::<DaemonSet>().map(drop),
        ("batch/v1", "Job") => manifest.typed::<Job>().map(drop),
        ("batch/v1", "CronJob") => manifest.typed::<CronJob>().map(drop),
        // Nodes, NodePools and RuntimeClasses are read as such anyway.
        _ => Ok(()),
    }
}

/// How many Pods a workload has by its status; where that is missing, and some of its Pods are there, by its spec.
fn expected_pods(manifest: &Manifest, parts: &[&Manifest], there: usize, cluster: &Manifests) -> usize {
    if manifest.identity.kind == POD.kind {
        return 0;
    }
    let object = manifest.parse();
    if object["kind"] == "CronJob" {
        let of_jobs: usize = parts.iter().map(|job| pods_by_status(&job.parse())).sum();
        let namespace = manifest.identity.namespace.as_deref();
        let is_absent =
            |job: &&Value| cluster.find(&Identity::new("batch/v1", "Job", namespace, text(&job["name"]))).is_none();
        return of_jobs + list_of(&object["status"]["active"]).iter().filter(is_absent).count();
    }
    let has_status = object["status"].as_object().is_some_and(|status| !status.is_empty());
    if !has_status && there > 0 {
        return count(&object["spec"]["replicas"]);
    }
    pods_by_status(&object)
}

/// A StatefulSet some of whose Pods are still made from the template that it had before: that stands in a
/// ControllerRevision, and dumps have none.
///
/// Upstream: `newVersionedStatefulSetPod` of `k8s.io/kubernetes/pkg/controller/statefulset`.
fn older_revision(identity: &Identity, object: &Value) -> Option<Gap> {
    let status = &object["status"];
    let (current, update) = (text(&status["currentRevision"]), text(&status["updateRevision"]));
    let partition = count(&object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
    let is_split = identity.kind == "StatefulSet" && partition > 0 && !update.is_empty() && current != update;
    is_split.then(|| {
        Gap::Unreadable(format!(
            "{identity} makes Pods below its partition from its older revision {current}, which is not looked at; finish \
             its rollout first"
        ))
    })
}

/// How many Pods an object says that it has.
fn pods_by_status(object: &Value) -> usize {
    let status = &object["status"];
    count(&status["replicas"]).max(count(&status["currentNumberScheduled"])).max(count(&status["active"]))
}

fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
}

fn makes_pods(resource: Resource) -> bool {
    resource == POD || MAKERS.iter().any(|(maker, _)| *maker == resource.kind)
}

fn is_workload(identity: &Identity) -> bool {
    Resource::of(&identity.api_version, &identity.kind).is_some_and(|resource| resource != POD && makes_pods(resource))
}

fn is_looked_at(identity: &Identity) -> bool {
    let Identity { api_version, kind, .. } = identity;
    LOOKED_AT.contains(&(api_version.as_str(), kind.as_str()))
        || Resource::of(api_version, kind).is_some_and(makes_pods)
}

/// An object that is not looked at, though its kind is, spelt otherwise, of another version, or written down without the
/// rest of it: it can't be judged, and must not be forgotten.
fn misnamed(identity: &Identity) -> Option<Gap> {
    let Identity { api_version, kind, .. } = identity;
    if kind == "PartialObjectMetadata" {
        return Some(Gap::Unreadable(format!("{identity} is metadata alone; list the object as a whole")));
    }
    let makers = MAKERS.iter().map(|(kind, _)| *kind).chain([POD.kind]);
    let known = makers.chain(LOOKED_AT.iter().map(|(_, kind)| *kind)).find(|known| known.eq_ignore_ascii_case(kind))?;
    if is_looked_at(identity) {
        return None;
    }
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_own = ["", "app", "apps", "batch", "extensions", "core", "node.k8s.io", "karpenter.sh"];
    let is_own = is_own.iter().any(|own| own.eq_ignore_ascii_case(group));
    let told = if *kind == *known {
        format!("{identity} has apiVersion {api_version}, which is not known; list it anew")
    } else {
        format!("{identity} has kind {kind}; it is written {known}")
    };
    is_own.then_some(Gap::Unreadable(told))
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// A ReplicaSet that makes no Pods now. Deployments keep theirs to roll back; of other owners nobody knows what for.
fn is_scaled_down(object: &Value) -> bool {
    object["kind"] == "ReplicaSet" && object["spec"]["replicas"] == 0
}

fn is_deployment(owner: &Value) -> bool {
    owner["apiVersion"] == "apps/v1" && owner["kind"] == "Deployment"
}

/// Whether a Pod or a Job has run to its end.
fn is_finished(object: &Value) -> bool {
    match text(&object["kind"]) {
        "Pod" => pod::is_finished(object),
        "Job" => list_of(&object["status"]["conditions"]).iter().any(|condition| {
            matches!(text(&condition["type"]), "Complete" | "Failed") && condition["status"] == "True"
        }),
        _ => false,
    }
}

fn is_left_out(object: &Value) -> bool {
    let is_left_behind =
        object["kind"] == "ReplicaSet" && is_scaled_down(object) && controller(object).is_some_and(is_deployment);
    is_finished(object)
        || is_left_behind
        || pod::is_mirror(object)
        || object["metadata"]["deletionTimestamp"].is_string()
}
