//! What holds in a namespace, and where its Pods run, wait, or are refused.
//!
//! - [`subject`]: whom somebody asks about
//! - [`fit`]: which pools take it
//! - here: all of it as data, which `docs/explain.schema.json` describes

pub mod fit;
pub mod subject;

use std::fmt::Display;

use anyhow::{Context, Result, bail};
use node_placement_policy::{
    resource::Resource,
    settings::{Enforcement, NamespaceEntry},
};
use serde::Serialize;
use serde_json::Value;

use self::{
    fit::{Fit, Placed, Refuses},
    subject::SubjectName,
};
use crate::{
    demands::{self, DemandKind, Demands, WhyNot, asked_about},
    engine::{
        creation::{Admitted, Created, pod_of},
        policy::Policy,
        policy_chain::PolicyChain,
        reply::{Gap, Reply},
    },
    input::{
        json::{list_of, remove, text},
        kubectl::{Listed, listed_as},
        manifests::{Identity, Manifest, Manifests},
        settings_file::{SettingsFile, selected_labels},
    },
    preview::is_left_out,
    requests::{admission::is_terminating, controllers::controller_of, pod, template},
    scheduling::pool::Pools,
};

/// What a refusal begins with that is none yet: `enforcement` is `Warn`.
pub const WOULD_BE: &str = "would be rejected: ";

/// What holds in a namespace, and what becomes of one of its Pods.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name of the namespace.
    pub namespace: String,
    /// The path of the entry that holds, if one does.
    pub entry: Option<String>,
    /// What that entry is for: `namespaceSelector "tenant=blue"`.
    #[serde(skip)]
    pub entry_for: Option<String>,
    /// The `enforcement` of that entry. With `Warn`, what is demanded is neither added nor enforced.
    #[serde(skip)]
    pub enforcement: Option<Enforcement>,
    /// The other entries that say something about the namespace: those before it, and why they do not hold; and those
    /// after it that would.
    pub passed_over: Vec<PassedOver>,
    /// What is demanded, in the order in which it is decided.
    pub demands: Vec<Demand>,
    /// A Pod of the namespace, or a workload.
    pub subject: Subject,
    /// What keeps the namespace, or the subject, away from the policy, if something does.
    pub not_asked: Option<String>,
    /// What can't be told, since the cluster as given lacks something.
    pub unknown: Vec<String>,
    /// Commands that tell more.
    #[serde(skip)]
    pub commands: Vec<String>,
    /// Whether nobody can tell what becomes of the subject.
    #[serde(skip)]
    pub is_unknown: bool,
}

/// An entry that does not hold.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PassedOver {
    /// Its path.
    pub entry: String,
    /// Why.
    pub because: String,
}

/// Something that is demanded.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Demand {
    /// What it is about.
    #[serde(skip)]
    pub kind: DemandKind,
    /// What, with references filled in.
    pub requirement: String,
    /// Where: the path of a setting, or an annotation.
    pub source: String,
    /// Why it can't be met, and whatever depends on it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A Pod, or a workload.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Its kind. Nothing for a Pod that asks for nothing, which stands for all others.
    pub kind: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The node that it runs on.
    pub node: Option<String>,
    /// Why a Pod that names its node does not run there: it has ended, or there is no such node.
    pub not_running: Option<String>,
    /// Whether it is a DaemonSet that fits fewer nodes with the policy.
    #[serde(skip)]
    pub leaves_nodes: bool,
    /// As it is: of a workload, its Pods without the policy.
    pub as_is: Fit,
    /// As it would be created now.
    pub as_new: Fit,
}

/// What holds in `namespace`, and what becomes of one of its Pods or workloads; of a Pod that asks for nothing, if none
/// is named.
///
/// # Errors
/// The namespace or the subject is not there, or the policy failed to answer.
pub fn explain(
    policy: &Policy,
    files: &[SettingsFile],
    listed: &Listed,
    namespace: &str,
    subject: Option<&SubjectName>,
) -> Result<Explanation> {
    let cluster = &listed.manifests;
    let found = find(Resource::Namespace, None, namespace, listed)?;
    let object = subject.map(|subject| find(subject.resource, Some(namespace), &subject.name, listed)).transpose()?;
    let is_one = files.iter().filter(|file| file.places_pods()).count() == 1;
    let (mut entry, mut passed_over, mut demands) = (None, vec![], vec![]);
    for file in asked_about(files, namespace, Some(found)) {
        let at = |path: &dyn Display| match &file.name {
            Some(policy) if !is_one => format!("{policy}: {path}"),
            _ => path.to_string(),
        };
        let rules = Demands::of(&file.typed, namespace, Some(found))?;
        entry = entry.or(rules.entry.map(|holding| (at(&holding), holding.entry)));
        let others = rules.others.iter();
        passed_over.extend(
            others.map(|(other, why_not)| PassedOver { entry: at(other), because: because(other.entry, why_not) }),
        );
        demands.extend(rules.demands.into_iter().map(|demand| demands::Demand {
            source: at(&demand.source),
            path: demand.path.map(|path| at(&path)),
            ..demand
        }));
    }
    let unreadable = listed.unreadable.iter();
    let mut explanation = Explanation {
        namespace: namespace.to_owned(),
        entry: entry.as_ref().map(|(path, _)| path.clone()),
        entry_for: entry.as_ref().map(|(_, entry)| about(entry)),
        enforcement: entry.map(|(_, entry)| entry.enforcement),
        passed_over,
        demands: demands.iter().flat_map(Demand::read).collect(),
        subject: Subject::new(subject, object, cluster),
        not_asked: None,
        unknown: unreadable.map(|it| format!("{} could not be listed: {}", it.resource, it.reason)).collect(),
        commands: vec![],
        is_unknown: false,
    };
    let chain = PolicyChain::new(policy, files, cluster);
    let enforced = chain.enforced();
    let maker = object.and_then(|object| controller_of(object, cluster));
    for object in object.into_iter().chain(maker) {
        template::check_types(object).with_context(|| title(object))?;
    }
    let create = |chain: &PolicyChain<'_>| match object {
        Some(object) => chain.create(object, maker),
        None => chain.create_plain_pod(namespace),
    };
    let created = create(&chain)?;
    explanation.place(&chain, files, object, &created, &demands)?;
    explanation.subject.as_new.refused = refused(&created, &create(&enforced)?, "");
    for part in object.into_iter().flat_map(|object| older_parts(object, cluster)) {
        let called = format!("its {} {}: ", text(&part["kind"]), text(&part["metadata"]["name"]));
        let refused = refused(&chain.create(&part, None)?, &enforced.create(&part, None)?, &called);
        if !explanation.is_refused() && refused.is_some() {
            explanation.subject.as_new.refused = refused;
        }
    }
    if is_terminating(found) {
        let refused = "the namespace is being deleted, and the API server creates nothing in it".to_owned();
        explanation.subject.as_new.refused = Some(refused);
    }
    if explanation.is_refused() {
        let refused = explanation.subject.as_new.refused.take();
        explanation.subject.as_new = Fit { refused, ..Fit::default() };
    }
    explanation.add_commands();
    Ok(explanation)
}

/// Why something is refused, if it is, or would be were everything enforced. It may be a part of the subject.
fn refused(written: &Created, enforced: &Created, part: &str) -> Option<String> {
    match (written, enforced) {
        (Created::Refused(refusal), _) => Some(format!("{part}{}", refusal.in_words())),
        (Created::LetIn(_), Created::Refused(refusal)) => Some(format!("{WOULD_BE}{part}{}", refusal.in_words())),
        _ => None,
    }
}

/// The ReplicaSets or Jobs of a workload that still make Pods from an older template.
fn older_parts(object: &Value, cluster: &Manifests) -> Vec<Value> {
    let parts = cluster.objects().iter().filter(|part| ["ReplicaSet", "Job"].contains(&&*part.identity.kind));
    let is_older = |part: &Value| {
        controller_of(part, cluster) == Some(object) && !is_left_out(part) && template::makes_other_pods(object, part)
    };
    parts.map(Manifest::parse).filter(is_older).collect()
}

fn find<'l>(resource: Resource, namespace: Option<&str>, name: &str, listed: &'l Listed) -> Result<&'l Value> {
    let identity = Identity::new(resource.api_version(), resource.kind(), namespace, name);
    if let Some(found) = listed.manifests.find(&identity) {
        return Ok(found);
    }
    let asked = listed_as(resource);
    if let Some(unreadable) = listed.unreadable.iter().find(|it| it.resource == asked && !it.is_not_found) {
        let what = if namespace.is_some() { format!("becomes of {identity}") } else { format!("applies in {name}") };
        bail!("it can't be told what {what}: {}", unreadable.reason);
    }
    let there = namespace.map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
    bail!("there is no {identity}; kubectl get {asked}{there} lists those that are there")
}

/// The PodSpec of the subject without the policy.
fn pod_as_it_is(object: Option<&Value>, namespace: &str, cluster: &Manifests) -> Result<Value> {
    let Some(object) = object else { return Ok(pod::plain_pod_request(namespace)["object"]["spec"].take()) };
    if object["kind"] != "Pod" {
        return Ok(pod_of(object, cluster)?["object"]["spec"].take());
    }
    let mut spec = object["spec"].clone();
    // Of a Pod that is bound nobody can tell who chose its node.
    remove(&mut spec, &["nodeName"]);
    Ok(spec)
}

impl Subject {
    fn new(name: Option<&SubjectName>, object: Option<&Value>, cluster: &Manifests) -> Self {
        let node = object.and_then(|object| object["spec"]["nodeName"].as_str());
        let not_running = object.and_then(|object| why_it_does_not_run(object, node, cluster));
        Self {
            kind: name.map(|name| name.resource.kind().to_owned()),
            name: name.map(|name| name.name.clone()),
            node: node.filter(|_| not_running.is_none()).map(str::to_owned),
            not_running,
            ..Self::default()
        }
    }

    /// Whether it is a Pod that is there.
    pub fn is_pod(&self) -> bool {
        self.kind.as_deref() == Some("Pod")
    }

    /// Whether it is a Pod that the scheduler looks for a node for.
    fn is_waiting(&self) -> bool {
        self.is_pod() && self.node.is_none() && self.not_running.is_none()
    }
}

/// `Deployment team-a/web`
fn title(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// Why a Pod that names a node does not run there, or why no scheduler looks at it.
fn why_it_does_not_run(pod: &Value, node: Option<&str>, cluster: &Manifests) -> Option<String> {
    let gates: Vec<&str> = list_of(&pod["spec"]["schedulingGates"]).iter().map(|gate| text(&gate["name"])).collect();
    if !gates.is_empty() {
        return Some(format!("waits while it has spec.schedulingGates: {}", gates.join(", ")));
    }
    let node = node?;
    if pod::is_finished(pod) {
        return Some(format!("has ended ({}); it was on {node}", text(&pod["status"]["phase"])));
    }
    // Where no Nodes are known, nobody can tell.
    let is_missing = cluster.nodes().next().is_some() && cluster.node(node).is_none();
    is_missing.then(|| format!("names the node {node}, which does not exist, and does not run"))
}

impl Explanation {
    /// Finds the pools that the subject fits, as it is and as it would be created now.
    fn place(
        &mut self,
        chain: &PolicyChain<'_>,
        files: &[SettingsFile],
        object: Option<&Value>,
        created: &Created,
        demands: &[demands::Demand],
    ) -> Result<()> {
        let read = |specs: &[Value]| {
            Placed::read(specs, chain.cluster).with_context(|| object.map_or_else(|| "a Pod".to_owned(), title))
        };
        let as_is = read(&[pod_as_it_is(object, &self.namespace, chain.cluster)?])?;
        let as_new = match created {
            Created::LetIn(Admitted { after, .. }) => Some(read(after)?),
            Created::Refused(_) | Created::Unknown(_) => None,
        };
        let pools = pools_for(files, [&as_is].into_iter().chain(&as_new), chain.cluster)?;
        if pools.pools.is_empty() {
            self.unknown.push(Gap::Nodes.advice());
        }
        // What a Pod brought itself, and what a Pod has got, can be told apart in the latter only.
        let of_pod = if self.subject.is_pod() { demands } else { &[] };
        let pod = self.subject.name.as_deref().unwrap_or("any");
        let refuses = |node: &str, created: Option<&Value>| refused_binding(chain, &self.namespace, pod, node, created);
        // The scheduler binds a Pod that waits, or one that is created now, only where the policy lets it.
        let is_bound = self.subject.is_waiting().then_some(&refuses as &Refuses<'_>);
        let as_is = as_is.fit(&pools, of_pod, is_bound)?;
        let as_new = as_new.map(|as_new| as_new.fit(&pools, demands, Some(&refuses))).transpose()?;
        (self.subject.as_is, self.subject.as_new) = (as_is, as_new.unwrap_or_default());
        match created {
            Created::Unknown(gap) => {
                self.is_unknown = true;
                self.unknown.push(gap.advice());
            }
            Created::LetIn(Admitted { before, after, not_sent, .. }) => {
                self.not_asked.clone_from(not_sent);
                let Subject { as_is, as_new, .. } = &self.subject;
                let mut pools = as_is.pools.iter().zip(&as_new.pools);
                let is_daemon_set = after.len() > 1;
                self.subject.leaves_nodes =
                    is_daemon_set && before != after && pools.any(|(without, with)| without.fits && !with.fits);
            }
            Created::Refused(_) => {}
        }
        Ok(())
    }

    /// Whether the subject can't be created now.
    pub fn is_refused(&self) -> bool {
        self.subject.as_new.refused.as_ref().is_some_and(|message| !message.starts_with(WOULD_BE))
    }

    /// The cluster's own events tell what nobody can compute: how full nodes are, what a volume needs.
    fn add_commands(&mut self) {
        let Subject { name, as_is, .. } = &self.subject;
        let Some(name) = name else { return };
        let waits_for_something_else = self.subject.is_waiting() && as_is.pools.iter().any(|pool| pool.fits);
        if waits_for_something_else || !self.subject.is_pod() {
            // It takes a prefix of their names, too: a workload has no events of the scheduler.
            self.commands.push(format!("kubectl describe pod {name} -n {}", self.namespace));
        }
    }
}

/// Why the policy refuses to bind a Pod to a node; or to one that Karpenter would create, with this metadata.
fn refused_binding(
    chain: &PolicyChain<'_>,
    namespace: &str,
    pod: &str,
    node: &str,
    created: Option<&Value>,
) -> Result<Option<String>> {
    let reply = match created {
        Some(metadata) => chain.bind_to_created(namespace, pod, metadata)?,
        None => chain.bind(namespace, pod, node)?,
    };
    Ok(match reply {
        // Others may give it what its NodePool does not.
        Reply::Refused(refusal) if created.is_some() && refusal.is_about_metadata() => None,
        Reply::Refused(refusal) => Some(refusal.message),
        _ => None,
    })
}

/// The pools of a cluster, told apart by what the settings of a deployment and some Pods name.
///
/// # Errors
/// A Node or a NodePool is none.
pub fn pools_for<'p>(
    files: &[SettingsFile],
    pods: impl IntoIterator<Item = &'p Placed>,
    cluster: &Manifests,
) -> Result<Pools> {
    Pools::read(cluster, selected_labels(files), pods.into_iter().flat_map(|pod| &pod.constraints))
}

/// Why an entry does not hold.
fn because(entry: &NamespaceEntry, why_not: &WhyNot<'_>) -> String {
    let about = about(entry);
    match why_not {
        WhyNot::Name => format!("it is for {about}"),
        WhyNot::Label { asked, found: Some(value) } => {
            format!("it is for {about}, and the Namespace has {}={value}, not {asked}", asked.key())
        }
        WhyNot::Label { asked, found: None } => {
            format!("it is for {about}, and the Namespace has no label {}", asked.key())
        }
        WhyNot::EntryAbove(holding) => format!("it is for {about}, and would apply, but {holding} comes before"),
    }
}

/// `name "team-*", namespaceSelector "tenant"`
fn about(entry: &NamespaceEntry) -> String {
    let name = entry.name.as_ref().map(|name| format!("name {name:?}"));
    let selector = entry.namespace_selector.as_ref().map(|selector| format!("namespaceSelector {selector:?}"));
    name.into_iter().chain(selector).collect::<Vec<_>>().join(", ")
}

impl Demand {
    /// A node selector is one demand for each label; a list of tolerations is one.
    fn read(demand: &demands::Demand) -> Vec<Self> {
        let demands::Demand { kind, text, source, path, problem, .. } = demand;
        let mut requirements = demand.requirements();
        if *kind != DemandKind::Required || requirements.is_empty() {
            requirements = vec![text.clone()];
        }
        let source = path.as_ref().unwrap_or(source);
        let one = |requirement| Self { kind: *kind, requirement, source: source.clone(), problem: problem.clone() };
        requirements.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::output::schema::ensure_schema;

    #[test]
    fn the_schema_is_that_of_the_types() -> anyhow::Result<()> {
        ensure_schema::<super::Explanation>("docs/explain.schema.json")
    }
}
