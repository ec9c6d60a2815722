//! A deployment of the policy: one policy, or several that divide the work. A request goes to each whose rules, selectors
//! and conditions let it through, one after the other.

use anyhow::Result;
use node_placement_policy::decision::{Cause, CauseKind};
use serde_json::Value;

use super::{
    binding_rules::BindingRules,
    delivery::{Delivery, KeptAway, covers_namespace, delivery},
    pods::{ANY_POD, binding_request},
    policy_spec::PolicySpec,
    request::Request,
};
use crate::{
    cluster::{Gap, Kind, manifests::Manifests},
    engine::policy::{Answer, Evaluation, Policy},
    input::{json::text, settings::ManagedKeys},
    webhook::settings_file::SettingsFile,
};

/// The message of a policy-server where a policy changes an object that it must not change.
const MUST_NOT_MUTATE: &str =
    "The policy attempted to mutate the request, but it is currently configured to not allow mutations";

/// The policies of a deployment, and the engine that evaluates them.
pub struct Deployment<'d> {
    policy: &'d Policy,
    /// The documents of the file.
    pub files: &'d [SettingsFile],
    /// The documents that are asked, in the order of their webhooks.
    asked: Vec<SettingsFile>,
    /// The same, as if every entry had `enforcement: Enforce`.
    enforced: Vec<SettingsFile>,
    /// The keys of Pods that node metadata is written to.
    pub managed: ManagedKeys,
    /// The properties of nodes that decide on Bindings.
    pub binding_rules: BindingRules,
}

/// Tells scenarios apart: the deployment, and whether everything is enforced.
pub type ScenarioId = (Option<usize>, bool);

/// The policies that a request is sent to.
#[derive(Clone, Copy)]
pub enum Scenario<'d> {
    /// There is no policy.
    Without,
    /// The deployment as it is.
    With(&'d Deployment<'d>),
    /// The deployment as if every entry had `enforcement: Enforce`.
    Enforced(&'d Deployment<'d>),
}

/// The answers of all policies of a deployment to a request.
#[derive(Debug, Default)]
pub struct Review {
    /// The request, completed as an API server does.
    pub request: Value,
    /// The policies that are asked, by name, with their answers. Only the last one may have rejected the request.
    pub answers: Vec<(Option<String>, Evaluation)>,
    /// Whether all policies that it reaches have answered, even if one of them looked up what the cluster lacks.
    pub is_answered: bool,
    pub admission: Admission,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub enum Admission {
    /// No policy is asked.
    NotSent(KeptAway),
    /// It depends on what is not known here.
    Unknown(Gap),
    /// A policy rejects it.
    Refused(Refusal),
    /// All policies that are asked accept it.
    Admitted {
        /// Whether one of them changes the object.
        is_changed: bool,
    },
}

impl Default for Admission {
    fn default() -> Self {
        Self::Admitted { is_changed: false }
    }
}

/// A refusal, with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub of: Of,
    /// The message that the user gets.
    pub message: String,
    /// Its cause as data, if the policy's own crate was asked.
    pub cause: Option<Cause>,
    /// The HTTP status.
    pub code: Option<u16>,
    /// The name of the policy that refuses it.
    pub by: Option<String>,
}

/// The object that a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The object itself.
    Object,
    /// The Pods of a workload that is accepted itself.
    ItsPods,
    /// The Binding of a Pod to a node.
    Binding,
}

/// A node that Pods are bound to.
#[derive(Clone, Copy)]
pub enum Target<'n> {
    /// One of the cluster, by its name.
    Existing(&'n str),
    /// One that Karpenter would create: the object.
    Created(&'n Value),
}

impl<'d> Deployment<'d> {
    /// Deploys the policies of a file.
    pub fn new(policy: &'d Policy, files: &'d [SettingsFile]) -> Self {
        // What only reports changes and refuses nothing; alone, it is asked as if it enforced.
        let reports = |file: &SettingsFile| file.policy.as_ref().is_some_and(PolicySpec::only_reports);
        let is_alone = files.iter().filter(|file| file.places_pods()).all(reports);
        let mut asked: Vec<_> = files.iter().filter(|file| is_alone || !reports(file)).cloned().collect();
        // First all policies that mutate, then the others, each in the order of their names.
        // Upstream: `mutatingWebhookConfigurationManager` of `k8s.io/apiserver/pkg/admission/configuration`.
        asked.sort_by(|one, other| (must_not_mutate(one), &one.name).cmp(&(must_not_mutate(other), &other.name)));
        let enforced = asked.iter().map(enforced).collect();
        let managed = files.iter().map(|file| ManagedKeys::from_settings(&file.typed)).collect();
        Self { policy, files, asked, enforced, managed, binding_rules: BindingRules::new(files) }
    }

    /// Returns whether the deployment covers the namespace of this name, or that is not known.
    pub fn covers(&self, name: &str, namespace: Option<&Value>) -> bool {
        let covers = |policy: &PolicySpec| covers_namespace(policy, name, namespace) != Some(false);
        self.files.iter().any(|file| file.policy.as_ref().is_none_or(covers))
    }
}

/// Without a policy, nothing is managed.
static NO_KEYS: ManagedKeys = ManagedKeys::none();

impl<'d> Scenario<'d> {
    /// Returns the keys of Pods that node metadata is written to.
    pub fn managed(&self) -> &'d ManagedKeys {
        self.deployment().map_or(&NO_KEYS, |deployment| &deployment.managed)
    }

    /// Returns the deployment, if there is one.
    pub const fn deployment(&self) -> Option<&'d Deployment<'d>> {
        match *self {
            Self::Without => None,
            Self::With(deployment) | Self::Enforced(deployment) => Some(deployment),
        }
    }

    /// Returns a key that no other scenario has while the deployments live.
    pub fn id(&self) -> ScenarioId {
        (self.deployment().map(std::ptr::from_ref).map(<*const _>::addr), matches!(self, Self::Enforced(_)))
    }

    fn files(&self) -> &[SettingsFile] {
        match self {
            Self::Without => &[],
            Self::With(deployment) => &deployment.asked,
            Self::Enforced(deployment) => &deployment.enforced,
        }
    }

    /// Sends a request to each policy that its rules, selectors and conditions let it through to, with what those before
    /// it have changed, up to the first that rejects it. Look-ups reach `cluster`.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn review(&self, mut request: Request, cluster: &Manifests) -> Result<Review> {
        let namespace = request.namespace().and_then(|name| cluster.namespace(name));
        if let Some(message) = request.refused_before_webhooks(cluster) {
            return Ok(Review::refused_by_api_server(request.json, message));
        }
        request.complete(cluster);
        let (mut answers, mut gap, mut kept_away, mut is_changed) = (vec![], None, None, false);
        let request_sent = request.json.clone();
        let reviewed = |answers, admission| Review { request: request_sent, answers, is_answered: true, admission };
        for file in self.files() {
            match file.policy.as_ref().map_or(Delivery::Sent, |policy| delivery(policy, &request, namespace)) {
                Delivery::Sent => {}
                Delivery::KeptAway(by) => {
                    kept_away.get_or_insert(by);
                    continue;
                }
                Delivery::Unknown(unknown) => {
                    let review = reviewed(answers, Admission::Unknown(gap.unwrap_or(unknown)));
                    return Ok(Review { is_answered: false, ..review });
                }
            }
            let evaluation = self.evaluate(file, &request.json, cluster)?;
            let lookups = &evaluation.record.lookups;
            let missing = lookups.iter().find(|lookup| cluster.find(&(*lookup).into()).is_none());
            let kind = missing.and_then(|lookup| Kind::of(&lookup.api_version, &lookup.kind));
            gap = gap.or(missing.zip(kind).map(|(lookup, kind)| Gap::Object(kind, lookup.name.clone())));
            let refusal = Refusal::read(&evaluation, file);
            if let Some(object) = &evaluation.answer.mutated_object {
                request.json["object"] = object.clone();
                is_changed |= evaluation.patch.is_some();
            }
            answers.push((file.name.clone(), evaluation));
            match refusal {
                Some(_) if gap.is_some() => break,
                // A cluster could not read it either, but what was meant is not known.
                Some(Refusal { message, code: Some(400 | 500), .. }) => gap = Some(Gap::Unreadable(message)),
                Some(refusal) => return Ok(reviewed(answers, Admission::Refused(refusal))),
                None => {}
            }
        }
        let admission = match (gap, kept_away.filter(|_| answers.is_empty())) {
            (Some(gap), _) => Admission::Unknown(gap),
            (None, Some(by)) => Admission::NotSent(by),
            (None, None) => Admission::Admitted { is_changed },
        };
        Ok(reviewed(answers, admission))
    }

    fn evaluate(&self, file: &SettingsFile, request: &Value, cluster: &Manifests) -> Result<Evaluation> {
        let Some(deployment) = self.deployment() else { return Ok(Evaluation::default()) };
        let mut evaluation = deployment.policy.validate(request, &file.settings, cluster.clone())?;
        if must_not_mutate(file) && evaluation.patch.take().is_some() {
            evaluation.record.cause = None;
            evaluation.answer = Answer { message: Some(MUST_NOT_MUTATE.to_owned()), ..Answer::default() };
        }
        Ok(evaluation)
    }

    /// Sends the Binding of a Pod to a node, by the scheduler.
    ///
    /// # Errors
    /// The policy failed to answer.
    pub fn bind(&self, namespace: &str, pod: &str, target: Target<'_>, cluster: &Manifests) -> Result<Review> {
        let mut review = match target {
            Target::Existing(node) => self.review(binding_request(namespace, pod, node, cluster), cluster)?,
            Target::Created(node) => {
                let known = cluster.namespace(namespace).cloned();
                let cluster = Manifests::default().with(known.into_iter().chain([node.clone()]))?;
                let name = text(&node["metadata"]["name"]);
                self.review(binding_request(namespace, pod, name, &cluster), &cluster)?
            }
        };
        if let Admission::Refused(refusal) = &mut review.admission {
            refusal.of = Of::Binding;
            match target {
                Target::Created(_) => refusal.message = refusal.of_created_node(),
                Target::Existing(node) if pod == ANY_POD => refusal.message = refusal.of_node(node),
                Target::Existing(_) => {}
            }
        }
        Ok(review)
    }
}

impl Review {
    /// Returns the review of a request that no policy gets, since the API server refuses it.
    fn refused_by_api_server(request: Value, message: String) -> Self {
        let answer = Answer { message: Some(message.clone()), code: Some(403), ..Answer::default() };
        let refusal = Refusal { of: Of::Object, message, cause: None, code: answer.code, by: None };
        let evaluation = Evaluation { answer, ..Evaluation::default() };
        let (answers, admission) = (vec![(None, evaluation)], Admission::Refused(refusal));
        Self { request, answers, is_answered: true, admission }
    }

    /// Returns the object as it is after all policies.
    pub fn object(&self) -> &Value {
        let changed = self.answers.iter().rev().find_map(|(_, evaluation)| evaluation.answer.mutated_object.as_ref());
        changed.unwrap_or(&self.request["object"])
    }

    /// Returns the refusal, if there is one.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match &self.admission {
            Admission::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns whether all policies that it reaches have answered, and accept it.
    pub fn is_accepted(&self) -> bool {
        self.is_answered && self.answers.iter().all(|(_, evaluation)| evaluation.answer.accepted)
    }

    /// Returns whether a policy rejects it since a field has a wrong type, or can't be read.
    pub fn is_malformed(&self) -> bool {
        self.answers.iter().any(|(_, evaluation)| evaluation.answer.code == Some(400))
    }

    /// Returns what is not known, if the answer depends on it.
    pub const fn gap(&self) -> Option<&Gap> {
        match &self.admission {
            Admission::Unknown(gap) => Some(gap),
            _ => None,
        }
    }

    /// Returns what all policies answer, as one answer.
    pub fn together(self) -> Evaluation {
        let accepted = Answer { accepted: true, ..Answer::default() };
        let mut together = Evaluation { answer: accepted, ..Evaluation::default() };
        self.answers.into_iter().for_each(|(_, next)| together.add(next));
        together
    }
}

impl Refusal {
    fn read(evaluation: &Evaluation, file: &SettingsFile) -> Option<Self> {
        let Evaluation { answer, record, .. } = evaluation;
        if answer.accepted {
            return None;
        }
        let message = answer.message.clone().unwrap_or_default();
        Some(Self { of: Of::Object, message, cause: record.cause.clone(), code: answer.code, by: file.name.clone() })
    }

    /// Returns whether a Node lacks what node metadata requires.
    pub fn is_about_metadata(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::Metadata)
    }

    /// Words the refusal of a Binding of any Pod to a node.
    fn of_node(&self, node: &str) -> String {
        match &self.cause {
            Some(cause) if self.is_about_metadata() || cause.required.is_some() => {
                format!("Node {node:?} lacks {}", lacks(cause))
            }
            _ => self.message.clone(),
        }
    }

    /// Words the refusal of a Binding to a node that Karpenter would create, whose name is not known.
    fn of_created_node(&self) -> String {
        const NODE: &str = "a node that Karpenter creates";
        let Some(cause) = &self.cause else { return format!("the policy refuses to bind Pods to {NODE}") };
        let or = if self.is_about_metadata() { ", or give the entry a default" } else { "" };
        format!("{NODE} lacks {}; add it to the NodePool{or}", lacks(cause))
    }
}

/// Words what a node lacks, and what requires it.
fn lacks(Cause { setting, label, required, .. }: &Cause) -> String {
    let setting = setting.as_ref().map_or_else(|| "the policy".to_owned(), ToString::to_string);
    let lacks = match (required, label) {
        (Some(required), _) if !required.is_empty() => required.clone(),
        (_, Some(label)) => format!("the label {label}"),
        _ => "what node metadata needs".to_owned(),
    };
    format!("{lacks}, which {setting} requires")
}

fn must_not_mutate(file: &SettingsFile) -> bool {
    file.policy.as_ref().is_some_and(|policy| policy.mutating == Some(false))
}

/// Returns a file with settings as if every entry had `enforcement: Enforce`.
fn enforced(file: &SettingsFile) -> SettingsFile {
    let mut settings = file.settings.clone();
    let entries = settings.pointer_mut("/placement/namespaces").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.remove("enforcement");
    }
    file.with_settings(settings)
}
