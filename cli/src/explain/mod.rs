//! What holds in a namespace, and where its Pods run, wait, or are refused.
//!
//! - [`subject`]: whom somebody asks about
//! - [`fit`]: which pools take it
//! - here: all of it as data, which `docs/explain.schema.json` describes

pub mod fit;
pub mod subject;

use anyhow::{Context, Result, bail};
use node_placement_policy::settings::{Enforcement, EntryAt, NamespaceEntry, Settings};
use serde::Serialize;
use serde_json::Value;

use self::{
    fit::{Fit, Placed, Sourced, in_policy},
    subject::SubjectName,
};
use crate::{
    demands::{DemandKind, Demands, Mismatch},
    engine::{
        creation::{Created, Creation, LetIn, pod_of},
        deployed::{Deployed, Enforcement as Enforced, PodName, Reply},
        gap::Gap,
        namespace_rules::{asked_about, explanation, managed_keys},
        policy::Policy,
    },
    input::{
        json::{list_of, remove, text},
        kubectl::Listed,
        manifests::Manifests,
        settings::node_selectors,
        settings_file::SettingsFile,
    },
    requests::{
        admission::is_terminating,
        owner::{controller, maker_of},
        plain_pod, pod, template,
    },
    scheduling::{keys::Keys, pool::Pools},
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
#[derive(Debug, Serialize)]
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
    /// What a DaemonSet lacks that the policy adds, and what becomes of its Pods.
    #[serde(skip)]
    pub outdated: Option<String>,
    /// As it is: of a workload, its Pods without the policy.
    pub as_is: Fit,
    /// As it would be created now.
    pub as_new: Fit,
}

/// What somebody asks.
pub struct Question<'q> {
    /// The policy.
    pub policy: &'q Policy,
    /// Its deployment.
    pub files: &'q [SettingsFile],
    /// The cluster, as far as it is known.
    pub listed: &'q Listed,
    /// The name of the namespace.
    pub namespace: &'q str,
    /// One of its Pods or workloads.
    pub subject: Option<&'q SubjectName>,
}

/// Answers.
///
/// # Errors
/// The namespace or the subject is not there, or the policy failed to answer.
pub fn explain(question: &Question<'_>) -> Result<Explanation> {
    let Question { policy, files, listed, namespace, subject } = *question;
    let cluster = &listed.manifests;
    let held = held(question)?;
    let rules = held.iter().find(|held| held.rules.entry.is_some()).or(held.first());
    let entry = rules.and_then(|held| Some((held, held.rules.entry?)));
    let demands: Vec<Sourced<'_>> = held.iter().flat_map(Held::demands).collect();
    let deployed = Deployed::new(policy, files, cluster);
    let object = subject.map(|subject| subject.find(namespace, cluster)).transpose()?;
    let creation = Creation { deployed: &deployed, cluster, managed: &managed_keys(files) };
    let trial = Trial::of(object, namespace, &creation)?;
    let node = object.and_then(|object| object["spec"]["nodeName"].as_str());
    let not_running = object.and_then(|object| why_it_does_not_run(object, node, cluster));
    let mut explanation = Explanation {
        namespace: namespace.to_owned(),
        entry: entry.map(|(held, at)| in_policy(held.policy, &at.to_string())),
        enforcement: entry.map(|(_, at)| at.entry.enforcement),
        entry_for: entry.map(|(_, at)| about(at.entry)),
        passed_over: held.iter().map(|held| held.passed_over(question)).collect::<Result<Vec<_>>>()?.concat(),
        demands: demands.iter().flat_map(Demand::read).collect(),
        subject: Subject {
            kind: subject.map(|subject| subject.kind.to_owned()),
            name: subject.map(|subject| subject.name.clone()),
            node: node.filter(|_| not_running.is_none()).map(str::to_owned),
            not_running,
            outdated: None,
            as_is: Fit::default(),
            as_new: Fit::default(),
        },
        not_asked: None,
        unknown: unreadable(listed),
        commands: vec![],
        is_unknown: false,
    };
    explanation.place(&trial, files, &demands, cluster).with_context(|| object.map(title).unwrap_or_default())?;
    explanation.leave_out_bindings(&deployed)?;
    if is_terminating(namespace_of(question)?) {
        let refused = "the namespace is being deleted, and the API server creates nothing in it".to_owned();
        explanation.subject.as_new = Fit { refused: Some(refused), ..Fit::default() };
    }
    explanation.add_commands();
    Ok(explanation)
}

/// What becomes of the subject.
struct Trial {
    /// Its Pod without the policy, as a PodSpec.
    as_is: Value,
    /// What the policy makes of it.
    as_new: Created,
    /// What would be refused if `enforcement` was not `Warn`.
    would_be_refused: Option<String>,
}

impl Trial {
    fn of(object: Option<&Value>, namespace: &str, creation: &Creation<'_>) -> Result<Self> {
        let maker = object.and_then(|object| maker_of(object, creation.cluster));
        for object in object.into_iter().chain(maker) {
            template::check(object).with_context(|| title(object))?;
        }
        let create = |enforcement| match object {
            Some(object) => creation.of(object, maker, enforcement),
            None => creation.of_plain_pod(namespace, enforcement),
        };
        let as_new = create(Enforced::AsWritten)?;
        let would_be_refused = match (&as_new, create(Enforced::Everywhere)?) {
            (Created::LetIn(_), Created::Refused(refusal)) => Some(refusal.in_words()),
            _ => None,
        };
        Ok(Self { as_is: Self::as_is(object, namespace, creation.cluster)?, as_new, would_be_refused })
    }

    fn as_is(object: Option<&Value>, namespace: &str, cluster: &Manifests) -> Result<Value> {
        let Some(object) = object else { return Ok(plain_pod::creation(namespace)["object"]["spec"].take()) };
        if object["kind"] != "Pod" {
            return Ok(pod_of(object, cluster)?["object"]["spec"].take());
        }
        let mut spec = object["spec"].clone();
        // Of a Pod that is bound nobody can tell who chose its node.
        remove(&mut spec, &["nodeName"]);
        Ok(spec)
    }

    /// Whether the policy adds something to the template of a DaemonSet: it is older than the rules.
    fn is_outdated(&self) -> bool {
        let Created::LetIn(LetIn { stages, .. }) = &self.as_new else { return false };
        stages.len() > 1 && stages.iter().any(|stage| stage.before != stage.after)
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

/// What one policy holds a namespace to.
struct Held<'q> {
    /// Its name, where several policies place.
    policy: Option<&'q str>,
    settings: &'q Settings,
    rules: Demands<'q>,
}

/// What the policies that place hold the namespace to: those that are asked about its Pods; all, if none is.
fn held<'q>(question: &Question<'q>) -> Result<Vec<Held<'q>>> {
    let Question { files, namespace, .. } = *question;
    let found = namespace_of(question)?;
    let is_one = files.iter().filter(|file| file.places()).count() == 1;
    let held = asked_about(files, namespace, Some(found)).into_iter().map(|file| {
        let policy = file.name.as_deref().filter(|_| !is_one);
        Ok(Held { policy, settings: &file.typed, rules: explanation(&file.typed, namespace, Some(found))? })
    });
    held.collect()
}

impl Held<'_> {
    fn demands(&self) -> impl Iterator<Item = Sourced<'_>> {
        self.rules.demands.iter().map(|demand| Sourced { demand, policy: self.policy })
    }

    /// The entries before the one that holds, and those after it that would hold, too.
    fn passed_over(&self, question: &Question<'_>) -> Result<Vec<PassedOver>> {
        let passed = self.rules.passed_over.iter();
        let mut passed_over: Vec<PassedOver> = passed.map(|(at, mismatch)| PassedOver::new(*at, mismatch)).collect();
        passed_over.extend(too_late(question, self.settings, &self.rules)?);
        for passed in &mut passed_over {
            passed.entry = in_policy(self.policy, &passed.entry);
        }
        Ok(passed_over)
    }
}

fn namespace_of<'q>(question: &Question<'q>) -> Result<&'q Value> {
    let Question { listed, namespace, .. } = question;
    if let Some(found) = listed.manifests.namespace(namespace) {
        return Ok(found);
    }
    match listed.unreadable.iter().find(|unreadable| unreadable.resource == "namespaces" && !unreadable.is_not_found) {
        Some(unreadable) => bail!("it can't be told what holds in {namespace}: {}", unreadable.reason),
        None => bail!("there is no Namespace {namespace}; kubectl get namespaces lists those that are there"),
    }
}

/// The entries after the one that holds which would hold for the namespace, too.
fn too_late(question: &Question<'_>, settings: &Settings, rules: &Demands<'_>) -> Result<Vec<PassedOver>> {
    let (Some(placement), Some(holding)) = (&settings.placement, rules.entry) else { return Ok(vec![]) };
    let namespace = namespace_of(question)?;
    let mut too_late = vec![];
    for (position, entry) in placement.namespaces.iter().enumerate().skip(holding.position + 1) {
        let mut alone = settings.clone();
        if let Some(placement) = &mut alone.placement {
            placement.namespaces = vec![entry.clone()];
        }
        if explanation(&alone, question.namespace, Some(namespace))?.entry.is_some() {
            let because = format!("it is for {}, and would hold, but {holding} comes before", about(entry));
            too_late.push(PassedOver { entry: EntryAt { position, entry }.to_string(), because });
        }
    }
    Ok(too_late)
}

fn unreadable(listed: &Listed) -> Vec<String> {
    let told = |unreadable: &crate::input::kubectl::Unreadable| {
        format!("{} could not be listed: {}", unreadable.resource, unreadable.reason)
    };
    listed.unreadable.iter().map(told).collect()
}

impl Explanation {
    /// Finds the pools that the Pod fits, as it is and as it would be created now.
    fn place(
        &mut self,
        trial: &Trial,
        files: &[SettingsFile],
        demands: &[Sourced<'_>],
        cluster: &Manifests,
    ) -> Result<()> {
        let as_is = Placed::read(std::slice::from_ref(&trial.as_is), cluster)?;
        let as_new = match &trial.as_new {
            Created::LetIn(let_in) => {
                // The Pod comes before what its controller sees of the template, which lacks a RuntimeClass's overhead.
                let specs: Vec<Value> = let_in.stages.iter().rev().map(|stage| stage.after.clone()).collect();
                Some(Placed::read(&specs, cluster)?)
            }
            Created::NotAsked { .. } => Some(Placed::read(std::slice::from_ref(&trial.as_is), cluster)?),
            Created::Refused(_) | Created::Unknown(_) => None,
        };
        let pools = pools_for(files, [&as_is].into_iter().chain(&as_new), cluster)?;
        if pools.pools.is_empty() {
            self.unknown.push(Gap::Nodes.advice());
        }
        // What a Pod brought itself, and what a Pod has got, can be told apart in the latter only.
        let of_pod = if self.subject.kind.as_deref() == Some("Pod") { demands } else { &[] };
        self.subject.as_is = as_is.fit(&pools, of_pod);
        if let Some(as_new) = as_new {
            self.subject.as_new = as_new.fit(&pools, demands);
        }
        if trial.is_outdated() && self.subject.as_is.pools != self.subject.as_new.pools {
            self.subject.outdated = Some(self.why_it_is_outdated(cluster));
        }
        match &trial.as_new {
            Created::NotAsked { reason, .. } => self.not_asked = Some(reason.clone()),
            Created::Unknown(gap) => {
                self.is_unknown = true;
                self.unknown.push(gap.advice());
            }
            Created::Refused(refusal) => self.subject.as_new.refused = Some(refusal.in_words()),
            Created::LetIn(_) => {
                let refused = trial.would_be_refused.as_ref().map(|message| format!("{WOULD_BE}{message}"));
                self.subject.as_new.refused = refused;
            }
        }
        Ok(())
    }

    /// The scheduler binds a Pod that waits, or one that is created now, only where the policy lets it.
    fn leave_out_bindings(&mut self, deployed: &Deployed<'_>) -> Result<()> {
        let Subject { kind, name, node, not_running, as_is, as_new, .. } = &mut self.subject;
        let pod = PodName { namespace: &self.namespace, name: name.as_deref().unwrap_or("any") };
        let refuses = |node: &str| match deployed.ask_for_binding(&pod, node, Enforced::AsWritten)? {
            Reply::Refused(refusal) => Ok(Some(refusal.message)),
            _ => Ok(None),
        };
        if kind.as_deref() == Some("Pod") && node.is_none() && not_running.is_none() {
            as_is.leave_out(refuses)?;
        }
        as_new.leave_out(refuses)
    }

    /// The controller of a DaemonSet makes Pods for all nodes that its template fits; the policy lets some of them wait.
    fn why_it_is_outdated(&self, cluster: &Manifests) -> String {
        let (namespace, name) = (&self.namespace, self.subject.name.as_deref().unwrap_or_default());
        let pods = cluster
            .objects()
            .iter()
            .filter(|object| object.identity.kind == "Pod" && object.identity.namespace.as_ref() == Some(namespace));
        let waits = |pod: &Value| {
            let is_own = controller(pod).is_some_and(|owner| owner["kind"] == "DaemonSet" && owner["name"] == name);
            is_own && pod["spec"]["nodeName"].is_null()
        };
        let waiting: Vec<String> =
            pods.filter(|pod| waits(&pod.parse())).map(|pod| pod.identity.name.clone()).collect();
        let which = if waiting.is_empty() { String::new() } else { format!(" ({})", waiting.join(", ")) };
        format!(
            "its template lacks what the policy adds, so its controller makes Pods for nodes where they wait{which}; \
             kubectl rollout restart daemonset {name} -n {namespace} adds it, and leaves Pods on the nodes that fit alone"
        )
    }

    /// Whether the subject can't be created now.
    pub fn is_refused(&self) -> bool {
        self.subject.as_new.refused.as_ref().is_some_and(|message| !message.starts_with(WOULD_BE))
    }

    /// The cluster's own events tell what nobody can compute: how full nodes are, what a volume needs.
    fn add_commands(&mut self) {
        let Subject { kind, name, node, not_running, as_is, .. } = &self.subject;
        let (Some(kind), Some(name)) = (kind, name) else { return };
        let namespace = &self.namespace;
        let waits_for_something_else =
            kind == "Pod" && node.is_none() && not_running.is_none() && as_is.pools.iter().any(|pool| pool.fits);
        if waits_for_something_else || kind != "Pod" {
            self.commands.push(format!("kubectl describe {} {name} -n {namespace}", kind.to_lowercase()));
        }
    }
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
    let mut keys = keys_of(files);
    pods.into_iter().flat_map(|pod| &pod.constraints).for_each(|pod| keys.add(pod));
    Pools::of(cluster, &keys)
}

/// The labels that the settings name.
fn keys_of(files: &[SettingsFile]) -> Keys {
    let selectors: Vec<String> =
        files.iter().filter(|file| file.places()).flat_map(|file| node_selectors(&file.typed)).collect();
    let parsed = selectors.iter().filter_map(|text| node_placement_policy::selector::parse(text).ok());
    let requirements = parsed.flat_map(|selector| selector.requirements().to_vec());
    Keys::of_labels(requirements.map(|requirement| requirement.key().to_owned()).collect::<Vec<_>>())
}

impl PassedOver {
    fn new(at: EntryAt<'_>, mismatch: &Mismatch) -> Self {
        let about = about(at.entry);
        let because = match mismatch {
            Mismatch::Name => format!("it is for {about}"),
            Mismatch::Label { asked, found: Some(value) } => {
                format!("it is for {about}, and the Namespace has {}={value}, not {asked}", asked.key())
            }
            Mismatch::Label { asked, found: None } => {
                format!("it is for {about}, and the Namespace has no label {}", asked.key())
            }
        };
        Self { entry: at.to_string(), because }
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
    fn read(sourced: &Sourced<'_>) -> Vec<Self> {
        let Sourced { demand: demanded, policy } = sourced;
        let source = in_policy(*policy, &demanded.source.path());
        let problem = demanded.problem.as_ref().map(|rejection| rejection.message());
        let requirements = match demanded.kind {
            DemandKind::Required if !demanded.selector.is_empty() => {
                demanded.selector.requirements().iter().map(ToString::to_string).collect()
            }
            _ => vec![demanded.text.clone()],
        };
        let kind = demanded.kind;
        let demand = |requirement| Self { kind, requirement, source: source.clone(), problem: problem.clone() };
        requirements.into_iter().map(demand).collect()
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
