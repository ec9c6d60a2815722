//! What holds in a namespace, and where its Pods run, wait, or are refused.
//!
//! - [`subject`]: whom somebody asks about
//! - [`created`]: what the policy makes of it
//! - [`fit`]: which pools take it
//! - here: all of it as data, which `docs/explain.schema.json` describes

pub mod created;
pub mod fit;
pub mod subject;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use node_placement_policy::settings::{Enforcement, EntryAt, NamespaceEntry, Settings};
use serde::Serialize;
use serde_json::Value;

use self::{
    created::{Created, Fate},
    fit::{Fit, Placed},
    subject::SubjectName,
};
use crate::{
    demands::{self, DemandSort, Demands, Mismatch},
    engine::{deployed::Deployed, gap::Gap, policy::Policy},
    input::{
        json::{members, text},
        kubectl::Listed,
        manifests::Manifests,
        settings::{ManagedKeys, node_selectors},
        settings_file::SettingsFile,
    },
    scheduling::{keys::Keys, pool::Pools},
};

/// What a refusal begins with that is none yet: `enforcement` is `Warn`.
const WOULD_BE: &str = "would be rejected: ";

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
    pub entry_for: Option<String>,
    /// The `enforcement` of that entry. With `Warn`, what is demanded is neither added nor enforced.
    pub enforcement: Option<EntryEnforcement>,
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
    pub commands: Vec<String>,
    /// Whether nobody can tell what becomes of the subject.
    #[serde(skip)]
    pub is_unknown: bool,
}

/// Whether an entry is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum EntryEnforcement {
    /// It is.
    Enforce,
    /// Requests pass unchanged, with a warning.
    Warn,
}

/// An entry that does not hold.
#[derive(Debug, Serialize)]
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
    pub sort: DemandSort,
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
    let settings = placing(files);
    let rules = rules(settings, namespace, namespace_of(question)?)?;
    let deployed = Deployed::new(policy, files, cluster);
    let object = subject.map(|subject| subject.find(namespace, cluster)).transpose()?;
    let created = match object {
        Some(object) => created::again(object, &managed_keys(files), &deployed, cluster)?,
        None => created::plain_pod(namespace, &deployed)?,
    };
    let node = object.and_then(|object| object["spec"]["nodeName"].as_str());
    let not_running = object.zip(node).and_then(|(pod, node)| why_it_does_not_run(pod, node, cluster));
    let mut explanation = Explanation {
        namespace: namespace.to_owned(),
        entry: rules.entry.map(|at| at.to_string()),
        enforcement: rules.entry.map(|at| EntryEnforcement::of(at.entry)),
        entry_for: rules.entry.map(|at| about(at.entry)),
        passed_over: rules
            .passed_over
            .iter()
            .map(|(at, mismatch)| PassedOver::new(*at, mismatch))
            .chain(too_late(question, settings, &rules)?)
            .collect(),
        demands: rules.demands.iter().flat_map(Demand::read).collect(),
        subject: Subject {
            kind: subject.map(|subject| subject.kind.to_owned()),
            name: subject.map(|subject| subject.name.clone()),
            node: node.filter(|_| not_running.is_none()).map(str::to_owned),
            not_running,
            as_is: Fit::default(),
            as_new: Fit::default(),
        },
        not_asked: None,
        unknown: unreadable(listed),
        commands: vec![],
        is_unknown: false,
    };
    explanation.place(&created, settings, &rules.demands, cluster)?;
    explanation.add_commands();
    Ok(explanation)
}

/// Why a Pod that names a node does not run there.
fn why_it_does_not_run(pod: &Value, node: &str, cluster: &Manifests) -> Option<String> {
    let phase = text(&pod["status"]["phase"]);
    if ["Succeeded", "Failed"].contains(&phase) {
        return Some(format!("has ended ({phase}); it was on {node}"));
    }
    // Where no Nodes are known, nobody can tell.
    let is_missing = cluster.nodes().next().is_some() && cluster.node(node).is_none();
    is_missing.then(|| format!("names the node {node}, which does not exist, and does not run"))
}

/// The settings that place: those of the document that is not about Nodes alone.
fn placing(files: &[SettingsFile]) -> &Settings {
    static NONE: std::sync::LazyLock<Settings> = std::sync::LazyLock::new(Settings::default);
    let places = |file: &&SettingsFile| {
        let is_about_nodes = file.policy.as_ref().is_some_and(|policy| policy.is_about_nodes());
        let settings = &file.typed;
        !is_about_nodes && (settings.placement.is_some() || settings.pod_node_selector_plugin_config.is_some())
    };
    files.iter().find(places).map_or(&NONE, |file| &file.typed)
}

fn managed_keys(files: &[SettingsFile]) -> ManagedKeys {
    files
        .iter()
        .map(|file| &file.typed)
        .find(|settings| settings.node_metadata.is_some())
        .map_or_else(ManagedKeys::default, ManagedKeys::of)
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

fn rules<'s>(settings: &'s Settings, name: &'s str, namespace: &Value) -> Result<Demands<'s>> {
    let strings = |field: &str| -> BTreeMap<String, String> {
        members(&namespace["metadata"][field]).map(|(key, value)| (key.clone(), text(value).to_owned())).collect()
    };
    Demands::of(settings, name, &strings("labels"), &strings("annotations")).map_err(|error| anyhow!("{error}"))
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
        if self::rules(&alone, question.namespace, namespace)?.entry.is_some() {
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
        created: &Created,
        settings: &Settings,
        demands: &[demands::Demand<'_>],
        cluster: &Manifests,
    ) -> Result<()> {
        let as_is = Placed::read(std::slice::from_ref(&created.as_is), cluster)?;
        let as_new = match &created.as_new {
            Fate::LetIn { specs, .. } => Some(Placed::read(specs, cluster)?),
            Fate::NotAsked(_) => Some(Placed::read(std::slice::from_ref(&created.as_is), cluster)?),
            Fate::Refused(_) | Fate::Unknown(_) => None,
        };
        let pools = pools_of(settings, [&as_is].into_iter().chain(&as_new), cluster)?;
        if pools.pools.is_empty() {
            self.unknown.push(Gap::Nodes.advice());
        }
        // What a Pod brought itself, and what a Pod has got, can be told apart in the latter only.
        let of_pod = if self.subject.kind.as_deref() == Some("Pod") { demands } else { &[] };
        self.subject.as_is = as_is.fit(&pools, of_pod);
        if let Some(as_new) = as_new {
            self.subject.as_new = as_new.fit(&pools, demands);
        }
        match &created.as_new {
            Fate::NotAsked(reason) => self.not_asked = Some(reason.clone()),
            Fate::Unknown(gap) => {
                self.is_unknown = true;
                self.unknown.push(gap.advice());
            }
            Fate::Refused(message) => self.subject.as_new.refused = Some(message.clone()),
            Fate::LetIn { would_be_refused, .. } => {
                let refused = would_be_refused.as_ref().map(|message| format!("{WOULD_BE}{message}"));
                self.subject.as_new.refused = refused;
            }
        }
        Ok(())
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
    pools_of(placing(files), pods, cluster)
}

fn pools_of<'p>(settings: &Settings, pods: impl IntoIterator<Item = &'p Placed>, cluster: &Manifests) -> Result<Pools> {
    let mut keys = keys_of(settings);
    pods.into_iter().flat_map(|pod| &pod.constraints).for_each(|pod| keys.add(pod));
    Pools::of(cluster, &keys)
}

/// The labels that the settings name.
fn keys_of(settings: &Settings) -> Keys {
    let selectors = node_selectors(settings);
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

impl EntryEnforcement {
    fn of(entry: &NamespaceEntry) -> Self {
        match entry.enforcement {
            Enforcement::Enforce => Self::Enforce,
            Enforcement::Warn => Self::Warn,
        }
    }
}

impl Demand {
    /// A node selector is one demand for each label; a list of tolerations is one.
    fn read(demanded: &demands::Demand<'_>) -> Vec<Self> {
        let source = demanded.source.path();
        let problem = demanded.problem.as_ref().map(|rejection| rejection.message());
        let requirements = match demanded.sort {
            DemandSort::Required if !demanded.selector.is_empty() => {
                demanded.selector.requirements().iter().map(ToString::to_string).collect()
            }
            _ => vec![demanded.text.clone()],
        };
        let sort = demanded.sort;
        let demand = |requirement| Self { sort, requirement, source: source.clone(), problem: problem.clone() };
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
