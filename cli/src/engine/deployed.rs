//! The policies of a deployment: which requests reach them, and what they say, one after the other.

use std::borrow::Cow;

use anyhow::Result;
use node_placement_policy::decision::Cause;
use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    evaluation::{Answer, Evaluation},
    gap::Gap,
};
use crate::{
    engine::policy::Policy,
    input::{manifests::Manifests, policy_spec::PolicySpec, settings::ManagedKeys, settings_file::SettingsFile},
    requests::{
        delivery::{Delivery, delivery},
        pod,
    },
};

/// One policy of a deployment. The documents of one file are one deployment.
#[derive(Clone, Debug)]
pub struct AskedPolicy<'d> {
    /// Its name, if the file has it.
    pub name: Option<&'d str>,
    /// Its settings.
    pub settings: Cow<'d, Value>,
    /// How it is deployed, if the file says so.
    pub policy: Option<&'d PolicySpec>,
}

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

impl<'d> From<&'d SettingsFile> for AskedPolicy<'d> {
    fn from(file: &'d SettingsFile) -> Self {
        Self { name: file.name.as_deref(), settings: Cow::Borrowed(&file.settings), policy: file.policy.as_ref() }
    }
}

impl AskedPolicy<'_> {
    fn may_not_mutate(&self) -> bool {
        self.policy.is_some_and(|policy| policy.mutating == Some(false))
    }

    /// When an API server asks: first all policies that mutate, then the others, each in the order of their names.
    ///
    /// Upstream: `mutatingWebhookConfigurationManager` of `k8s.io/apiserver/pkg/admission/configuration`, which sorts.
    fn turn(&self) -> (bool, Option<&str>) {
        (self.may_not_mutate(), self.name)
    }

    /// What the policy says to a request, as its policy-server hands it on.
    fn evaluate(&self, policy: &Policy, request: &Value, cluster: impl Cluster + 'static) -> Result<Evaluation> {
        let mut evaluation = policy.validate(request, &self.settings, cluster)?;
        if self.may_not_mutate() && evaluation.patch.take().is_some() {
            evaluation.cause = None;
            evaluation.answer = Answer { message: Some(MAY_NOT_MUTATE.to_owned()), ..Answer::default() };
        }
        Ok(evaluation)
    }
}

impl InTurn<'_> {
    /// Asks each policy whose rules take the request, and hands on what one has changed, up to the first that rejects it.
    /// `known` has the Namespaces; look-ups reach `cluster`.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn ask<'d>(
        policy: &Policy,
        policies: &'d [AskedPolicy<'_>],
        mut request: Value,
        known: &Manifests,
        cluster: impl Cluster + Clone + 'static,
    ) -> Result<InTurn<'d>> {
        let namespace = request["namespace"].as_str().and_then(|name| known.namespace(name));
        let mut answers = InTurn::default();
        let mut kept_away = None;
        let mut policies: Vec<&AskedPolicy<'_>> = policies.iter().collect();
        policies.sort_by_key(|asked| asked.turn());
        for asked in policies {
            let unknown = match asked.policy.map_or(Delivery::Sent, |policy| delivery(policy, &request, namespace)) {
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
            let evaluation = asked.evaluate(policy, &request, cluster.clone())?;
            let is_accepted = evaluation.answer.accepted;
            if let Some(object) = &evaluation.answer.mutated_object {
                request["object"] = object.clone();
            }
            answers.asked.push((asked.name, evaluation));
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
    policies: Vec<AskedPolicy<'p>>,
    /// With settings as if every entry was enforced.
    enforced: Vec<AskedPolicy<'p>>,
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
    /// The message, and whose it is.
    pub fn in_words(&self) -> String {
        if self.is_of_pods { format!("{PODS}{}", self.message) } else { self.message.clone() }
    }
}

impl<'p> Deployed<'p> {
    /// The policy with the settings of `files`.
    pub fn new(policy: &'p Policy, files: &'p [SettingsFile], cluster: &'p Manifests) -> Self {
        // What only reports changes and refuses nothing.
        let asked = files.iter().filter(|file| file.policy.as_ref().is_none_or(|policy| !policy.only_reports()));
        let policies: Vec<AskedPolicy<'p>> = asked.map(AskedPolicy::from).collect();
        let enforced = policies.iter().map(|asked| AskedPolicy { settings: enforced(asked), ..asked.clone() });
        let writing = files.iter().find(|file| file.typed.node_metadata.is_some());
        let managed = writing.map_or_else(ManagedKeys::default, |file| ManagedKeys::of(&file.typed));
        Self { policy, enforced: enforced.collect(), policies, cluster, managed }
    }

    /// The same in front of another cluster.
    pub fn in_front_of<'c>(&self, cluster: &'c Manifests) -> Deployed<'c>
    where
        'p: 'c,
    {
        Deployed { cluster, ..self.clone() }
    }

    /// What becomes of a request.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn ask(&self, request: Value, enforcement: Enforcement) -> Result<Reply> {
        let policies = match enforcement {
            Enforcement::AsWritten => &self.policies,
            Enforcement::Everywhere => &self.enforced,
        };
        let InTurn { asked, not_sent, unknown } =
            InTurn::ask(self.policy, policies, request, self.cluster, self.cluster.clone())?;
        let is_sent = !asked.is_empty();
        let mut changed = None;
        for (_, Evaluation { answer, patch, lookups, cause, .. }) in asked {
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
}

fn lacking(kind: &str, name: Option<&str>) -> Gap {
    Gap::Object { kind: kind.to_owned(), name: name.unwrap_or_default().to_owned() }
}

/// Settings as if every entry said `enforcement: Enforce`.
fn enforced<'d>(asked: &AskedPolicy<'d>) -> Cow<'d, Value> {
    let mut enforced = asked.settings.clone().into_owned();
    let entries = enforced.pointer_mut("/placement/namespaces").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.remove("enforcement");
    }
    Cow::Owned(enforced)
}
