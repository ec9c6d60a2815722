//! What is judged: every workload that makes Pods, and every Pod that no workload of the cluster makes, as
//! [`Cluster`] has them; and for each namespace, its plain Pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::ties::Ties;
use crate::{
    cluster::{
        Cluster, Finished, Gap, LocatedGap, Owner, Pod, Problem, Template, Unjudged, Workload,
        manifests::{Identity, Manifest},
    },
    places::volumes::Volumes,
};

/// What a subject is.
#[derive(Clone, Copy)]
pub enum What<'c> {
    /// A workload.
    Workload(&'c Workload),
    /// A ReplicaSet or Job of a workload, which makes Pods from an older template.
    Revision(&'c Template),
    /// A Pod without a workload.
    Pod(&'c Pod),
    /// A Pod of a workload, which waits for a node. It is not created again.
    Standing(&'c Pod, &'c Workload),
    /// The plain Pod of a namespace.
    Plain,
}

/// A workload; a Pod; or the plain Pod of a namespace, which requests nothing.
pub struct Subject<'c> {
    /// What it is.
    pub what: What<'c>,
    /// Its namespace.
    pub namespace: String,
    /// The kind and name of an owner that is not judged itself; of a Pod that waits, of its workload.
    pub owner: Option<String>,
    /// The node of each of its Pods that runs.
    pub nodes: Vec<String>,
    /// Whether it says that it has more Pods than the cluster as given has.
    pub lacks_pods: bool,
    /// What is not known of the template that some of its Pods are still made from, if they are.
    pub older_template: Option<Gap>,
    /// Its ReplicaSets or Jobs that make other Pods than itself: from an older template.
    pub parts: Vec<Self>,
    /// Its Pods that wait for a node.
    pub standing: Vec<Self>,
    /// What its Pods need of nodes together, or by their volumes.
    pub ties: Ties<'c>,
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
    fn new(what: What<'c>, namespace: &str) -> Self {
        Self {
            what,
            namespace: namespace.to_owned(),
            owner: None,
            nodes: vec![],
            lacks_pods: false,
            older_template: None,
            parts: vec![],
            standing: vec![],
            ties: Ties::default(),
        }
    }

    fn of_pod(pod: &'c Pod, cluster: &Cluster, volumes: &'c Volumes) -> Self {
        let owner = shown_owner(pod.owner.as_ref(), pod.finished.as_ref());
        let ties = Ties::of_pod(pod, volumes);
        Self { owner, ties, nodes: nodes([pod], cluster), ..Self::new(What::Pod(pod), pod.namespace()) }
    }

    fn of_workload(workload: &'c Workload, cluster: &Cluster, volumes: &'c Volumes) -> Self {
        let namespace = workload.namespace();
        let mut subject = Self::new(What::Workload(workload), namespace);
        subject.owner = shown_owner(workload.owner.as_ref(), workload.finished.as_ref());
        subject.lacks_pods = workload.lacks_pods;
        subject.nodes = nodes(workload.all_pods(), cluster);
        subject.ties = Ties::of_workload(workload, cluster, volumes);
        for pod in workload.all_pods().filter(|pod| pod.is_standing()) {
            let owner = Some(format!("{} {}", workload.json.identity.kind, workload.name()));
            subject.standing.push(Self { owner, ..Self::new(What::Standing(pod, workload), namespace) });
        }
        for revision in &workload.revisions {
            match &revision.template {
                Ok(template) => {
                    let mut part = Self::new(What::Revision(template), namespace);
                    // The Pods that are lacking may belong to any of them.
                    part.lacks_pods = workload.lacks_pods;
                    part.nodes = nodes(&revision.pods, cluster);
                    subject.parts.push(part);
                }
                Err(gap) => subject.older_template = Some(gap.clone()),
            }
        }
        subject
    }

    /// Returns where it is in the cluster; nothing, for a plain Pod.
    pub fn manifest(&self) -> Option<&'c Manifest> {
        match self.what {
            What::Workload(workload) => Some(&workload.json),
            What::Revision(template) => Some(&template.json),
            What::Pod(pod) | What::Standing(pod, _) => Some(&pod.json),
            What::Plain => None,
        }
    }

    /// Returns whether it is the plain Pod of a namespace.
    pub const fn is_plain(&self) -> bool {
        matches!(self.what, What::Plain)
    }

    /// Returns whether it is a Pod that waits for a node.
    pub const fn is_standing(&self) -> bool {
        matches!(self.what, What::Pod(pod) | What::Standing(pod, _) if pod.is_standing())
    }

    /// Returns whether it is a Pod with scheduling gates.
    pub const fn is_gated(&self) -> bool {
        matches!(self.what, What::Pod(pod) | What::Standing(pod, _) if pod.is_gated)
    }

    /// Returns its kind; empty for a plain Pod.
    pub fn kind(&self) -> &str {
        self.manifest().map(|manifest| manifest.identity.kind.as_str()).unwrap_or_default()
    }

    /// Returns its name; empty for a plain Pod.
    pub fn name(&self) -> &str {
        self.manifest().map(|manifest| manifest.identity.name.as_str()).unwrap_or_default()
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.manifest() {
            Some(manifest) => manifest.identity.fmt(f),
            None => write!(f, "a new Pod in {}", self.namespace),
        }
    }
}

impl<'c> Subjects<'c> {
    /// Returns what is judged of a cluster. In whatever order it is listed, the order is the same.
    pub fn new(cluster: &'c Cluster, volumes: &'c Volumes) -> Self {
        let workloads = cluster.workloads.iter().map(|workload| Subject::of_workload(workload, cluster, volumes));
        let pods = cluster.pods.iter().map(|pod| Subject::of_pod(pod, cluster, volumes));
        let mut all: Vec<Subject<'_>> = workloads.chain(pods).collect();
        all.sort_by_cached_key(|it| (it.namespace.clone(), it.kind().to_owned(), it.name().to_owned()));
        all.extend(cluster.namespaces.iter().map(|name| Subject::new(What::Plain, name)));
        Self {
            all,
            namespaces: cluster.namespaces.clone(),
            lacking: lacking(&cluster.gaps),
            unknown: cluster.unjudged.iter().map(shown_unjudged).collect(),
        }
    }
}

/// Returns the node of each Pod that runs, sorted.
fn nodes<'p>(pods: impl IntoIterator<Item = &'p Pod>, cluster: &Cluster) -> Vec<String> {
    let running = pods.into_iter().filter(|pod| pod.finished.is_none()).filter_map(|pod| pod.node.as_ref());
    let mut nodes: Vec<String> = running.filter(|node| !cluster.is_gone(node)).map(ToString::to_string).collect();
    nodes.sort();
    nodes
}

/// Returns what is lacking. Objects of one kind with the same problem are one gap.
fn lacking(gaps: &[LocatedGap]) -> BTreeSet<(Gap, Option<String>)> {
    let mut unusable: BTreeMap<(&Option<String>, &str, &Problem), Vec<Identity>> = BTreeMap::new();
    let mut lacking = BTreeSet::new();
    for LocatedGap { gap, namespace } in gaps {
        let Gap::Unusable(identities, problem) = gap else {
            lacking.insert((gap.clone(), namespace.clone()));
            continue;
        };
        for identity in identities {
            unusable.entry((namespace, &identity.kind, problem)).or_default().push(identity.clone());
        }
    }
    for ((namespace, _, problem), identities) in unusable {
        lacking.insert((Gap::Unusable(identities, problem.clone()), namespace.clone()));
    }
    lacking
}

/// Returns `Rollout web`; `TaskRun a and 11 more, finished`.
fn shown_owner(owner: Option<&Owner>, finished: Option<&Finished>) -> Option<String> {
    let owner = owner?;
    Some(match finished {
        None => owner.to_string(),
        Some(Finished { others: 0 }) => format!("{owner}, finished"),
        Some(Finished { others }) => format!("{owner}, and {others} more of {}, finished", owner.kind),
    })
}

/// Returns `Rollout blue/web (pool=shared)`: with what its Pods would request of nodes.
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
