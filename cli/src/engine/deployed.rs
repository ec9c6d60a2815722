//! The policy as it is deployed: which requests reach it, and what it says.

use anyhow::Result;
use node_placement_policy::decision::Cause;
use serde_json::Value;

use super::gap::Gap;
use crate::{
    engine::policy::Policy,
    input::{manifests::Manifests, settings_file::SettingsFile},
    requests::delivery::{Delivery, delivery},
};

/// A policy with its settings, in front of a cluster. The documents of one file are one deployment: a request goes to
/// each whose rules take it.
pub struct Deployed<'p> {
    policy: &'p Policy,
    documents: Vec<Document<'p>>,
    cluster: &'p Manifests,
}

#[derive(Clone)]
struct Document<'p> {
    file: &'p SettingsFile,
    /// The settings as if every entry was enforced.
    enforced: Value,
}

/// What a policy-server says where a policy would change what it must not.
const MAY_NOT_MUTATE: &str =
    "The policy attempted to mutate the request, but it is currently configured to not allow mutations";

impl Document<'_> {
    fn may_not_mutate(&self) -> bool {
        self.file.policy.as_ref().is_some_and(|policy| policy.mutating == Some(false))
    }
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

impl Document<'_> {
    /// When an API server asks: first all policies that mutate, then the others, each in the order of their names.
    ///
    /// Upstream: `mutatingWebhookConfigurationManager` of `k8s.io/apiserver/pkg/admission/configuration`, which sorts.
    fn turn(&self) -> (bool, Option<String>) {
        (self.may_not_mutate(), self.file.name.clone())
    }
}

impl<'p> Deployed<'p> {
    /// The policy with the settings of `files`.
    pub fn new(policy: &'p Policy, files: &'p [SettingsFile], cluster: &'p Manifests) -> Self {
        // What only reports changes and refuses nothing.
        let asked = files.iter().filter(|file| file.policy.as_ref().is_none_or(|policy| !policy.only_reports()));
        let mut documents: Vec<Document<'_>> =
            asked.map(|file| Document { file, enforced: enforced(&file.settings) }).collect();
        documents.sort_by_key(Document::turn);
        Self { policy, documents, cluster }
    }

    /// The same in front of another cluster.
    pub fn in_front_of<'c>(&self, cluster: &'c Manifests) -> Deployed<'c>
    where
        'p: 'c,
    {
        Deployed { policy: self.policy, documents: self.documents.clone(), cluster }
    }

    /// What becomes of a request.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn ask(&self, mut request: Value, enforcement: Enforcement) -> Result<Reply> {
        let namespace = request["namespace"].as_str().and_then(|name| self.cluster.namespace(name));
        let (mut kept_away, mut is_sent, mut is_changed) = (None, false, false);
        for document in &self.documents {
            if let Some(policy) = &document.file.policy {
                match delivery(policy, &request, namespace) {
                    Delivery::Sent => {}
                    Delivery::KeptAway(reason) => {
                        kept_away.get_or_insert(reason);
                        continue;
                    }
                    Delivery::Unknown(_) if namespace.is_none() && request["namespace"].is_string() => {
                        return Ok(Reply::Unknown(lacking("Namespace", request["namespace"].as_str())));
                    }
                    Delivery::Fails(reason) => return Ok(Reply::Unknown(Gap::Condition(reason))),
                    Delivery::Unknown(reason) => return Ok(Reply::Unknown(Gap::Delivery(reason))),
                }
            }
            is_sent = true;
            match self.evaluate(document, &request, enforcement)? {
                Reply::LetIn(None) => {}
                Reply::LetIn(Some(object)) => {
                    request["object"] = object;
                    is_changed = true;
                }
                reply => return Ok(reply),
            }
        }
        Ok(match (is_sent, kept_away) {
            (false, kept_away) => Reply::NotSent(kept_away.unwrap_or_default()),
            (true, _) => Reply::LetIn(is_changed.then(|| request["object"].take())),
        })
    }

    fn evaluate(&self, document: &Document<'_>, request: &Value, enforcement: Enforcement) -> Result<Reply> {
        let settings = match enforcement {
            Enforcement::AsWritten => &document.file.settings,
            Enforcement::Everywhere => &document.enforced,
        };
        let evaluation = self.policy.validate(request, settings, self.cluster.clone())?;
        if let Some(lookup) = evaluation.lookups.iter().find(|lookup| !self.cluster.finds(lookup)) {
            return Ok(Reply::Unknown(lacking(&lookup.kind, Some(&lookup.name))));
        }
        let answer = evaluation.answer;
        let message = answer.message.unwrap_or_default();
        Ok(match (answer.accepted, answer.code) {
            (true, _) => {
                let changed = answer.mutated_object.filter(|object| *object != request["object"]);
                if changed.is_some() && document.may_not_mutate() {
                    return Ok(Reply::Refused(Refusal {
                        message: MAY_NOT_MUTATE.to_owned(),
                        cause: None,
                        is_of_pods: false,
                    }));
                }
                Reply::LetIn(changed)
            }
            // What can't be read here could not be read there either, but nobody knows what was meant.
            (false, Some(400 | 500)) => Reply::Unknown(Gap::Unreadable(message)),
            (false, _) => Reply::Refused(Refusal { message, cause: evaluation.cause, is_of_pods: false }),
        })
    }
}

fn lacking(kind: &str, name: Option<&str>) -> Gap {
    Gap::Object { kind: kind.to_owned(), name: name.unwrap_or_default().to_owned() }
}

/// Settings as if every entry said `enforcement: Enforce`.
fn enforced(settings: &Value) -> Value {
    let mut enforced = settings.clone();
    let entries = enforced.pointer_mut("/placement/namespaces").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.remove("enforcement");
    }
    enforced
}
