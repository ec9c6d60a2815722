//! The policies of a deployment: which requests reach them, and what they say, one after the other.

use std::sync::Arc;

use anyhow::Result;
use node_placement_policy::decision::{Cause, CauseKind};
use serde_json::{Value, json};

use super::{
    call::Record,
    cluster::Cluster,
    gap::Gap,
    policy::{Answer, Evaluation, Policy},
};
use crate::{
    input::{
        json::text, manifests::Manifests, policy_spec::PolicySpec, settings::ManagedKeys, settings_file::SettingsFile,
    },
    requests::{
        delivery::{Delivery, delivery},
        pod,
    },
};

/// What the policies of a deployment say to a request, one after the other.
#[derive(Debug, Default)]
pub struct InTurn<'d> {
    /// Those that are asked, by their names, and what each says. Only the last one may have rejected the request.
    pub asked: Vec<(Option<&'d str>, Evaluation)>,
    /// Why no policy is asked, if none is.
    pub not_sent: Option<String>,
    /// Why nobody can tell here whether the next one is asked, if so.
    pub unknown: Option<Gap>,
}

/// What a policy-server says where a policy would change what it must not.
const MAY_NOT_MUTATE: &str =
    "The policy attempted to mutate the request, but it is currently configured to not allow mutations";

fn may_not_mutate(file: &SettingsFile) -> bool {
    file.policy.as_ref().is_some_and(|policy| policy.mutating == Some(false))
}

/// What a policy says to a request, as its policy-server hands it on.
fn evaluate(
    policy: &Policy,
    file: &SettingsFile,
    request: &Value,
    cluster: impl Cluster + 'static,
) -> Result<Evaluation> {
    let mut evaluation = policy.validate(request, &file.settings, cluster)?;
    if may_not_mutate(file) && evaluation.patch.take().is_some() {
        evaluation.record.cause = None;
        evaluation.answer = Answer { message: Some(MAY_NOT_MUTATE.to_owned()), ..Answer::default() };
    }
    Ok(evaluation)
}

impl<'d> InTurn<'d> {
    /// Asks each policy of a deployment whose rules take the request, and hands on what one has changed, up to the first
    /// that rejects it. `known` has the Namespaces; look-ups reach `cluster`.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn ask(
        policy: &Policy,
        files: impl IntoIterator<Item = &'d SettingsFile>,
        mut request: Value,
        known: &Manifests,
        cluster: impl Cluster + Clone + 'static,
    ) -> Result<Self> {
        let namespace = request["namespace"].as_str().and_then(|name| known.namespace(name));
        let mut answers = InTurn::default();
        let mut kept_away = None;
        let mut files: Vec<&SettingsFile> = files.into_iter().collect();
        // First all policies that mutate, then the others, each in the order of their names.
        // Upstream: `mutatingWebhookConfigurationManager` of `k8s.io/apiserver/pkg/admission/configuration`.
        files.sort_by_key(|file| (may_not_mutate(file), file.name.as_deref()));
        for file in files {
            let spec = file.policy.as_ref();
            let unknown = match spec.map_or(Delivery::Sent, |spec| delivery(spec, &request, namespace)) {
                Delivery::Sent => None,
                Delivery::KeptAway(reason) => {
                    kept_away.get_or_insert(reason);
                    continue;
                }
                Delivery::Unknown(_) if namespace.is_none() && request["namespace"].is_string() => {
                    Some(lacking("Namespace", request["namespace"].as_str()))
                }
                Delivery::Fails(reason) => Some(Gap::Condition(reason)),
                Delivery::Unknown(reason) => Some(Gap::Delivery(reason)),
            };
            if unknown.is_some() {
                return Ok(InTurn { unknown, ..answers });
            }
            let evaluation = evaluate(policy, file, &request, cluster.clone())?;
            let is_accepted = evaluation.answer.accepted;
            if let Some(object) = &evaluation.answer.mutated_object {
                request["object"] = object.clone();
            }
            answers.asked.push((file.name.as_deref(), evaluation));
            if !is_accepted {
                return Ok(answers);
            }
        }
        answers.not_sent = kept_away.filter(|_| answers.asked.is_empty());
        Ok(answers)
    }

    /// Whether all that are asked accept it.
    pub fn is_accepted(&self) -> bool {
        self.asked.iter().all(|(_, evaluation)| evaluation.answer.accepted)
    }

    /// The object as it is after all of them, if one answered with it.
    pub fn object(&self) -> Option<&Value> {
        self.asked.iter().rev().find_map(|(_, evaluation)| evaluation.answer.mutated_object.as_ref())
    }
}

/// The policies of a deployment, in front of a cluster: a request goes to each whose rules take it.
#[derive(Clone)]
pub struct Deployed<'p> {
    policy: &'p Policy,
    files: Vec<&'p SettingsFile>,
    /// With settings as if every entry was enforced.
    enforced: Arc<[SettingsFile]>,
    /// What its look-ups reach.
    pub cluster: &'p Manifests,
    /// The keys of Pods that it manages.
    pub managed: ManagedKeys,
}

/// Whether entries with `enforcement: Warn` are taken as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// They are.
    AsWritten,
    /// They are enforced, as all others.
    Everywhere,
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The policy is not asked, and why.
    NotSent(String),
    /// That depends on what nobody knows here.
    Unknown(Gap),
    /// It is rejected.
    Refused(Refusal),
    /// It is accepted; the object as it is then, if it was changed.
    LetIn(Option<Value>),
}

/// Why something is rejected.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What whoever asked is told.
    pub message: String,
    /// The same, as data.
    pub cause: Option<Cause>,
    /// Whether it is about the Pods of a workload that is let in itself.
    pub is_of_pods: bool,
}

/// What a refusal begins with that is not about a workload itself.
pub const PODS: &str = "its Pods are refused: ";

impl Refusal {
    /// Whether a Node lacks what node metadata needs.
    pub fn is_about_metadata(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::Metadata)
    }

    /// The message, and whose it is.
    pub fn in_words(&self) -> String {
        if self.is_of_pods { format!("{PODS}{}", self.message) } else { self.message.clone() }
    }
}

impl<'p> Deployed<'p> {
    /// The policy with the settings of `files`.
    pub fn new(policy: &'p Policy, files: &'p [SettingsFile], cluster: &'p Manifests) -> Self {
        // What only reports changes and refuses nothing; alone, it is asked as if it enforced.
        let reports = |file: &SettingsFile| file.policy.as_ref().is_some_and(PolicySpec::only_reports);
        let is_alone = files.iter().filter(|file| file.places_pods()).all(reports);
        let asked: Vec<&SettingsFile> = files.iter().filter(|file| is_alone || !reports(file)).collect();
        let writing = files.iter().find(|file| file.typed.node_metadata.is_some());
        let managed = writing.map_or_else(ManagedKeys::default, |file| ManagedKeys::of(&file.typed));
        let enforced = asked.iter().map(|file| enforced(file)).collect();
        Self { policy, files: asked, enforced, cluster, managed }
    }

    /// What becomes of a request.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn ask(&self, request: Value, enforcement: Enforcement) -> Result<Reply> {
        let files = match enforcement {
            Enforcement::AsWritten => self.files.clone(),
            Enforcement::Everywhere => self.enforced.iter().collect(),
        };
        let InTurn { asked, not_sent, unknown } =
            InTurn::ask(self.policy, files, request, self.cluster, self.cluster.clone())?;
        let is_sent = !asked.is_empty();
        let mut changed = None;
        for (_, Evaluation { answer, patch, record: Record { lookups, cause, .. } }) in asked {
            if let Some(lookup) = lookups.iter().find(|lookup| !self.cluster.finds(lookup)) {
                return Ok(Reply::Unknown(lacking(&lookup.kind, Some(&lookup.name))));
            }
            let message = answer.message.unwrap_or_default();
            match (answer.accepted, answer.code) {
                (true, _) if patch.is_some() => changed = answer.mutated_object,
                (true, _) => {}
                // What can't be read here could not be read there either, but nobody knows what was meant.
                (false, Some(400 | 500)) => return Ok(Reply::Unknown(Gap::Unreadable(message))),
                (false, _) => return Ok(Reply::Refused(Refusal { message, cause, is_of_pods: false })),
            }
        }
        Ok(match unknown {
            Some(gap) => Reply::Unknown(gap),
            None if is_sent => Reply::LetIn(changed),
            None => Reply::NotSent(not_sent.unwrap_or_default()),
        })
    }

    /// What becomes of the Binding of a Pod to a node of the cluster, by the scheduler.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn ask_for_binding(&self, namespace: &str, pod: &str, node: &str, enforcement: Enforcement) -> Result<Reply> {
        let metadata = json!({ "name": pod, "namespace": namespace });
        let bound = json!({ "metadata": metadata, "spec": { "nodeName": node } });
        match pod::binding(&bound, &json!({}), |name| self.cluster.node(name)) {
            Some(request) => self.ask(request, enforcement),
            None => Ok(Reply::LetIn(None)),
        }
    }

    /// What becomes of its Binding to a node that is not there, with this metadata.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn ask_for_binding_to_absent(
        &self,
        namespace: &str,
        pod: &str,
        metadata: Value,
        enforcement: Enforcement,
    ) -> Result<Reply> {
        let name = text(&metadata["name"]).to_owned();
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {} });
        let known = self.cluster.namespace(namespace).cloned();
        let cluster = Manifests::default().with(known.into_iter().chain([node]))?;
        let reply =
            Deployed { cluster: &cluster, ..self.clone() }.ask_for_binding(namespace, pod, &name, enforcement)?;
        Ok(match reply {
            Reply::Refused(Refusal { message, cause, is_of_pods }) => {
                let message = message.replace(&format!("Node {name:?}"), "a node that Karpenter creates");
                let message = message.replace("add it to the Node,", "add it to the NodePool,");
                Reply::Refused(Refusal { message, cause, is_of_pods })
            }
            other => other,
        })
    }
}

fn lacking(kind: &str, name: Option<&str>) -> Gap {
    Gap::Object { kind: kind.to_owned(), name: name.unwrap_or_default().to_owned() }
}

/// With settings as if every entry said `enforcement: Enforce`.
fn enforced(file: &SettingsFile) -> SettingsFile {
    let mut settings = file.settings.clone();
    let entries = settings.pointer_mut("/placement/namespaces").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.remove("enforcement");
    }
    file.with_settings(settings)
}
