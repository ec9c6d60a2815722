//! What the policy makes of a workload and of its Pods, before anybody looks at nodes.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::placing::{PodId, Pods};
use crate::{
    engine::{
        deployed::{Deployed, Enforcement, Refusal, Reply},
        gap::Gap,
    },
    input::{json::text, manifests::Manifests, settings::ManagedKeys},
    requests::{
        admission, plain_pod, pod,
        resource::{POD, Resource},
        runtime_class, template,
    },
};

/// What the policy says to a workload and its Pods.
#[derive(Clone, Debug)]
pub enum Said {
    /// Neither is sent, and why.
    NotAsked(String),
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// One of them is rejected.
    Refused(Refusal),
    /// Both are let in.
    LetIn(LetIn),
}

/// A Pod without the policy, and with it. Several stand for one where two controllers look at it: that of DaemonSets
/// compares nodes with the template, the scheduler with the Pod.
#[derive(Clone, Debug)]
pub struct LetIn {
    /// What it asks of nodes without the policy.
    pub before: Vec<PodId>,
    /// What it asks of nodes with the policy.
    pub after: Vec<PodId>,
    /// Whether it, or its workload, gets anything.
    pub is_changed: bool,
    /// Whether it asks for other nodes than before.
    pub is_moved: bool,
}

/// Asks about one workload after the other, and notes what their Pods ask for.
pub struct Asking<'p> {
    deployed: &'p Deployed<'p>,
    cluster: &'p Manifests,
    managed: &'p ManagedKeys,
    /// What the Pods ask for.
    pub pods: Pods,
}

impl<'p> Asking<'p> {
    /// Of a policy in front of a cluster, that manages these keys of Pods.
    pub fn new(deployed: &'p Deployed<'p>, cluster: &'p Manifests, managed: &'p ManagedKeys) -> Self {
        Self { deployed, cluster, managed, pods: Pods::default() }
    }

    /// About a workload, or a Pod without one.
    ///
    /// # Errors
    /// It is no such object, or the policy failed to answer.
    pub fn about(&mut self, object: &Value, enforcement: Enforcement) -> Result<Said> {
        let resource =
            Resource::of(text(&object["apiVersion"]), text(&object["kind"])).context("an object that makes Pods")?;
        if resource == POD {
            template::check_pod(object, "")?;
            let mut request = pod::creation(object, None, self.managed, self.cluster);
            runtime_class::merge(&mut request["object"]["spec"], self.cluster);
            return self.about_pod(request, enforcement);
        }
        template::check(object)?;
        let created = self.deployed.ask(admission::of(resource, object), enforcement)?;
        let after = match &created {
            Reply::LetIn(Some(after)) => after,
            _ => object,
        };
        let is_daemon_set = resource.kind == "DaemonSet";
        let before = template::creation_from(object, self.cluster);
        let template = if is_daemon_set { template::creation_from(after, self.cluster) } else { None };
        let made = match is_daemon_set {
            // The policy does not look at which node it is.
            true => template::creation_on(after, "any", self.cluster),
            false => template::creation_from(after, self.cluster),
        };
        let (Some(before), Some(made)) = (before, made) else {
            return Ok(Said::Unknown(Gap::Unreadable(format!("{} has no Pod template", resource.kind))));
        };
        let mut pod = made["object"].clone();
        let mut made_spec = pod["spec"].clone();
        let reply = self.deployed.ask(made, enforcement)?;
        if let Some(said) = self.without_nodes(&created, &reply, &pod["spec"]) {
            return Ok(said);
        }
        let is_changed = matches!(created, Reply::LetIn(Some(_))) || matches!(reply, Reply::LetIn(Some(_)));
        if let Reply::LetIn(Some(completed)) = reply {
            pod = completed;
        }
        let before = self.pods.add(&before["object"]["spec"], self.cluster)?;
        let Some(template) = template else {
            let after = self.pods.add(&pod["spec"], self.cluster)?;
            let is_moved = self.pods.ask_for_other_nodes(before, after);
            return Ok(Said::LetIn(LetIn { before: vec![before], after: vec![after], is_changed, is_moved }));
        };
        unpin(&mut made_spec);
        unpin(&mut pod["spec"]);
        let template = self.pods.add(&template["object"]["spec"], self.cluster)?;
        let made = self.pods.add(&made_spec, self.cluster)?;
        let after = self.pods.add(&pod["spec"], self.cluster)?;
        let is_moved = self.pods.ask_for_other_nodes(before, template) || self.pods.ask_for_other_nodes(made, after);
        Ok(Said::LetIn(LetIn { before: vec![before], after: vec![template, after], is_changed, is_moved }))
    }

    /// About a Pod in `namespace` that asks for nothing.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn about_plain_pod(&mut self, namespace: &str, enforcement: Enforcement) -> Result<Said> {
        self.about_pod(plain_pod::creation(namespace), enforcement)
    }

    fn about_pod(&mut self, request: Value, enforcement: Enforcement) -> Result<Said> {
        let mut pod = request["object"].clone();
        let before = self.pods.add(&pod["spec"], self.cluster)?;
        let reply = self.deployed.ask(request, enforcement)?;
        let not_sent = Reply::NotSent(String::new());
        if let Some(said) = self.without_nodes(&not_sent, &reply, &pod["spec"]) {
            return Ok(said);
        }
        let is_changed = matches!(reply, Reply::LetIn(Some(_)));
        if let Reply::LetIn(Some(completed)) = reply {
            pod = completed;
        }
        let after = self.pods.add(&pod["spec"], self.cluster)?;
        let is_moved = self.pods.ask_for_other_nodes(before, after);
        Ok(Said::LetIn(LetIn { before: vec![before], after: vec![after], is_changed, is_moved }))
    }

    /// What is said whatever nodes there are.
    fn without_nodes(&self, object: &Reply, pod: &Reply, spec: &Value) -> Option<Said> {
        if let (Reply::NotSent(of_object), Reply::NotSent(of_pod)) = (object, pod) {
            let reason = if of_object.is_empty() { of_pod } else { of_object };
            return Some(Said::NotAsked(reason.clone()));
        }
        if runtime_class::missing(spec, self.cluster).is_some() {
            let name = text(&spec["runtimeClassName"]).to_owned();
            return Some(Said::Unknown(Gap::Object { kind: "RuntimeClass".to_owned(), name }));
        }
        let replies = [object, pod];
        let refused = replies.iter().find_map(|reply| match reply {
            Reply::Refused(refusal) => Some(Said::Refused(refusal.clone())),
            _ => None,
        });
        let unknown = || {
            replies.iter().find_map(|reply| match reply {
                Reply::Unknown(gap) => Some(Said::Unknown(gap.clone())),
                _ => None,
            })
        };
        refused.or_else(unknown)
    }
}

/// Takes away the node that the DaemonSet controller names, as it does it for each node.
fn unpin(spec: &mut Value) {
    let affinity = &mut spec["affinity"]["nodeAffinity"];
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let Some(terms) = affinity[required]["nodeSelectorTerms"].as_array_mut() else { return };
    for term in terms.iter_mut().filter_map(Value::as_object_mut) {
        term.remove("matchFields");
    }
    let is_empty = |term: &Value| term["matchExpressions"].as_array().is_none_or(Vec::is_empty);
    if terms.iter().all(is_empty) {
        affinity[required] = json!(null);
    }
}
