//! A trial: requests are put to the policies of a deployment, in front of a cluster that is written down.
//!
//! `test` compares what they answer with what is expected; `try` shows it, with what becomes of the Pods of a workload.

use anyhow::{Result, bail, ensure};
use node_placement_policy::resource::Resource;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Answer, Evaluation, Identity, ManagedKeys, Manifests, Policy, SettingsFile, admission_request,
    cluster::Kind,
    engine::policy_chain::Admission,
    explain::fit::{PodNeeds, PoolFit, pools_for},
    input::json::{members, qualified_name, text},
    output::{evaluation::additions, explanation::where_to_run},
    requests::{admission::manifest_request, plugins, resource::requested, template::pod_request},
};

/// The policies of a deployment, and the cluster in which they look things up.
pub struct Trial<'p> {
    pub policy: &'p Policy,
    /// With its settings: all policies of a file are one deployment.
    pub files: &'p [SettingsFile],
    /// The objects that can be looked up.
    pub known: &'p Manifests,
}

/// What becomes of a request.
pub struct TrialResult<'p> {
    /// `CREATE pods team-a/web`
    pub name: String,
    pub request: Value,
    pub answers: Admission<'p>,
    /// The Pod that is created, or the Pods of the workload; none, if the request is not let in.
    pub pods: Option<Pods>,
}

/// What becomes of Pods.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pods {
    /// What they get, and where they could run, for people.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// Why the Pods of a workload that is let in would be rejected, if they would.
    #[serde(rename = "podsRefused")]
    pub refused: Option<String>,
    /// The nodes that they fit, and that are large enough, if that can be told.
    pub nodes: Option<Vec<String>>,
    /// Those of them that are cordoned, not ready, or about to go.
    pub not_now: Option<Vec<String>>,
}

/// The request that a document is, with or without its AdmissionReview, or that its manifest makes; none, if the policy
/// does not handle its kind.
///
/// # Errors
/// The document is neither a request nor a manifest, or the policy knows another version of its kind.
pub fn request_from(document: &Value, old: Option<Value>) -> Result<Option<Value>> {
    if let Some(mut request) = recorded_request(document).cloned() {
        if let Some(old) = old {
            request["oldObject"] = old;
        }
        add_namespace(&mut request);
        return Ok(Some(request));
    }
    ensure!(
        document.get("kind").is_some() && document.get("metadata").is_some_and(Value::is_object),
        "expected an object with apiVersion, kind and metadata, or an admission request"
    );
    manifest_request(document.clone(), old)
}

/// Writes the namespace of a request into its object, as the API server does before it asks anybody.
fn add_namespace(request: &mut Value) {
    let (namespace, (_, resource)) = (request["namespace"].clone(), requested(request));
    let is_in_one = namespace.is_string() && !["namespaces", "nodes"].contains(&resource.as_str());
    if let Some(metadata) = request.pointer_mut("/object/metadata").filter(|metadata| is_in_one && metadata.is_object())
        && metadata["namespace"].is_null()
    {
        metadata["namespace"] = namespace;
    }
}

/// The request that a document is, with or without its AdmissionReview.
pub fn recorded_request(document: &Value) -> Option<&Value> {
    Some(admission_request(document)).filter(|request| request.get("operation").is_some())
}

impl<'p> Trial<'p> {
    /// What the policies answer, one after the other.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn ask(&self, request: Value) -> Result<Admission<'p>> {
        Admission::review(self.policy, self.files, request, self.known)
    }

    /// What all policies answer together; and why none is asked, if none is.
    ///
    /// # Errors
    /// A policy failed to answer, or it can't be told here whether it is asked.
    pub fn evaluate(&self, request: Value) -> Result<(Evaluation, Option<String>)> {
        let Admission { evaluations, not_sent, unknown } = self.ask(request)?;
        if let Some(gap) = unknown {
            bail!("it can't be told what becomes of it: {}", gap.advice());
        }
        let accepted = Answer { accepted: true, ..Answer::default() };
        let mut together = Evaluation { answer: accepted, ..Evaluation::default() };
        evaluations.into_iter().for_each(|(_, next)| add(&mut together, next));
        Ok((together, not_sent))
    }

    /// What was looked up, and does not exist.
    pub fn missing(&self, evaluation: &Evaluation) -> impl Iterator<Item = Identity> {
        evaluation.looked_up().filter(|object| self.known.find(object).is_none())
    }

    /// What was looked up and does not exist, a line each.
    pub fn missing_lines(&self, evaluation: &Evaluation) -> Vec<String> {
        let lacking = if self.known.is_partial { "without a cluster (-c), there is no" } else { "the cluster has no" };
        self.missing(evaluation).map(|object| format!("{lacking} {object}")).collect()
    }

    /// What becomes of a request, and of the Pods that come of it.
    ///
    /// # Errors
    /// A policy failed to answer, or a Pod or a node can't be read.
    pub fn judge(&self, mut request: Value) -> Result<TrialResult<'p>> {
        let name = request_name(&request);
        // The API server does that before anybody is asked.
        if is_pod_creation(&request) {
            plugins::merge_runtime_class(&mut request["object"]["spec"], self.known);
        }
        let answers = self.ask(request.clone())?;
        let is_let_in = answers.unknown.is_none() && answers.is_accepted();
        let object = answers.object().unwrap_or(&request["object"]);
        let pods = is_let_in.then(|| self.pods_of(&request, object)).transpose()?;
        Ok(TrialResult { name, request, answers, pods })
    }

    /// What becomes of the Pod that a request creates; of a workload, whose template stays as it is, of its Pods.
    fn pods_of(&self, request: &Value, object: &Value) -> Result<Pods> {
        if !text(&request["subResource"]).is_empty() {
            return Ok(Pods::default());
        }
        if is_pod_creation(request) {
            return self.where_to_run("it", "Pod", &object["spec"], vec![]);
        }
        let Some(creation) = pod_request(object, self.known) else { return Ok(Pods::default()) };
        let answers = self.ask(creation.clone())?;
        let unknown = |lines| Ok(Pods { lines, ..Pods::default() });
        let evaluations = || answers.evaluations.iter().map(|(_, evaluation)| evaluation);
        if let Some(evaluation) = evaluations().find(|evaluation| self.missing(evaluation).next().is_some()) {
            return unknown(self.missing_lines(evaluation));
        }
        if let Some(gap) = &answers.unknown {
            return unknown(vec![format!("it can't be told what becomes of its Pods: {}", gap.advice())]);
        }
        if let Some(Evaluation { answer, .. }) = evaluations().find(|evaluation| !evaluation.answer.accepted) {
            let reason = answer.reason();
            let lines = vec![format!("its Pods would be rejected: {reason}")];
            return Ok(Pods { lines, refused: Some(reason), ..Pods::default() });
        }
        let line = match &answers.not_sent {
            Some(reason) => format!("its Pods are not sent to the policy: {reason}"),
            None => self.changes(evaluations()),
        };
        let pod = answers.object().unwrap_or(&creation["object"]);
        self.where_to_run("its Pods", text(&object["kind"]), &pod["spec"], vec![line])
    }

    /// What the Pods of a workload get: at once, and when they are bound, as far as their Nodes have it.
    fn changes<'e>(&self, evaluations: impl Iterator<Item = &'e Evaluation>) -> String {
        let now = evaluations.flat_map(additions).collect::<Vec<_>>().join("; ");
        let sends_bindings = |file: &&SettingsFile| {
            file.policy.as_ref().is_none_or(|policy| policy.sends(("", "pods/binding", "CREATE")))
        };
        let bound =
            self.files.iter().filter(sends_bindings).flat_map(|file| ManagedKeys::from_settings(&file.typed).named());
        let bound = bound.collect::<Vec<_>>().join(", ");
        match (now.is_empty(), bound.is_empty()) {
            (true, true) => "its Pods would stay as they are".to_owned(),
            (false, true) => format!("its Pods would get {now}"),
            (true, false) => format!("its Pods would get {bound} when they are bound"),
            (false, false) => format!("its Pods would get {now}; and when they are bound, {bound}"),
        }
    }

    /// The nodes of the cluster, if it has some, on which Pods of a workload of this `kind` could run. They are called
    /// `who` in the lines.
    fn where_to_run(&self, who: &str, kind: &str, spec: &Value, mut lines: Vec<String>) -> Result<Pods> {
        let is_node = |identity: &Identity| {
            matches!(Kind::of(&identity.api_version, &identity.kind), Some(Kind::Of(Resource::Node) | Kind::NodePool))
        };
        let has_nodes = self.known.objects().iter().any(|object| is_node(&object.identity));
        if !has_nodes || plugins::missing_runtime_class(spec, self.known).is_some() {
            return Ok(Pods { lines, ..Pods::default() });
        }
        let pod = PodNeeds::read(kind, std::slice::from_ref(spec), self.known)?;
        let fit = pod.fit(&pools_for(self.files, [&pod], self.known)?, &[], None)?;
        lines.extend(where_to_run(who, &fit));
        let nodes = |of: fn(&PoolFit) -> &Vec<String>| fit.pools.iter().flat_map(of).cloned().collect::<Vec<_>>();
        let not_now = nodes(|pool| &pool.not_now);
        let fitting = [nodes(|pool| &pool.usable), not_now.clone()].concat();
        Ok(Pods { lines, refused: None, nodes: Some(fitting), not_now: Some(not_now) })
    }

    /// A result for programs: an object for each policy that answered, or for the reason why none did.
    pub fn data(&self, result: &TrialResult<'_>) -> Vec<Value> {
        let TrialResult { name, answers, pods, .. } = result;
        let asked = answers.evaluations.iter();
        let mut data: Vec<Value> = asked.map(|(policy, it)| self.evaluation_data(name, *policy, it)).collect();
        if let Some(reason) = &answers.not_sent {
            data.push(json!({ "request": name, "verdict": "notSent", "reason": reason }));
        }
        if let Some(gap) = &answers.unknown {
            data.push(json!({ "request": name, "verdict": "unknown", "reason": gap.advice() }));
        }
        if let (Some(last), Some(pods)) = (data.last_mut(), pods) {
            members(&json!(pods)).for_each(|(field, value)| last[field] = value.clone());
        }
        data
    }

    fn evaluation_data(&self, name: &str, policy: Option<&str>, evaluation: &Evaluation) -> Value {
        let Evaluation { answer, patch, .. } = evaluation;
        let lookups: Vec<String> = evaluation.looked_up().map(|object| object.to_string()).collect();
        let missing: Vec<String> = self.missing(evaluation).map(|object| object.to_string()).collect();
        json!({
            "request": name,
            "policy": policy,
            "verdict": if answer.accepted { "accepted" } else { "rejected" },
            "code": answer.code,
            "message": answer.message,
            "warnings": answer.warnings,
            "patch": patch,
            "auditAnnotations": answer.audit_annotations,
            "lookups": lookups,
            "missing": missing,
        })
    }
}

/// Adds what the next policy answers to what those before it did.
fn add(together: &mut Evaluation, next: Evaluation) {
    let (answer, record) = (&mut together.answer, &mut together.record);
    (answer.accepted, answer.message, answer.code) = (next.answer.accepted, next.answer.message, next.answer.code);
    answer.mutated_object = next.answer.mutated_object.or(answer.mutated_object.take());
    answer.audit_annotations.get_or_insert_default().extend(next.answer.audit_annotations.unwrap_or_default());
    answer.warnings.get_or_insert_default().extend(next.answer.warnings.unwrap_or_default());
    if let Some(mut patch) = next.patch {
        together.patch.get_or_insert_default().0.append(&mut patch.0);
    }
    record.cause = next.record.cause;
    record.lookups.extend(next.record.lookups);
    record.logs.extend(next.record.logs);
}

fn is_pod_creation(request: &Value) -> bool {
    request["operation"] == "CREATE" && request["object"]["kind"] == "Pod" && text(&request["subResource"]).is_empty()
}

/// `CREATE pods/binding team-a/web`
fn request_name(request: &Value) -> String {
    let ((_, resource), metadata) = (requested(request), &request["object"]["metadata"]);
    let names = [&request["name"], &metadata["name"], &metadata["generateName"]];
    let name = names.into_iter().find_map(Value::as_str).unwrap_or_default();
    // The namespace of a Namespace's request is its name.
    let namespace = if resource == "namespaces" { "" } else { text(&request["namespace"]) };
    format!("{} {resource} {}", text(&request["operation"]), qualified_name(namespace, name)).trim_end().to_owned()
}
