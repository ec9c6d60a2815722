//! Which rules hold in a namespace, where its Pods can run, and how the rules apply to one of them.

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::input::json::{list_of, text};
use crate::requests::{delivery::delivery, pod};
use crate::{
    Evaluation, Identity, ManagedKeys, Manifests, Policy, SettingsFile,
    engine::native::Requirement,
    namespace_rules::{NamespaceRules, namespace_rules},
    preview::scheduler::{keeps_away, matching_nodes},
    preview::{gets, trial},
};

/// All there is to say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub namespace: String,
    /// Why the policy is not asked about its Pods, if so.
    pub not_sent: Option<String>,
    #[serde(flatten)]
    pub rules: NamespaceRules,
    /// What becomes of a Pod that asks for nothing.
    pub new_pod: NewPod,
    /// The nodes that such a Pod may run on.
    pub nodes: Vec<String>,
    /// How many there are.
    pub nodes_in_all: usize,
    /// Nodes that it would match, but whose taints it does not tolerate: name and taint.
    pub tainted: Vec<(String, String)>,
    /// What could not be read.
    pub unknown: Vec<String>,
    pub pod: Option<PodExplanation>,
}

/// What becomes of a Pod that is created now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewPod {
    pub accepted: bool,
    pub message: Option<String>,
    pub warnings: Vec<String>,
    /// What it gets.
    pub gets: Vec<String>,
}

/// A Pod that is there.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodExplanation {
    pub name: String,
    /// Each requirement that is demanded, and whether the Pod has it.
    pub has: Vec<(String, bool)>,
    /// Where it runs.
    pub node: Option<String>,
    /// What is demanded of its node, and the node does not meet.
    pub unmet: Vec<String>,
    /// What becomes of it when it is created again.
    pub again: NewPod,
}

/// Explains a namespace of a cluster, and one of its Pods.
///
/// # Errors
/// The Pod is not there, or the policy failed to answer.
pub fn explain(
    policy: &Policy,
    file: &SettingsFile,
    cluster: &Manifests,
    namespace: &str,
    pod: Option<&str>,
) -> Result<Explanation> {
    let there = cluster.namespace(namespace);
    let rules = namespace_rules(&file.typed, namespace, there.unwrap_or(&Value::Null));
    let request = trial::request(namespace, Value::Null);
    let evaluation = policy.validate(&request, &file.settings, cluster.clone())?;
    let created = evaluation.answer.mutated_object.as_ref().unwrap_or(&request["object"]);
    let nodes = cluster.nodes().filter(|_| evaluation.answer.accepted);
    let (mut fitting, mut tainted) = (vec![], vec![]);
    for node in matching_nodes(&created["spec"], nodes) {
        let name = text(&node["metadata"]["name"]).to_owned();
        match keeps_away(&created["spec"], node) {
            Some(taint) => tainted.push((name, taint_in_words(taint))),
            None => fitting.push(name),
        }
    }
    let missing = evaluation.lookups.iter().filter(|lookup| !cluster.finds(lookup)).map(ToString::to_string);
    let pod = pod.map(|name| explain_pod(policy, file, cluster, &rules, namespace, name)).transpose()?;
    let deployment = file.policy.as_ref();
    Ok(Explanation {
        namespace: namespace.to_owned(),
        not_sent: deployment.and_then(|deployment| delivery(deployment, &request, there).kept_away()),
        new_pod: NewPod::of(&evaluation),
        nodes: fitting,
        nodes_in_all: cluster.nodes().count(),
        tainted,
        unknown: missing.collect(),
        pod,
        rules,
    })
}

fn explain_pod(
    policy: &Policy,
    file: &SettingsFile,
    cluster: &Manifests,
    rules: &NamespaceRules,
    namespace: &str,
    name: &str,
) -> Result<PodExplanation> {
    let identity = Identity {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    };
    let object = cluster.find(&identity).with_context(|| format!("there is no {identity}"))?;
    let node = object["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
    let labels = node.and_then(|node| cluster.node(node)).map(|node| &node["metadata"]["labels"]);
    let (mut has, mut unmet) = (vec![], vec![]);
    for requirement in rules
        .demands
        .iter()
        .filter_map(|demand| demand.selector())
        .flat_map(|selector| selector.requirements().to_vec())
    {
        if labels.is_some_and(|labels| !requirement.accepts(labels[requirement.key()].as_str())) {
            unmet.push(requirement.to_string());
        }
        has.push((requirement.to_string(), asks_for(&object["spec"], &requirement)));
    }
    let owner = crate::requests::owner::Owner::of(object, cluster).filter(|owner| owner.kind != "Node");
    let request = pod::creation(object, owner.as_ref(), &ManagedKeys::of(&file.typed), cluster);
    let again = policy.validate(&request, &file.settings, cluster.clone())?;
    let node = node.map(str::to_owned);
    Ok(PodExplanation { name: name.to_owned(), has, node, unmet, again: NewPod::of(&again) })
}

/// Whether a Pod itself asks for what is demanded; of its node affinity, whether every term says something of the label.
fn asks_for(spec: &Value, requirement: &Requirement) -> bool {
    let key = requirement.key();
    if let Some(value) = spec["nodeSelector"].get(key) {
        return requirement.accepts(value.as_str());
    }
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let mut terms = list_of(&required["nodeSelectorTerms"]).iter();
    let has_expression =
        |term: &Value| list_of(&term["matchExpressions"]).iter().any(|expression| expression["key"] == key);
    terms.len() > 0 && terms.all(has_expression)
}

impl NewPod {
    fn of(evaluation: &Evaluation) -> Self {
        let answer = &evaluation.answer;
        Self {
            accepted: answer.accepted,
            message: answer.message.clone().filter(|_| !answer.accepted),
            warnings: answer.warnings.clone().unwrap_or_default(),
            gets: gets(evaluation),
        }
    }
}

/// `key=value:Effect`
pub fn taint_in_words(taint: &Value) -> String {
    let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
    if value.is_empty() { format!("{key}:{effect}") } else { format!("{key}={value}:{effect}") }
}
