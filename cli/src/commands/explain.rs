use anyhow::{Result, bail};
use clap::Args;

use super::{
    Format, Outcome,
    input::{AskedCluster, Engine, Settings},
};
use crate::{
    explain::{Explanation, NewPod, PodExplanation, explain},
    input::kubectl::{Kubectl, Listed},
    output::paper::Paper,
    preview::names,
};

/// Show which rules hold in a namespace and why, where its Pods can run, and how the rules apply to a Pod
#[derive(Args)]
#[command(after_help = "Examples:
  kubectl node-placement explain -n team-blue -s settings.yml
  kubectl node-placement explain -n team-blue pod/web-5d9c6b7f8-hkq2d -s settings.yml
  kubectl node-placement explain -n team-blue -s settings.yml -c cluster.yml -o json")]
pub struct Explain {
    /// The namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: String,
    /// A Pod of it
    #[arg(value_name = "pod/NAME")]
    pod: Option<String>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    cluster: AskedCluster,
    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    engine: Engine,
}

impl Explain {
    pub fn run(&self, paper: &mut Paper) -> Result<Outcome> {
        let pod = self.pod.as_deref().map(pod_name).transpose()?;
        let policy = self.engine.policy()?;
        let file = self.settings.read(&policy)?;
        let listed = self.cluster.get(|kubectl| self.ask(kubectl, pod))?;
        if let Some(gone) = listed.unreadable.iter().find(|unreadable| unreadable.is_not_found) {
            bail!("{}; kubectl get {} lists those that are there", gone.reason, gone.resource);
        }
        let explanation = explain(&policy, &file, &listed.manifests, &self.namespace, pod)?;
        let refused = match &explanation.pod {
            Some(pod) => !pod.again.accepted,
            None => !explanation.new_pod.accepted && explanation.unknown.is_empty(),
        };
        match self.output {
            Format::Text => tell(&explanation, &listed, paper),
            format => paper.data(format, &serde_json::to_value(&explanation)?)?,
        }
        Ok(if refused { Outcome::Rejected } else { Outcome::Accepted })
    }

    /// The Namespace and its Pods with what made them, all Nodes.
    fn ask(&self, kubectl: &Kubectl, pod: Option<&str>) -> Result<Listed> {
        let namespace = self.namespace.as_str();
        let mut asked = vec![vec!["namespaces", namespace], vec!["nodes"]];
        if let Some(pod) = pod {
            asked.push(vec!["pods", pod, "--namespace", namespace]);
            for owners in ["replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "deployments.apps"]
            {
                asked.push(vec![owners, "--namespace", namespace]);
            }
            asked.push(vec!["runtimeclasses.node.k8s.io"]);
        }
        kubectl.get(&asked)
    }
}

/// `pod/web`, `pods/web`, `po/web`.
fn pod_name(written: &str) -> Result<&str> {
    match written.split_once('/') {
        Some(("pod" | "pods" | "po", name)) => Ok(name),
        Some((kind, _)) => bail!("expected pod/NAME; found a {kind}"),
        None => bail!("expected pod/NAME; found {written:?}: say pod/{written}"),
    }
}

fn tell(explanation: &Explanation, listed: &Listed, paper: &mut Paper) {
    let Explanation { namespace, rules, .. } = explanation;
    paper.heading(&format!("Namespace {namespace}"));
    if let Some(reason) = &explanation.not_sent {
        paper.item(&format!("its Pods are not sent to the policy: {reason}"));
    }
    for what in &explanation.unknown {
        paper.item(&format!("unknown: there is no {what}"));
    }
    for refused in &listed.unreadable {
        paper.item(&format!("unknown: {}", refused.reason));
    }
    if !explanation.unknown.is_empty() {
        return;
    }
    if !rules.entries.is_empty() {
        paper.gap();
        paper.heading("Which entry holds");
    }
    for entry in &rules.entries {
        let why =
            entry.because.as_ref().map_or_else(|| "holds".to_owned(), |because| format!("does not hold: {because}"));
        paper.item(&format!("placement.namespaces[{}] ({}) {why}", entry.position, entry.about));
    }
    if rules.entries.iter().all(|entry| !entry.holds) && !rules.entries.is_empty() {
        paper.item("no entry holds for this namespace");
    }
    paper.gap();
    paper.heading("What is demanded");
    for demand in rules.demands.iter().chain(&rules.rules) {
        let text = if demand.text.is_empty() { "nothing" } else { &demand.text };
        paper.item(&format!("{}: {text}", demand.kind));
        paper.item(&format!("    from {}", demand.origin));
        if let Some(problem) = &demand.problem {
            paper.item(&format!("    {problem}: requests that need it are rejected"));
        }
    }
    if rules.demands.is_empty() && rules.rules.is_empty() {
        paper.item("nothing");
    }
    tell_of_new_pod("A Pod that asks for nothing", &explanation.new_pod, paper);
    tell_of_nodes(explanation, paper);
    if let Some(pod) = &explanation.pod {
        tell_of_pod(pod, paper);
    }
}

fn tell_of_new_pod(what: &str, pod: &NewPod, paper: &mut Paper) {
    paper.gap();
    paper.heading(what);
    match (&pod.message, pod.gets.is_empty()) {
        (Some(message), _) => paper.item(&format!("is rejected: {message}")),
        (None, true) => paper.item("stays as it is"),
        (None, false) => paper.item(&format!("gets {}", pod.gets.join("; "))),
    }
    for warning in &pod.warnings {
        paper.item(&format!("warning: {warning}"));
    }
}

/// So many names are enough.
const SHOWN: usize = 20;

fn tell_of_nodes(explanation: &Explanation, paper: &mut Paper) {
    let Explanation { nodes, nodes_in_all, tainted, .. } = explanation;
    if !explanation.new_pod.accepted {
        return;
    }
    if nodes.is_empty() {
        paper.item(&format!("runs on none of {nodes_in_all} nodes: it waits"));
    } else {
        paper.item(&format!("runs on {} of {nodes_in_all} nodes: {}", nodes.len(), names(nodes, SHOWN)));
    }
    for (node, taint) in tainted.iter().take(SHOWN) {
        paper.item(&format!("does not tolerate the taint {taint} of {node}"));
    }
}

fn tell_of_pod(pod: &PodExplanation, paper: &mut Paper) {
    paper.gap();
    paper.heading(&format!("Pod {}", pod.name));
    for (requirement, has) in &pod.has {
        paper.item(&format!("{}: {requirement}", if *has { "asks for it" } else { "does not ask for it" }));
    }
    match (&pod.node, pod.unmet.is_empty()) {
        (Some(node), true) => paper.item(&format!("runs on {node}, which meets what is demanded")),
        (Some(node), false) => paper.item(&format!("runs on {node}, which does not meet {}", pod.unmet.join(","))),
        (None, _) => paper.item("is not bound to a node"),
    }
    tell_of_new_pod("If it is created again, it", &pod.again, paper);
}
