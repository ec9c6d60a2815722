//! A trial: requests are put to the policies of a deployment, in front of a cluster that is written down.
//!
//! `test` compares what they answer with what is expected; `try` shows it, with what becomes of the Pods of a workload.

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Answer, Evaluation, Identity, ManagedKeys, Manifests, Policy, SettingsFile, admission_request,
    engine::policy_chain::{Admission, PolicyChain},
    explain::{
        fit::{BindingReview, PodNeeds, PoolFit, pools_for},
        rules::Rules,
    },
    input::json::{members, qualified_name, text},
    output::{evaluation::additions, explanation::where_to_run},
    requests::{admission::manifest_request, plugins, pod::ANY_POD, resource::requested, template::pod_request},
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
    /// Why the Pods of a workload that is accepted would be rejected, if they would.
    #[serde(rename = "podsRefused")]
    pub refused: Option<String>,
    /// The answer that rejects them, if there is one.
    #[serde(skip)]
    pub rejection: Option<Answer>,
    /// The nodes that can run them, now or when a passing condition ends, if that is known.
    pub nodes: Option<Vec<String>>,
    /// Those of them that are cordoned, not ready, or draining.
    pub not_now: Option<Vec<String>>,
    /// The NodePools of which Karpenter would create a node for them.
    #[serde(skip)]
    pub node_pools: Vec<String>,
    /// A Pod as it is created, if it is accepted.
    #[serde(skip)]
    pod: Option<Value>,
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
        return Ok(Some(request));
    }
    ensure!(
        document.get("kind").is_some() && document.get("metadata").is_some_and(Value::is_object),
        "expected an object with apiVersion, kind and metadata, or an admission request"
    );
    manifest_request(document.clone(), old)
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

    /// What was looked up, and does not exist.
    pub fn missing(&self, evaluation: &Evaluation) -> impl Iterator<Item = Identity> {
        evaluation.looked_up().filter(|object| self.known.find(object).is_none())
    }

    /// What was looked up and does not exist, a line each.
    pub fn missing_lines(&self, evaluation: &Evaluation) -> Vec<String> {
        let lacking = if self.known.is_partial { "without a cluster (-c), there is no" } else { "the cluster has no" };
        self.missing(evaluation).map(|object| format!("{lacking} {object}")).collect()
    }

    /// Asks the policies about a request, and about the Pods that come of it.
    ///
    /// # Errors
    /// A policy failed to answer.
    pub fn judge(&self, mut request: Value) -> Result<TrialResult<'p>> {
        let name = request_name(&request);
        // The API server does that before anybody is asked.
        if is_pod_creation(&request) {
            plugins::merge_runtime_class(&mut request["object"]["spec"], self.known);
        }
        let answers = self.ask(request.clone())?;
        let is_accepted = answers.unknown.is_none() && answers.is_accepted();
        let object = answers.object().unwrap_or(&request["object"]);
        let pods = is_accepted.then(|| self.pods_of(&request, object)).transpose()?;
        Ok(TrialResult { name, request, answers, pods })
    }

    /// Asks the policies about a request and its Pods, and finds the nodes that can run these.
    ///
    /// # Errors
    /// A policy failed to answer, or a Pod or a node can't be read.
    pub fn judge_with_nodes(&self, request: Value) -> Result<TrialResult<'p>> {
        let mut result = self.judge(request)?;
        if let Some(pods) = &mut result.pods {
            self.find_nodes(&result.request["object"], pods)?;
        }
        Ok(result)
    }

    /// What becomes of the Pod that a request creates; of a workload, whose template stays as it is, of its Pods.
    fn pods_of(&self, request: &Value, object: &Value) -> Result<Pods> {
        if !text(&request["subResource"]).is_empty() {
            return Ok(Pods::default());
        }
        if is_pod_creation(request) {
            return Ok(Pods { pod: Some(object.clone()), ..Pods::default() });
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
            return Ok(Pods { lines, refused: Some(reason), rejection: Some(answer.clone()), ..Pods::default() });
        }
        let line = match &answers.not_sent {
            Some(reason) => format!("its Pods are not sent to the policy: {reason}"),
            None => self.changes(evaluations()),
        };
        let pod = answers.object().unwrap_or(&creation["object"]);
        Ok(Pods { lines: vec![line], pod: Some(pod.clone()), ..Pods::default() })
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

    /// Finds the nodes of the cluster, if it has some, that can run the Pods of `object`.
    fn find_nodes(&self, object: &Value, pods: &mut Pods) -> Result<()> {
        let Some(pod) = &pods.pod else { return Ok(()) };
        let (namespace, spec) = (text(&pod["metadata"]["namespace"]), &pod["spec"]);
        let is_node = |kind: &str| kind == "Node" || kind == "NodePool";
        let has_nodes = self.known.objects().iter().any(|object| is_node(&object.identity.kind));
        if !has_nodes || plugins::missing_runtime_class(spec, self.known).is_some() {
            return Ok(());
        }
        let demands = match self.known.namespace(namespace) {
            Some(object) => Rules::read(self.files, namespace, object)?.1,
            None => vec![],
        };
        let chain = PolicyChain::new(self.policy, self.files, self.known);
        let name = pod["metadata"]["name"].as_str().unwrap_or(ANY_POD);
        let review = BindingReview { chain: &chain, namespace, pod: name };
        let needs = PodNeeds::read(text(&object["kind"]), std::slice::from_ref(spec), self.known)?;
        let pools = pools_for(self.files, [&needs], self.known)?;
        let fit = needs.fit(&pools, &demands, Some(&review))?;
        pods.lines.extend(where_to_run(if object["kind"] == "Pod" { "it" } else { "its Pods" }, &fit));
        let nodes = |of: fn(&PoolFit) -> &Vec<String>| fit.pools.iter().flat_map(of).cloned().collect::<Vec<_>>();
        let not_now = nodes(|pool| &pool.not_now);
        pods.nodes = Some([nodes(|pool| &pool.usable), not_now.clone()].concat());
        pods.not_now = Some(not_now);
        pods.node_pools = fit.pools.iter().filter_map(|pool| pool.creates.clone()).collect();
        Ok(())
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
