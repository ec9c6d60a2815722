//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes, as
//! [`Cluster`] has them; and for each namespace, its plain Pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use node_placement_policy::resource::Resource;
use serde_json::Value;

use crate::{
    cluster::{self, Cluster, Finished, Kind, LocatedGap, Owner, Pod, Problem, Unjudged, Workload},
    gap::Gap,
    input::{
        json::{list_of, text},
        manifests::{Identity, Manifest},
    },
    lists::{listed, shortened},
    webhook::{controllers::controller_reference, pods},
};

/// At most this many names of objects with the same problem are listed.
const NAMED: usize = 2;

/// A workload; a Pod without one; or the plain Pod of a namespace, which asks for nothing.
pub struct Subject<'c> {
    /// Where it is in the cluster; nothing, for a plain Pod.
    pub manifest: Option<&'c Manifest>,
    /// Its namespace.
    pub namespace: String,
    /// The kind and name of an owner that is not judged itself.
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
    /// Objects of custom kinds that contain a Pod template and have no Pods: they are not judged.
    pub unknown: Vec<String>,
}

impl<'c> Subject<'c> {
    /// Makes a subject of a manifest; or the plain Pod of a namespace.
    pub fn new(manifest: Option<&'c Manifest>, namespace: &str) -> Self {
        let (namespace, nodes, parts) = (namespace.to_owned(), vec![], vec![]);
        Self { manifest, namespace, owner: None, nodes, waits: false, lacks_pods: false, older_template: None, parts }
    }

    fn of_pod(pod: &'c Pod, cluster: &Cluster) -> Self {
        let owner = shown_owner(pod.owner.as_ref(), pod.finished.as_ref());
        Self { owner, ..Self::new(Some(&pod.json), pod.namespace()) }.with_pods([pod], cluster)
    }

    fn of_workload(workload: &'c Workload, cluster: &Cluster) -> Self {
        let namespace = workload.namespace();
        let owner = shown_owner(workload.owner.as_ref(), workload.finished.as_ref());
        let subject = Self { owner, lacks_pods: workload.lacks_pods, ..Self::new(Some(&workload.json), namespace) };
        let mut subject = subject.with_pods(workload.all_pods(), cluster);
        for revision in &workload.revisions {
            match &revision.template {
                Ok(template) => {
                    // The Pods that are lacking may belong to any of them.
                    let part = Self { lacks_pods: workload.lacks_pods, ..Self::new(Some(&template.json), namespace) };
                    subject.parts.push(part.with_pods(&revision.pods, cluster));
                }
                Err(gap) => subject.older_template = Some(Gap::Unreadable(gap.to_string())),
            }
        }
        subject
    }

    fn with_pods<'p>(mut self, pods: impl IntoIterator<Item = &'p Pod>, cluster: &Cluster) -> Self {
        for pod in pods.into_iter().filter(|pod| pod.finished.is_none()) {
            self.waits |= pod.is_standing();
            let node = pod.node.as_ref().filter(|node| !cluster.is_gone(node));
            self.nodes.extend(node.map(ToString::to_string));
        }
        self.nodes.sort();
        self
    }

    /// Returns its kind; empty for a plain Pod.
    pub fn kind(&self) -> &str {
        self.manifest.map(|manifest| manifest.identity.kind.as_str()).unwrap_or_default()
    }

    /// Returns its name; empty for a plain Pod.
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
    /// Returns what is judged of a cluster. In whatever order it is listed, the order is the same.
    pub fn new(cluster: &'c Cluster) -> Self {
        let workloads = cluster.workloads.iter().map(|workload| Subject::of_workload(workload, cluster));
        let pods = cluster.pods.iter().map(|pod| Subject::of_pod(pod, cluster));
        let mut all: Vec<Subject<'_>> = workloads.chain(pods).collect();
        all.sort_by_cached_key(|it| (it.namespace.clone(), it.kind().to_owned(), it.name().to_owned()));
        all.extend(cluster.namespaces.keys().map(|name| Subject::new(None, name)));
        Self {
            all,
            namespaces: cluster.namespaces.keys().cloned().collect(),
            lacking: lacking(&cluster.gaps),
            unknown: cluster.unjudged.iter().map(shown_unjudged).collect(),
        }
    }
}

/// Returns what is lacking. Objects of one kind with the same problem are one gap.
fn lacking(gaps: &[LocatedGap]) -> BTreeSet<(Gap, Option<String>)> {
    let mut unusable: BTreeMap<(&Option<String>, &str, &Problem), Vec<&Identity>> = BTreeMap::new();
    let mut lacking = BTreeSet::new();
    for LocatedGap { gap, namespace } in gaps {
        match gap {
            cluster::Gap::Unusable(identity, problem) => {
                unusable.entry((namespace, &identity.kind, problem)).or_default().push(identity);
            }
            cluster::Gap::Owners(kind) => {
                // A Pod is found by the name of its Deployment, too.
                let is_replica_set = *kind == Kind::Of(Resource::ReplicaSet);
                let kinds = format!("{kind}s{}", if is_replica_set { " or Deployments" } else { "" });
                lacking.insert((Gap::Kind { kinds, reason: None }, namespace.clone()));
            }
            gap => {
                lacking.insert((Gap::Unreadable(gap.to_string()), namespace.clone()));
            }
        }
    }
    for ((namespace, kind, problem), identities) in unusable {
        let text = match identities.as_slice() {
            [identity] => format!("{identity} {}", problem.of(identity)),
            identities => {
                let names: Vec<String> = identities.iter().map(|identity| identity.name.clone()).collect();
                let names = shortened(&names, NAMED).unwrap_or_else(|| listed(&names));
                let problem = identities.first().map(|identity| problem.of(identity)).unwrap_or_default();
                format!("{} {kind}s ({names}): each {problem}", identities.len())
            }
        };
        lacking.insert((Gap::Unreadable(text), namespace.clone()));
    }
    lacking
}

/// `Rollout web`; `TaskRun a and 11 more, finished`
fn shown_owner(owner: Option<&Owner>, finished: Option<&Finished>) -> Option<String> {
    let owner = owner?;
    Some(match finished {
        None => owner.to_string(),
        Some(Finished { others: 0 }) => format!("{owner}, finished"),
        Some(Finished { others }) => format!("{owner}, and {others} more of {}, finished", owner.kind),
    })
}

/// `Rollout blue/web (pool=shared)`: with what its Pods would request of nodes.
fn shown_unjudged(Unjudged { owner, namespace, specs }: &Unjudged) -> String {
    let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let selectors: BTreeSet<String> = specs
        .iter()
        .flat_map(|spec| spec.node_selector.iter().flatten())
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let selectors: Vec<String> = selectors.into_iter().collect();
    let requested = if selectors.is_empty() { String::new() } else { format!(" ({})", selectors.join(", ")) };
    format!("{} {namespace}{}{requested}", owner.kind, owner.name)
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
        "Pod" => pods::is_finished(object),
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
        || object["kind"] == Resource::Pod.kind() && pods::is_mirror(object)
        || object["metadata"]["deletionTimestamp"].is_string()
}
