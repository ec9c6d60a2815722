//! A case: the request that it makes, what the policies answer to it, and the nodes that its Pods may run on.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    expect::{CaseAnswer, Mismatch, compare},
    file::{Case, Source, Test, expanded},
};
use crate::{
    Identity, Policy, SettingsFile,
    cluster::{Gap, controllers::Controller},
    trial::{Pods, Trial, TrialResult},
    webhook::{
        deployment::{Admission, Deployment},
        pods::{bound_pod, environment},
        request::{Request, recorded_request, request_from},
    },
};

impl Test {
    /// Puts a case to the policies.
    ///
    /// # Errors
    /// The case makes no request, or the policy does not handle its kind.
    pub fn run(&self, case: &Case, policy: &Policy) -> Result<CaseAnswer> {
        let files = self.deployed(case)?;
        for SettingsFile { settings, .. } in &files {
            let answer = policy.validate_settings(settings)?;
            if !answer.valid {
                return Ok(CaseAnswer { invalid: Some(answer.message.unwrap_or_default()), ..CaseAnswer::default() });
            }
        }
        let deployment = Deployment::new(policy, &files);
        let trial = Trial { deployment: &deployment, known: self.cluster() };
        let answered = answer(&trial, &self.created(case)?, case.expected.contains_key("nodes"))?;
        // A recorded request is answered by itself; of a manifest, its Pods must be accepted too.
        let pods_rejection = answered.pods_rejection.filter(|_| !is_recorded(case));
        let binding = answered.evaluation.answer.mutated_object.as_ref();
        let bound_pod = case.pod.as_ref().zip(binding).map(|(pod, binding)| bound_pod(pod, binding));
        let environments = match (&bound_pod, case.expected.contains_key("environment")) {
            (Some(pod), _) => vec![environment(pod).into()],
            (None, true) => trial.environments(&self.created(case)?).context("expect.environment")?,
            (None, false) => vec![],
        };
        Ok(CaseAnswer { bound_pod, environments, pods_rejection, ..answered })
    }

    /// Puts a case to the policies, and compares the answer with what is expected. A rejection only because the test's
    /// cluster lacks an object is none, unless it is expected with its code.
    ///
    /// # Errors
    /// The case makes no request, or its settings have a mistake that is not expected.
    pub fn check(&self, case: &Case, policy: &Policy) -> Result<(CaseAnswer, Vec<Mismatch>)> {
        let answered = self.run(case, policy)?;
        if let (Some(message), None) = (&answered.invalid, case.expected.get("invalid")) {
            bail!("settings: {message}");
        }
        let mut mismatches = compare(&case.expected, &answered);
        if answered.evaluation.answer.code == Some(500) && case.expected.get("code") != Some(&json!(500)) {
            let lacks = |object: &Identity| self.cluster().find(object).is_none();
            mismatches.extend(answered.evaluation.looked_up().filter(lacks).map(|object| Mismatch {
                field: "cluster".to_owned(),
                expected: object.to_string(),
                found: "nothing".to_owned(),
            }));
        }
        Ok((answered, mismatches))
    }

    /// Returns the request of a case, with what of it is not known.
    fn created(&self, case: &Case) -> Result<Request> {
        let request = self.request(case)?;
        Ok(if is_recorded(case) { Request::recorded(request) } else { Request::new(request) })
    }

    /// Returns the admission request of a case.
    ///
    /// # Errors
    /// The case has no manifest, its kind is none that the policy handles, or an UPDATE has no old object.
    pub fn request(&self, case: &Case) -> Result<Value> {
        let Source(manifest) = case.manifest.as_ref().context("manifest: expected an object; it is missing")?;
        let old = case.old.as_ref().map(|Source(old)| old.clone());
        let request = request_from(manifest, old).context("manifest")?.with_context(|| {
            format!("manifest: the policy does not handle the kind {}", manifest["kind"].as_str().unwrap_or("?"))
        })?;
        let mut request = request.json;
        if let Some(operation) = case.operation {
            request["operation"] = json!(operation);
        }
        if let Some(user) = &case.user {
            request["userInfo"] = json!({ "username": user.username, "groups": user.groups });
        }
        for change in [&self.with, &case.with].into_iter().flatten() {
            json_patch::merge(&mut request, &expanded(change));
        }
        let is_update = request["operation"] == "UPDATE" && request["oldObject"].is_null();
        ensure!(!is_update || case.operation.is_none(), "old: an UPDATE needs the object as it is before");
        Ok(request)
    }
}

/// Returns whether the manifest of a case is an AdmissionReview, or the request of one.
fn is_recorded(case: &Case) -> bool {
    case.manifest.as_ref().is_some_and(|Source(manifest)| recorded_request(manifest).is_some())
}

/// Sends a request, and those of the Pods that come of it, as `try` does; with `nodes`, finds the nodes that can run these.
///
/// # Errors
/// A policy failed to answer, what becomes of it could not be evaluated, or the object of the request makes no Pods.
fn answer(trial: &Trial<'_>, request: &Request, with_nodes: bool) -> Result<CaseAnswer> {
    let result = if with_nodes { trial.judge_with_nodes(request)? } else { trial.judge(request)? };
    CaseAnswer::new(result, with_nodes)
}

impl CaseAnswer {
    /// Returns what came of a request, with the nodes that can run its Pods if these were looked for.
    ///
    /// # Errors
    /// What becomes of it could not be evaluated, or the object of the request makes no Pods.
    pub fn new(result: TrialResult, with_nodes: bool) -> Result<Self> {
        let TrialResult { review, pods, gap, .. } = result;
        if let Some(gap) = gap {
            bail!("it could not be evaluated: {}", gap.advice());
        }
        let nodes = with_nodes.then(|| nodes(&review.request, pods.as_ref()).context("expect.nodes")).transpose()?;
        let not_asked = match &review.admission {
            Admission::NotSent(by) => Some(by.to_string()),
            _ => None,
        };
        let pods_rejection = pods.and_then(|pods| pods.rejection);
        let (request, evaluation) = (review.request.clone(), review.together());
        Ok(Self { request, evaluation, pods_rejection, not_asked, nodes, ..Self::default() })
    }
}

/// Returns the names of the Nodes and NodePools that can run the Pods of a request, now or when a passing condition ends.
fn nodes(request: &Value, pods: Option<&Pods>) -> Result<Vec<String>> {
    let object = &request["object"];
    let kind = object["kind"].as_str().unwrap_or("object");
    ensure!(kind == "Pod" || Controller::of_kind(kind).is_some(), "a {kind} makes no Pods");
    let Some(Pods { places, pod: Some(_), .. }) = pods else { return Ok(vec![]) };
    ensure!(places.nodes.is_some(), "{}", Gap::Nodes.advice());
    Ok(places.takers().chain(places.node_pools.iter().flatten()).cloned().collect())
}
