//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use anyhow::Result;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::{CronJob, Job},
    core::v1::{Namespace, Pod, ReplicationController},
};
use node_placement_policy::resource::Resource;
use serde_json::Value;

use crate::{
    engine::reply::Gap,
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifest, Manifests},
    },
    requests::{
        admission::is_terminating,
        controllers::{Owner, controller_reference, is_part_of_its_owner},
        pod,
        resource::resource_of,
        template,
    },
};

/// Kinds of Kubernetes' own that make Pods, or others that do.
const MAKERS: [&str; 7] =
    ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"];

/// Other kinds that an outcome may depend on, and their API versions.
const LOOKED_AT: [(&str, &str); 4] =
    [("v1", "Namespace"), ("v1", "Node"), ("node.k8s.io/v1", "RuntimeClass"), ("karpenter.sh/v1", "NodePool")];

/// The other kinds of the same API groups.
const OTHERS: [&str; 16] = [
    "Binding",
    "ComponentStatus",
    "ConfigMap",
    "ControllerRevision",
    "Endpoints",
    "Event",
    "LimitRange",
    "NodeClaim",
    "NodeOverlay",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodTemplate",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
];

/// A workload; a Pod without one; or any Pod that is created in a namespace, and asks for nothing.
pub struct Subject<'c> {
    /// Where it is in the cluster; nothing, for the Pod that asks for nothing.
    pub manifest: Option<&'c Manifest>,
    /// Its namespace.
    pub namespace: String,
    /// The kind and name of an owner that is not judged itself: the cluster lacks it, or it is of a kind of somebody's own.
    pub owner: Option<String>,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
    /// Whether one of its Pods is there, and waits for a node.
    pub waits: bool,
    /// Whether it says that it has more Pods than the cluster as given has.
    pub lacks_pods: bool,
    /// Its ReplicaSets or Jobs that make other Pods than itself: from an older template.
    pub parts: Vec<Self>,
}

/// What an object has of its own in a cluster.
#[derive(Default)]
struct Own<'c> {
    nodes: Vec<String>,
    waiting: usize,
    /// Pods that are being deleted: their controller may still count them.
    leaving: usize,
    parts: Vec<&'c Manifest>,
}

/// All that is judged of a cluster.
pub struct Subjects<'c> {
    /// Workloads and Pods; then, for each namespace, a Pod that asks for nothing.
    pub all: Vec<Subject<'c>>,
    /// The names of the namespaces that are there, or that others are in, but for those that terminate.
    pub namespaces: BTreeSet<String>,
    /// What is known to be lacking, whatever the settings say; and the namespace that it is about, if it is about one.
    pub lacking: BTreeSet<(Gap, Option<String>)>,
}

impl<'c> Subject<'c> {
    fn new(manifest: Option<&'c Manifest>, namespace: &str) -> Self {
        let (namespace, nodes, parts) = (namespace.to_owned(), vec![], vec![]);
        Self { manifest, namespace, owner: None, nodes, waits: false, lacks_pods: false, parts }
    }

    /// Its kind; nothing, for the Pod that asks for nothing.
    pub fn kind(&self) -> &str {
        self.manifest.map(|manifest| manifest.identity.kind.as_str()).unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.manifest.map(|manifest| manifest.identity.name.as_str()).unwrap_or_default()
    }

    /// `Deployment web`, `Deployment web (its ReplicaSet web-1)`, `Pod web-x (of Rollout web)`; nothing, for the Pod that asks
    /// for nothing.
    pub fn called(&self, part: Option<&str>) -> Option<String> {
        self.manifest?;
        let owner = self.owner.as_ref().map(|owner| format!(" (of {owner})")).unwrap_or_default();
        let part = part.map(|part| format!(" (its {part})")).unwrap_or_default();
        Some(format!("{} {}{owner}{part}", self.kind(), self.name()))
    }

    /// Notes the Pods and the parts of a workload; what of it is lacking, if something is.
    fn add_pods(&mut self, own: &mut HashMap<Identity, Own<'c>>, cluster: &Manifests) -> Option<Gap> {
        let manifest = self.manifest.filter(|manifest| manifest.identity.kind != Resource::Pod.kind())?;
        let Own { nodes, waiting, leaving, parts } = own.remove(&manifest.identity).unwrap_or_default();
        let (object, pods) = (manifest.parse(), nodes.len() + waiting + leaving);
        self.lacks_pods = expected_pods(&object, &parts, pods, cluster) > pods;
        (self.nodes, self.waits) = (nodes, waiting > 0);
        self.nodes.sort();
        for part in parts.into_iter().filter(|part| template::makes_other_pods(&object, &part.parse())) {
            let Own { nodes, waiting, .. } = own.remove(&part.identity).unwrap_or_default();
            let part = Self::new(Some(part), &self.namespace);
            // Nobody knows which of them the Pods that are lacking belong to.
            self.parts.push(Self { nodes, waits: waiting > 0, lacks_pods: self.lacks_pods, ..part });
        }
        older_template(&manifest.identity, &object, !self.parts.is_empty())
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.manifest {
            Some(manifest) => manifest.identity.fmt(f),
            None => write!(f, "a new Pod in {}", self.namespace),
        }
    }
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
        let mut subjects = Self { all: vec![], namespaces: there.collect(), lacking: BTreeSet::new() };
        let mut kinds: BTreeSet<&str> = BTreeSet::new();
        let mut absent: BTreeSet<String> = BTreeSet::new();
        let mut own: HashMap<Identity, Own<'c>> = HashMap::new();
        // ReplicaSets and Jobs that somebody's own objects own: in their place, their Pods are judged, if they are there.
        let mut foreign: Vec<Subject<'c>> = vec![];
        for manifest in cluster.objects() {
            let identity = &manifest.identity;
            kinds.insert(&identity.kind);
            check_types(manifest)?;
            let Some(resource) = resource_of(&identity.api_version, &identity.kind).filter(|it| makes_pods(*it)) else {
                subjects.lacking.extend(misnamed(identity).map(|gap| (gap, identity.namespace.clone())));
                continue;
            };
            let Some(namespace) = identity.namespace.as_deref() else {
                let told = format!("{identity} has no namespace; write the one down that it is in");
                subjects.lacking.insert((Gap::Unreadable(told), None));
                continue;
            };
            if terminating.contains(namespace) {
                continue;
            }
            let object = manifest.parse();
            let belongs = Owner::find(&object, cluster);
            let is_left_out = is_left_out(&object);
            // The owner of a Pod that goes may be gone already.
            if let Owner::Absent { kind, .. } = &belongs
                && (resource != Resource::Pod || !is_left_out)
            {
                absent.insert(kind.clone());
            }
            if is_left_out {
                if resource == Resource::Pod && !is_finished(&object) {
                    makers(&object, &belongs).into_iter().for_each(|maker| own.entry(maker).or_default().leaving += 1);
                }
                continue;
            }
            subjects.namespaces.insert(namespace.to_owned());
            let mut subject = Subject::new(Some(manifest), namespace);
            if resource == Resource::Pod {
                if !object["spec"].is_object() {
                    let told = format!("{identity} has no spec; list the object as a whole");
                    subjects.lacking.insert((Gap::Unreadable(told), Some(namespace.to_owned())));
                }
                let node = Some(text(&object["spec"]["nodeName"])).filter(|node| !node.is_empty());
                subject.nodes.extend(node.map(str::to_owned));
                subject.waits = node.is_none();
                for maker in makers(&object, &belongs) {
                    let own = own.entry(maker).or_default();
                    own.nodes.extend(node.map(str::to_owned));
                    own.waiting += usize::from(node.is_none());
                }
            }
            let is_part = is_part_of_its_owner(identity);
            let is_there = matches!(belongs, Owner::Known(_));
            match belongs {
                // What a Deployment has left behind makes no Pods anew.
                Owner::Known(owner)
                    if is_part && is_workload(&owner) && !cluster.find(&owner).is_some_and(is_left_behind) =>
                {
                    if resource != Resource::Pod {
                        own.entry(owner).or_default().parts.push(manifest);
                    }
                    continue;
                }
                Owner::Known(Identity { kind, name, .. }) | Owner::Absent { kind, name } => {
                    subject.owner = Some(format!("{kind} {name}"));
                }
                Owner::Nobody => {}
            }
            if is_part && is_there && resource != Resource::Pod {
                foreign.push(subject);
                continue;
            }
            subjects.all.push(subject);
        }
        for subject in subjects.all.iter_mut().chain(&mut foreign) {
            let gap = subject.add_pods(&mut own, cluster);
            subjects.lacking.extend(gap.map(|gap| (gap, Some(subject.namespace.clone()))));
        }
        let is_judged = |subject: &Subject<'_>| subject.lacks_pods || subject.nodes.is_empty() && !subject.waits;
        // Those of their Pods that are there are told one by one.
        subjects.all.extend(foreign.into_iter().filter(is_judged).map(|it| Subject { nodes: vec![], ..it }));
        // In whatever order a cluster is listed, the preview is the same.
        subjects.all.sort_by_cached_key(|it| (it.namespace.clone(), it.kind().to_owned(), it.name().to_owned()));
        subjects.all.extend(subjects.namespaces.iter().map(|name| Subject::new(None, name)));
        // Dumps seldom have ReplicaSets; of a Deployment nobody misses them.
        let is_known = |kind: &str| kinds.contains(kind) || kind == "ReplicaSet" && kinds.contains("Deployment");
        for kind in MAKERS.into_iter().filter(|kind| absent.contains(*kind) && !is_known(kind)) {
            let kinds = if kind == "ReplicaSet" { "ReplicaSets or Deployments".to_owned() } else { format!("{kind}s") };
            subjects.lacking.insert((Gap::Kind { kinds, reason: None }, None));
        }
        let contradictory = cluster.contradictory.iter().filter(|identity| is_looked_at(identity));
        subjects.lacking.extend(contradictory.map(|identity| {
            let told = format!("{identity} is there more than once, and differently; leave one of them");
            (Gap::Unreadable(told), identity.namespace.clone())
        }));
        Ok(subjects)
    }
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

/// What counts a Pod as its own: what its reference to the controlling owner names, and the workload behind that.
fn makers(pod: &Value, belongs: &Owner) -> Vec<Identity> {
    let namespace = pod["metadata"]["namespace"].as_str();
    let named = |it: &Value| Identity::new(text(&it["apiVersion"]), text(&it["kind"]), namespace, text(&it["name"]));
    let mut makers: Vec<Identity> = controller_reference(pod).map(named).into_iter().collect();
    match belongs {
        Owner::Known(owner) if !makers.contains(owner) => makers.push(owner.clone()),
        _ => {}
    }
    makers
}

/// How many Pods a workload has by its status; where that is missing, and some of its Pods are there, by its spec.
fn expected_pods(object: &Value, parts: &[&Manifest], there: usize, cluster: &Manifests) -> usize {
    if object["kind"] == "CronJob" {
        let of_jobs: usize = parts.iter().map(|job| pods_by_status(&job.parse())).sum();
        let namespace = object["metadata"]["namespace"].as_str();
        let is_absent =
            |job: &&Value| cluster.find(&Identity::new("batch/v1", "Job", namespace, text(&job["name"]))).is_none();
        return of_jobs + list_of(&object["status"]["active"]).iter().filter(is_absent).count();
    }
    let has_status = object["status"].as_object().is_some_and(|status| !status.is_empty());
    if !has_status && there > 0 {
        return count(&object["spec"]["replicas"]);
    }
    pods_by_status(object)
}

/// A workload some of whose Pods are still made from the template that it had before, which is not there. That of a
/// StatefulSet stands in a ControllerRevision, and dumps have none; that of a Deployment in its older ReplicaSet.
///
/// Upstream: `newVersionedStatefulSetPod` of `k8s.io/kubernetes/pkg/controller/statefulset`.
fn older_template(identity: &Identity, object: &Value, is_there: bool) -> Option<Gap> {
    let status = &object["status"];
    let (current, update) = (text(&status["currentRevision"]), text(&status["updateRevision"]));
    let partition = count(&object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
    let told = match identity.kind.as_str() {
        "StatefulSet" if partition > 0 && !update.is_empty() && current != update => format!(
            "{identity} makes Pods below its partition from its older revision {current}, which is not looked at; finish \
             its rollout first"
        ),
        "Deployment" if !is_there && count(&status["updatedReplicas"]) < count(&status["replicas"]) => {
            format!("{identity} is being rolled out, and its older ReplicaSet is not there; list its ReplicaSets too")
        }
        _ => return None,
    };
    Some(Gap::Unreadable(told))
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
    resource == Resource::Pod || MAKERS.contains(&resource.kind())
}

fn is_workload(identity: &Identity) -> bool {
    resource_of(&identity.api_version, &identity.kind)
        .is_some_and(|resource| resource != Resource::Pod && makes_pods(resource))
}

fn is_looked_at(identity: &Identity) -> bool {
    let Identity { api_version, kind, .. } = identity;
    LOOKED_AT.contains(&(api_version.as_str(), kind.as_str())) || resource_of(api_version, kind).is_some_and(makes_pods)
}

/// An object that is not looked at, though it has one of Kubernetes' own kinds, spelt otherwise, of another version, or
/// written down without the rest of it, or a kind that Kubernetes does not have: it can't be judged, and must not be
/// forgotten.
fn misnamed(identity: &Identity) -> Option<Gap> {
    let Identity { api_version, kind, .. } = identity;
    if kind == "PartialObjectMetadata" {
        return Some(Gap::Unreadable(format!("{identity} is metadata alone; list the object as a whole")));
    }
    let mut known = MAKERS.into_iter().chain([Resource::Pod.kind()]).chain(LOOKED_AT.map(|(_, kind)| kind));
    let is_it =
        |known: &&str| [known.to_lowercase(), format!("{known}s").to_lowercase()].contains(&kind.to_lowercase());
    let known = known.find(is_it);
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let own_groups = ["", "app", "apps", "batch", "extensions", "core", "node.k8s.io", "karpenter.sh"];
    let is_own = own_groups.iter().any(|own| own.eq_ignore_ascii_case(group));
    if is_looked_at(identity) || !is_own || OTHERS.contains(&kind.as_str()) {
        return None;
    }
    Some(Gap::Unreadable(match known {
        Some(known) if kind == known => {
            format!("{identity} has apiVersion {api_version}, which is not known; list it anew")
        }
        Some(known) => format!("{identity} has kind {kind}; it is written {known}"),
        None => format!("{identity} has kind {kind}, which {api_version} does not have; list it anew"),
    }))
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// A ReplicaSet that makes no Pods now, and that a Deployment keeps to roll back. Of other owners nobody knows what for.
fn is_left_behind(object: &Value) -> bool {
    let is_deployment = |owner: &Value| owner["apiVersion"] == "apps/v1" && owner["kind"] == "Deployment";
    object["kind"] == "ReplicaSet"
        && object["spec"]["replicas"] == 0
        && controller_reference(object).is_some_and(is_deployment)
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

/// Whether what makes Pods is not looked at: it has ended, goes, or was left behind; and Pods that a kubelet runs by itself.
pub fn is_left_out(object: &Value) -> bool {
    is_finished(object)
        || is_left_behind(object)
        || object["kind"] == Resource::Pod.kind() && pod::is_mirror(object)
        || object["metadata"]["deletionTimestamp"].is_string()
}
