//! The policies of a deployment: which requests reach them, and what they answer, one after the other.

use std::sync::Arc;

use anyhow::Result;
use serde_json::Value;

use super::{
    host::Record,
    policy::{Answer, Evaluation, Policy},
    reply::{Gap, Refusal, Reply},
};
use crate::{
    input::{
        json::text, manifests::Manifests, policy_spec::PolicySpec, settings::ManagedKeys, settings_file::SettingsFile,
    },
    requests::{
        delivery::{Delivery, delivery},
        pod::binding_request,
    },
};

/// What a policy-server says where a policy would change what it must not.
const MAY_NOT_MUTATE: &str =
    "The policy attempted to mutate the request, but it is currently configured to not allow mutations";

fn may_not_mutate(file: &SettingsFile) -> bool {
    file.policy.as_ref().is_some_and(|policy| policy.mutating == Some(false))
}

/// What the policies of a deployment answer to a request, one after the other.
#[derive(Debug, Default)]
pub struct Admission<'d> {
    /// The names and answers of those that are asked. Only the last one may have rejected the request.
    pub evaluations: Vec<(Option<&'d str>, Evaluation)>,
    /// Why no policy is asked, if none is.
    pub not_sent: Option<String>,
    /// Why it can't be told here whether the next one is asked, if so.
    pub unknown: Option<Gap>,
}

impl<'d> Admission<'d> {
    /// Sends a request to each policy of a deployment whose rules take it, and hands on what one has changed, up to the
    /// first that rejects it. Look-ups reach `cluster`.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn review(
        policy: &Policy,
        files: impl IntoIterator<Item = &'d SettingsFile>,
        mut request: Value,
        cluster: &Manifests,
    ) -> Result<Self> {
        let namespace = request["namespace"].as_str().and_then(|name| cluster.namespace(name));
        let mut admission = Admission::default();
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
                    Some(Gap::object("Namespace", text(&request["namespace"])))
                }
                Delivery::Fails(reason) => Some(Gap::Condition(reason)),
                Delivery::Unknown(reason) => Some(Gap::Delivery(reason)),
            };
            if unknown.is_some() {
                return Ok(Self { unknown, ..admission });
            }
            let mut evaluation = policy.validate(&request, &file.settings, cluster.clone())?;
            if may_not_mutate(file) && evaluation.patch.take().is_some() {
                evaluation.record.cause = None;
                evaluation.answer = Answer { message: Some(MAY_NOT_MUTATE.to_owned()), ..Answer::default() };
            }
            let is_accepted = evaluation.answer.accepted;
            if let Some(object) = &evaluation.answer.mutated_object {
                request["object"] = object.clone();
            }
            admission.evaluations.push((file.name.as_deref(), evaluation));
            if !is_accepted {
                return Ok(admission);
            }
        }
        admission.not_sent = kept_away.filter(|_| admission.evaluations.is_empty());
        Ok(admission)
    }

    /// Whether all that are asked accept it.
    pub fn is_accepted(&self) -> bool {
        self.evaluations.iter().all(|(_, evaluation)| evaluation.answer.accepted)
    }

    /// Whether one rejects it since a field has a wrong type, or can't be read.
    pub fn is_malformed(&self) -> bool {
        self.evaluations.iter().any(|(_, evaluation)| evaluation.answer.code == Some(400))
    }

    /// The object as it is after all of them, if one answered with it.
    pub fn object(&self) -> Option<&Value> {
        self.evaluations.iter().rev().find_map(|(_, evaluation)| evaluation.answer.mutated_object.as_ref())
    }
}

/// The policies of a deployment, in front of a cluster: a request goes to each whose rules take it.
#[derive(Clone)]
pub struct PolicyChain<'p> {
    policy: &'p Policy,
    files: Arc<[SettingsFile]>,
    /// What its look-ups reach.
    pub cluster: &'p Manifests,
    /// The keys of Pods that it manages.
    pub managed: ManagedKeys,
}

impl<'p> PolicyChain<'p> {
    /// The policy with the settings of `files`.
    pub fn new(policy: &'p Policy, files: &[SettingsFile], cluster: &'p Manifests) -> Self {
        // What only reports changes and refuses nothing; alone, it is asked as if it enforced.
        let reports = |file: &SettingsFile| file.policy.as_ref().is_some_and(PolicySpec::only_reports);
        let is_alone = files.iter().filter(|file| file.places_pods()).all(reports);
        let asked = files.iter().filter(|file| is_alone || !reports(file)).cloned();
        let managed = files.iter().map(|file| ManagedKeys::from_settings(&file.typed)).collect();
        Self { policy, files: asked.collect(), cluster, managed }
    }

    /// These policies as if no entry said `enforcement: Warn`.
    #[must_use]
    pub fn enforced(&self) -> Self {
        Self { files: self.files.iter().map(enforced).collect(), ..self.clone() }
    }

    /// What becomes of a request.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn review(&self, request: Value) -> Result<Reply> {
        let Admission { evaluations, not_sent, unknown } =
            Admission::review(self.policy, &*self.files, request, self.cluster)?;
        if let Some(reason) = not_sent {
            return Ok(Reply::NotSent(reason));
        }
        let mut changed = None;
        for (_, Evaluation { answer, patch, record: Record { lookups, cause, .. } }) in evaluations {
            if let Some(lookup) = lookups.iter().find(|lookup| self.cluster.find(&(*lookup).into()).is_none()) {
                return Ok(Reply::Unknown(Gap::object(&lookup.kind, &lookup.name)));
            }
            let message = answer.message.unwrap_or_default();
            match (answer.accepted, answer.code) {
                (true, _) if patch.is_some() => changed = answer.mutated_object,
                (true, _) => {}
                // A cluster could not read it either, but what was meant is not known.
                (false, Some(400 | 500)) => return Ok(Reply::Unknown(Gap::Unreadable(message))),
                (false, _) => return Ok(Reply::Refused(Refusal { message, cause, is_of_pods: false })),
            }
        }
        Ok(unknown.map_or(Reply::LetIn(changed), Reply::Unknown))
    }

    /// What becomes of the Binding of a Pod to a node of the cluster, by the scheduler.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn bind(&self, namespace: &str, pod: &str, node: &str) -> Result<Reply> {
        self.review(binding_request(namespace, pod, node, self.cluster))
    }

    /// What becomes of its Binding to a node that Karpenter would create.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn bind_to_created(&self, namespace: &str, pod: &str, node: &Value) -> Result<Reply> {
        let known = self.cluster.namespace(namespace).cloned();
        let cluster = Manifests::default().with(known.into_iter().chain([node.clone()]))?;
        let name = text(&node["metadata"]["name"]);
        let mut reply = PolicyChain { cluster: &cluster, ..self.clone() }.bind(namespace, pod, name)?;
        if let Reply::Refused(Refusal { message, .. }) = &mut reply {
            *message = message
                .replace(&format!("Node {name:?}"), "a node that Karpenter creates")
                .replace("add it to the Node,", "add it to the NodePool,");
        }
        Ok(reply)
    }
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
