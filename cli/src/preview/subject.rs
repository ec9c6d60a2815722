//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes. [`Subjects::new`]
//! finds them, with the Pods that they have now, and what the cluster lacks for it.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use anyhow::Result;
use k8s_openapi::api::{apps::v1 as apps, batch::v1 as batch, core::v1 as core};
use node_placement_policy::resource::Resource;
use serde_json::Value;

use crate::{
    gap::Gap,
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifest, Manifests},
    },
    webhook::{
        controllers::{Owners, controller_reference, is_part_of_its_owner},
        pods as pod, pods as template,
        request::is_terminating,
        resource::resource_of,
    },
};

/// API groups whose unknown kinds are reported. `app` and `core` are common misspellings.
const API_GROUPS: [&str; 8] = ["", "app", "apps", "batch", "extensions", "core", "node.k8s.io", "karpenter.sh"];

/// Kinds of these groups that no outcome depends on, one a line.
const WITHOUT_EFFECT: &str = include_str!("kinds_without_effect.txt");

/// A workload; a Pod without one; or the plain Pod of a namespace, which asks for nothing.
pub struct Subject<'c> {
    /// Where it is in the cluster; nothing, for a plain Pod.
    pub manifest: Option<&'c Manifest>,
    /// Its namespace.
    pub namespace: String,
    /// The kind and name of an owner that is not judged itself: the cluster lacks it, or it is of a custom kind.
    pub owner: Option<String>,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
    /// Whether one of its Pods is there, and waits for a node.
    pub waits: bool,
    /// Whether it says that it has more Pods than the cluster as given has.
    pub lacks_pods: bool,
    /// What is not known of the template that some of its Pods are still made from, if they are.
    pub older_template: Option<Gap>,
    /// Its ReplicaSets or Jobs that make other Pods than itself: from an older template.
    pub parts: Vec<Self>,
}

/// All that is judged of a cluster.
pub struct Subjects<'c> {
    /// Workloads and Pods; then, for each namespace, its plain Pod.
    pub all: Vec<Subject<'c>>,
    /// The names of the namespaces that are there, or that others are in, but for those that terminate.
    pub namespaces: BTreeSet<String>,
    /// What is known to be lacking, whatever the settings say; and the namespace that it is about, if it is about one.
    pub lacking: BTreeSet<(Gap, Option<String>)>,
    /// Objects of kinds of somebody's own that have a Pod template, and no Pods: they are not judged.
    pub unknown: Vec<String>,
}

impl<'c> Subject<'c> {
    /// Of a manifest; or the plain Pod of a namespace.
    pub fn new(manifest: Option<&'c Manifest>, namespace: &str) -> Self {
        let (namespace, nodes, parts) = (namespace.to_owned(), vec![], vec![]);
        Self { manifest, namespace, owner: None, nodes, waits: false, lacks_pods: false, older_template: None, parts }
    }

    /// Its kind; empty for a plain Pod.
    pub fn kind(&self) -> &str {
        self.manifest.map(|manifest| manifest.identity.kind.as_str()).unwrap_or_default()
    }

    /// Its name; empty for a plain Pod.
    pub fn name(&self) -> &str {
        self.manifest.map(|manifest| manifest.identity.name.as_str()).unwrap_or_default()
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
    pub fn new(cluster: &'c Manifests) -> Result<Self> {
        let mut search = Search::new(cluster);
        for manifest in cluster.objects() {
            check_types(manifest)?;
            search.add(manifest);
        }
        Ok(search.finish())
    }
}

/// What the objects seen so far own.
#[derive(Default)]
struct Children<'c> {
    /// The node of each Pod that runs.
    nodes: Vec<String>,
    /// How many Pods wait for a node.
    waiting: usize,
    /// How many Pods are being deleted.
    leaving: usize,
    /// ReplicaSets and Jobs.
    parts: Vec<&'c Manifest>,
}

struct Search<'c> {
    cluster: &'c Manifests,
    terminating: BTreeSet<&'c str>,
    found: Subjects<'c>,
    children: HashMap<Identity, Children<'c>>,
    /// ReplicaSets and Jobs that custom resources own: in their place, their Pods are judged, if they are there.
    foreign: Vec<Subject<'c>>,
    /// Kinds of owners that the cluster lacks.
    absent: BTreeSet<String>,
}

impl<'c> Search<'c> {
    fn new(cluster: &'c Manifests) -> Self {
        let name = |namespace: &'c Value| text(&namespace["metadata"]["name"]);
        let terminating: BTreeSet<_> = cluster.namespaces().filter(|it| is_terminating(it)).map(name).collect();
        let namespaces = cluster.namespaces().map(name).filter(|name| !terminating.contains(name));
        let namespaces = namespaces.map(str::to_owned).collect();
        let found = Subjects { all: vec![], namespaces, lacking: BTreeSet::new(), unknown: vec![] };
        Self { cluster, terminating, found, children: HashMap::new(), foreign: vec![], absent: BTreeSet::new() }
    }

    fn add(&mut self, manifest: &'c Manifest) {
        let identity = &manifest.identity;
        let Some(resource) = pod_maker(identity) else {
            return self.note(identity, misnamed(identity));
        };
        let Some(namespace) = identity.namespace.as_deref() else {
            return self.note(identity, Some("has no namespace; write the one down that it is in".to_owned()));
        };
        if self.terminating.contains(namespace) {
            return;
        }
        let object = manifest.parse();
        let Owners { mut present, absent } = Owners::find(&object, self.cluster);
        let is_pod = resource == Resource::Pod;
        if is_left_out(&object) {
            if is_pod && !is_finished(&object) {
                present.into_iter().for_each(|owner| self.children.entry(owner).or_default().leaving += 1);
            }
            // The owner of a Pod that goes may be gone already.
            self.absent.extend(absent.filter(|_| !is_pod).map(|owner| owner.kind));
            return;
        }
        self.absent.extend(absent.iter().map(|owner| owner.kind.clone()));
        self.found.namespaces.insert(namespace.to_owned());
        let mut subject = Subject::new(Some(manifest), namespace);
        if is_pod {
            if !object["spec"].is_object() {
                self.note(identity, Some("has no spec; list the object as a whole".to_owned()));
            }
            let node = object["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()).map(str::to_owned);
            for owner in &present {
                let children = self.children.entry(owner.clone()).or_default();
                children.waiting += usize::from(node.is_none());
                children.nodes.extend(node.clone());
            }
            subject.waits = node.is_none();
            subject.nodes.extend(node);
        }
        let (is_part, owner) = (is_part_of_its_owner(identity), present.pop());
        // What a Deployment has left behind makes no Pods anew.
        let makes_it = |owner: &Identity| {
            pod_maker(owner).is_some_and(|it| it != Resource::Pod)
                && !self.cluster.find(owner).is_some_and(is_left_behind)
        };
        match owner {
            Some(owner) if is_part && makes_it(&owner) => {
                if !is_pod {
                    self.children.entry(owner).or_default().parts.push(manifest);
                }
            }
            Some(owner) if is_part && !is_pod => {
                self.foreign.push(Subject { owner: Some(kind_and_name(&owner)), ..subject });
            }
            owner => {
                self.found.all.push(Subject { owner: owner.or(absent).as_ref().map(kind_and_name), ..subject });
            }
        }
    }

    fn finish(mut self) -> Subjects<'c> {
        let (mut subjects, mut foreign) = (std::mem::take(&mut self.found.all), std::mem::take(&mut self.foreign));
        subjects.iter_mut().chain(&mut foreign).for_each(|subject| self.add_children(subject));
        let is_judged = |subject: &Subject<'_>| subject.lacks_pods || subject.nodes.is_empty() && !subject.waits;
        // Those of their Pods that are there are judged one by one.
        subjects.extend(foreign.into_iter().filter(is_judged).map(|it| Subject { nodes: vec![], ..it }));
        // In whatever order a cluster is listed, the preview is the same.
        subjects.sort_by_cached_key(|it| (it.namespace.clone(), it.kind().to_owned(), it.name().to_owned()));
        subjects.extend(self.found.namespaces.iter().map(|name| Subject::new(None, name)));
        let has = |kind: &str| self.cluster.objects().iter().any(|it| it.identity.kind == kind);
        for kind in Resource::all().filter(|it| makes_pods(*it)).map(Resource::kind) {
            // Dumps seldom have ReplicaSets, and those of a Deployment are not needed.
            let is_known = has(kind) || kind == "ReplicaSet" && has("Deployment");
            if self.absent.contains(kind) && !is_known {
                let or_deployments = if kind == "ReplicaSet" { " or Deployments" } else { "" };
                let kinds = format!("{kind}s{or_deployments}");
                self.found.lacking.insert((Gap::Kind { kinds, reason: None }, None));
            }
        }
        for identity in self.cluster.conflicting_duplicates.iter().filter(|identity| is_looked_at(identity)) {
            self.note(identity, Some("is there more than once, and differently; leave one of them".to_owned()));
        }
        let is_unknown =
            |it: &&Arc<Manifest>| !self.children.contains_key(&it.identity) && has_template_of_custom_kind(it);
        let unknown = self.cluster.objects().iter().filter(is_unknown).map(|it| it.identity.to_string()).collect();
        Subjects { all: subjects, unknown, ..self.found }
    }

    /// Adds the Pods and the parts of a workload.
    fn add_children(&mut self, subject: &mut Subject<'c>) {
        let Some(manifest) = subject.manifest.filter(|it| it.identity.kind != Resource::Pod.kind()) else { return };
        let Children { nodes, waiting, leaving, parts } = self.children.remove(&manifest.identity).unwrap_or_default();
        let object = manifest.parse();
        // All other controllers no longer count Pods that leave.
        let counts_leaving = matches!(subject.kind(), "StatefulSet" | "DaemonSet");
        let pods = nodes.len() + waiting + if counts_leaving { leaving } else { 0 };
        subject.lacks_pods = expected_pods(&object, &parts, pods, self.cluster) > pods;
        (subject.nodes, subject.waits) = (nodes, waiting > 0);
        subject.nodes.sort();
        for part in parts.into_iter().filter(|part| template::makes_other_pods(&object, &part.parse())) {
            let Children { nodes, waiting, .. } = self.children.remove(&part.identity).unwrap_or_default();
            let part = Subject::new(Some(part), &subject.namespace);
            // The Pods that are lacking may belong to any of them.
            let lacks_pods = subject.lacks_pods;
            subject.parts.push(Subject { nodes, waits: waiting > 0, lacks_pods, ..part });
        }
        subject.older_template = older_template(&manifest.identity, &object, !subject.parts.is_empty());
    }

    /// Notes what is wrong with an object, if something is, so that it can't be judged.
    fn note(&mut self, identity: &Identity, problem: Option<String>) {
        let gap = problem.map(|problem| Gap::Unreadable(format!("{identity} {problem}")));
        self.found.lacking.extend(gap.map(|gap| (gap, identity.namespace.clone())));
    }
}

/// Fields of wrong types are told here: nothing that an outcome depends on may be taken to be absent.
fn check_types(manifest: &Manifest) -> Result<()> {
    let Identity { api_version, kind, .. } = &manifest.identity;
    match (api_version.as_str(), kind.as_str()) {
        ("v1", "Namespace") => manifest.typed::<core::Namespace>().map(drop),
        ("v1", "Pod") => manifest.typed::<core::Pod>().map(drop),
        ("v1", "ReplicationController") => manifest.typed::<core::ReplicationController>().map(drop),
        ("apps/v1", "Deployment") => manifest.typed::<apps::Deployment>().map(drop),
        ("apps/v1", "ReplicaSet") => manifest.typed::<apps::ReplicaSet>().map(drop),
        ("apps/v1", "StatefulSet") => manifest.typed::<apps::StatefulSet>().map(drop),
        ("apps/v1", "DaemonSet") => manifest.typed::<apps::DaemonSet>().map(drop),
        ("batch/v1", "Job") => manifest.typed::<batch::Job>().map(drop),
        ("batch/v1", "CronJob") => manifest.typed::<batch::CronJob>().map(drop),
        // Nodes, NodePools and RuntimeClasses are read as such anyway.
        _ => Ok(()),
    }
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

/// What is not known of a workload some of whose Pods are still made from the template that it had before, which is not
/// there. That of a StatefulSet stands in a ControllerRevision, and dumps have none; that of a Deployment in its older
/// ReplicaSet.
///
/// Upstream: `newVersionedStatefulSetPod` of `k8s.io/kubernetes/pkg/controller/statefulset`.
fn older_template(identity: &Identity, object: &Value, is_there: bool) -> Option<Gap> {
    let status = &object["status"];
    let (current, update) = (text(&status["currentRevision"]), text(&status["updateRevision"]));
    let partition = count(&object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
    let problem = match identity.kind.as_str() {
        "StatefulSet" if partition > 0 && !update.is_empty() && current != update => format!(
            "makes Pods below its partition from its older revision {current}, which is not looked at; finish its rollout \
             first"
        ),
        "Deployment" if !is_there && count(&status["updatedReplicas"]) < count(&status["replicas"]) => {
            "is being rolled out, and its older ReplicaSet is not there; list its ReplicaSets too".to_owned()
        }
        _ => return None,
    };
    Some(Gap::Unreadable(format!("{identity} {problem}")))
}

/// How many Pods an object says that it has.
fn pods_by_status(object: &Value) -> usize {
    let status = &object["status"];
    count(&status["replicas"]).max(count(&status["currentNumberScheduled"])).max(count(&status["active"]))
}

fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
}

/// `Rollout web`
fn kind_and_name(owner: &Identity) -> String {
    format!("{} {}", owner.kind, owner.name)
}

/// Whether objects of a resource are Pods, or have controllers that make some.
fn makes_pods(resource: Resource) -> bool {
    resource == Resource::Pod || resource.has_template() && resource != Resource::PodTemplate
}

/// The resource of an object that is a Pod, or makes some.
fn pod_maker(identity: &Identity) -> Option<Resource> {
    resource_of(&identity.api_version, &identity.kind).filter(|resource| makes_pods(*resource))
}

/// The kinds that an outcome may depend on, each with its API version.
fn kinds_looked_at() -> impl Iterator<Item = (&'static str, &'static str)> {
    let resources = Resource::all().filter(|it| makes_pods(*it) || matches!(it, Resource::Namespace | Resource::Node));
    let others = [("node.k8s.io/v1", "RuntimeClass"), ("karpenter.sh/v1", "NodePool")];
    resources.map(|resource| (resource.api_version(), resource.kind())).chain(others)
}

fn is_looked_at(Identity { api_version, kind, .. }: &Identity) -> bool {
    kinds_looked_at().any(|looked_at| looked_at == (api_version, kind))
}

/// Whether an object is of a kind that Kubernetes does not have, and makes Pods.
fn has_template_of_custom_kind(manifest: &Manifest) -> bool {
    let (group, _) = manifest.identity.api_version.split_once('/').unwrap_or_default();
    !API_GROUPS.contains(&group) && manifest.parse()["spec"]["template"]["spec"]["containers"].is_array()
}

/// What is wrong with an object that is not looked at, though it has one of Kubernetes' own kinds, spelt otherwise, of
/// another version, or written down without the rest of it, or a kind that Kubernetes does not have: it can't be judged,
/// and must not be forgotten.
fn misnamed(identity: &Identity) -> Option<String> {
    let Identity { api_version, kind, .. } = identity;
    if kind == "PartialObjectMetadata" {
        return Some("is metadata alone; list the object as a whole".to_owned());
    }
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_own = API_GROUPS.iter().any(|own| own.eq_ignore_ascii_case(group));
    if is_looked_at(identity) || !is_own || WITHOUT_EFFECT.lines().any(|known| known == kind) {
        return None;
    }
    let is_meant = |known: &&str| kind.eq_ignore_ascii_case(known) || kind.eq_ignore_ascii_case(&format!("{known}s"));
    Some(match kinds_looked_at().map(|(_, known)| known).find(is_meant) {
        Some(known) if kind == known => format!("has apiVersion {api_version}, which is not known; list it anew"),
        Some(known) => format!("has kind {kind}; it is written {known}"),
        None => format!("has kind {kind}, which {api_version} does not have; list it anew"),
    })
}

/// A ReplicaSet that makes no Pods now, and that a Deployment keeps to roll back. What other owners keep it for is not known.
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
